//! Token bucket, as the generic cell rate algorithm (GCRA): one number per limit, the moment at
//! which all that was taken would be paid back.
//!
//! Time is an argument; threads meet in one atomic, and no lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::RateLimit;

/// What was taken of a limit. The limit itself is said with each taking: it may change while what
/// was taken stays.
#[derive(Debug)]
pub struct TokenBucket {
    /// Before every moment that is ever asked about.
    since: Instant,
    /// Nanoseconds since then, until which what was taken weighs.
    until: AtomicU64,
}

/// One that was taken; it can be given back.
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

    /// Takes one, or says how long it is until there is one to take.
    pub fn take(&self, limit: RateLimit, now: Instant) -> Result<BucketToken<'_>, Duration> {
        let now = nanoseconds(now.saturating_duration_since(self.since));
        // Rounded up: rather one too few than one too many.
        let each = nanoseconds(limit.per).div_ceil(u64::from(limit.calls.max(1))).max(1);
        let whole = each.saturating_mul(u64::from(limit.calls.max(1)));
        let full = now.saturating_add(whole);
        let mut before = self.until.load(Ordering::Relaxed);
        loop {
            // Of a longer limit that held before, no more weighs than this one can.
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

    /// Whether nothing that was taken weighs any more: it is as good as new.
    pub fn is_idle(&self, now: Instant) -> bool {
        self.weighs(now).is_zero()
    }

    /// For how long what was taken still weighs.
    pub fn weighs(&self, now: Instant) -> Duration {
        let until = Duration::from_nanos(self.until.load(Ordering::Relaxed));
        until.saturating_sub(now.saturating_duration_since(self.since))
    }
}

impl BucketToken<'_> {
    /// As if it had never been taken; unless another was taken since. Then it stays spent, because
    /// nobody can tell any more what weighs how much.
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
