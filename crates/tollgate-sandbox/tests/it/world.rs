//! A sandbox around the real worker, with two servers that a program can call.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tollgate_sandbox::frames::{Answer, ProgramCall};
use tollgate_sandbox::host::HostCalls;
use tollgate_sandbox::limits::Limits;
use tollgate_sandbox::sandbox::{ProgramOutcome, ProgramSandbox, SandboxProgram, SandboxSettings};
use tollgate_sandbox::stopwatch::Stopwatch;

const NAMES: &str = r#"[["dice",["roll","lose"]],["notes",["add"]]]"#;

/// Long enough for a busy machine.
const TIME: Duration = Duration::from_secs(20);

pub(crate) struct World {
    pub(crate) sandbox: ProgramSandbox,
    pub(crate) tools: Tools,
    names: Box<RawValue>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::of(tollgate_testkit::worker())
    }

    pub(crate) fn of(worker: PathBuf) -> Self {
        let sandbox = ProgramSandbox::new(SandboxSettings {
            worker,
            spare: 1,
            together: 8,
            processes: 40,
            memory_bytes: 256 << 20,
            cpu: Duration::from_secs(60),
        });
        let names = RawValue::from_string(NAMES.to_owned()).unwrap();
        Self { sandbox, tools: Tools::default(), names }
    }

    pub(crate) async fn run(&self, source: &str) -> ProgramOutcome {
        self.within(source, &Limits { time: TIME, ..Limits::default() }).await
    }

    pub(crate) async fn within(&self, source: &str, limits: &Limits) -> ProgramOutcome {
        // The start of a worker would count.
        self.sandbox.warm().await.unwrap();
        let program =
            SandboxProgram { source, names: &self.names, limits, owner: None, until: None };
        self.sandbox.run(&program, &self.tools).await.unwrap()
    }

    /// Prints and result, or prints, kind, line and message.
    pub(crate) async fn run_as_text(&self, source: &str) -> String {
        let ended = self.run(source).await;
        let mut text = ended.prints;
        match ended.result {
            Ok(Some(result)) => text.push_str(result.get()),
            Ok(None) => text.push_str("nothing"),
            Err(failed) => {
                let line = failed.line.map_or("-".to_owned(), |line| line.to_string());
                let _ = write!(text, "{:?} at {line}: {}", failed.kind, failed.message);
            }
        }
        text
    }
}

/// `dice.roll` gives what it was given, `dice.lose` fails, and `notes.add` says how it was called.
#[derive(Default)]
pub(crate) struct Tools {
    pub(crate) called: Notify,
}

#[async_trait]
impl HostCalls for Tools {
    async fn call(&self, calls: Vec<ProgramCall>, _time: &Stopwatch) -> Vec<Answer> {
        self.called.notify_one();
        calls.iter().map(answer).collect()
    }
}

fn answer(call: &ProgramCall) -> Answer {
    match call.tool {
        0 => Answer::Data(call.named.clone()),
        1 => Answer::Failure {
            status: "failed".to_owned(),
            message: "the dice rolled under the table".to_owned(),
            retryable: true,
        },
        2 => {
            let positional: Vec<&str> = call.positional.iter().map(|it| it.get()).collect();
            let text =
                format!(r#"{{"positional":[{}],"line":{}}}"#, positional.join(","), call.line);
            Answer::Data(RawValue::from_string(text).unwrap())
        }
        other => panic!("no tool has the number {other}"),
    }
}
