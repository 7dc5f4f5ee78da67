//! Target pool: the endpoints at which one model is served, and the choice among them.
//!
//! A target that fails before its first token is not the client's problem: the next one is asked
//! within the time of the request. Called by [`super::model::ModelHandle`].

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Sleep, sleep, timeout};
use tollgate_core::retry_budget::RetryBudget;
use tollgate_engine::clock::Clock;

use super::ask_error::{AskError, RetryTarget};
use super::endpoint::{DeclinedError, ModelEndpoint};
use super::target_health::{
    AttemptReason, TargetAttempt, TargetAvailability, TargetHealth, TargetReport,
};
use crate::conversation::ModelOrigin;
use crate::dialect::Dialect;
use crate::error::{LlmError, LlmErrorKind};
use crate::settings::{ModelSettings, RoutePolicy};

mod live_targets;
mod query;
mod target_order;

pub use live_targets::LiveTarget;
pub(super) use live_targets::LiveTargets;
pub(crate) use live_targets::SessionAttempt;
pub(super) use query::{PassQuery, StreamQuery, TargetQuery, WholeQuery};

use target_order::{TargetFacts, order_targets, shortest_wait};

pub(super) struct TargetPool {
    /// Name of the model, for messages.
    model: String,
    /// At least one.
    targets: Vec<Target>,
    route: RoutePolicy,
    hedge_after: Option<Duration>,
    hedges: RetryBudget,
}

/// A model at one endpoint of a provider.
pub(super) struct Target {
    pub(super) endpoint: ModelEndpoint,
    pub(super) weight: u32,
    pub(super) price: Option<u64>,
    pub(super) health: Arc<TargetHealth>,
}

/// Clock and deadline of a request.
#[derive(Clone, Copy)]
pub(super) struct QueryTime<'a> {
    pub(super) clock: &'a Arc<dyn Clock>,
    pub(super) until: Option<Instant>,
}

impl TargetPool {
    /// `None`: there is no target.
    pub(super) fn new(model: &ModelSettings, targets: Vec<Target>) -> Option<Self> {
        (!targets.is_empty()).then(|| Self {
            model: model.name.clone(),
            targets,
            route: model.route(),
            hedge_after: model.pool.hedge_after,
            hedges: RetryBudget::default(),
        })
    }

    pub(super) fn first(&self) -> &ModelEndpoint {
        &self.targets[0].endpoint
    }

    pub(super) fn retries(&self) -> u32 {
        self.targets.iter().map(|target| target.endpoint.retries()).max().unwrap_or_default()
    }

    /// Whether a request of this dialect has the same meaning at every target.
    pub(super) fn may_pass(&self, dialect: Dialect) -> bool {
        let first = self.first();
        let is_same = |target: &Target| target.endpoint.is_same_model(first);
        first.dialect() == dialect && first.has_vendor_api() && self.targets.iter().all(is_same)
    }

    pub(super) fn reports(&self, now: Instant) -> Vec<TargetReport> {
        let report = |target: &Target| TargetReport {
            provider: target.endpoint.remote().settings.name.clone(),
            endpoint: target.endpoint.remote().endpoint_name().map(str::to_owned),
            id: Some(target.endpoint.id().to_owned()),
            weight: target.weight,
            price: target.price,
            status: target.health.status(now),
        };
        self.targets.iter().map(report).collect()
    }

    /// Asks targets until one answers, or begins to. Dropping the future cancels all requests.
    pub(super) async fn ask<Q: TargetQuery>(
        &self,
        query: &Q,
        time: QueryTime<'_>,
    ) -> Result<Q::Answer, DeclinedError> {
        if let [only] = &self.targets[..] {
            return attempt(only, AttemptReason::Chosen, query, time, None).await;
        }
        let mut waiting = self.order(time, query.reasoning_origin())?;
        let mut running = FuturesUnordered::new();
        let mut declined = None;
        let mut hedge: Option<Pin<Box<Sleep>>> = None;
        let mut may_hedge = query.may_be_hedged();
        self.hedges.earn();
        loop {
            if running.is_empty() {
                let Some(target) = waiting.pop_front() else {
                    return Err(declined.unwrap_or_else(|| self.nobody()));
                };
                let share = share(time, waiting.len());
                running.push(attempt(target, AttemptReason::Chosen, query, time, share));
                hedge = self.hedge_after.map(|after| Box::pin(sleep(after)));
            }
            tokio::select! {
                biased;
                Some(done) = running.next() => match done {
                    Ok(answer) => return Ok(answer),
                    Err(error) if error.error.again == RetryTarget::Never => return Err(error),
                    Err(error) => declined = Some(more_hopeful(declined, error)),
                },
                () = fire(&mut hedge), if may_hedge && hedge.is_some() => {
                    hedge = None;
                    may_hedge = false;
                    if !waiting.is_empty() && self.hedges.spend() {
                        let second = waiting.pop_front().expect("it is not empty");
                        let share = share(time, waiting.len());
                        running.push(attempt(second, AttemptReason::Hedge, query, time, share));
                    }
                }
            }
        }
    }

