//! Call limiter of one connection: concurrency limit, queue and circuit breaker. Every call takes a
//! permit here, and its outcome is recorded when the permit is released.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tollgate_core::circuit_breaker::{
    self, BreakerPermit, BreakerState, CircuitBreaker, Outcome, Refused,
};

use super::UpstreamLoad;
use super::mailbox::Mailbox;
use crate::backend::{BackendError, WaitsFor};
use crate::clock::Clock;
use crate::settings::ConcurrencySettings;

/// Consecutive calls that were abandoned without an answer, before the server is pinged.
const SILENT_IN_A_ROW: u32 = 3;
/// A caller that gives up sooner changed its mind; that says nothing about the server.
const SOONEST_SILENCE: Duration = Duration::from_millis(200);

pub(super) struct CallLimiter {
    clock: Arc<dyn Clock>,
    mailbox: Arc<Mailbox>,
    most: ConcurrencySettings,
    slots: Semaphore,
    waiting: AtomicUsize,
    /// Calls that wait for a person; their slots are released to others.
    asking: AtomicUsize,
    breaker: Mutex<CircuitBreaker>,
    silent: AtomicU32,
    calls: AtomicUsize,
    /// Median duration of calls, in nanoseconds; 0 if unknown.
    typical: AtomicU64,
}

impl CallLimiter {
    pub(super) fn new(
        clock: Arc<dyn Clock>,
        mailbox: Arc<Mailbox>,
        most: ConcurrencySettings,
    ) -> Self {
        Self {
            clock,
            mailbox,
            slots: Semaphore::new(most.concurrent),
            most,
            waiting: AtomicUsize::new(0),
            asking: AtomicUsize::new(0),
            breaker: Mutex::default(),
            silent: AtomicU32::new(0),
            calls: AtomicUsize::new(0),
            typical: AtomicU64::new(0),
        }
    }

    /// Waits for a slot if the queue has room and the deadline leaves time. Dropping the future
    /// leaves the queue.
    pub(super) async fn enter(&self, until: Option<Instant>) -> Result<Permit<'_>, BackendError> {
        let admitted = self.breaker.lock().admit(self.clock.now());
        let admission = admitted.map_err(resting_error)?;
        let mut pass = Permit {
            limiter: self,
            admission,
            slot: PermitSlot::None,
            since: self.clock.now(),
            outcome: Outcome::Abandoned,
        };
        pass.slot = PermitSlot::Slot(self.slot(until).await?);
        if admission == BreakerPermit::Ordinary && self.breaker() == BreakerState::Open {
            // The breaker opened while we waited; the next caller learns when to retry.
            return Err(resting_error(Refused { retry_after: circuit_breaker::FIRST_OPEN_PERIOD }));
        }
        pass.since = self.clock.now();
        self.calls.fetch_add(1, Ordering::Relaxed);
        Ok(pass)
    }

    pub(super) fn breaker(&self) -> BreakerState {
        self.breaker.lock().state()
    }

    /// Whether any call runs or waits.
    pub(super) fn is_used(&self) -> bool {
        self.slots.available_permits() < self.most.concurrent
            || self.asking.load(Ordering::Relaxed) > 0
            || self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Running calls, including those that wait for a person, and queued calls.
    pub(super) fn busy(&self) -> UpstreamLoad {
        let busy = self.most.concurrent.saturating_sub(self.slots.available_permits());
        UpstreamLoad {
            running: busy + self.asking.load(Ordering::Relaxed),
            waiting: self.waiting.load(Ordering::Relaxed),
        }
    }

    /// Calls admitted since the last query, plus those still running.
    pub(super) fn in_use(&self) -> usize {
        let busy = self.most.concurrent - self.slots.available_permits();
        let running = busy + self.asking.load(Ordering::Relaxed);
        self.calls.swap(0, Ordering::Relaxed) + running
    }

    async fn slot(&self, until: Option<Instant>) -> Result<SemaphorePermit<'_>, BackendError> {
        if let Ok(permit) = self.slots.try_acquire() {
            return Ok(permit);
        }
        let ConcurrencySettings { concurrent, queue } = self.most;
        let place =
            CountGuard::below(queue, &self.waiting).ok_or_else(|| BackendError::Resting {
                reason: format!("{concurrent} calls to the server are running and {queue} waiting"),
                retry_after: Duration::from_secs(1),
            })?;
        if let Some(until) = until {
            self.shed_if_too_late(until)?;
        }
        let permit = self.slots.acquire().await.expect("the semaphore is never closed");
        drop(place);
        Ok(permit)
    }

    /// Load shedding: fails if a newly queued call is not expected to end before its deadline.
    fn shed_if_too_late(&self, until: Instant) -> Result<(), BackendError> {
        let typical = Duration::from_nanos(self.typical.load(Ordering::Relaxed));
        // Includes this call.
        let waiting = self.waiting.load(Ordering::Relaxed);
        let share = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let wait = typical.saturating_mul(share(waiting)) / share(self.most.concurrent).max(1);
        let left = until.saturating_duration_since(self.clock.now());
        if wait + typical <= left {
            return Ok(());
        }
        let needs = (wait + typical).as_millis();
        let left = left.as_millis();
        let before = waiting.saturating_sub(1);
        Err(BackendError::Resting {
            reason: format!(
                "all its slots are taken and {before} calls are queued ahead of this one, which \
                 needs about {needs} ms but has {left} ms left"
            ),
            retry_after: wait.max(Duration::from_secs(1)),
        })
    }

    /// Moves towards the median; tolerates concurrent updates.
    fn learn(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).max(1);
        let known = self.typical.load(Ordering::Relaxed);
        let step = (known / 8).max(1);
        let next = match known {
            0 => took,
            known if took > known => known.saturating_add(step).min(took),
            known => known.saturating_sub(step).max(took),
        };
        self.typical.store(next, Ordering::Relaxed);
    }

    fn record(&self, admission: BreakerPermit, outcome: Outcome) {
        let mut breaker = self.breaker.lock();
        let before = breaker.state();
        breaker.record(self.clock.now(), admission, outcome);
        if breaker.state() != before || admission == BreakerPermit::Probe {
            self.mailbox.breaker_moved();
        }
        if outcome == Outcome::Failed {
            self.mailbox.doubt();
        }
    }

    fn silence(&self) {
        if self.silent.fetch_add(1, Ordering::Relaxed) + 1 >= SILENT_IN_A_ROW {
            self.silent.store(0, Ordering::Relaxed);
            self.mailbox.doubt();
        }
    }
}

