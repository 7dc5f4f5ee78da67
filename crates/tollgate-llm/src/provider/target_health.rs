//! Health of one target: circuit breaker, rate-limit pause, latency, and counts of what became of
//! its requests. Shared by all handles of the model, and kept when the config is reloaded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_core::circuit_breaker::{BreakerPermit, BreakerState, CircuitBreaker, Outcome};
use tollgate_engine::clock::Clock;

use super::ask_error::{AskError, RetryTarget};
use crate::error::LlmErrorKind;

mod latency_estimate;

use latency_estimate::LatencyEstimate;

/// Pause of a rate-limited target whose provider does not say how long.
const UNSAID_RATE_LIMIT_PAUSE: Duration = Duration::from_secs(1);

/// Buckets of the time to first token, in milliseconds.
pub const FIRST_TOKEN_BUCKETS: [u64; 9] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000];

#[derive(Debug, Default)]
pub(super) struct TargetHealth(Mutex<HealthState>);

#[derive(Debug, Default)]
struct HealthState {
    breaker: CircuitBreaker,
    limited_until: Option<Instant>,
    latency: LatencyEstimate,
    /// Requests under way, streams until their end.
    running: u32,
    counts: TargetCounts,
    first_tokens: FirstTokenTimes,
}

/// Requests to a target since it is in the config, by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TargetCounts {
    /// It answered, or its stream began.
    pub answered: u64,
    /// It found fault with the request.
    pub rejected: u64,
    pub rate_limited: u64,
    pub failed: u64,
    /// A hedge was faster, or the client left.
    pub cancelled: u64,
    /// Streams that broke off, which count as answered as well.
    pub interrupted: u64,
    /// Requests beside a slow one at another target, and how many of them were faster.
    pub hedges: u64,
    pub hedges_won: u64,
}

/// Times to first token, as a cumulative histogram over [`FIRST_TOKEN_BUCKETS`].
#[derive(Debug, Clone, Copy, Default)]
pub struct FirstTokenTimes {
    pub up_to: [u64; FIRST_TOKEN_BUCKETS.len()],
    pub count: u64,
    pub sum: Duration,
}

/// State of a target at one time.
#[derive(Debug, Clone)]
pub struct TargetStatus {
    pub breaker: BreakerState,
    /// It is rate limited for this long.
    pub rate_limited_for: Option<Duration>,
    pub running: u32,
    /// Measured lately.
    pub first_token: Option<Duration>,
    pub tokens_per_second: Option<f64>,
    pub counts: TargetCounts,
    pub first_tokens: FirstTokenTimes,
}

/// A target, for people.
#[derive(Debug, Clone)]
pub struct TargetReport {
    pub provider: String,
    /// Name of the endpoint; `None` if the provider has only one.
    pub endpoint: Option<String>,
    /// The provider's name of the model; `None`: all that are not in the config.
    pub id: Option<String>,
    pub weight: u32,
    pub price: Option<u64>,
    pub status: TargetStatus,
}

/// Whether a target may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TargetAvailability {
    Ready,
    /// All its slots are taken; further requests queue.
    Full,
    /// Its circuit breaker is open.
    Broken {
        until: Instant,
    },
    /// Its provider said when to come back.
    RateLimited {
        until: Instant,
    },
}

/// What the choice of a target depends on.
pub(super) struct HealthFacts {
    pub(super) expected: Option<Duration>,
    pub(super) running: u32,
    /// `None`: it may be asked.
    pub(super) out: Option<TargetAvailability>,
}

impl TargetHealth {
    pub(super) fn facts(&self, now: Instant) -> HealthFacts {
        let state = self.0.lock();
        let limited = state.limited_until.filter(|until| *until > now);
        let limited = limited.map(|until| TargetAvailability::RateLimited { until });
        let broken = state.breaker.refusal(now);
        let broken = broken.map(|left| TargetAvailability::Broken { until: now + left });
        HealthFacts {
            expected: state.latency.estimate(now),
            running: state.running,
            out: limited.or(broken),
        }
    }

    /// A stream or a live session broke off.
    pub(super) fn record_break(&self, now: Instant) {
        let mut state = self.0.lock();
        state.counts.interrupted += 1;
        state.breaker.record(now, BreakerPermit::Ordinary, Outcome::Failed);
    }

    pub(super) fn status(&self, now: Instant) -> TargetStatus {
        let state = self.0.lock();
        let limited = state.limited_until.and_then(|until| until.checked_duration_since(now));
        TargetStatus {
            breaker: state.breaker.state(),
            rate_limited_for: limited.filter(|left| !left.is_zero()),
            running: state.running,
            first_token: state.latency.first_token(now),
            tokens_per_second: state.latency.tokens_per_second(now),
            counts: state.counts,
            first_tokens: state.first_tokens,
        }
    }
}

/// Why a request is sent to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttemptReason {
    Chosen,
    /// Beside a slow one.
    Hedge,
}

