//! Rate limits (token buckets) and concurrency limits: the state of the buckets, and the running
//! calls of each agent.
//!
//! Called by the gate for every call; a call without limits takes no lock. The state survives
//! config reloads.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use tollgate_core::admission::{self, Admitted, RateLimitKey, RateLimitedError};
use tollgate_core::call::{Decider, RequestKind};
use tollgate_core::id::AgentId;
use tollgate_core::policy::Permitted;
use tollgate_core::rate::TokenBucket;
use tollgate_core::tool::ToolReach;
use tollgate_core::turn::Turn;

use crate::clock::Clock;

/// Buckets kept: of tools, agents and principals together.
const MAX_BUCKETS: usize = 65_536;
/// Suggested retry for an agent at its concurrency limit.
const CONCURRENCY_RETRY_AFTER: Duration = Duration::from_secs(1);

/// A limit is exhausted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitExceededError {
    #[error(transparent)]
    Often(#[from] RateLimitedError),
    #[error("agent `{agent}` has {most} calls running, which is its limit; try again in 1 s")]
    AtOnce { agent: AgentId, most: u32 },
}

impl LimitExceededError {
    pub fn retry_after(&self) -> Duration {
        match self {
            Self::Often(too_often) => too_often.wait,
            Self::AtOnce { .. } => CONCURRENCY_RETRY_AFTER,
        }
    }
}

pub(crate) struct RateLimiter {
    clock: Arc<dyn Clock>,
    most: usize,
    buckets: RwLock<HashMap<RateLimitKey, Arc<TokenBucket>>>,
    /// Running calls of agents that have a concurrency limit.
    running: Arc<Mutex<HashMap<AgentId, u32>>>,
}

/// One running call of an agent with a concurrency limit; released on drop.
pub(crate) struct ConcurrencyPermit {
    all: Arc<Mutex<HashMap<AgentId, u32>>>,
    agent: AgentId,
}

impl RateLimiter {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self::with_room(MAX_BUCKETS, clock)
    }

    fn with_room(most: usize, clock: Arc<dyn Clock>) -> Self {
        Self { clock, most, buckets: RwLock::default(), running: Arc::default() }
    }

    /// Admits a request if all its limits allow one more call now.
    pub(crate) fn admit<'a>(
        &self,
        turn: &Turn,
        by: Decider,
        permitted: Permitted<'a>,
    ) -> Result<(Admitted<'a>, Option<ConcurrencyPermit>), LimitExceededError> {
        // First, because it can be undone for free.
        let running = self.begin(turn, by, &permitted)?;
        let bucket = |counted: &RateLimitKey| self.bucket(counted);
        let admitted = admission::admit(turn, by, permitted, bucket, self.clock.now())?;
        Ok((admitted, running))
    }

    /// Admits a program that was submitted directly, if its limits allow one more now.
    pub(crate) fn admit_program(&self, turn: &Turn) -> Result<(), LimitExceededError> {
        let bucket = |counted: &RateLimitKey| self.bucket(counted);
        Ok(admission::admit_program(turn, bucket, self.clock.now())?)
    }

    /// Takes one of the agent's concurrent calls. A call that waits for approval holds none, and
    /// takes one when it runs. Probes and follow-up requests of a task need none.
    pub(crate) fn begin(
        &self,
        turn: &Turn,
        by: Decider,
        permitted: &Permitted<'_>,
    ) -> Result<Option<ConcurrencyPermit>, LimitExceededError> {
        let Some(most) = turn.view.concurrent else { return Ok(None) };
        // A program is counted by its calls.
        let is_means = permitted.tool().is_some_and(|tool| tool.terms.reach == ToolReach::Means);
        if by == Decider::Gateway || is_means || matches!(permitted.kind(), RequestKind::Task(_)) {
            return Ok(None);
        }
        let agent = turn.view.agent.clone();
        let mut running = self.running.lock();
        let count = running.entry(agent.clone()).or_insert(0);
        if *count >= most {
            return Err(LimitExceededError::AtOnce { agent, most });
        }
        *count += 1;
        drop(running);
        Ok(Some(ConcurrencyPermit { all: Arc::clone(&self.running), agent }))
    }

    fn bucket(&self, counted: &RateLimitKey) -> Arc<TokenBucket> {
        if let Some(bucket) = self.buckets.read().get(counted) {
            return Arc::clone(bucket);
        }
        let now = self.clock.now();
        let mut buckets = self.buckets.write();
        if buckets.len() >= self.most && !buckets.contains_key(counted) {
            make_room(&mut buckets, now);
        }
        let new = || Arc::new(TokenBucket::new(now));
        Arc::clone(buckets.entry(counted.clone()).or_insert_with(new))
    }
}

/// Evicts idle buckets; if those are too few, the ones that are closest to full.
fn make_room(buckets: &mut HashMap<RateLimitKey, Arc<TokenBucket>>, now: Instant) {
    // A caller that holds a bucket is about to take from it.
    let in_use = |bucket: &Arc<TokenBucket>| Arc::strong_count(bucket) > 1;
    let before = buckets.len();
    buckets.retain(|_, bucket| in_use(bucket) || !bucket.is_idle(now));
    let enough = before - before / 4;
    if buckets.len() <= enough {
        return;
    }
    let mut known: Vec<(Duration, RateLimitKey)> = buckets
        .iter()
        .filter(|(_, bucket)| !in_use(bucket))
        .map(|(counted, bucket)| (bucket.weighs(now), counted.clone()))
        .collect();
    let light = (buckets.len() - enough).min(known.len());
    if light < known.len() {
        known.select_nth_unstable_by_key(light, |(weight, _)| *weight);
    }
    for (_, counted) in known.drain(..light) {
        buckets.remove(&counted);
    }
}

impl Drop for ConcurrencyPermit {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if let Some(count) = all.get_mut(&self.agent) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.agent);
            }
        }
    }
}

#[cfg(test)]
mod tests;
