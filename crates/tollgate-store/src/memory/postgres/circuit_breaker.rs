//! Circuit breaker for connecting to PostgreSQL: never more often within a second than there are
//! places, and after a failure one at a time, with pauses that grow.
//!
//! Asked by whoever needs a connection. Pure: time is an argument.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The first pause; it doubles with every failure.
const FIRST: Duration = Duration::from_millis(100);
/// Short enough to be back within seconds.
const MAX_PAUSE: Duration = Duration::from_secs(1);
const WINDOW: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct ConnectBreaker {
    places: usize,
    /// When it was tried within the last second, oldest first.
    tried: VecDeque<Instant>,
    trouble: Option<OpenCircuit>,
}

#[derive(Debug)]
struct OpenCircuit {
    why: String,
    pause: Duration,
    until: Instant,
    /// Somebody finds out whether it is over.
    probing: bool,
}

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConnectDecision {
    Connect,
    /// Too often lately: ask again after this.
    Wait(Duration),
    /// It would fail again, as it did.
    Refused(String),
}

impl ConnectBreaker {
    pub(super) fn new(places: usize) -> Self {
        Self { places, tried: VecDeque::new(), trouble: None }
    }

    /// Who is told to connect says how it ended.
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

    /// What was wrong when it was last tried.
    pub(super) fn why(&self) -> Option<String> {
        self.trouble.as_ref().map(|trouble| trouble.why.clone())
    }

    pub(super) fn record_success(&mut self) {
        self.trouble = None;
    }

    pub(super) fn record_failure(&mut self, now: Instant, why: String) {
        let pause = match &self.trouble {
            // Others failed at the same moment.
            Some(trouble) if !trouble.probing => trouble.pause,
            Some(trouble) => (trouble.pause * 2).min(MAX_PAUSE),
            None => FIRST,
        };
        self.trouble = Some(OpenCircuit { why, pause, until: now + pause, probing: false });
    }

    /// Who tried gave up before it ended.
    pub(super) fn record_abandoned(&mut self, now: Instant) {
        if let Some(trouble) = &mut self.trouble {
            trouble.probing = false;
            trouble.until = now + trouble.pause;
        }
    }
}

#[cfg(test)]
mod tests;
