//! Rate limiting (admission control): the only constructor of [`Admitted`]. Selects the limits that
//! apply to a request; the caller stores the token buckets.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::call::{Decider, RequestKind};
use crate::id::{AgentId, ToolId};
use crate::policy::Permitted;
use crate::rate::{BucketToken, RateLimit, TokenBucket, whole_seconds};
use crate::turn::{Principal, Turn};

/// A permitted request within the rate limits of its tool, agent and principal. Created only by
/// [`admit`].
#[derive(Debug)]
pub struct Admitted<'a> {
    permitted: Permitted<'a>,
}

impl<'a> Admitted<'a> {
    pub fn permitted_request(&self) -> &Permitted<'a> {
        &self.permitted
    }

    /// A copy that does not borrow from the request text.
    pub fn into_owned(self) -> Admitted<'static> {
        Admitted { permitted: self.permitted.to_owned() }
    }

    pub(crate) fn into_permitted(self) -> Permitted<'a> {
        self.permitted
    }
}

/// What a rate limit counts calls by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RateLimitKey {
    /// Counts calls by all callers.
    Tool(ToolId),
    /// Counts calls by all users of the agent.
    Agent(AgentId),
    Principal(Principal),
}

/// A rate limit is exhausted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{counted} {}; try again in {} s", describe_limit(*.limit), whole_seconds(*.wait))]
pub struct RateLimitedError {
    pub counted: RateLimitKey,
    pub limit: RateLimit,
    /// Time until the next call is allowed.
    pub wait: Duration,
}

/// Admits a request if none of its limits is exhausted, and takes one token from each. A refused
/// request takes no token. `bucket` looks up a bucket; it is called only for limits that are set.
pub fn admit<'a>(
    turn: &Turn,
    by: Decider,
    permitted: Permitted<'a>,
    bucket: impl Fn(&RateLimitKey) -> Arc<TokenBucket>,
    now: Instant,
) -> Result<Admitted<'a>, RateLimitedError> {
    take(limits(turn, by, &permitted), bucket, now)?;
    Ok(Admitted { permitted })
}

/// Admission of a program that a user starts directly: one token of its agent and one of its
/// principal. The calls inside it are counted when they are made.
pub fn admit_program(
    turn: &Turn,
    bucket: impl Fn(&RateLimitKey) -> Arc<TokenBucket>,
    now: Instant,
) -> Result<(), RateLimitedError> {
    take([None, of_agent(turn), of_principal(turn)], bucket, now)
}

fn take(
    limits: [Option<(RateLimitKey, RateLimit)>; 3],
    bucket: impl Fn(&RateLimitKey) -> Arc<TokenBucket>,
    now: Instant,
) -> Result<(), RateLimitedError> {
    let limits = limits.into_iter().flatten();
    let limits: Vec<_> =
        limits.map(|(counted, limit)| (bucket(&counted), counted, limit)).collect();
    let mut taken = Vec::with_capacity(limits.len());
    for (bucket, counted, limit) in &limits {
        match bucket.take(*limit, now) {
            Ok(one) => taken.push(one),
            Err(wait) => {
                // Reverse order, so that each bucket returns to its previous state.
                taken.into_iter().rev().for_each(BucketToken::give_back);
                return Err(RateLimitedError { counted: counted.clone(), limit: *limit, wait });
            }
        }
    }
    Ok(())
}

/// The limits that apply to a request. Probes by the gateway have none: the prober paces them.
/// Follow-ups of a call were counted with the call.
fn limits(
    turn: &Turn,
    by: Decider,
    permitted: &Permitted<'_>,
) -> [Option<(RateLimitKey, RateLimit)>; 3] {
    if by == Decider::Gateway || matches!(permitted.kind(), RequestKind::Task(_)) {
        return [None, None, None];
    }
    let of_tool = || {
        let tool = permitted.tool()?;
        Some((RateLimitKey::Tool(tool.id.clone()), tool.terms.rate_limit?))
    };
    [of_tool(), of_agent(turn), of_principal(turn)]
}

fn of_agent(turn: &Turn) -> Option<(RateLimitKey, RateLimit)> {
    Some((RateLimitKey::Agent(turn.view.agent.clone()), turn.view.rate_limit?))
}

fn of_principal(turn: &Turn) -> Option<(RateLimitKey, RateLimit)> {
    let limit = turn.grant.as_ref()?.rate_limit?;
    Some((RateLimitKey::Principal(turn.principal.clone()), limit))
}

impl fmt::Display for RateLimitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(_) => f.write_str("this tool may be called"),
            Self::Agent(agent) => write!(f, "agent `{agent}` may call"),
            Self::Principal(_) => f.write_str("you may call"),
        }
    }
}

fn describe_limit(RateLimit { calls, per }: RateLimit) -> String {
    let times = if calls == 1 { "once".to_owned() } else { format!("{calls} times") };
    match per.as_secs() {
        1 => format!("{times} in a second"),
        60 => format!("{times} in a minute"),
        3_600 => format!("{times} in an hour"),
        86_400 => format!("{times} in a day"),
        _ => format!("{times} in {} s", per.as_secs_f64()),
    }
}

#[cfg(test)]
pub(crate) mod tests;
