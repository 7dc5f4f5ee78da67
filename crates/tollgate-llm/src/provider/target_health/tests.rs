use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use tollgate_core::circuit_breaker::{BreakerState, CONSECUTIVE_FAILURES, FIRST_OPEN_PERIOD};
use tollgate_engine::clock::{Clock, SystemClock};

use super::{AttemptReason, TargetAttempt, TargetAvailability, TargetHealth};
use crate::error::{LlmError, LlmErrorKind};
use crate::provider::ask_error::AskError;

/// A clock that is set by hand.
struct HandClock(Mutex<Instant>);

impl Clock for HandClock {
    fn now(&self) -> Instant {
        *self.0.lock()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

struct Stage {
    hand: Arc<HandClock>,
    clock: Arc<dyn Clock>,
    health: Arc<TargetHealth>,
}

impl Stage {
    fn new() -> Self {
        let hand = Arc::new(HandClock(Mutex::new(SystemClock.now())));
        let clock = Arc::clone(&hand) as Arc<dyn Clock>;
        Self { hand, clock, health: Arc::default() }
    }

    fn attempt(&self, reason: AttemptReason) -> TargetAttempt {
        TargetAttempt::begin(&self.health, &self.clock, reason)
    }

    fn wait(&self, time: Duration) {
        *self.hand.0.lock() += time;
    }

    fn fail(&self, kind: LlmErrorKind, after: Option<Duration>) {
        let error = AskError::same_model(LlmError::new(kind, "no").after(after));
        self.attempt(AttemptReason::Chosen).record_failure(&error);
    }

    fn out(&self) -> Option<TargetAvailability> {
        self.health.facts(self.clock.now()).out
    }
}

#[test]
fn a_target_is_out_after_failures_and_its_probe_brings_it_back() {
    let stage = Stage::new();
    for _ in 0..CONSECUTIVE_FAILURES {
        assert_eq!(stage.out(), None);
        stage.fail(LlmErrorKind::Provider, None);
    }
    let until = stage.clock.now() + FIRST_OPEN_PERIOD;
    assert_eq!(stage.out(), Some(TargetAvailability::Broken { until }));
    stage.wait(FIRST_OPEN_PERIOD);
    assert_eq!(stage.out(), None);
    let mut probe = stage.attempt(AttemptReason::Chosen);
    assert!(stage.out().is_some(), "the others wait for the probe");
    probe.record_answer();
    assert_eq!(stage.out(), None);
    assert_eq!(stage.health.status(stage.clock.now()).breaker, BreakerState::Closed);
}

#[test]
fn a_rate_limit_ends_when_the_provider_said() {
    for (said, pause) in [(Some(30), 30), (None, 1)] {
        let stage = Stage::new();
        let until = stage.clock.now() + Duration::from_secs(pause);
        stage.fail(LlmErrorKind::RateLimited, said.map(Duration::from_secs));
        assert_eq!(stage.out(), Some(TargetAvailability::RateLimited { until }));
        stage.wait(Duration::from_secs(pause));
        assert_eq!(stage.out(), None);
        assert_eq!(stage.health.status(stage.clock.now()).counts.rate_limited, 1);
    }
}

#[test]
fn faults_of_requests_and_of_the_gateway_say_nothing_about_the_provider() {
    let stage = Stage::new();
    for _ in 0..2 * CONSECUTIVE_FAILURES {
        stage.fail(LlmErrorKind::Invalid, None);
        stage.fail(LlmErrorKind::TooLong, None);
        let full = AskError::other_model(LlmError::new(LlmErrorKind::Overloaded, "no slot"));
        stage.attempt(AttemptReason::Chosen).record_failure(&full);
    }
    assert_eq!(stage.out(), None);
    let counts = stage.health.status(stage.clock.now()).counts;
    assert_eq!((counts.rejected, counts.failed), (u64::from(4 * CONSECUTIVE_FAILURES), 0));
}

#[test]
fn requests_under_way_and_cancelled_ones_are_counted() {
    let stage = Stage::new();
    let first = stage.attempt(AttemptReason::Chosen);
    let mut second = stage.attempt(AttemptReason::Hedge);
    assert_eq!(stage.health.facts(stage.clock.now()).running, 2);
    stage.wait(Duration::from_millis(700));
    second.record_first_token();
    drop(first);
    let status = stage.health.status(stage.clock.now());
    assert_eq!(status.running, 1, "its stream goes on");
    assert_eq!(status.first_token, Some(Duration::from_millis(700)));
    let counts = status.counts;
    assert_eq!((counts.answered, counts.cancelled), (1, 1));
    assert_eq!((counts.hedges, counts.hedges_won), (1, 1));
    assert_eq!(status.first_tokens.up_to, [0, 0, 0, 1, 1, 1, 1, 1, 1]);
    stage.wait(Duration::from_secs(2));
    second.record_end(101);
    drop(second);
    let status = stage.health.status(stage.clock.now());
    assert_eq!((status.running, status.tokens_per_second), (0, Some(50.0)));
    assert_eq!(status.counts.cancelled, 1, "it was answered");
}
