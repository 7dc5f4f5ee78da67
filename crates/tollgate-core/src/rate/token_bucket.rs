//! Token bucket, as the generic cell rate algorithm (GCRA): one number per limit, the time at which
//! the bucket is full again.
//!
//! Time is an argument. Lock-free: one atomic.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::RateLimit;

/// The tokens taken of a limit. The limit is passed to each call, so that it can change while the
/// state is kept.
#[derive(Debug)]
pub struct TokenBucket {
    /// Earlier than any time passed in.
    since: Instant,
    /// Nanoseconds since `since` at which the bucket is full again.
    until: AtomicU64,
}

/// A token taken; it can be given back.
#[derive(Debug)]
#[must_use]
pub struct BucketToken<'b> {
    bucket: &'b TokenBucket,
    before: u64,
    after: u64,
}

impl TokenBucket {
    pub fn new(now: Instant) -> Self {
        Self { since: now, until: AtomicU64::new(0) }
    }

    /// Takes a token, or returns the time until one is available.
    pub fn take(&self, limit: RateLimit, now: Instant) -> Result<BucketToken<'_>, Duration> {
        let now = nanoseconds(now.saturating_duration_since(self.since));
        // Rounded up: prefer one call too few to one too many.
        let each = nanoseconds(limit.per).div_ceil(u64::from(limit.calls.max(1))).max(1);
        let whole = each.saturating_mul(u64::from(limit.calls.max(1)));
        let full = now.saturating_add(whole);
        let mut before = self.until.load(Ordering::Relaxed);
        loop {
            // After a change from a larger limit, clamp the debt to the capacity of this one.
            let after = before.clamp(now, full).saturating_add(each);
            if after > full {
                return Err(Duration::from_nanos(after - full));
            }
            let exchanged = self.until.compare_exchange_weak(
                before,
                after,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match exchanged {
                Ok(_) => return Ok(BucketToken { bucket: self, before, after }),
                Err(found) => before = found,
            }
        }
    }

    /// Whether the bucket is full, so that it can be dropped.
    pub fn is_idle(&self, now: Instant) -> bool {
        self.weighs(now).is_zero()
    }

    /// The time until the bucket is full again.
    pub fn weighs(&self, now: Instant) -> Duration {
        let until = Duration::from_nanos(self.until.load(Ordering::Relaxed));
        until.saturating_sub(now.saturating_duration_since(self.since))
    }
}

impl BucketToken<'_> {
    /// Returns the token, unless another was taken since. In that case it stays spent, because its
    /// share of the debt is no longer known.
    pub fn give_back(self) {
        let Self { bucket, before, after } = self;
        let order = Ordering::Relaxed;
        let _ = bucket.until.compare_exchange(after, before, order, order);
    }
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
