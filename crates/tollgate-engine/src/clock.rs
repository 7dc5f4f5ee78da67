//! The source of time. Decisions get time as an argument; this is the only place that reads the
//! clock.

use std::time::{Instant, SystemTime};

pub trait Clock: Send + Sync {
    fn now(&self) -> Instant;
    /// For display and records; never for deadlines.
    fn wall(&self) -> SystemTime;
}

/// Follows tokio's clock, so that a paused test clock governs deadlines and timers alike.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that asks")]
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that asks")]
    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }
}
