//! What goes into the sandbox and what comes out of it.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::frames::ProgramError;
use crate::limits::Limits;

#[derive(Debug, Clone, Copy)]
pub struct SandboxProgram<'a> {
    pub source: &'a str,
    /// [`Names`](crate::frames::Names) as JSON, made once for many runs.
    pub names: &'a RawValue,
    pub limits: &'a Limits,
    /// When nobody waits for the answer any more, whatever the limits say.
    pub until: Option<std::time::Instant>,
}

/// What became of a program.
#[derive(Debug)]
pub struct ProgramOutcome {
    /// As they came, up to where the program came.
    pub prints: String,
    /// How many calls it made.
    pub calls: u32,
    /// Of the interpreter; 0 unless it came to its end.
    pub steps: u64,
    /// On the wall, with the time in which people were waited for.
    pub took: Duration,
    /// The global `result`, if it set one.
    pub result: Result<Option<Box<RawValue>>, ProgramError>,
}

/// The program was not run; it is not to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxUnavailableError {
    #[error(transparent)]
    Broken(#[from] BrokenWorkerError),
    #[error("{together} programs are running and the queue is full; try again later")]
    Busy { together: usize },
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
    /// When there may be room for another program.
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
    /// Nothing of it ran.
    pub(crate) fn not_run(failed: ProgramError) -> Self {
        let took = Duration::ZERO;
        Self { prints: String::new(), calls: 0, steps: 0, took, result: Err(failed) }
    }
}
