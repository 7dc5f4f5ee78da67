//! Lets calls through to one connection: so many at a time, none while the breaker is open.
//! Every call passes here once, and what became of it is recorded when its pass is given back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use tollgate_core::breaker::{self, Admission, Breaker, Outcome, Refused, Standing};

use super::mailbox::Mailbox;
use crate::backend::Failure;
use crate::clock::Clock;

/// Calls that a server works on at the same time.
const IN_FLIGHT: usize = 64;
/// Calls that wait for one of those to end; more are refused.
const WAITING: usize = 128;
/// Callers in a row who gave up without any answer, before we ask whether the server lives.
const SILENT_IN_A_ROW: u32 = 3;
/// Who gives up sooner changed their mind; that says nothing about the server.
const SOONEST_SILENCE: Duration = Duration::from_millis(200);

pub(super) struct Turnstile {
    clock: Arc<dyn Clock>,
    mailbox: Arc<Mailbox>,
    slots: Semaphore,
    waiting: AtomicUsize,
    breaker: Mutex<Breaker>,
    silent: AtomicU32,
    calls: AtomicUsize,
}

impl Turnstile {
    pub(super) fn new(clock: Arc<dyn Clock>, mailbox: Arc<Mailbox>) -> Self {
        Self {
            clock,
            mailbox,
            slots: Semaphore::new(IN_FLIGHT),
            waiting: AtomicUsize::new(0),
            breaker: Mutex::default(),
            silent: AtomicU32::new(0),
            calls: AtomicUsize::new(0),
        }
    }

    /// Waits for a slot if there is room to wait. Dropping the future gives up the place.
    pub(super) async fn enter(&self) -> Result<Pass<'_>, Failure> {
        let admitted = self.breaker.lock().admit(self.clock.now());
        let admission = admitted.map_err(resting)?;
        let mut pass = Pass {
            turnstile: self,
            admission,
            permit: None,
            since: self.clock.now(),
            outcome: Outcome::Abandoned,
        };
        pass.permit = Some(self.slot().await?);
        if admission == Admission::Ordinary && self.breaker() == Standing::Open {
            // It opened while we waited; the next to ask learns when to come back.
            return Err(resting(Refused { retry_after: breaker::FIRST_REST }));
        }
        pass.since = self.clock.now();
        self.calls.fetch_add(1, Ordering::Relaxed);
        Ok(pass)
    }

    pub(super) fn breaker(&self) -> Standing {
        self.breaker.lock().standing()
    }

    /// Calls let through since the last time somebody asked, and those still running.
    pub(super) fn used(&self) -> usize {
        let running = IN_FLIGHT - self.slots.available_permits();
        self.calls.swap(0, Ordering::Relaxed) + running
    }

    async fn slot(&self) -> Result<SemaphorePermit<'_>, Failure> {
        if let Ok(permit) = self.slots.try_acquire() {
            return Ok(permit);
        }
        let place = Place::take(&self.waiting).ok_or_else(|| Failure::Resting {
            reason: format!("{IN_FLIGHT} calls to the server are running and {WAITING} waiting"),
            retry_after: Duration::from_secs(1),
        })?;
        let permit = self.slots.acquire().await.expect("the semaphore is never closed");
        drop(place);
        Ok(permit)
    }

    fn record(&self, admission: Admission, outcome: Outcome) {
        let mut breaker = self.breaker.lock();
        let before = breaker.standing();
        breaker.record(self.clock.now(), admission, outcome);
        if breaker.standing() != before || admission == Admission::Probe {
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

fn resting(refused: Refused) -> Failure {
    Failure::Resting {
        reason: "too many calls to the server failed lately".to_owned(),
        retry_after: refused.retry_after,
    }
}

/// Leave to send one call. Dropped without a word, the caller gave up.
pub(super) struct Pass<'a> {
    turnstile: &'a Turnstile,
    admission: Admission,
    permit: Option<SemaphorePermit<'a>>,
    since: Instant,
    outcome: Outcome,
}

impl Pass<'_> {
    pub(super) fn give_back(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let turnstile = self.turnstile;
        turnstile.record(self.admission, self.outcome);
        let waited = turnstile.clock.now().duration_since(self.since);
        match self.outcome {
            Outcome::Answered => turnstile.silent.store(0, Ordering::Relaxed),
            Outcome::Abandoned if self.permit.is_some() && waited >= SOONEST_SILENCE => {
                turnstile.silence();
            }
            Outcome::Abandoned | Outcome::Failed => {}
        }
    }
}

/// One of the places to wait.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize) -> Option<Self> {
        let place = Self(waiting);
        (waiting.fetch_add(1, Ordering::Relaxed) < WAITING).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
