//! Retry budget: how many second attempts may be sent, so that retries and hedges do not overload a
//! server in trouble. Lock-free.

use std::sync::atomic::{AtomicU32, Ordering};

/// Calls that earn one second attempt, and how many attempts can be saved up.
const CALLS_PER_SECOND_ATTEMPT: u32 = 5;
const MAX_SAVED_RETRIES: u32 = 10;

/// Of one server or provider: a fifth of its calls may be second attempts, retried or hedged.
///
/// The first attempt is granted on credit, so that a gateway that has just started can retry too;
/// calls pay it back before they earn the next. From five calls on the server sees at most 1.2
/// times as many.
#[derive(Debug)]
pub struct RetryBudget {
    /// In fifths of an attempt.
    saved: AtomicU32,
    debt: AtomicU32,
}

impl Default for RetryBudget {
    fn default() -> Self {
        let lent = CALLS_PER_SECOND_ATTEMPT;
        Self { saved: AtomicU32::new(lent), debt: AtomicU32::new(lent) }
    }
}

impl RetryBudget {
    /// Called when a call begins.
    pub fn earn(&self) {
        let most = MAX_SAVED_RETRIES * CALLS_PER_SECOND_ATTEMPT;
        let more = |saved: u32| (saved < most).then_some(saved + 1);
        if change(&self.debt, |debt| debt.checked_sub(1)).is_none() {
            change(&self.saved, more);
        }
    }

    /// Whether a second attempt is alldebt; it is then paid for.
    pub fn spend(&self) -> bool {
        change(&self.saved, |saved| saved.checked_sub(CALLS_PER_SECOND_ATTEMPT)).is_some()
    }
}

/// `None` if the value is unchanged.
fn change(count: &AtomicU32, next: impl Fn(u32) -> Option<u32>) -> Option<u32> {
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
}

#[cfg(test)]
mod tests;
