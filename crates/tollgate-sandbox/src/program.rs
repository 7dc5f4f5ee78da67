//! Inputs and outputs of the sandbox.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::frames::ProgramError;
use crate::limits::Limits;

#[derive(Debug, Clone, Copy)]
pub struct SandboxProgram<'a> {
    pub source: &'a str,
    /// [`Names`](crate::frames::Names) as JSON, encoded once for many runs.
    pub names: &'a RawValue,
    pub limits: &'a Limits,
    /// Whose it is: an owner gets half of the slots. `None`: one that needs no share.
    pub owner: Option<&'a str>,
    /// The caller's deadline, besides the limits.
    pub until: Option<std::time::Instant>,
}

/// The outcome of a program.
#[derive(Debug)]
pub struct ProgramOutcome {
    /// In order, up to where the program stopped.
    pub prints: String,
    /// Number of calls it made.
    pub calls: u32,
    /// Interpreter steps; 0 unless it ran to its end.
    pub steps: u64,
    /// Wall-clock time, including time spent waiting for people.
    pub took: Duration,
    /// The global `result`, if it set one.
    pub result: Result<Option<Box<RawValue>>, ProgramError>,
}

/// The program was not run, for reasons outside of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxUnavailableError {
    #[error(transparent)]
    Broken(#[from] BrokenWorkerError),
    #[error("{together} programs are running and the queue is full; try again later")]
    Busy { together: usize },
    #[error("this key runs {together} programs, as many as it may; try again later")]
    OwnerBusy { together: usize },
    #[error("no worker was ready in time: the machine is busy; try again later")]
    NotReady,
    #[error("two workers died before they received the program; try again later")]
    NotTaken,
    #[error("programs are no longer run: the gateway is shutting down")]
    Shut,
    #[error("the list of tools for the program is too large: {0}")]
    TooManyNames(String),
}

impl SandboxUnavailableError {
    /// Suggested retry when the sandbox is busy.
    pub const RETRY_AFTER: Duration = Duration::from_secs(1);
}

/// Workers cannot be used at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot run programs: `{}` {why}; build it with `make build` or `cargo install --path \
     crates/tollgate-worker`",
    worker.display()
)]
pub struct BrokenWorkerError {
    pub worker: PathBuf,
    pub why: String,
}

impl ProgramOutcome {
    /// The outcome of a program that was never run.
    pub(crate) fn not_run(failed: ProgramError) -> Self {
        let took = Duration::ZERO;
        Self { prints: String::new(), calls: 0, steps: 0, took, result: Err(failed) }
    }
}
