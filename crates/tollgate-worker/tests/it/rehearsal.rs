//! A gateway in memory: gives a program its tools, answers its calls at once, and keeps what it
//! said. For tests and the fuzzer.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::rc::Rc;

use serde_json::value::RawValue;
use starlark::environment::Globals;
use tollgate_sandbox::frames::{
    Answer, HostMessage, InterpreterLimits, ProgramCall, ProgramError, ProgramErrorKind,
    ProgramJob, ProgramResult, WorkerMessage,
};
use tollgate_worker::pipe::FramePipe;
use tollgate_worker::program;
use tollgate_worker::watchdog::ProgressClock;

/// `echo` does what its tool is called: gives back what it got, the value, or the text as JSON.
pub(crate) const NAMES: &str = r#"[
    ["github", ["get_issue", "list_issues", "close_issue"]],
    ["slack", ["post"]],
    ["echo", ["all", "value", "json", "fail"]]
]"#;
const TOOLS: [&str; 8] = [
    "github.get_issue",
    "github.list_issues",
    "github.close_issue",
    "slack.post",
    "echo.all",
    "echo.value",
    "echo.json",
    "echo.fail",
];

pub(crate) const FENCE: InterpreterLimits = InterpreterLimits {
    steps: 1_000_000,
    heap_bytes: 64 << 20,
    depth: 64,
    calls: 50,
    output_bytes: 64 << 10,
};

const STACK: usize = 32 << 20;

/// What a program said, and how it ended.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    /// Prints, and a line for each call.
    pub(crate) output: String,
    pub(crate) end: Option<Result<ProgramResult, ProgramError>>,
}

impl Ran {
    /// As text: what it said, then `= result` or `! kind line: message`.
    pub(crate) fn transcript(&self) -> String {
        let mut text = self.output.clone();
        match &self.end {
            Some(Ok(done)) => {
                let result = done.result.as_ref().map_or("", |result| result.get());
                let _ = write!(text, "= {result}");
            }
            Some(Err(failed)) => {
                let kind = format!("{:?}", failed.kind).to_lowercase();
                let line = failed.line.map_or_else(String::new, |line| format!(" {line}"));
                let _ = write!(text, "! {kind}{line}: {}", failed.message);
            }
            None => text.push_str("? it said nothing of its end"),
        }
        text
    }

    pub(crate) fn failed(&self) -> &ProgramError {
        self.end.as_ref().and_then(|end| end.as_ref().err()).expect("it did not fail")
    }

    pub(crate) fn kind(&self) -> Option<ProgramErrorKind> {
        Some(self.end.as_ref()?.as_ref().err()?.kind)
    }
}

pub(crate) fn rehearse(source: &str, fence: InterpreterLimits) -> Ran {
    let run = || with_globals(source, fence, &program::globals());
    // As much stack as in a worker.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run);
        thread.expect("a thread").join().expect("nothing panics")
    })
}

/// Making globals takes longer than a small program.
pub(crate) fn with_globals(source: &str, fence: InterpreterLimits, globals: &Globals) -> Ran {
    let names = RawValue::from_string(NAMES.to_owned()).expect("it is JSON");
    let job = ProgramJob { source: Cow::Borrowed(source), names: Cow::Owned(names), fence };
    let gateway = Gateway::default();
    let pipe = FramePipe::new(Box::new(gateway.clone()), Box::new(gateway.clone()));
    let progress = ProgressClock::default();
    program::run(pipe, &job, globals, &progress).expect("memory takes what is written");
    gateway.0.take().ran
}

/// Fails with both texts if the program does not tell just this.
#[track_caller]
pub(crate) fn check(source: &str, text: &str) {
    assert_eq!(rehearse(source, FENCE).transcript(), text, "{source}");
}

/// Fails if the program's hint has not these words.
#[track_caller]
pub(crate) fn check_hint(source: &str, words: &str) {
    let ran = rehearse(source, FENCE);
    let hint = ran.failed().hint.clone().unwrap_or_default();
    assert!(hint.contains(words), "{source}\n{}\n{hint}", ran.transcript());
}

#[derive(Clone, Default)]
struct Gateway(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    /// Not yet a whole frame.
    buffer: Vec<u8>,
    answers: VecDeque<u8>,
    ran: Ran,
}

impl Write for Gateway {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.borrow_mut();
        state.buffer.extend_from_slice(bytes);
        while let Some(length) = state.buffer.first_chunk::<4>() {
            let end = 4 + u32::from_le_bytes(*length) as usize;
            if state.buffer.len() < end {
                break;
            }
            let frame: Vec<u8> = state.buffer.drain(..end).skip(4).collect();
            state.take(serde_json::from_slice(&frame).expect("it is a word"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Gateway {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().answers.read(into)
    }
}

impl State {
    fn take(&mut self, word: WorkerMessage) {
        assert!(self.ran.end.is_none(), "its last word was not the last");
        match word {
            WorkerMessage::Ready { .. } => panic!("only a process says it is ready"),
            WorkerMessage::Print(text) => self.ran.output.push_str(&text),
            WorkerMessage::Calls(calls) => self.call(&calls),
            WorkerMessage::Done(done) => self.ran.end = Some(Ok(done)),
            WorkerMessage::Failed(failed) => self.ran.end = Some(Err(failed)),
        }
    }

    fn call(&mut self, calls: &[ProgramCall]) {
        for ProgramCall { tool, positional, named, line } in calls {
            let tool = TOOLS[*tool as usize];
            let positional: Vec<_> = positional.iter().map(|it| it.get()).collect();
            let positional = positional.join(",");
            let _ = writeln!(self.ran.output, "{line}> {tool} [{positional}] {named}");
        }
        let answers = calls.iter().map(answer).collect();
        let frame = serde_json::to_vec(&HostMessage::Answers(answers)).expect("it is JSON");
        let length = u32::try_from(frame.len()).expect("it is short");
        self.answers.extend(length.to_le_bytes());
        self.answers.extend(frame);
    }
}

fn answer(call: &ProgramCall) -> Answer {
    let raw = |text: String| Answer::Data(RawValue::from_string(text).expect("it is JSON"));
    let first = || -> Box<RawValue> {
        let named: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(call.named.get()).expect("it is an object");
        let first = named.values().next().map(ToString::to_string);
        let first = first.or_else(|| Some(call.positional.first()?.get().to_owned()));
        RawValue::from_string(first.unwrap_or_else(|| "null".to_owned())).expect("it is JSON")
    };
    match TOOLS[call.tool as usize] {
        "echo.all" => {
            let positional: Vec<_> = call.positional.iter().map(|it| it.get()).collect();
            raw(format!("{{\"positional\":[{}],\"named\":{}}}", positional.join(","), call.named))
        }
        "echo.value" => Answer::Data(first()),
        "echo.json" => match serde_json::from_str::<String>(first().get()) {
            Ok(text) if serde_json::from_str::<&RawValue>(&text).is_ok() => raw(text),
            _ => raw("null".to_owned()),
        },
        "echo.fail" => Answer::Failure {
            status: "tool_failed".to_owned(),
            message: "no luck".to_owned(),
            retryable: true,
        },
        _ => raw("{\"ok\":true}".to_owned()),
    }
}
