//! Lets calls through to one connection: so many at a time, none while the breaker is open.
//! Every call passes here once, and what became of it is recorded when its pass is given back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tollgate_core::breaker::{self, Admission, Breaker, Outcome, Refused, Standing};

use super::mailbox::Mailbox;
use crate::backend::{Failure, WaitsFor};
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
    /// Calls that wait for a person; they have given their slot to others.
    asking: AtomicUsize,
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
            asking: AtomicUsize::new(0),
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
            seat: Seat::None,
            since: self.clock.now(),
            outcome: Outcome::Abandoned,
        };
        pass.seat = Seat::Slot(self.slot().await?);
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

    /// Whether any call runs or waits.
    pub(super) fn is_used(&self) -> bool {
        self.slots.available_permits() < IN_FLIGHT
            || self.asking.load(Ordering::Relaxed) > 0
            || self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Calls let through since the last time somebody asked, and those still running.
    pub(super) fn used(&self) -> usize {
        let busy = IN_FLIGHT - self.slots.available_permits();
        let running = busy + self.asking.load(Ordering::Relaxed);
        self.calls.swap(0, Ordering::Relaxed) + running
    }

    async fn slot(&self) -> Result<SemaphorePermit<'_>, Failure> {
        if let Ok(permit) = self.slots.try_acquire() {
            return Ok(permit);
        }
        let place = Counted::below(WAITING, &self.waiting).ok_or_else(|| Failure::Resting {
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
    seat: Seat<'a>,
    since: Instant,
    outcome: Outcome,
}

/// What a call takes up at the turnstile.
enum Seat<'a> {
    None,
    Slot(#[expect(dead_code, reason = "held")] SemaphorePermit<'a>),
    Asking(#[expect(dead_code, reason = "held")] Counted<'a>),
}

impl<'a> Pass<'a> {
    /// Lends the slot to others while a person is waited for. Goes on for ever.
    pub(super) async fn lend(&mut self, mut waits: watch::Receiver<WaitsFor>) {
        let turnstile: &'a Turnstile = self.turnstile;
        loop {
            let now = *waits.borrow_and_update();
            match (now, &self.seat) {
                (WaitsFor::Person, Seat::Slot(_)) => {
                    self.seat = Seat::Asking(Counted::new(&turnstile.asking));
                }
                (WaitsFor::Server, Seat::Asking(_)) => {
                    // The server works on it already: it goes on, and is counted when it can be.
                    let slot = turnstile.slots.acquire().await;
                    self.seat = Seat::Slot(slot.expect("the semaphore is never closed"));
                    self.since = turnstile.clock.now();
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

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let turnstile = self.turnstile;
        turnstile.record(self.admission, self.outcome);
        let waited = turnstile.clock.now().duration_since(self.since);
        match self.outcome {
            Outcome::Answered => turnstile.silent.store(0, Ordering::Relaxed),
            Outcome::Abandoned
                if matches!(self.seat, Seat::Slot(_)) && waited >= SOONEST_SILENCE =>
            {
                turnstile.silence();
            }
            Outcome::Abandoned | Outcome::Failed => {}
        }
    }
}

/// One more, for as long as it is held.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }

    fn below(limit: usize, count: &'a AtomicUsize) -> Option<Self> {
        let counted = Self(count);
        (count.fetch_add(1, Ordering::Relaxed) < limit).then_some(counted)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
