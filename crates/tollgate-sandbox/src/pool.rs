//! Workers that wait for programs. Nothing is started before it is wanted; from then on a task of the
//! pool's own keeps a few ready. A worker that cannot be started, or that dies while it waits, is not
//! tried again and again. Knows processes, not programs.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::clock;
use crate::program::{Broken, Unavailable};
use crate::worker::{Launch, Worker};

/// After the first failure to start; twice that after each other one.
const FIRST_REST: Duration = Duration::from_millis(250);
const LONGEST_REST: Duration = Duration::from_secs(30);
/// How often the ready ones are looked at.
const LOOK: Duration = Duration::from_secs(10);

pub(crate) struct Pool {
    launch: Arc<Launch>,
    spare: usize,
    state: Mutex<State>,
    /// Told when a worker was taken.
    taken: Arc<Notify>,
    door: watch::Sender<Door>,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Worker>,
    keeper: Option<AbortHandle>,
    /// After failures, workers are not started for a while.
    rest: Option<(Rest, Broken)>,
    /// After deaths while they waited, none is kept ready for a while. A program that needs one
    /// has it started all the same.
    mourning: Option<Rest>,
}

#[derive(Debug, Clone, Copy)]
struct Rest {
    failures: u32,
    until: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    Open,
    Shut,
}

impl Pool {
    pub(crate) fn new(launch: Launch, spare: usize) -> Self {
        Self {
            launch: Arc::new(launch),
            spare,
            state: Mutex::default(),
            taken: Arc::new(Notify::new()),
            door: watch::Sender::new(Door::Open),
        }
    }

    /// A ready worker, or a new one.
    pub(crate) async fn take(self: &Arc<Self>, deadline: Instant) -> Result<Worker, Unavailable> {
        tokio::select! {
            () = self.shut() => Err(Unavailable::Shut),
            () = tokio::time::sleep_until(deadline) => Err(Unavailable::NotReady),
            worker = self.worker() => Ok(worker?),
        }
    }

    async fn worker(self: &Arc<Self>) -> Result<Worker, Broken> {
        self.keep();
        match self.ready() {
            Some(worker) => {
                self.taken.notify_one();
                Ok(worker)
            }
            None => self.start().await,
        }
    }

    /// Has a worker ready, or says why there can be none.
    pub(crate) async fn warm(self: &Arc<Self>) -> Result<(), Broken> {
        let worker = match self.ready() {
            Some(worker) => worker,
            None => self.start().await?,
        };
        self.put(worker);
        self.keep();
        Ok(())
    }

    /// Ends every worker that waits, and takes no more programs.
    pub(crate) fn close(&self) {
        self.door.send_replace(Door::Shut);
        let mut state = self.state.lock();
        state.ready.clear();
        if let Some(keeper) = state.keeper.take() {
            keeper.abort();
        }
    }

    /// Ends when the pool was closed.
    pub(crate) async fn shut(&self) {
        let mut door = self.door.subscribe();
        // The sender lives as long as `self` does.
        let _ = door.wait_for(|door| *door == Door::Shut).await;
    }

    /// The one that waited longest and still lives.
    fn ready(&self) -> Option<Worker> {
        let mut state = self.state.lock();
        state.bury();
        let worker = state.ready.pop_front()?;
        state.mourning = None;
        Some(worker)
    }

    async fn start(&self) -> Result<Worker, Broken> {
        let rest = self.state.lock().rest.clone();
        if let Some((_, why)) = rest.filter(|(rest, _)| clock::now() < rest.until) {
            return Err(why);
        }
        let started = Worker::start(&self.launch).await;
        self.note(started.as_ref().err());
        started
    }

    fn note(&self, failure: Option<&Broken>) {
        let mut state = self.state.lock();
        state.rest = failure.map(|why| {
            let before = state.rest.as_ref().map(|(rest, _)| *rest);
            (Rest::after(before), why.clone())
        });
    }

    fn put(&self, worker: Worker) {
        // Under the lock, so that a pool which is being closed keeps none.
        let mut state = self.state.lock();
        if *self.door.borrow() == Door::Open && state.ready.len() < self.spare.max(1) {
            state.ready.push_back(worker);
        }
    }

    /// Begins to keep workers ready, unless that was begun.
    fn keep(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if state.keeper.is_none() && self.spare > 0 && *self.door.borrow() == Door::Open {
            let (launch, taken) = (Arc::clone(&self.launch), Arc::clone(&self.taken));
            state.keeper = Some(spawn(keeper(Arc::downgrade(self), launch, taken)));
        }
    }

    /// How many are missing, and not before when they may be started.
    fn missing(&self) -> Missing {
        let mut state = self.state.lock();
        state.bury();
        let rests = [
            state.rest.as_ref().map(|(rest, _)| rest.until),
            state.mourning.map(|rest| rest.until),
        ];
        match rests.into_iter().flatten().max() {
            _ if state.ready.len() >= self.spare => Missing::None,
            Some(until) if clock::now() < until => Missing::NotBefore(until),
            _ => Missing::Some,
        }
    }
}

impl State {
    /// Takes out those that died while they waited.
    fn bury(&mut self) {
        let before = self.ready.len();
        self.ready.retain_mut(Worker::lives);
        let died = before - self.ready.len();
        if died > 0 {
            tracing::warn!(died, "workers died while they waited for a program");
            self.mourning = Some(Rest::after(self.mourning));
        }
    }
}

impl Rest {
    /// After one more failure.
    fn after(before: Option<Self>) -> Self {
        let failures = before.map_or(0, |rest| rest.failures).saturating_add(1);
        let pause = FIRST_REST.saturating_mul(1 << failures.min(16).saturating_sub(1));
        Self { failures, until: clock::now() + pause.min(LONGEST_REST) }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let Some(keeper) = self.state.get_mut().keeper.take() {
            keeper.abort();
        }
    }
}

enum Missing {
    None,
    Some,
    NotBefore(Instant),
}

/// Keeps workers ready. Holds the pool only while it looks at it, so that it goes with its owner.
async fn keeper(pool: Weak<Pool>, launch: Arc<Launch>, taken: Arc<Notify>) {
    loop {
        let Some(missing) = pool.upgrade().map(|pool| pool.missing()) else { return };
        let look_again = match missing {
            Missing::None => clock::now() + LOOK,
            Missing::NotBefore(moment) => moment,
            Missing::Some => {
                let started = Worker::start(&launch).await;
                let Some(pool) = pool.upgrade() else { return };
                pool.note(started.as_ref().err());
                match started {
                    Ok(worker) => pool.put(worker),
                    Err(broken) => tracing::warn!(%broken, "no worker could be kept ready"),
                }
                continue;
            }
        };
        let _ = tokio::time::timeout_at(look_again, taken.notified()).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "the pool is its owner, and ends it")]
fn spawn(keeper: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
    tokio::spawn(keeper).abort_handle()
}

#[cfg(test)]
mod tests;
