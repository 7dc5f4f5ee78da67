//! The door of this crate: give it a program and what the program may call, and it comes back with
//! what became of it. Whatever the program does, it ends, and its process with it.

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

/// A cheap handle. When the last one is dropped, workers that wait for programs are ended.
#[derive(Clone)]
pub struct ProgramSandbox {
    pool: Arc<WorkerPool>,
    seats: Arc<RunSlots>,
}

/// Of all programs of one sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    /// The program `tollgate-worker`.
    pub worker: PathBuf,
    /// How many are kept ready, once the first one was wanted.
    pub spare: usize,
    /// How many programs run at a time; others wait for their turn. Four times as many may wait, and
    /// as many again may stand aside, each with its process, while a person is waited for.
    pub together: usize,
    /// Of one process: the kernel gives it no more.
    pub memory_bytes: u64,
    /// On the processor. The wall clock of a run is watched from here; this is for a worker that
    /// nobody watches any more.
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
            seats: Arc::new(RunSlots::new(settings.together)),
        }
    }

    /// Has a worker ready before it is wanted, or says what is wrong with workers.
    pub async fn warm(&self) -> Result<(), BrokenWorkerError> {
        self.pool.warm().await
    }

    /// Runs a program to its end. Dropping the future ends the program at once.
    pub async fn run(
        &self,
        program: &SandboxProgram<'_>,
        host: &dyn HostCalls,
    ) -> Result<ProgramOutcome, SandboxUnavailableError> {
        let (began, time) = (clock::now(), Stopwatch::start());
        if let Err(failed) = source::check(program.source, program.limits) {
            return Ok(ProgramOutcome::not_run(failed));
        }
        let within = |patience| {
            let until = program.until.map(Instant::from_std);
            until.map_or(began + patience, |until| until.min(began + patience))
        };
        let limit = program.limits.time;
        // Whoever had to wait for longer would hardly come to its end.
        let seat = self.seats.take(within(limit / 2)).await?;
        let mut run = ProgramRun::new(program, host, seat, time)?;
        let mut end = run.on(self.pool.take(within(limit)).await?, self.pool.wait_closed()).await;
        // A worker may die while it waits, and just before it is used: that costs one more try.
        if let RunEnd::NotTaken = end {
            end = run.on(self.pool.take(within(limit)).await?, self.pool.wait_closed()).await;
        }
        run.into_outcome(end, clock::now() - began)
    }

    /// Ends everything: workers that wait, programs that run. None is taken any more.
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
