//! Retry budget and retry policy: whether a failed call is sent again, and how often, so that
//! retries do not overload a server in trouble. Pure; randomness is an argument.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::backend::{BackendError, WaitsFor};
use crate::executor::{AttemptOutcome, BackendOutcome};

/// Calls that earn one second attempt, and how many attempts can be saved up.
const CALLS_PER_SECOND_ATTEMPT: u32 = 5;
const MOST_SAVED: u32 = 10;
/// Pause before a retry, with jitter: callers that failed together do not retry together.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Of one server: a fifth of its calls may be second attempts, retried or hedged.
///
/// The first attempt is granted on credit, so that a gateway that has just started can retry too;
/// calls pay it back before they earn the next. From five calls on the server sees at most 1.2
/// times as many.
#[derive(Debug)]
pub(super) struct RetryBudget {
    /// In fifths of an attempt.
    saved: AtomicU32,
    spent: AtomicU32,
}

impl RetryBudget {
    pub(super) fn new() -> Self {
        let lent = CALLS_PER_SECOND_ATTEMPT;
        Self { saved: AtomicU32::new(lent), spent: AtomicU32::new(lent) }
    }

    /// Called when a call begins.
    pub(super) fn earn(&self) {
        let most = MOST_SAVED * CALLS_PER_SECOND_ATTEMPT;
        let more = |saved: u32| (saved < most).then_some(saved + 1);
        if change(&self.spent, |owed| owed.checked_sub(1)).is_none() {
            change(&self.saved, more);
        }
    }

    /// Whether a second attempt is allowed; it is then paid for.
    pub(super) fn spend(&self) -> bool {
        change(&self.saved, |saved| saved.checked_sub(CALLS_PER_SECOND_ATTEMPT)).is_some()
    }
}

/// `None` if the value is unchanged.
fn change(count: &AtomicU32, next: impl Fn(u32) -> Option<u32>) -> Option<u32> {
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
}

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
    SHORTEST_PAUSE + (LONGEST_PAUSE - SHORTEST_PAUSE).mul_f64(chance.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests;
