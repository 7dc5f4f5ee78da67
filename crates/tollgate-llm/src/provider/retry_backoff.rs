//! Retry backoff: how long to wait before the same model is asked again. Pure; time and chance are
//! arguments.

use std::time::Duration;

use super::ask_error::RetryTarget;

/// The first pause; it doubles with every further one.
const INITIAL_BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(8);
/// A provider that wants a longer pause than this is not waited for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(20);

/// What was done so far to get an answer from one model.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryProgress {
    pub(super) failed: u32,
    pub(super) retries: u32,
    /// Until nothing may be waited for any more.
    pub(super) left: Option<Duration>,
}

/// How long to wait before the same model is asked again. `None`: it is not. `chance` is random,
/// from 0 up to 1.
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
