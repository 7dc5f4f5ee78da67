//! Many programs, run in a child of the same binary, which may die of one: the parent then notes
//! why and goes on with the next.
//!
//! What the process is the wall for (memory, stack) is counted; anything else that kills it, or
//! panics, or does not end, is a finding.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, setrlimit};
use tollgate_sandbox::frames::{InterpreterLimits, ProgramErrorKind};
use tollgate_sandbox::limits::Limits;
use tollgate_sandbox::source;
use tollgate_worker::program;

use crate::rehearsal::{Ran, with_globals};
use grammar::Dice;

mod grammar;
mod mutation;

const FENCE: InterpreterLimits = InterpreterLimits {
    steps: 2000,
    heap_bytes: 4 << 20,
    depth: 20,
    calls: 8,
    output_bytes: 4 << 10,
};
const MEMORY: u64 = 512 << 20;
const STACK: usize = 32 << 20;
/// No program of so few steps takes longer.
const HANGS: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };
/// Before a child's first outcome and after its last: its output may have more around them.
const BEGIN: u8 = 1;
const END: u8 = 2;

/// How often each thing happened, and what must not.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) outcomes: BTreeMap<&'static str, u64>,
    pub(crate) findings: Vec<String>,
}

/// The program of that number.
pub(crate) fn source(number: u64) -> String {
    let mut dice = Dice::new(number);
    let program = grammar::program(&mut dice);
    match dice.below(3) {
        0 => mutation::mutate(&program, &mut dice),
        _ => program,
    }
}

/// The child's whole life: programs from `first` on, one letter for each on its output.
pub(crate) fn child(first: u64, count: u64) {
    let most = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    setrlimit(Resource::As, most).expect("it can be lowered");
    std::panic::set_hook(Box::new(|_| {}));
    let run = move || {
        let globals = program::globals();
        let mut output = std::io::stdout().lock();
        output.write_all(&[BEGIN]).expect("the parent reads");
        for number in first..first + count {
            let source = source(number);
            let letter = match source::check(&source, &Limits::default()) {
                Err(_) => b'r',
                Ok(()) => {
                    let run = || with_globals(&source, FENCE, &globals);
                    catch_unwind(AssertUnwindSafe(run)).map_or(b'P', |ran| letter(&ran))
                }
            };
            output.write_all(&[letter]).and_then(|()| output.flush()).expect("the parent reads");
        }
        output.write_all(&[END]).and_then(|()| output.flush()).expect("the parent reads");
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread");
    thread.join().expect("the child's own code is right");
}

fn letter(ran: &Ran) -> u8 {
    match &ran.end {
        Some(Ok(_)) => b'd',
        Some(Err(failed)) if failed.message.starts_with("the interpreter cannot run") => b'p',
        Some(Err(failed)) => match failed.kind {
            ProgramErrorKind::Syntax => b's',
            ProgramErrorKind::Runtime => b'e',
            ProgramErrorKind::Tool => b't',
            ProgramErrorKind::Steps => b'n',
            ProgramErrorKind::Memory => b'm',
            ProgramErrorKind::Depth => b'x',
            ProgramErrorKind::Calls => b'c',
            ProgramErrorKind::Output => b'o',
            ProgramErrorKind::Time => b'?',
        },
        None => b'?',
    }
}

fn word(letter: u8) -> &'static str {
    match letter {
        b'r' => "refused before a run",
        b'd' => "done",
        b's' => "syntax",
        b'e' => "runtime",
        b't' => "tool",
        b'n' => "steps",
        b'm' => "memory",
        b'x' => "depth",
        b'c' => "calls",
        b'o' => "output",
        b'p' => "panic of the interpreter, told",
        _ => "panic",
    }
}

/// Runs `count` programs from `first` on. `start` makes a child that calls [`child`].
pub(crate) fn campaign(first: u64, count: u64, start: &dyn Fn(u64, u64) -> Command) -> Tally {
    let mut tally = Tally::default();
    let mut next = first;
    let end = first + count;
    while next < end {
        let mut command = start(next, end - next);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a child starts");
        let (letters, ended) = listen(&mut child);
        for letter in &letters {
            *tally.outcomes.entry(word(*letter)).or_default() += 1;
            if matches!(*letter, b'P' | b'p' | b'?') {
                tally.findings.push(format!("{next}: {}", word(*letter)));
            }
            next += 1;
        }
        if !matches!(ended, Ended::Well) {
            let why = death(&mut child, &ended);
            *tally.outcomes.entry(why).or_default() += 1;
            if !why.starts_with("wall") {
                tally.findings.push(format!("{next}: {why}"));
            }
            next += 1;
        }
    }
    tally
}

enum Ended {
    Well,
    Died,
    Hung,
}

fn listen(child: &mut Child) -> (Vec<u8>, Ended) {
    let mut output = child.stdout.take().expect("it is piped");
    let mut letters = Vec::new();
    let mut buffer = [0; 4096];
    let mut begun = false;
    loop {
        let Some(read) = read(&mut output, &mut buffer) else {
            child.kill().expect("it can be killed");
            return (letters, Ended::Hung);
        };
        if read == 0 {
            return (letters, Ended::Died);
        }
        for byte in &buffer[..read] {
            match *byte {
                BEGIN => begun = true,
                END => {
                    drop(output);
                    child.wait().expect("it ends");
                    return (letters, Ended::Well);
                }
                letter if begun => letters.push(letter),
                _ => {}
            }
        }
    }
}

/// Nothing if there was nothing to read for long.
fn read(output: &mut ChildStdout, buffer: &mut [u8]) -> Option<usize> {
    let ready = {
        let mut ends = [PollFd::new(&*output, PollFlags::IN)];
        poll(&mut ends, Some(&HANGS)).expect("it can be waited for")
    };
    (ready > 0).then(|| output.read(buffer).expect("it can be read"))
}

fn death(child: &mut Child, ended: &Ended) -> &'static str {
    child.wait().expect("it ends");
    let mut words = Vec::new();
    let _ = child.stderr.take().expect("it is piped").read_to_end(&mut words);
    let words = String::from_utf8_lossy(&words);
    match ended {
        Ended::Hung => "hung",
        _ if words.contains("memory allocation of") => "wall: memory",
        _ if words.contains("overflowed its stack") => "wall: stack",
        _ => "died",
    }
}
