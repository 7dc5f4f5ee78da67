//! Places at which a model serves live sessions: its providers and their endpoints, with the health
//! of each. Called by the realtime sessions, which connect to one after the other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_engine::clock::Clock;

use super::target_order::{TargetFacts, order_targets};
use crate::error::{LlmError, LlmErrorKind};
use crate::provider::ask_error::AskError;
use crate::provider::label::ModelLabel;
use crate::provider::remote::RemoteProvider;
use crate::provider::target_health::{
    AttemptReason, TargetAttempt, TargetAvailability, TargetHealth, TargetReport,
};
use crate::settings::RoutePolicy;

/// The places of one model.
pub(in crate::provider) struct LiveTargets {
    targets: Vec<LiveTarget>,
    route: RoutePolicy,
}

/// A model at one endpoint of a provider.
#[derive(Clone)]
pub struct LiveTarget {
    pub(in crate::provider) remote: Arc<RemoteProvider>,
    /// The provider's name of the model.
    pub(in crate::provider) id: String,
    pub(in crate::provider) weight: u32,
    pub(in crate::provider) price: Option<u64>,
    pub(in crate::provider) health: Arc<TargetHealth>,
    pub(in crate::provider) clock: Arc<dyn Clock>,
}

/// One attempt to begin a session at a target. Dropped without a result, it counts as cancelled.
pub(crate) struct SessionAttempt<'a> {
    pub(in crate::provider) target: &'a LiveTarget,
    attempt: TargetAttempt,
}

impl LiveTargets {
    /// `None`: there is no place.
    pub(in crate::provider) fn new(targets: Vec<LiveTarget>, route: RoutePolicy) -> Option<Self> {
        (!targets.is_empty()).then_some(Self { targets, route })
    }

    pub(in crate::provider) fn first(&self) -> &LiveTarget {
        &self.targets[0]
    }

    pub(in crate::provider) fn reports(&self, now: Instant) -> Vec<TargetReport> {
        let report = |target: &LiveTarget| TargetReport {
            provider: target.remote.settings.name.clone(),
            endpoint: target.remote.endpoint_name().map(str::to_owned),
            id: Some(target.id.clone()),
            weight: target.weight,
            price: target.price,
            status: target.health.status(now),
        };
        self.targets.iter().map(report).collect()
    }

    /// In the order of the model's route. One whose breaker is open or that is rate limited comes
    /// last, with that state.
    pub(in crate::provider) fn in_route_order(
        &self,
        now: Instant,
    ) -> Vec<(&LiveTarget, TargetAvailability)> {
        let facts: Vec<TargetFacts> = self.targets.iter().map(|it| it.facts(now)).collect();
        let mut order = order_targets(self.route, &facts, &mut rand::random);
        let rest: Vec<usize> = (0..facts.len()).filter(|at| !order.contains(at)).collect();
        order.extend(rest);
        order.into_iter().map(|at| (&self.targets[at], facts[at].availability)).collect()
    }
}

impl LiveTarget {
    /// The provider's name of the model.
    pub(crate) fn model_id(&self) -> &str {
        &self.id
    }

    /// Time for the provider to accept a session.
    pub(crate) fn connect_timeout(&self) -> Duration {
        self.remote.settings.patience.connect
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(crate) fn begin(&self) -> SessionAttempt<'_> {
        let attempt = TargetAttempt::begin(&self.health, &self.clock, AttemptReason::Chosen);
        SessionAttempt { target: self, attempt }
    }

    /// A running session broke off here.
    pub(crate) fn record_break(&self) {
        self.health.record_break(self.clock.now());
    }

    /// An error about the model here. `words` of the provider are quoted without secrets.
    pub(crate) fn refusal(&self, kind: LlmErrorKind, what: &str, words: &str) -> LlmError {
        let label = self.label();
        let what = format!("{what}{}", label.quote(words));
        LlmError::new(kind, label.of_model(what.trim_end()))
    }

    /// The provider does not know the gateway's key.
    pub(crate) fn key_refusal(&self) -> LlmError {
        let label = self.label();
        let what = format!("rejected the gateway's key: check `{}`", label.key_path);
        LlmError::new(LlmErrorKind::Provider, label.of_model(&what))
    }

    pub(in crate::provider) fn label(&self) -> ModelLabel {
        self.remote.label(&self.id)
    }

    fn facts(&self, now: Instant) -> TargetFacts {
        let health = self.health.facts(now);
        TargetFacts {
            weight: self.weight,
            price: self.price,
            expected: health.expected,
            running: health.running,
            made_reasoning: false,
            availability: health.out.unwrap_or(TargetAvailability::Ready),
        }
    }
}

impl SessionAttempt<'_> {
    /// The session has begun.
    pub(crate) fn succeed(mut self) {
        self.attempt.record_session();
    }

    pub(crate) fn fail(mut self, failure: LlmError) -> LlmError {
        let error = AskError::other_model(failure);
        self.attempt.record_failure(&error);
        error.failure
    }
}
