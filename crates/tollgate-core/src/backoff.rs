//! Exponential backoff with jitter, the cooldown of a server that failed: how long to wait before
//! it is started again, and when to call it failed. Time and chance are arguments.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Restarts are counted within this time, and a server up for so long starts anew.
pub const HEALTHY: Duration = Duration::from_secs(60);
/// A server that failed for good is tried this often, for ever.
pub const SLOW_RETRY: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackoffPolicy {
    /// The first pause; it doubles with every failure.
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
    /// Restarts granted lately, oldest first.
    granted: VecDeque<Instant>,
    exhausted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackoffPause {
    /// Start again after this.
    Brief(Duration),
    /// Too many restarts: the server has failed; the next try is a slow one.
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

    /// The server is down, after having been up for `up` (zero: it never came up).
    /// `chance` is random, from 0 up to 1.
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

    /// Forgets all failures: the server was healthy, or a person asked for a fresh start.
    pub fn reset(&mut self) {
        *self = Self::new(self.policy);
    }
}

/// Up to a quarter less, so that servers which fell together do not rise together.
fn apply_jitter(pause: Duration, chance: f64) -> Duration {
    pause.mul_f64(1.0 - chance.clamp(0.0, 1.0) / 4.0)
}

#[cfg(test)]
mod tests;
