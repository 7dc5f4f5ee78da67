//! Entry point of this crate: runs a program with the calls it may make, and returns its outcome.
//! Whatever the program does, it ends, and its process with it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::clock;
use crate::host::HostCalls;
use crate::pool::WorkerPool;
pub use crate::program::{
    BrokenWorkerError, ProgramOutcome, SandboxProgram, SandboxUnavailableError,
};
use crate::run::{ProgramRun, RunEnd};
use crate::run_slots::RunSlots;
use crate::source;
use crate::stopwatch::Stopwatch;
use crate::worker::WorkerLaunch;

/// A cheap handle. When the last one is dropped, idle workers are stopped.
#[derive(Clone)]
pub struct ProgramSandbox {
    pool: Arc<WorkerPool>,
    seats: Arc<RunSlots>,
}

/// Settings for all programs of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    /// The executable `tollgate-worker`.
    pub worker: PathBuf,
    /// Idle workers kept ready, once the first one was needed.
    pub spare: usize,
    /// Concurrent programs; others wait for a slot. Four times as many may be queued, and as many
    /// again may have released their slot, each with its process, while they wait for a person.
    pub together: usize,
    /// Maximum processes with a program, with or without a slot: each may use its memory.
    pub processes: usize,
    /// Per process, enforced by the kernel.
    pub memory_bytes: u64,
    /// CPU time. The wall-clock time of a run is enforced by the gateway; this limit is for a
    /// worker whose gateway is gone.
    pub cpu: Duration,
}

impl ProgramSandbox {
    /// Starts nothing yet.
    pub fn new(settings: SandboxSettings) -> Self {
        let launch = WorkerLaunch {
            program: settings.worker,
            memory_bytes: settings.memory_bytes,
            cpu: settings.cpu,
        };
        Self {
            pool: Arc::new(WorkerPool::new(launch, settings.spare)),
            seats: Arc::new(RunSlots::new(settings.together, settings.processes)),
        }
    }

    /// Makes sure that a worker is ready, or returns what is wrong with workers.
    pub async fn warm(&self) -> Result<(), BrokenWorkerError> {
        self.pool.warm().await
    }

    /// Runs a program to its end. Dropping the future kills the program at once.
    pub async fn run(
        &self,
        program: &SandboxProgram<'_>,
        host: &dyn HostCalls,
    ) -> Result<ProgramOutcome, SandboxUnavailableError> {
        let began = clock::now();
        let time = Stopwatch::start();
        if let Err(failed) = source::check(program.source, program.limits) {
            return Ok(ProgramOutcome::not_run(failed));
        }
        let within = |patience| {
            let until = program.until.map(Instant::from_std);
            until.map_or(began + patience, |until| until.min(began + patience))
        };
        let limit = program.limits.time;
        // A program that had to wait longer would hardly have time to finish.
        let slot = self.seats.take(program.owner, within(limit / 2)).await?;
        let mut run = ProgramRun::new(program, host, slot, time)?;
        let mut end = run.on(self.pool.take(within(limit)).await?, self.pool.wait_closed()).await;
        // An idle worker may die just before it is used: retry once.
        if let RunEnd::NotTaken = end {
            end = run.on(self.pool.take(within(limit)).await?, self.pool.wait_closed()).await;
        }
        run.into_outcome(end, clock::now() - began)
    }

    /// Stops everything: idle workers and running programs. No more programs are accepted.
    pub fn close(&self) {
        self.seats.close();
        self.pool.close();
    }
}

impl fmt::Debug for ProgramSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").finish_non_exhaustive()
    }
}
