//! Rate limiting: the only way to an [`Admitted`]. Says which limits a request is under;
//! what was taken of them is kept by whoever asks.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::call::{Decider, RequestKind};
use crate::id::{AgentId, ToolId};
use crate::policy::Permitted;
use crate::rate::{BucketToken, RateLimit, TokenBucket, whole_seconds};
use crate::turn::{Principal, Turn};

/// A permitted request that no limit of its tool, agent or principal forbids now. Only [`admit`]
/// makes one.
#[derive(Debug)]
pub struct Admitted<'a> {
    permitted: Permitted<'a>,
}

impl<'a> Admitted<'a> {
    pub fn permitted_request(&self) -> &Permitted<'a> {
        &self.permitted
    }

    /// A copy that outlives the text it was read from.
    pub fn into_owned(self) -> Admitted<'static> {
        Admitted { permitted: self.permitted.to_owned() }
    }

    pub(crate) fn into_permitted(self) -> Permitted<'a> {
        self.permitted
    }
}

/// Whose calls a limit counts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RateLimitKey {
    /// Of everybody.
    Tool(ToolId),
    /// By whomever it is used.
    Agent(AgentId),
    Principal(Principal),
}

/// There were as many calls as there may be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{counted} {}; try again in {} s", describe_limit(*.limit), whole_seconds(*.wait))]
pub struct RateLimitedError {
    pub counted: RateLimitKey,
    pub limit: RateLimit,
    /// Until the next one may be made.
    pub wait: Duration,
}

/// Lets a request through if none of its limits is used up, and takes one of each; a request that
/// is refused costs nothing. `bucket` finds what was taken; it is asked for real limits only.
pub fn admit<'a>(
    (turn, by): (&Turn, Decider),
    permitted: Permitted<'a>,
    bucket: impl Fn(&RateLimitKey) -> Arc<TokenBucket>,
    now: Instant,
) -> Result<Admitted<'a>, RateLimitedError> {
    take(limits(turn, by, &permitted), bucket, now)?;
    Ok(Admitted { permitted })
}

/// The same for a program that somebody runs by hand: one of its agent's and of its principal's.
/// Its calls are counted when they come.
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
                // The last that was taken first: each is then as it was found.
                taken.into_iter().rev().for_each(BucketToken::give_back);
                return Err(RateLimitedError { counted: counted.clone(), limit: *limit, wait });
            }
        }
    }
    Ok(())
}

/// The limits that a request is under. A measurement of the gate's own is under none: it is paced
/// by whoever makes it. What follows up on a call was counted with it.
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