fn resting_error(refused: Refused) -> BackendError {
    BackendError::Resting {
        reason: "too many recent calls to the server failed".to_owned(),
        retry_after: refused.retry_after,
    }
}

/// Permit to send one call. Dropped without an outcome, the caller has given up.
pub(super) struct Permit<'a> {
    limiter: &'a CallLimiter,
    admission: BreakerPermit,
    slot: PermitSlot<'a>,
    since: Instant,
    outcome: Outcome,
}

/// What a call occupies in the limiter.
enum PermitSlot<'a> {
    None,
    Slot(#[expect(dead_code, reason = "held")] SemaphorePermit<'a>),
    Asking(#[expect(dead_code, reason = "held")] CountGuard<'a>),
}

impl<'a> Permit<'a> {
    /// Releases the slot to others while a person is waited for. Never returns.
    pub(super) async fn lend(&mut self, mut waits: watch::Receiver<WaitsFor>) {
        let limiter: &'a CallLimiter = self.limiter;
        loop {
            let now = *waits.borrow_and_update();
            match (now, &self.slot) {
                (WaitsFor::Person, PermitSlot::Slot(_)) => {
                    self.slot = PermitSlot::Asking(CountGuard::new(&limiter.asking));
                }
                (WaitsFor::Server, PermitSlot::Asking(_)) => {
                    // The server is already working on it: the call continues, and takes a slot
                    // when there is one.
                    let slot = limiter.slots.acquire().await;
                    self.slot = PermitSlot::Slot(slot.expect("the semaphore is never closed"));
                    self.since = limiter.clock.now();
                }
                _ => {}
            }
            if waits.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    pub(super) fn give_back(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let limiter = self.limiter;
        limiter.record(self.admission, self.outcome);
        let waited = limiter.clock.now().duration_since(self.since);
        match self.outcome {
            Outcome::Answered => {
                limiter.silent.store(0, Ordering::Relaxed);
                limiter.learn(waited);
            }
            Outcome::Abandoned
                if matches!(self.slot, PermitSlot::Slot(_)) && waited >= SOONEST_SILENCE =>
            {
                limiter.silence();
            }
            Outcome::Abandoned | Outcome::Failed => {}
        }
    }
}

/// Increments a counter until it is dropped.
struct CountGuard<'a>(&'a AtomicUsize);

impl<'a> CountGuard<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }

    fn below(limit: usize, count: &'a AtomicUsize) -> Option<Self> {
        let counted = Self(count);
        (count.fetch_add(1, Ordering::Relaxed) < limit).then_some(counted)
    }
}

impl Drop for CountGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
