//! The worker: confines itself, reads one program, runs it, exits. Started by the gateway only, as
//! `tollgate-worker [MEMORY_BYTES [CPU_SECONDS]]`.

use std::error::Error;
use std::io;
use std::process::ExitCode;
use std::sync::mpsc::{self, SyncSender};
use std::thread::Builder;

use rustix::event::{PollFd, PollFlags, poll};
use tollgate_sandbox::frames::{HostMessage, VERSION, WorkerMessage};
use tollgate_worker::confine::{self, KernelLimits};
use tollgate_worker::pipe::FramePipe;
use tollgate_worker::program;
use tollgate_worker::watchdog::{self, ProgressClock};

/// Deep enough that the interpreter's own limits are reached first, where it has any.
const STACK: usize = 32 << 20;
const SMALL_STACK: usize = 64 << 10;

type WorkerResult = Result<(), Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use io::Write as _;
            // The gateway reads it, if it is still there.
            let _ = writeln!(io::stderr(), "tollgate-worker: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> WorkerResult {
    confine::begin(walls()?)?;
    // A thread that is still starting would be killed by the filter.
    let (tell, started) = mpsc::sync_channel(2);
    let (begin, programs) = mpsc::sync_channel(1);
    let tell_too = tell.clone();
    let watch_input = move || {
        let _ = tell.send(());
        end_with_input();
    };
    let watch_program = move || {
        let _ = tell_too.send(());
        watchdog::watch(&programs);
    };
    Builder::new().stack_size(SMALL_STACK).spawn(watch_input)?;
    Builder::new().stack_size(SMALL_STACK).spawn(watch_program)?;
    for _ in 0..2 {
        started.recv()?;
    }
    let one_program = move || one_program(&begin);
    let program = Builder::new().name("program".to_owned()).stack_size(STACK).spawn(one_program)?;
    program.join().unwrap_or_else(|_| Err("it crashed".into()))
}

fn walls() -> Result<KernelLimits, Box<dyn Error + Send + Sync>> {
    let mut walls = KernelLimits::default();
    let mut given = std::env::args().skip(1);
    if let Some(memory) = given.next() {
        walls.memory_bytes = memory.parse()?;
    }
    if let Some(seconds) = given.next() {
        walls.cpu_seconds = seconds.parse()?;
    }
    Ok(walls)
}

/// The program's progress is watched while it runs.
fn one_program(begin: &SyncSender<ProgressClock>) -> WorkerResult {
    let globals = program::globals();
    let progress = ProgressClock::prepare();
    confine::finish()?;
    let mut pipe = FramePipe::new(Box::new(io::stdin()), Box::new(io::stdout()));
    pipe.say(&WorkerMessage::Ready { version: VERSION })?;
    let order = match pipe.hear() {
        Ok(order) => order,
        // EOF: the worker was not needed.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    match serde_json::from_slice(&order)? {
        HostMessage::Run(job) => {
            begin.send(progress.clone())?;
            Ok(program::run(pipe, &job, &globals, &progress)?)
        }
        HostMessage::Answers(_) => Err("answers came before a program".into()),
    }
}

/// A program that only computes would not notice that the gateway is gone.
#[expect(clippy::exit, reason = "the program's thread cannot be ended in another way")]
fn end_with_input() {
    let stdin = io::stdin();
    let mut ends = [PollFd::new(&stdin, PollFlags::empty())];
    while poll(&mut ends, None).is_err_and(|error| error == rustix::io::Errno::INTR) {}
    std::process::exit(0);
}
