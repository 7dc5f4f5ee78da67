//! The worker pool: idle workers, ready for programs.
//!
//! Nothing is started before the first program; from then on a task keeps some workers ready.
//! Workers that fail to start, or die while idle, are restarted with a backoff. Knows processes,
//! not programs.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::clock;
use crate::program::{BrokenWorkerError, SandboxUnavailableError};
use crate::worker::{WorkerLaunch, WorkerProcess};

/// Pause after the first failed start; doubles with each further one.
const FIRST_REST: Duration = Duration::from_millis(250);
const MAX_START_DELAY: Duration = Duration::from_secs(30);
/// Interval of liveness checks of idle workers.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

pub(crate) struct WorkerPool {
    launch: Arc<WorkerLaunch>,
    spare: usize,
    state: Mutex<WorkerPoolState>,
    /// Notified when a worker was taken.
    taken: Arc<Notify>,
    door: watch::Sender<PoolLifecycle>,
}

#[derive(Default)]
struct WorkerPoolState {
    ready: VecDeque<WorkerProcess>,
    refill: Option<AbortHandle>,
    /// After failed starts, no worker is started for a while.
    rest: Option<(StartPause, BrokenWorkerError)>,
    /// After deaths of idle workers, none is kept ready for a while. A program that needs one still
    /// gets one.
    mourning: Option<StartPause>,
}

#[derive(Debug, Clone, Copy)]
struct StartPause {
    failures: u32,
    until: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PoolLifecycle {
    Open,
    Shut,
}

impl WorkerPool {
    pub(crate) fn new(launch: WorkerLaunch, spare: usize) -> Self {
        Self {
            launch: Arc::new(launch),
            spare,
            state: Mutex::default(),
            taken: Arc::new(Notify::new()),
            door: watch::Sender::new(PoolLifecycle::Open),
        }
    }

    /// An idle worker, or a new one.
    pub(crate) async fn take(
        self: &Arc<Self>,
        deadline: Instant,
    ) -> Result<WorkerProcess, SandboxUnavailableError> {
        tokio::select! {
            () = self.wait_closed() => Err(SandboxUnavailableError::Shut),
            () = tokio::time::sleep_until(deadline) => Err(SandboxUnavailableError::NotReady),
            worker = self.worker() => Ok(worker?),
        }
    }

    async fn worker(self: &Arc<Self>) -> Result<WorkerProcess, BrokenWorkerError> {
        self.keep();
        match self.ready() {
            Some(worker) => {
                self.taken.notify_one();
                Ok(worker)
            }
            None => self.start().await,
        }
    }

    /// Makes sure that a worker is ready, or returns why none can be started.
    pub(crate) async fn warm(self: &Arc<Self>) -> Result<(), BrokenWorkerError> {
        let worker = match self.ready() {
            Some(worker) => worker,
            None => self.start().await?,
        };
        self.put(worker);
        self.keep();
        Ok(())
    }

    /// Stops all idle workers; no more programs are accepted.
    pub(crate) fn close(&self) {
        self.door.send_replace(PoolLifecycle::Shut);
        let mut state = self.state.lock();
        state.ready.clear();
        if let Some(handle) = state.refill.take() {
            handle.abort();
        }
    }

    /// Returns when the pool was closed.
    pub(crate) async fn wait_closed(&self) {
        let mut door = self.door.subscribe();
        // The sender lives as long as `self` does.
        let _ = door.wait_for(|door| *door == PoolLifecycle::Shut).await;
    }

    /// The worker that has been idle longest and is still alive.
    fn ready(&self) -> Option<WorkerProcess> {
        let mut state = self.state.lock();
        state.remove_dead();
        let worker = state.ready.pop_front()?;
        state.mourning = None;
        Some(worker)
    }

    async fn start(&self) -> Result<WorkerProcess, BrokenWorkerError> {
        let rest = self.state.lock().rest.clone();
        if let Some((_, why)) = rest.filter(|(rest, _)| clock::now() < rest.until) {
            return Err(why);
        }
        let started = WorkerProcess::start(&self.launch).await;
        self.note(started.as_ref().err());
        started
    }

    fn note(&self, failure: Option<&BrokenWorkerError>) {
        let mut state = self.state.lock();
        state.rest = failure.map(|why| {
            let before = state.rest.as_ref().map(|(rest, _)| *rest);
            (StartPause::after(before), why.clone())
        });
    }

    fn put(&self, worker: WorkerProcess) {
        // Under the lock, so that a pool that is being closed keeps none.
        let mut state = self.state.lock();
        if *self.door.borrow() == PoolLifecycle::Open && state.ready.len() < self.spare.max(1) {
            state.ready.push_back(worker);
        }
    }

    /// Starts the task that keeps workers ready, unless it is running.
    fn keep(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if state.refill.is_none() && self.spare > 0 && *self.door.borrow() == PoolLifecycle::Open {
            let launch = Arc::clone(&self.launch);
            let taken = Arc::clone(&self.taken);
            state.refill = Some(spawn(keep_workers_ready(Arc::downgrade(self), launch, taken)));
        }
    }

    /// How many workers are missing, and the earliest time to start them.
    fn missing(&self) -> MissingWorkers {
        let mut state = self.state.lock();
        state.remove_dead();
        let rests = [
            state.rest.as_ref().map(|(rest, _)| rest.until),
            state.mourning.map(|rest| rest.until),
        ];
        match rests.into_iter().flatten().max() {
            _ if state.ready.len() >= self.spare => MissingWorkers::None,
            Some(until) if clock::now() < until => MissingWorkers::NotBefore(until),
            _ => MissingWorkers::Some,
        }
    }
}

impl WorkerPoolState {
    /// Removes workers that died while idle.
    fn remove_dead(&mut self) {
        let before = self.ready.len();
        self.ready.retain_mut(WorkerProcess::lives);
        let died = before - self.ready.len();
        if died > 0 {
            tracing::warn!(died, "idle workers died");
            self.mourning = Some(StartPause::after(self.mourning));
        }
    }
}

impl StartPause {
    /// The pause after one more failure.
    fn after(before: Option<Self>) -> Self {
        let failures = before.map_or(0, |rest| rest.failures).saturating_add(1);
        let pause = FIRST_REST.saturating_mul(1 << failures.min(16).saturating_sub(1));
        Self { failures, until: clock::now() + pause.min(MAX_START_DELAY) }
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        if let Some(handle) = self.state.get_mut().refill.take() {
            handle.abort();
        }
    }
}

enum MissingWorkers {
    None,
    Some,
    NotBefore(Instant),
}

/// Keeps workers ready. Holds a strong reference to the pool only briefly, so that the pool can be
/// dropped.
async fn keep_workers_ready(pool: Weak<WorkerPool>, launch: Arc<WorkerLaunch>, taken: Arc<Notify>) {
    loop {
        let Some(missing) = pool.upgrade().map(|pool| pool.missing()) else { return };
        let look_again = match missing {
            MissingWorkers::None => clock::now() + CHECK_INTERVAL,
            MissingWorkers::NotBefore(moment) => moment,
            MissingWorkers::Some => {
                let started = WorkerProcess::start(&launch).await;
                let Some(pool) = pool.upgrade() else { return };
                pool.note(started.as_ref().err());
                match started {
                    Ok(worker) => pool.put(worker),
                    Err(broken) => tracing::warn!(%broken, "no worker could be started"),
                }
                continue;
            }
        };
        let _ = tokio::time::timeout_at(look_again, taken.notified()).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "the pool is its owner, and ends it")]
fn spawn(refill: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
    tokio::spawn(refill).abort_handle()
}

#[cfg(test)]
mod tests;
