//! When to stop asking a server that only fails: closed, open, half open.
//! Asked by whoever sends calls to a server. Knows neither clocks nor servers: time is an argument.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Failures in a row that open the breaker.
pub const IN_A_ROW: u32 = 5;
/// At least this many outcomes within [`WINDOW`] before their ratio counts.
pub const ENOUGH: usize = 20;
pub const WINDOW: Duration = Duration::from_secs(10);
/// How long it stays open at first; doubled by every failed probe, up to [`LONGEST_REST`].
pub const FIRST_REST: Duration = Duration::from_secs(1);
pub const LONGEST_REST: Duration = Duration::from_secs(30);

/// Outcomes remembered for the ratio; more than a window of calls to one server needs.
const REMEMBERED: usize = 1024;

#[derive(Debug)]
pub struct Breaker {
    phase: Phase,
    in_a_row: u32,
    recent: Recent,
    rest: Duration,
}

/// The outcomes within [`WINDOW`]. Invariant: `failed` of them failed.
#[derive(Debug, Default)]
struct Recent {
    /// Oldest first.
    outcomes: VecDeque<(Instant, Outcome)>,
    failed: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Closed,
    Open {
        until: Instant,
    },
    /// One probe is on its way.
    HalfOpen,
}

/// Leave to send one call. Give it back with [`Breaker::record`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Ordinary,
    /// The one call that finds out whether the server is back.
    Probe,
}

/// The breaker is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    pub retry_after: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The server answered, be it with an error of its own.
    Answered,
    Failed,
    /// The caller gave up first: says nothing about the server.
    Abandoned,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Closed,
    Open,
    HalfOpen,
}

impl Default for Breaker {
    fn default() -> Self {
        Self { phase: Phase::Closed, in_a_row: 0, recent: Recent::default(), rest: FIRST_REST }
    }
}

impl Breaker {
    pub fn admit(&mut self, now: Instant) -> Result<Admission, Refused> {
        match self.phase {
            Phase::Closed => Ok(Admission::Ordinary),
            Phase::Open { until } if now < until => Err(Refused { retry_after: until - now }),
            Phase::Open { .. } => {
                self.phase = Phase::HalfOpen;
                Ok(Admission::Probe)
            }
            Phase::HalfOpen => Err(Refused { retry_after: FIRST_REST }),
        }
    }

    pub fn record(&mut self, now: Instant, admission: Admission, outcome: Outcome) {
        match (admission, outcome) {
            (Admission::Probe, Outcome::Answered) => *self = Self::default(),
            (Admission::Probe, Outcome::Failed) => {
                self.rest = (self.rest * 2).min(LONGEST_REST);
                self.open(now);
            }
            // Nothing was learned: the next caller probes.
            (Admission::Probe, Outcome::Abandoned) => self.phase = Phase::Open { until: now },
            (Admission::Ordinary, Outcome::Abandoned) => {}
            (Admission::Ordinary, outcome) => self.count(now, outcome),
        }
    }

    pub fn standing(&self) -> Standing {
        match self.phase {
            Phase::Closed => Standing::Closed,
            Phase::Open { .. } => Standing::Open,
            Phase::HalfOpen => Standing::HalfOpen,
        }
    }

    fn count(&mut self, now: Instant, outcome: Outcome) {
        self.in_a_row = if outcome == Outcome::Failed { self.in_a_row + 1 } else { 0 };
        self.recent.add(now, outcome);
        // Calls sent before it opened come back later; they change nothing any more.
        if self.phase == Phase::Closed && (self.in_a_row >= IN_A_ROW || self.recent.mostly_failed())
        {
            self.open(now);
        }
    }

    fn open(&mut self, now: Instant) {
        self.phase = Phase::Open { until: now + self.rest };
        self.recent = Recent::default();
        self.in_a_row = 0;
    }
}

impl Recent {
    fn add(&mut self, now: Instant, outcome: Outcome) {
        while self.outcomes.front().is_some_and(|(at, _)| now.duration_since(*at) > WINDOW)
            || self.outcomes.len() >= REMEMBERED
        {
            if let Some((_, Outcome::Failed)) = self.outcomes.pop_front() {
                self.failed -= 1;
            }
        }
        self.outcomes.push_back((now, outcome));
        self.failed += usize::from(outcome == Outcome::Failed);
    }

    fn mostly_failed(&self) -> bool {
        self.outcomes.len() >= ENOUGH && self.failed * 2 >= self.outcomes.len()
    }
}

#[cfg(test)]
mod tests;
