//! How long to wait before the same model is asked again. Pure; time and chance are arguments.

use std::time::Duration;

use super::ask_error::Again;

/// The first pause; it doubles with every further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// A provider that wants a longer pause than this is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// What was done so far to get an answer from one model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tried {
    pub(super) failed: u32,
    pub(super) retries: u32,
    /// Until nothing may be waited for any more.
    pub(super) left: Option<Duration>,
}

/// How long to wait before the same model is asked again. `None`: it is not. `chance` is random,
/// from 0 up to 1.
pub(super) fn pause(again: Again, tried: Tried, chance: f64) -> Option<Duration> {
    let Again::SameModel { after } = again else { return None };
    if tried.failed > tried.retries {
        return None;
    }
    let doubled = FIRST_PAUSE.saturating_mul(1 << (tried.failed - 1).min(20)).min(LONGEST_PAUSE);
    let own = doubled.mul_f64(1.0 - chance.clamp(0.0, 1.0) / 4.0);
    let pause = after.map_or(own, |after| after.max(own));
    let in_time = tried.left.is_none_or(|left| pause < left);
    (pause <= LONGEST_WAIT && in_time).then_some(pause)
}

#[cfg(test)]
mod tests;
