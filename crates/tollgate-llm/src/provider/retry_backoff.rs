//! Retry backoff: the delay before the same model is queried again. Pure; time and randomness are
//! arguments.

use std::time::Duration;

use super::ask_error::RetryTarget;

/// The first delay; it doubles with every retry.
const INITIAL_BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(8);
/// A provider that asks for a longer delay is not retried.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(20);

/// Attempts made so far with one model.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryProgress {
    pub(super) failed: u32,
    pub(super) retries: u32,
    /// Time left until the deadline.
    pub(super) left: Option<Duration>,
}

/// Delay before the same model is queried again. `None`: no retry. `chance` is random, at least 0
/// and below 1.
pub(super) fn retry_delay(
    again: RetryTarget,
    tried: RetryProgress,
    chance: f64,
) -> Option<Duration> {
    let RetryTarget::SameModel { after } = again else { return None };
    if tried.failed > tried.retries {
        return None;
    }
    let doubled = INITIAL_BACKOFF.saturating_mul(1 << (tried.failed - 1).min(20)).min(MAX_BACKOFF);
    let own = doubled.mul_f64(1.0 - chance.clamp(0.0, 1.0) / 4.0);
    let pause = after.map_or(own, |after| after.max(own));
    let in_time = tried.left.is_none_or(|left| pause < left);
    (pause <= MAX_RETRY_AFTER && in_time).then_some(pause)
}

#[cfg(test)]
mod tests;
