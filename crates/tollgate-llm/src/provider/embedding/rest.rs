//! Lets questions alone for a moment after one that got no answer: each would wait for nothing.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_engine::embedding::EmbedError;

/// How long, unless the provider says more.
const REST: Duration = Duration::from_secs(3);
/// Not longer, whatever it says.
const LONGEST: Duration = Duration::from_secs(60);

/// Questions in a row that others gave up before there is a rest.
const MOST_MISSED: u32 = 3;

#[derive(Default)]
pub(super) struct Rest {
    resting: Mutex<Option<Resting>>,
    missed: AtomicU32,
}

struct Resting {
    until: Instant,
    why: String,
}

impl Rest {
    pub(super) fn check(&self, now: Instant) -> Result<(), EmbedError> {
        match &*self.resting.lock() {
            Some(Resting { until, why }) if now < *until => {
                Err(EmbedError::Away { why: why.clone(), again: Some(*until - now) })
            }
            _ => Ok(()),
        }
    }

    /// Said once, until it answers again.
    pub(super) fn begin(&self, now: Instant, why: &str, again: Option<Duration>) {
        let rest = again.unwrap_or_default().clamp(REST, LONGEST);
        let resting = Resting { until: now + rest, why: why.to_owned() };
        if self.resting.lock().replace(resting).is_none() {
            tracing::warn!("the memory is searched by words only: {why}");
        }
    }

    /// A question was given up.
    pub(super) fn missed(&self, now: Instant, why: &str) {
        if self.missed.fetch_add(1, Ordering::Relaxed) + 1 >= MOST_MISSED {
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
