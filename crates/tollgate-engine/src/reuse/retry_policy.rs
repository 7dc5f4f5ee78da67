//! Retry policy: whether a failed call is sent again, within the retry budget of its server. Pure;
//! randomness is an argument.

use std::time::Duration;

use crate::backend::{BackendError, WaitsFor};
use crate::executor::{AttemptOutcome, BackendOutcome};

/// Pause before a retry, with jitter: callers that failed together do not retry together.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const MAX_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Whether the connection was lost or absent, which a retry may fix. All other failures would
/// repeat, and nobody is asked twice.
pub(super) fn is_retryable(run: &AttemptOutcome) -> bool {
    let broken = matches!(
        run.ran,
        BackendOutcome::Answered(Err(BackendError::Lost(_) | BackendError::Offline { .. }))
    );
    broken && run.waited_for == WaitsFor::Server
}

/// The more informative of two outcomes: a server that was offline the second time would hide the
/// outcome of the first attempt.
pub(super) fn more_telling(first: AttemptOutcome, second: AttemptOutcome) -> AttemptOutcome {
    match second.ran {
        BackendOutcome::Answered(Err(
            BackendError::Offline { .. } | BackendError::Resting { .. },
        )) => first,
        _ => second,
    }
}

/// Whether this decides a race of two attempts. A lost or late attempt does not; a question of the
/// server (`None`) does.
pub(super) fn is_answer(run: Option<&AttemptOutcome>) -> bool {
    let lost = |run: &AttemptOutcome| match &run.ran {
        BackendOutcome::TimedOut => true,
        BackendOutcome::Answered(Err(failure)) => {
            matches!(
                failure,
                BackendError::Lost(_)
                    | BackendError::Unusable(_)
                    | BackendError::Offline { .. }
                    | BackendError::Resting { .. }
            )
        }
        BackendOutcome::Answered(Ok(_)) | BackendOutcome::InputRequired(_) => false,
    };
    !run.is_some_and(lost)
}

pub(super) fn pause(chance: f64) -> Duration {
    SHORTEST_PAUSE + (MAX_RETRY_DELAY - SHORTEST_PAUSE).mul_f64(chance.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests;
