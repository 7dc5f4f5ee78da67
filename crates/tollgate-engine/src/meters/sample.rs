//! What a call that is over says about its tool, if anything: a measurement must not come from the
//! caller's mistakes, from a server that was not reached, or from a turn that was short.

use std::time::Duration;

use tollgate_core::call::Status;
use tollgate_core::latency::{Ending, Sample};
use tollgate_mcp::code;

use crate::backend::{Failure, WaitsFor};

/// How a call came back.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Came<'c> {
    /// With a result, which was given this status.
    Result(Status),
    Failure(&'c Failure),
    /// Not in time.
    Late,
    /// With a question or a task: its end is still to come.
    Unfinished,
}

/// What a call took of its time, counted from when it left: a server that has to be started first,
/// or had no room for it yet, is not slow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spent {
    pub(crate) took: Duration,
    /// Until it would have been given up.
    pub(crate) had: Duration,
    /// The same in a turn without a wall, had it left at once.
    pub(crate) own: Duration,
    /// Of the tier that the tool stands in.
    pub(crate) ceiling: Duration,
    /// A person, if one was asked in the course of it: then the time is theirs.
    pub(crate) waited_for: WaitsFor,
}

/// A turn has spent some of its time before its first call is on the way; that does not make the
/// call a short one.
const SLACK: Duration = Duration::from_millis(20);
/// What spans are kept to: the least by which one can be longer than a limit.
const LEAST: Duration = Duration::from_micros(1);

/// `None` where nothing was learned about the tool.
pub(crate) fn sample(came: Came<'_>, spent: &Spent) -> Option<Sample> {
    if spent.waited_for == WaitsFor::Person {
        return None;
    }
    let took = |ending| Some(Sample { span: spent.took, ending });
    match came {
        Came::Result(Status::Ok | Status::NoResults) => took(Ending::Answered),
        Came::Result(Status::Error) => took(Ending::Failed),
        Came::Result(Status::Timeout) | Came::Late => given_up(spent),
        Came::Failure(failure) if is_of_the_tool(failure) => took(Ending::Failed),
        Came::Failure(_) | Came::Unfinished => None,
        Came::Result(
            Status::Pending
            | Status::Denied
            | Status::InvalidArguments
            | Status::RateLimited
            | Status::Offline,
        ) => None,
    }
}

/// It counts if it had the time that a tool of its tier may take, or its own limit if that is less.
fn given_up(spent: &Spent) -> Option<Sample> {
    let due = spent.own.min(spent.ceiling);
    let span = spent.took.max(spent.had).max(due).saturating_add(LEAST);
    let had_enough = spent.had.saturating_add(SLACK) >= due;
    had_enough.then_some(Sample { span, ending: Ending::Overran })
}

fn is_of_the_tool(failure: &Failure) -> bool {
    match failure {
        // Nothing was sent.
        Failure::Offline { .. } | Failure::Resting { .. } => false,
        // What the caller sent, or cannot do.
        Failure::Refused(error) => !matches!(
            error.code,
            code::INVALID_PARAMS
                | code::URL_ELICITATION_REQUIRED
                | code::HEADER_MISMATCH
                | code::MISSING_CLIENT_CAPABILITY
                | code::UNSUPPORTED_VERSION
        ),
        Failure::Lost(_)
        | Failure::Unusable(_)
        | Failure::Unauthorized(_)
        | Failure::TooLarge { .. } => true,
    }
}

#[cfg(test)]
mod tests;
