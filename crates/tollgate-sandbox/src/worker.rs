//! One worker process: started with a clean environment in its own process group, and killed with
//! its descendants on drop. The pool starts it, a run talks to it. Knows pipes and signals, not
//! programs.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::frame_io::{self, FrameRead};
use crate::frames::{VERSION, WorkerMessage};
use crate::program::BrokenWorkerError;

/// Timeout until it is ready; the machine may be busy.
const START: Duration = Duration::from_secs(20);
/// How long a process may take to exit after it closed its output.
const LEAVE: Duration = Duration::from_secs(1);
/// How long to wait for the rest of its stderr.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// Bytes kept of the end of its stderr.
const MAX_STDERR_BYTES: usize = 4 << 10;

/// How workers are started.
#[derive(Debug, Clone)]
pub(crate) struct WorkerLaunch {
    pub(crate) program: PathBuf,
    pub(crate) memory_bytes: u64,
    pub(crate) cpu: Duration,
}

pub(crate) struct WorkerProcess {
    child: Child,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: BufReader<ChildStdout>,
    pub(crate) stderr: StderrTail,
}

impl WorkerProcess {
    /// Waits until it reports that it is ready.
    pub(crate) async fn start(launch: &WorkerLaunch) -> Result<Self, BrokenWorkerError> {
        let mut worker = Self::spawn(launch).map_err(|error| launch.not_spawned(&error))?;
        let mut frame = Vec::new();
        // Not cancel-safe, but a worker that is late is discarded anyway.
        let greeting = tokio::time::timeout(START, async {
            tokio::select! {
                got = frame_io::read(&mut worker.stdout, &mut frame) => got,
                never = worker.stderr.follow() => match never {},
            }
        });
        match greeting.await {
            Ok(Ok(FrameRead::Frame)) => {}
            Ok(Ok(FrameRead::End)) => {
                let (status, last_words) = worker.wait_for_exit().await;
                return Err(launch.not_ready(status, &last_words));
            }
            Ok(Err(error)) => {
                return Err(launch.broken_worker_error(format!("is not a worker: {error}")));
            }
            Err(_) => {
                return Err(launch.broken_worker_error(format!("was not ready within {START:?}")));
            }
        }
        match serde_json::from_slice(&frame) {
            Ok(WorkerMessage::Ready { version: VERSION }) => Ok(worker),
            Ok(WorkerMessage::Ready { version }) => {
                let why = format!("has protocol version {version}, but this gateway has {VERSION}");
                Err(launch.broken_worker_error(why))
            }
            Ok(_) | Err(_) => {
                Err(launch
                    .broken_worker_error("is not a worker: it did not say `ready`".to_owned()))
            }
        }
    }

    fn spawn(launch: &WorkerLaunch) -> io::Result<Self> {
        let seconds = launch.cpu.as_secs().saturating_add(1);
        let mut child = Command::new(&launch.program)
            .args([launch.memory_bytes.to_string(), seconds.to_string()])
            .env_clear()
            // Set because the worker requires it; otherwise it would re-execute itself and start
            // later.
            .env("MALLOC_ARENA_MAX", "1")
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdin = child.stdin.take().expect("stdin is piped");
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let stderr = child.stderr.take().expect("stderr is piped");
        Ok(Self { child, stdin, stdout, stderr: StderrTail::of(stderr) })
    }

    /// Whether it is still alive.
    pub(crate) fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The exit status of a process that closed its output, and the end of its stderr. `None`: it
    /// did not exit by itself.
    pub(crate) async fn wait_for_exit(mut self) -> (Option<ExitStatus>, String) {
        let status = tokio::time::timeout(LEAVE, self.child.wait()).await.ok().and_then(Result::ok);
        let _ = tokio::time::timeout(LAST_WORDS, self.stderr.drain()).await;
        (status, self.stderr.text())
    }
}

impl Drop for WorkerProcess {
    /// Tokio kills and reaps the process itself; this kills its descendants, unless it exited by
    /// itself.
    fn drop(&mut self) {
        // Without an id it was already reaped, and the pid may be reused.
        let id = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        if let Some(group) = id {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl fmt::Debug for WorkerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("id", &self.child.id()).finish_non_exhaustive()
    }
}

/// The end of a worker's stderr. It has to be read, or the worker blocks.
pub(crate) struct StderrTail {
    from: ChildStderr,
    tail: Vec<u8>,
}

/// The output of a future that never completes.
pub(crate) enum Never {}

impl StderrTail {
    fn of(from: ChildStderr) -> Self {
        Self { from, tail: Vec::new() }
    }

    /// Reads as long as it is polled. Cancel-safe.
    pub(crate) async fn follow(&mut self) -> Never {
        self.drain().await;
        std::future::pending().await
    }

    async fn drain(&mut self) {
        let mut piece = [0; 1024];
        while let Ok(read @ 1..) = self.from.read(&mut piece).await {
            self.tail.extend_from_slice(&piece[..read]);
            if self.tail.len() > 2 * MAX_STDERR_BYTES {
                self.tail.drain(..self.tail.len() - MAX_STDERR_BYTES);
            }
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.tail).into_owned()
    }
}

impl WorkerLaunch {
    fn not_spawned(&self, error: &io::Error) -> BrokenWorkerError {
        match error.kind() {
            io::ErrorKind::NotFound => self.broken_worker_error("is not there".to_owned()),
            io::ErrorKind::PermissionDenied => {
                self.broken_worker_error("may not be executed".to_owned())
            }
            _ => self.broken_worker_error(format!("cannot be started: {error}")),
        }
    }

    fn not_ready(&self, status: Option<ExitStatus>, last_words: &str) -> BrokenWorkerError {
        let mut why = "ended before it was ready".to_owned();
        if let Some(status) = status {
            why.push_str(&format!(" ({status})"));
        }
        let text = last_words.lines().map(str::trim).find(|line| !line.is_empty());
        if let Some(text) = text {
            why.push_str(": ");
            why.extend(text.chars().take(300));
        }
        self.broken_worker_error(why)
    }

    fn broken_worker_error(&self, why: String) -> BrokenWorkerError {
        BrokenWorkerError { worker: self.program.clone(), why }
    }
}