/// One request to a target. Dropped before its result is recorded, it counts as cancelled.
pub(super) struct TargetAttempt {
    health: Arc<TargetHealth>,
    clock: Arc<dyn Clock>,
    began: Instant,
    /// `None` once the result is known.
    permit: Option<BreakerPermit>,
    reason: AttemptReason,
    first_token: Option<Instant>,
}

impl TargetAttempt {
    pub(super) fn begin(
        health: &Arc<TargetHealth>,
        clock: &Arc<dyn Clock>,
        reason: AttemptReason,
    ) -> Self {
        let began = clock.now();
        let mut state = health.0.lock();
        // A target that is asked although its breaker is open is the last one left.
        let permit = state.breaker.admit(began).unwrap_or(BreakerPermit::Ordinary);
        state.running += 1;
        state.counts.hedges += u64::from(reason == AttemptReason::Hedge);
        drop(state);
        let clock = Arc::clone(clock);
        let health = Arc::clone(health);
        Self { health, clock, began, permit: Some(permit), reason, first_token: None }
    }

    /// A live session has begun. Says nothing about the time to a first token.
    pub(super) fn record_session(&mut self) {
        let now = self.clock.now();
        self.settle(now, Outcome::Answered, |state| state.counts.answered += 1);
    }

    /// The stream has begun.
    pub(super) fn record_first_token(&mut self) {
        let now = self.clock.now();
        let took = now.saturating_duration_since(self.began);
        self.first_token = Some(now);
        self.settle(now, Outcome::Answered, |state| {
            state.counts.answered += 1;
            state.latency.record_first_token(now, took);
            state.first_tokens.add(took);
        });
    }

    /// The whole answer is here.
    pub(super) fn record_answer(&mut self) {
        let now = self.clock.now();
        let took = now.saturating_duration_since(self.began);
        self.settle(now, Outcome::Answered, |state| {
            state.counts.answered += 1;
            state.latency.record_whole(now, took);
        });
    }

    pub(super) fn record_failure(&mut self, error: &AskError) {
        let now = self.clock.now();
        let within = now.saturating_duration_since(self.began);
        let kind = error.failure.kind;
        let is_own = kind == LlmErrorKind::Overloaded
            && !matches!(error.again, RetryTarget::SameModel { .. });
        let outcome = match kind {
            LlmErrorKind::Invalid | LlmErrorKind::TooLong | LlmErrorKind::RateLimited => {
                Outcome::Answered
            }
            // The gateway had no slot or no memory, which says nothing about the provider.
            LlmErrorKind::Overloaded if is_own => Outcome::Abandoned,
            _ => Outcome::Failed,
        };
        self.settle(now, outcome, |state| match kind {
            LlmErrorKind::Invalid | LlmErrorKind::TooLong => state.counts.rejected += 1,
            LlmErrorKind::RateLimited => {
                let pause = error.failure.retry_after.unwrap_or(UNSAID_RATE_LIMIT_PAUSE);
                state.limited_until = now.checked_add(pause);
                state.counts.rate_limited += 1;
            }
            LlmErrorKind::Timeout => {
                state.latency.record_no_token(now, within);
                state.counts.failed += 1;
            }
            _ if is_own => state.counts.cancelled += 1,
            _ => state.counts.failed += 1,
        });
    }

    /// The stream ended as it should.
    pub(super) fn record_end(&mut self, output_tokens: u64) {
        let now = self.clock.now();
        let Some(first) = self.first_token.take() else { return };
        let took = now.saturating_duration_since(first);
        self.health.0.lock().latency.record_tokens(now, output_tokens, took);
    }

    /// The stream broke off.
    pub(super) fn record_interruption(&mut self) {
        self.health.record_break(self.clock.now());
    }

    fn settle(&mut self, now: Instant, outcome: Outcome, count: impl FnOnce(&mut HealthState)) {
        let Some(permit) = self.permit.take() else { return };
        let mut state = self.health.0.lock();
        state.breaker.record(now, permit, outcome);
        let has_won = self.reason == AttemptReason::Hedge && outcome == Outcome::Answered;
        let before = state.counts.answered;
        count(&mut state);
        state.counts.hedges_won += u64::from(has_won && state.counts.answered > before);
    }
}

impl Drop for TargetAttempt {
    fn drop(&mut self) {
        let now = self.clock.now();
        let within = now.saturating_duration_since(self.began);
        self.settle(now, Outcome::Abandoned, |state| {
            state.counts.cancelled += 1;
            state.latency.record_no_token(now, within);
        });
        self.health.0.lock().running -= 1;
    }
}

impl FirstTokenTimes {
    fn add(&mut self, took: Duration) {
        for (bound, count) in FIRST_TOKEN_BUCKETS.iter().zip(&mut self.up_to) {
            *count += u64::from(took <= Duration::from_millis(*bound));
        }
        self.count += 1;
        self.sum += took;
    }
}

#[cfg(test)]
mod tests;
