//! Exponential backoff with jitter for restarts of a failed server, and the limit after which it
//! counts as failed. Time and randomness are arguments.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Restarts are counted within this time; a server that was up this long starts with a clean
/// record.
pub const HEALTHY: Duration = Duration::from_secs(60);
/// Retry interval of a server that has failed permanently; retried forever.
pub const SLOW_RETRY: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackoffPolicy {
    /// The first delay; doubles with every failure.
    pub first: Duration,
    pub longest: Duration,
    /// Restarts allowed within [`HEALTHY`]; `None`: any number.
    pub max_restarts: Option<u32>,
}

#[derive(Debug)]
pub struct Backoff {
    policy: BackoffPolicy,
    /// Failures since the server was last healthy.
    streak: u32,
    /// Recent restarts, oldest first.
    granted: VecDeque<Instant>,
    exhausted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackoffPause {
    /// Restart after this delay.
    Brief(Duration),
    /// Too many restarts: the server counts as failed and is retried slowly.
    Exhausted(Duration),
}

impl BackoffPause {
    pub fn duration(self) -> Duration {
        match self {
            Self::Brief(it) | Self::Exhausted(it) => it,
        }
    }
}

impl Backoff {
    pub fn new(policy: BackoffPolicy) -> Self {
        Self { policy, streak: 0, granted: VecDeque::new(), exhausted: false }
    }

    /// Records that the server went down after being up for `up` (zero: it never came up). `chance`
    /// is random, in 0..1.
    pub fn record_failure(&mut self, now: Instant, up: Duration, chance: f64) -> BackoffPause {
        if up >= HEALTHY {
            self.reset();
        }
        while self.granted.front().is_some_and(|at| now.duration_since(*at) > HEALTHY) {
            self.granted.pop_front();
        }
        let full = self.policy.max_restarts.is_some_and(|max| self.granted.len() >= max as usize);
        if full || self.exhausted {
            self.exhausted = true;
            return BackoffPause::Exhausted(SLOW_RETRY);
        }
        if self.policy.max_restarts.is_some() {
            self.granted.push_back(now);
        }
        let doubled = self.policy.first.saturating_mul(1 << self.streak.min(20));
        self.streak += 1;
        BackoffPause::Brief(apply_jitter(doubled.min(self.policy.longest), chance))
    }

    /// Clears all failures: the server was healthy, or an operator requested a restart.
    pub fn reset(&mut self) {
        *self = Self::new(self.policy);
    }
}

/// Subtracts up to a quarter, so that servers that failed together do not restart together.
fn apply_jitter(pause: Duration, chance: f64) -> Duration {
    pause.mul_f64(1.0 - chance.clamp(0.0, 1.0) / 4.0)
}

#[cfg(test)]
mod tests;