    /// `reasoning` names the model that made the reasoning of the history.
    fn order(
        &self,
        time: QueryTime<'_>,
        reasoning: Option<ModelOrigin>,
    ) -> Result<VecDeque<&Target>, DeclinedError> {
        let now = time.clock.now();
        let facts = self.targets.iter().map(|it| it.facts(now, reasoning));
        let facts: Vec<TargetFacts> = facts.collect();
        let order = order_targets(self.route, &facts, &mut rand::random);
        match shortest_wait(&facts, now) {
            Some(wait) if order.is_empty() => Err(self.rate_limited(wait).into()),
            _ => Ok(order.into_iter().map(|at| &self.targets[at]).collect()),
        }
    }

    fn rate_limited(&self, wait: Duration) -> AskError {
        let message = format!("all providers of model `{}` are rate limiting", self.model);
        let failure = LlmError::new(LlmErrorKind::RateLimited, message);
        AskError::same_model(failure.after(Some(wait)))
    }

    fn nobody(&self) -> DeclinedError {
        let message = format!("no provider of model `{}` can be asked", self.model);
        AskError::other_model(LlmError::new(LlmErrorKind::Provider, message)).into()
    }
}

impl Target {
    fn facts(&self, now: Instant, reasoning: Option<ModelOrigin>) -> TargetFacts {
        let health = self.health.facts(now);
        let has_slot = self.endpoint.remote().has_free_slot();
        let ready = if has_slot { TargetAvailability::Ready } else { TargetAvailability::Full };
        TargetFacts {
            weight: self.weight,
            price: self.price,
            expected: health.expected,
            running: health.running,
            made_reasoning: reasoning == Some(self.endpoint.origin()),
            availability: health.out.unwrap_or(ready),
        }
    }
}

async fn fire(timer: &mut Option<Pin<Box<Sleep>>>) {
    match timer {
        Some(timer) => timer.await,
        None => std::future::pending().await,
    }
}

/// One request to one target, which has `share` of the time if others are to follow.
async fn attempt<Q: TargetQuery>(
    target: &Target,
    reason: AttemptReason,
    query: &Q,
    time: QueryTime<'_>,
    share: Option<Duration>,
) -> Result<Q::Answer, DeclinedError> {
    let mut attempt = TargetAttempt::begin(&target.health, time.clock, reason);
    let query_future = Box::pin(query.ask(&target.endpoint));
    let answered = match share {
        Some(share) => timeout(share, query_future)
            .await
            .unwrap_or_else(|_| Err(target.endpoint.timeout_error(share).into())),
        None => query_future.await,
    };
    match answered {
        Ok(answer) => Ok(query.record(answer, attempt)),
        Err(declined) => {
            attempt.record_failure(&declined.error);
            Err(declined)
        }
    }
}

/// An equal share of the time left for each target that can still be asked.
fn share(time: QueryTime<'_>, others: usize) -> Option<Duration> {
    let until = time.until.filter(|_| others > 0)?;
    let left = until.saturating_duration_since(time.clock.now());
    Some(left / u32::try_from(others + 1).unwrap_or(u32::MAX))
}

/// The error to report of two: the later one, with the better prospect of a retry.
fn more_hopeful(earlier: Option<DeclinedError>, mut later: DeclinedError) -> DeclinedError {
    let Some(earlier) = earlier else { return later };
    later.error.again = match (earlier.error.again, later.error.again) {
        (RetryTarget::SameModel { after: one }, RetryTarget::SameModel { after: other }) => {
            // Without a delay it may be asked at once.
            let after = one.zip(other).map(|(one, other)| one.min(other));
            later.error.failure.retry_after = after;
            RetryTarget::SameModel { after }
        }
        (RetryTarget::SameModel { .. }, _) => return earlier,
        (_, again) => again,
    };
    later
}
