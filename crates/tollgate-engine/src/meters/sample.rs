//! Converts a finished call to a latency sample, if it is one: callers' mistakes, unreachable
//! servers and short turns must not count against the tool.

use std::time::Duration;

use tollgate_core::call::CallStatus;
use tollgate_core::latency::{Sample, SampleEnding};
use tollgate_mcp::error_code;

use crate::backend::{BackendError, WaitsFor};

/// How a call returned.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MeasuredReturn<'c> {
    /// With a result of this status.
    Result(CallStatus),
    Failure(&'c BackendError),
    /// Not before its deadline.
    Late,
    /// With a question or a task: it is not finished.
    Unfinished,
}

/// The timing of a call, measured from when it was sent: time to start a server or to wait for a
/// permit does not count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallTiming {
    pub(crate) took: Duration,
    /// From sending to its deadline.
    pub(crate) had: Duration,
    /// The same in a turn without a wall, if it had been sent at once.
    pub(crate) own: Duration,
    /// Ceiling of the tool's tier.
    pub(crate) ceiling: Duration,
    /// `Person` if someone was asked during the call: then its duration is not the tool's.
    pub(crate) waited_for: WaitsFor,
}

/// A turn has spent some time before its first call is sent; that does not make the call a short
/// one.
const SLACK: Duration = Duration::from_millis(20);
/// Resolution of stored durations: the least by which one can exceed a limit.
const TIME_RESOLUTION: Duration = Duration::from_micros(1);

/// `None` if the call says nothing about the tool.
pub(crate) fn sample(came: MeasuredReturn<'_>, spent: &CallTiming) -> Option<Sample> {
    if spent.waited_for == WaitsFor::Person {
        return None;
    }
    let took = |ending| Some(Sample { span: spent.took, ending });
    match came {
        MeasuredReturn::Result(CallStatus::Ok | CallStatus::NoResults) => {
            took(SampleEnding::Answered)
        }
        MeasuredReturn::Result(CallStatus::Error) => took(SampleEnding::Failed),
        MeasuredReturn::Result(CallStatus::Timeout) | MeasuredReturn::Late => overrun_sample(spent),
        MeasuredReturn::Failure(failure) if is_of_the_tool(failure) => took(SampleEnding::Failed),
        MeasuredReturn::Failure(_) | MeasuredReturn::Unfinished => None,
        MeasuredReturn::Result(
            CallStatus::Pending
            | CallStatus::Denied
            | CallStatus::InvalidArguments
            | CallStatus::RateLimited
            | CallStatus::Offline,
        ) => None,
    }
}

/// Counts only if the call had as much time as its tier allows, or as its own limit if that is
/// less.
fn overrun_sample(spent: &CallTiming) -> Option<Sample> {
    let due = spent.own.min(spent.ceiling);
    let span = spent.took.max(spent.had).max(due).saturating_add(TIME_RESOLUTION);
    let had_enough = spent.had.saturating_add(SLACK) >= due;
    had_enough.then_some(Sample { span, ending: SampleEnding::Overran })
}

fn is_of_the_tool(failure: &BackendError) -> bool {
    match failure {
        // Nothing was sent, or the gateway could not read the answer.
        BackendError::Offline { .. } | BackendError::Resting { .. } | BackendError::NoRoom => false,
        // The caller's mistake, or a capability that it lacks.
        BackendError::Refused(error) => !matches!(
            error.code,
            error_code::INVALID_PARAMS
                | error_code::URL_ELICITATION_REQUIRED
                | error_code::HEADER_MISMATCH
                | error_code::MISSING_CLIENT_CAPABILITY
                | error_code::UNSUPPORTED_VERSION
        ),
        BackendError::Lost(_)
        | BackendError::Unusable(_)
        | BackendError::Unauthorized(_)
        | BackendError::TooLarge { .. } => true,
    }
}

#[cfg(test)]
mod tests;
