//! Retry budget and retry policy: whether a call that failed is sent once more, and how often that
//! may happen: a server in trouble must not get more of it. Pure; chance is an argument.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::backend::{BackendError, WaitsFor};
use crate::executor::{AttemptOutcome, BackendOutcome};

/// Second attempts per call, and how many may be saved up for a bad moment.
const CALLS_PER_SECOND_ATTEMPT: u32 = 5;
const MOST_SAVED: u32 = 10;
/// Before the second attempt; callers who failed together do not come back together.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Of one server: a fifth of the calls to it may be second attempts, retried or hedged.
///
/// The first is lent, so that a gateway that has just started can mend too; calls pay it back
/// before they earn the next. From five calls on the server sees no more than 1.2 times as many.
#[derive(Debug)]
pub(super) struct RetryBudget {
    /// In fifths of an attempt.
    saved: AtomicU32,
    owed: AtomicU32,
}

impl RetryBudget {
    pub(super) fn new() -> Self {
        let lent = CALLS_PER_SECOND_ATTEMPT;
        Self { saved: AtomicU32::new(lent), owed: AtomicU32::new(lent) }
    }

    /// A call begins.
    pub(super) fn earn(&self) {
        let most = MOST_SAVED * CALLS_PER_SECOND_ATTEMPT;
        let more = |saved: u32| (saved < most).then_some(saved + 1);
        if change(&self.owed, |owed| owed.checked_sub(1)).is_none() {
            change(&self.saved, more);
        }
    }

    /// Whether there may be a second attempt; it is then paid for.
    pub(super) fn spend(&self) -> bool {
        change(&self.saved, |saved| saved.checked_sub(CALLS_PER_SECOND_ATTEMPT)).is_some()
    }
}

/// `None` if it stays as it is.
fn change(count: &AtomicU32, next: impl Fn(u32) -> Option<u32>) -> Option<u32> {
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
}

/// A connection that broke, or was not there, may be there a moment later. Everything else would
/// end the same way; and nobody is asked twice.
pub(super) fn is_retryable(run: &AttemptOutcome) -> bool {
    let broken = matches!(
        run.ran,
        BackendOutcome::Answered(Err(BackendError::Lost(_) | BackendError::Offline { .. }))
    );
    broken && run.waited_for == WaitsFor::Server
}

/// The one of two attempts that says more: that a server was not there the second time hides
/// what became of the first.
pub(super) fn more_telling(first: AttemptOutcome, second: AttemptOutcome) -> AttemptOutcome {
    match second.ran {
        BackendOutcome::Answered(Err(
            BackendError::Offline { .. } | BackendError::Resting { .. },
        )) => first,
        _ => second,
    }
}

/// Whether this decides a race of two attempts. That one of them broke or was late does not; that
/// the server asks something (`None`) does.
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
