//! How near the process is to the end of its memory, and what is done without because of that: new
//! streams first, then new requests, then new connections. `/healthz` answers to the last.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use http::StatusCode;

use crate::problem::Problem;

mod process;

/// How often the size is looked at, beside the requests.
pub(crate) const LOOK: Duration = Duration::from_millis(250);
/// When there may be room again.
const SOON: Duration = Duration::from_secs(2);

/// What says how much memory is in use.
pub trait Gauge: Send + Sync {
    /// `None`: it cannot be told.
    fn resident_bytes(&self) -> Option<u64>;
}

/// How much memory there may be in use, and how that is measured.
#[derive(Clone)]
pub struct Memory {
    limit: Option<u64>,
    gauge: Arc<dyn Gauge>,
}

impl Memory {
    pub fn unlimited() -> Self {
        Self { limit: None, gauge: Arc::new(process::Process) }
    }

    /// The resident size of this process, up to so many bytes.
    pub fn limited(bytes: u64) -> Self {
        Self { limit: Some(bytes), ..Self::unlimited() }
    }

    /// As far as the control group of this process allows; without one, unlimited.
    pub fn of_control_group() -> Self {
        Self { limit: process::control_group_limit(), ..Self::unlimited() }
    }

    /// Measured by somebody else.
    pub fn measured(limit: u64, gauge: Arc<dyn Gauge>) -> Self {
        Self { limit: Some(limit), gauge }
    }
}

/// However it is measured.
impl PartialEq for Memory {
    fn eq(&self, other: &Self) -> bool {
        self.limit == other.limit
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// How tight it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Calm,
    /// Idle sessions end, and no new streams begin.
    Tight,
    /// New requests are refused.
    Severe,
    /// New connections are refused.
    Critical,
}

impl Level {
    const ALL: [Self; 4] = [Self::Calm, Self::Tight, Self::Severe, Self::Critical];

    fn of(resident: u64, limit: u64) -> Self {
        let percent = u128::from(resident) * 100 / u128::from(limit.max(1));
        match percent {
            0..80 => Self::Calm,
            80..90 => Self::Tight,
            90..95 => Self::Severe,
            _ => Self::Critical,
        }
    }
}

const SHORT: Problem = Problem::new(
    StatusCode::SERVICE_UNAVAILABLE,
    "short_of_memory",
    "the gateway is short of memory; try again in a moment",
)
.later(SOON);

pub(crate) struct Pressure {
    memory: Memory,
    level: AtomicU8,
}

impl Pressure {
    pub(crate) fn new(memory: Memory) -> Self {
        Self { memory, level: AtomicU8::new(0) }
    }

    pub(crate) fn level(&self) -> Level {
        let at = usize::from(self.level.load(Ordering::Relaxed));
        Level::ALL.get(at).copied().unwrap_or(Level::Critical)
    }

    /// Measures. To be called beside the requests; what was found holds until the next time.
    pub(crate) fn look(&self) -> Level {
        let Some(limit) = self.memory.limit else { return Level::Calm };
        let resident = self.memory.gauge.resident_bytes();
        let level = resident.map_or(Level::Calm, |resident| Level::of(resident, limit));
        let before = self.level.swap(level as u8, Ordering::Relaxed);
        if before != level as u8 {
            let resident_mb = resident.unwrap_or_default() >> 20;
            tracing::warn!(resident_mb, limit_mb = limit >> 20, ?level, "memory");
        }
        level
    }

    pub(crate) fn take_request(&self) -> Result<(), Problem> {
        if self.level() >= Level::Severe { Err(SHORT) } else { Ok(()) }
    }

    pub(crate) fn take_stream(&self) -> Result<(), Problem> {
        if self.level() >= Level::Tight { Err(SHORT) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::Level;

    #[test]
    fn r_11_the_ladder_has_its_steps_at_80_90_and_95_percent() {
        for (resident, expected) in [
            (0, Level::Calm),
            (799, Level::Calm),
            (800, Level::Tight),
            (899, Level::Tight),
            (900, Level::Severe),
            (949, Level::Severe),
            (950, Level::Critical),
            (5_000, Level::Critical),
        ] {
            assert_eq!(Level::of(resident, 1_000), expected, "{resident}");
        }
        assert_eq!(Level::of(u64::MAX, u64::MAX), Level::Critical);
        assert_eq!(Level::of(1, 0), Level::Critical);
    }
}
