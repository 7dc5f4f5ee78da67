//! A lock-free instant.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// In microseconds since a reference instant; earlier instants are clamped to it.
#[derive(Debug)]
pub(super) struct AtomicInstant {
    created: Instant,
    micros: AtomicU64,
}

const NEVER: u64 = u64::MAX;

impl AtomicInstant {
    pub(super) fn never(created: Instant) -> Self {
        Self { created, micros: AtomicU64::new(NEVER) }
    }

    pub(super) fn set(&self, at: Option<Instant>) {
        let micros = |at: Instant| at.saturating_duration_since(self.created).as_micros();
        let micros = at.map(|at| u64::try_from(micros(at)).unwrap_or(NEVER - 1));
        self.micros.store(micros.unwrap_or(NEVER), Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> Option<Instant> {
        match self.micros.load(Ordering::Relaxed) {
            NEVER => None,
            micros => self.created.checked_add(Duration::from_micros(micros)),
        }
    }
}
