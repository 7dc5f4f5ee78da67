//! Circuit breaker for connecting to PostgreSQL: limits connection attempts per second to the pool
//! size, and after a failure allows one at a time, with backoff.
//!
//! Used when a connection is needed. Pure: time is an argument.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The first delay; doubles with every failure.
const FIRST: Duration = Duration::from_millis(100);
/// Short enough to reconnect within seconds.
const MAX_PAUSE: Duration = Duration::from_secs(1);
const WINDOW: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct ConnectBreaker {
    places: usize,
    /// Attempts within the last second, oldest first.
    tried: VecDeque<Instant>,
    trouble: Option<OpenCircuit>,
}

#[derive(Debug)]
struct OpenCircuit {
    why: String,
    pause: Duration,
    until: Instant,
    /// A probe is in flight.
    probing: bool,
}

/// The decision for one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConnectDecision {
    Connect,
    /// Too many attempts: ask again after this.
    Wait(Duration),
    /// The circuit is open, with the last error.
    Refused(String),
}

impl ConnectBreaker {
    pub(super) fn new(places: usize) -> Self {
        Self { places, tried: VecDeque::new(), trouble: None }
    }

    /// A caller that is told to connect must report the result.
    pub(super) fn ask(&mut self, now: Instant) -> ConnectDecision {
        if let Some(trouble) = &self.trouble
            && (trouble.probing || now < trouble.until)
        {
            return ConnectDecision::Refused(trouble.why.clone());
        }
        while self.tried.front().is_some_and(|at| now.duration_since(*at) >= WINDOW) {
            self.tried.pop_front();
        }
        if let Some(oldest) = self.tried.front().filter(|_| self.tried.len() >= self.places) {
            return ConnectDecision::Wait(WINDOW - now.duration_since(*oldest));
        }
        self.tried.push_back(now);
        if let Some(trouble) = &mut self.trouble {
            trouble.probing = true;
        }
        ConnectDecision::Connect
    }

    /// The last error.
    pub(super) fn why(&self) -> Option<String> {
        self.trouble.as_ref().map(|trouble| trouble.why.clone())
    }

    pub(super) fn record_success(&mut self) {
        self.trouble = None;
    }

    pub(super) fn record_failure(&mut self, now: Instant, why: String) {
        let pause = match &self.trouble {
            // Other attempts failed at the same moment.
            Some(trouble) if !trouble.probing => trouble.pause,
            Some(trouble) => (trouble.pause * 2).min(MAX_PAUSE),
            None => FIRST,
        };
        self.trouble = Some(OpenCircuit { why, pause, until: now + pause, probing: false });
    }

    /// The attempt was abandoned.
    pub(super) fn record_abandoned(&mut self, now: Instant) {
        if let Some(trouble) = &mut self.trouble {
            trouble.probing = false;
            trouble.until = now + trouble.pause;
        }
    }
}

#[cfg(test)]
mod tests;
