//! Fake workers for tests: small scripts that speak the frame protocol, or violate it.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::value::RawValue;
use tempfile::TempDir;
use tokio::sync::Notify;

use crate::frames::{Answer, ProgramCall};
use crate::host::HostCalls;
use crate::limits::Limits;
use crate::program::{ProgramOutcome, SandboxProgram, SandboxUnavailableError};
use crate::sandbox::{ProgramSandbox, SandboxSettings};
use crate::stopwatch::Stopwatch;

/// Helpers for the scripts. `starts` counts the processes of this fake, including this one.
const WORDS: &str = r#"
import json, os, signal, struct, sys, time
def raw(data):
    sys.stdout.buffer.write(data); sys.stdout.buffer.flush()
def say(word):
    data = json.dumps(word).encode(); raw(struct.pack("<I", len(data)) + data)
def hear():
    size = struct.unpack("<I", sys.stdin.buffer.read(4))[0]
    return json.loads(sys.stdin.buffer.read(size))
def ready():
    say({"ready": {"version": 1}})
def call(tool=0):
    say({"calls": [{"tool": tool, "positional": [], "named": {}, "line": 1}]})
    return hear()["answers"][0]
def done(result=None):
    say({"done": {"result": result, "steps": 1}}); sys.exit(0)
def die(number):
    signal.signal(number, signal.SIG_DFL) if number != 9 else None
    os.kill(os.getpid(), number); time.sleep(60)
folder = os.path.dirname(os.path.abspath(sys.argv[0]))
with open(folder + "/started", "a") as file:
    file.write(str(os.getpid()) + "\n")
starts = sum(1 for line in open(folder + "/started"))
"#;

/// A worker that runs a script.
pub(crate) struct FakeWorker {
    folder: TempDir,
    pub(crate) program: PathBuf,
}

impl FakeWorker {
    /// The script may use [`WORDS`].
    pub(crate) fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The interpreter itself: the one in `PATH` may be a wrapper that needs an environment.
        let mut command = Command::new("python3");
        command.args(["-c", "import sys; print(sys.executable)"]);
        let python =
            command.output().expect("python3 is needed for this test: run `scripts/setup test`");
        let python = String::from_utf8(python.stdout).unwrap();
        let draft = folder.path().join("draft");
        std::fs::write(&draft, format!("#!{} -SE\n{WORDS}\n{script}\n", python.trim())).unwrap();
        let program = folder.path().join("tollgate-worker");
        // Written by another process: a file that is open for writing here, or in a child forked
        // meanwhile, cannot be executed (ETXTBSY).
        let words = ["-m", "755", draft.to_str().unwrap(), program.to_str().unwrap()];
        assert!(Command::new("install").args(words).status().unwrap().success());
        Self { folder, program }
    }

    /// The same after `ready()`, with the program in `job`.
    pub(crate) fn after_ready(script: &str) -> Self {
        Self::new(&format!("ready()\njob = hear()[\"run\"]\n{script}"))
    }

    /// Every process records its pid here as its first action.
    pub(crate) fn started_processes(&self) -> Vec<u32> {
        let lines = std::fs::read_to_string(self.folder.path().join("started"));
        lines.unwrap_or_default().lines().map(|line| line.parse().unwrap()).collect()
    }

    pub(crate) fn sandbox(&self) -> ProgramSandbox {
        ProgramSandbox::new(settings(self.program.clone()))
    }
}

pub(crate) fn settings(worker: PathBuf) -> SandboxSettings {
    let cpu = Duration::from_secs(60);
    let processes = usize::MAX;
    SandboxSettings { worker, spare: 0, together: 4, processes, memory_bytes: 256 << 20, cpu }
}

/// Answers every call with the tool's number.
pub(crate) struct NumberHost;

#[async_trait]
impl HostCalls for NumberHost {
    async fn call(&self, calls: Vec<ProgramCall>, _time: &Stopwatch) -> Vec<Answer> {
        calls.iter().map(|call| Answer::Data(number(call.tool))).collect()
    }
}

/// Answers once it is released.
#[derive(Default)]
pub(crate) struct GatedHost {
    pub(crate) called: Notify,
    pub(crate) go: Notify,
}

#[async_trait]
impl HostCalls for GatedHost {
    async fn call(&self, calls: Vec<ProgramCall>, time: &Stopwatch) -> Vec<Answer> {
        self.called.notify_one();
        self.go.notified().await;
        NumberHost.call(calls, time).await
    }
}

pub(crate) fn number(value: u32) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

/// Runs some program within `limits`.
pub(crate) async fn run(
    sandbox: &ProgramSandbox,
    limits: &Limits,
    host: &dyn HostCalls,
) -> Result<ProgramOutcome, SandboxUnavailableError> {
    let names = RawValue::from_string(r#"[["dice",["roll"]]]"#.to_owned()).unwrap();
    let program =
        SandboxProgram { source: "result = 1", names: &names, limits, owner: None, until: None };
    sandbox.run(&program, host).await
}

/// The outcome in one line: the result, or the error kind and message.
pub(crate) fn describe_outcome(ended: &ProgramOutcome) -> String {
    match &ended.result {
        Ok(Some(result)) => result.get().to_owned(),
        Ok(None) => "nothing".to_owned(),
        Err(failed) => format!("{:?}: {}", failed.kind, failed.message),
    }
}

/// Waits until none of these processes is left, not even as a zombie.
pub(crate) async fn wait_until_gone(processes: &[u32]) {
    let left = |id: &u32| std::fs::exists(format!("/proc/{id}")).unwrap();
    let patience = tokio::time::timeout(Duration::from_secs(20), async {
        while processes.iter().any(left) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    patience.await.expect("a process was left");
}
