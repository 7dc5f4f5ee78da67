//! Cooldown of a remote embedder, a small circuit breaker: after a question without an answer,
//! further ones fail at once for a short time, instead of waiting in vain.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_engine::embedding::EmbedError;

/// Duration, unless the provider asks for more.
const DEFAULT_COOLDOWN: Duration = Duration::from_secs(3);
/// Upper bound, whatever the provider asks for.
const MAX_COOLDOWN: Duration = Duration::from_secs(60);

/// Consecutive questions cancelled by their callers that start a cooldown.
const MAX_MISSED_IN_ROW: u32 = 3;

#[derive(Default)]
pub(super) struct EmbedCooldown {
    resting: Mutex<Option<ActiveCooldown>>,
    missed: AtomicU32,
}

struct ActiveCooldown {
    until: Instant,
    why: String,
}

impl EmbedCooldown {
    pub(super) fn check(&self, now: Instant) -> Result<(), EmbedError> {
        match &*self.resting.lock() {
            Some(ActiveCooldown { until, why }) if now < *until => {
                Err(EmbedError::Away { why: why.clone(), again: Some(*until - now) })
            }
            _ => Ok(()),
        }
    }

    /// Logs once, until the embedder answers again.
    pub(super) fn begin(&self, now: Instant, why: &str, again: Option<Duration>) {
        let rest = again.unwrap_or_default().clamp(DEFAULT_COOLDOWN, MAX_COOLDOWN);
        let resting = ActiveCooldown { until: now + rest, why: why.to_owned() };
        if self.resting.lock().replace(resting).is_none() {
            tracing::warn!("the memory is searched by words only: {why}");
        }
    }

    /// Records a question that its caller cancelled.
    pub(super) fn record_miss(&self, now: Instant, why: &str) {
        if self.missed.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_MISSED_IN_ROW {
            self.begin(now, why, None);
        }
    }

    pub(super) fn end(&self) {
        self.missed.store(0, Ordering::Relaxed);
        if self.resting.lock().take().is_some() {
            tracing::info!("the memory is searched by meaning again");
        }
    }
}
