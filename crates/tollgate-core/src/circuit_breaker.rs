//! Circuit breaker (closed, open, half open): stops calls to a server that keeps failing. Used
//! before each call to a server. Pure: time is an argument.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Consecutive failures that open the breaker.
pub const CONSECUTIVE_FAILURES: u32 = 5;
/// Minimum number of outcomes within [`WINDOW`] before the failure ratio is used.
pub const MIN_OUTCOMES: usize = 20;
pub const WINDOW: Duration = Duration::from_secs(10);
/// How long it stays open at first; doubled by every failed probe, up to [`MAX_OPEN_PERIOD`].
pub const FIRST_OPEN_PERIOD: Duration = Duration::from_secs(1);
pub const MAX_OPEN_PERIOD: Duration = Duration::from_secs(30);

/// Maximum outcomes kept for the ratio; more than one server needs in a window.
const MAX_REMEMBERED_OUTCOMES: usize = 1024;

#[derive(Debug)]
pub struct CircuitBreaker {
    phase: BreakerPhase,
    in_a_row: u32,
    recent: RecentOutcomes,
    rest: Duration,
}

/// The outcomes within [`WINDOW`]. Invariant: `failed` of them failed.
#[derive(Debug, Default)]
struct RecentOutcomes {
    /// Oldest first.
    outcomes: VecDeque<(Instant, Outcome)>,
    failed: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BreakerPhase {
    Closed,
    Open {
        until: Instant,
    },
    /// One probe is in flight.
    HalfOpen,
}

/// A permit to send one call. Return it with [`CircuitBreaker::record`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerPermit {
    Ordinary,
    /// The single call that tests whether the server has recovered.
    Probe,
}

/// The breaker is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    pub retry_after: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The server answered, even if with an error.
    Answered,
    Failed,
    /// The caller gave up first: no evidence about the server.
    Abandoned,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    Closed,
    Open,
    HalfOpen,
}

impl BreakerState {
    pub const ALL: [Self; 3] = [Self::Closed, Self::Open, Self::HalfOpen];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

impl Default for CircuitBreaker {
    fn default() -> Self {
        Self {
            phase: BreakerPhase::Closed,
            in_a_row: 0,
            recent: RecentOutcomes::default(),
            rest: FIRST_OPEN_PERIOD,
        }
    }
}

impl CircuitBreaker {
    pub fn admit(&mut self, now: Instant) -> Result<BreakerPermit, Refused> {
        match self.phase {
            BreakerPhase::Closed => Ok(BreakerPermit::Ordinary),
            BreakerPhase::Open { until } if now < until => {
                Err(Refused { retry_after: until - now })
            }
            BreakerPhase::Open { .. } => {
                self.phase = BreakerPhase::HalfOpen;
                Ok(BreakerPermit::Probe)
            }
            BreakerPhase::HalfOpen => Err(Refused { retry_after: FIRST_OPEN_PERIOD }),
        }
    }

    pub fn record(&mut self, now: Instant, admission: BreakerPermit, outcome: Outcome) {
        match (admission, outcome) {
            (BreakerPermit::Probe, Outcome::Answered) => *self = Self::default(),
            (BreakerPermit::Probe, Outcome::Failed) => {
                self.rest = (self.rest * 2).min(MAX_OPEN_PERIOD);
                self.open(now);
            }
            // No evidence: the next caller probes.
            (BreakerPermit::Probe, Outcome::Abandoned) => {
                self.phase = BreakerPhase::Open { until: now }
            }
            (BreakerPermit::Ordinary, Outcome::Abandoned) => {}
            (BreakerPermit::Ordinary, outcome) => self.count(now, outcome),
        }
    }

    /// How long [`CircuitBreaker::admit`] would refuse. `None`: it would admit.
    pub fn refusal(&self, now: Instant) -> Option<Duration> {
        match self.phase {
            BreakerPhase::Closed => None,
            BreakerPhase::Open { until } => {
                until.checked_duration_since(now).filter(|it| !it.is_zero())
            }
            BreakerPhase::HalfOpen => Some(FIRST_OPEN_PERIOD),
        }
    }

    pub fn state(&self) -> BreakerState {
        match self.phase {
            BreakerPhase::Closed => BreakerState::Closed,
            BreakerPhase::Open { .. } => BreakerState::Open,
            BreakerPhase::HalfOpen => BreakerState::HalfOpen,
        }
    }

    fn count(&mut self, now: Instant, outcome: Outcome) {
        self.in_a_row = if outcome == Outcome::Failed { self.in_a_row + 1 } else { 0 };
        self.recent.add(now, outcome);
        // Late results of calls sent before the breaker opened are ignored.
        if self.phase == BreakerPhase::Closed
            && (self.in_a_row >= CONSECUTIVE_FAILURES || self.recent.mostly_failed())
        {
            self.open(now);
        }
    }

    fn open(&mut self, now: Instant) {
        self.phase = BreakerPhase::Open { until: now + self.rest };
        self.recent = RecentOutcomes::default();
        self.in_a_row = 0;
    }
}

impl RecentOutcomes {
    fn add(&mut self, now: Instant, outcome: Outcome) {
        while self.outcomes.front().is_some_and(|(at, _)| now.duration_since(*at) > WINDOW)
            || self.outcomes.len() >= MAX_REMEMBERED_OUTCOMES
        {
            if let Some((_, Outcome::Failed)) = self.outcomes.pop_front() {
                self.failed -= 1;
            }
        }
        self.outcomes.push_back((now, outcome));
        self.failed += usize::from(outcome == Outcome::Failed);
    }

    fn mostly_failed(&self) -> bool {
        self.outcomes.len() >= MIN_OUTCOMES && self.failed * 2 >= self.outcomes.len()
    }
}

#[cfg(test)]
mod tests;
