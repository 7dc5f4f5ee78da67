//! Load shedding by memory: how close the process is to its limit, and what is shed.
//!
//! First new streams, then new requests, then new connections, and last the streams that hold most.
//! Probes are always answered.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use http::StatusCode;

use crate::api_error::ApiError;

mod control_group;
mod process;

/// Interval of measurements, independent of requests.
pub(crate) const MEMORY_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// `Retry-After` of a refused request.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// Source of the current memory use.
pub trait MemoryGauge: Send + Sync {
    /// `None`: unknown.
    fn resident_bytes(&self) -> Option<u64>;
}

/// Memory limits and their gauges.
#[derive(Clone)]
pub struct MemoryLimit {
    ceilings: Vec<MemoryCeiling>,
}

/// One limit and its gauge.
#[derive(Clone)]
struct MemoryCeiling {
    limit: u64,
    gauge: Arc<dyn MemoryGauge>,
}

impl MemoryLimit {
    pub fn without_limit() -> Self {
        Self { ceilings: Vec::new() }
    }

    /// Limits the resident size of this process, beside the limit of its control group.
    pub fn with_limit(bytes: u64) -> Self {
        let mut memory = Self::of_control_group();
        memory
            .ceilings
            .push(MemoryCeiling { limit: bytes, gauge: Arc::new(process::ProcessGauge) });
        memory
    }

    /// The limit of this process's control group, which counts everything in it, including children
    /// and sockets. Unlimited if the group has no limit.
    pub fn of_control_group() -> Self {
        let group = control_group::tightest_limit();
        let ceiling = |(limit, group)| MemoryCeiling { limit, gauge: Arc::new(group) };
        Self { ceilings: group.map(ceiling).into_iter().collect() }
    }

    /// With another gauge.
    pub fn with_gauge(limit: u64, gauge: Arc<dyn MemoryGauge>) -> Self {
        Self { ceilings: vec![MemoryCeiling { limit, gauge }] }
    }

    /// The smallest limit.
    pub fn limit(&self) -> Option<u64> {
        self.ceilings.iter().map(|ceiling| ceiling.limit).min()
    }
}

/// Compares the limits only, not the gauges.
impl PartialEq for MemoryLimit {
    fn eq(&self, other: &Self) -> bool {
        let limits = |memory: &Self| -> Vec<u64> {
            memory.ceilings.iter().map(|ceiling| ceiling.limit).collect()
        };
        limits(self) == limits(other)
    }
}

impl fmt::Debug for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("limit", &self.limit()).finish_non_exhaustive()
    }
}

/// Memory pressure level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PressureLevel {
    Calm,
    /// Idle sessions are closed, and no new streams start.
    Tight,
    /// New requests are refused.
    Severe,
    /// New connections are refused, and the streams that hold most are reset, one after another.
    Critical,
}

impl PressureLevel {
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

const SHORT_OF_MEMORY: ApiError = ApiError::new(
    StatusCode::SERVICE_UNAVAILABLE,
    "short_of_memory",
    "the gateway is low on memory; try again in a moment",
)
.later(RETRY_AFTER);

pub(crate) struct MemoryPressure {
    memory: MemoryLimit,
    level: AtomicU8,
    /// Connections that were reset to free memory.
    resets: AtomicU64,
}

impl MemoryPressure {
    pub(crate) fn new(memory: MemoryLimit) -> Self {
        Self { memory, level: AtomicU8::new(0), resets: AtomicU64::new(0) }
    }

    pub(crate) fn level(&self) -> PressureLevel {
        let at = usize::from(self.level.load(Ordering::Relaxed));
        PressureLevel::ALL.get(at).copied().unwrap_or(PressureLevel::Critical)
    }

    /// Measures the memory. Called periodically, not per request. The result is valid until the
    /// next call.
    pub(crate) fn look(&self) -> PressureLevel {
        let mut tightest = (PressureLevel::Calm, 0, 0);
        for MemoryCeiling { limit, gauge } in &self.memory.ceilings {
            let Some(used) = gauge.resident_bytes() else { continue };
            tightest = tightest.max((PressureLevel::of(used, *limit), used, *limit));
        }
        let (level, used, limit) = tightest;
        let before = self.level.swap(level as u8, Ordering::Relaxed);
        if before != level as u8 {
            tracing::warn!(used_mb = used >> 20, limit_mb = limit >> 20, ?level, "memory");
        }
        level
    }

    pub(crate) fn count_reset(&self) {
        self.resets.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn resets(&self) -> u64 {
        self.resets.load(Ordering::Relaxed)
    }

    pub(crate) fn take_request(&self) -> Result<(), ApiError> {
        if self.level() >= PressureLevel::Severe { Err(SHORT_OF_MEMORY) } else { Ok(()) }
    }

    pub(crate) fn take_stream(&self) -> Result<(), ApiError> {
        if self.level() >= PressureLevel::Tight { Err(SHORT_OF_MEMORY) } else { Ok(()) }
    }
}

/// Memory held by one connection, as far as it is known: bodies and messages that are being read or
/// answered, and output that the client has not read.
#[derive(Debug, Default)]
pub(crate) struct ConnectionMemory {
    reserved: AtomicUsize,
    unsent: AtomicUsize,
}

impl ConnectionMemory {
    pub(crate) fn bytes(&self) -> usize {
        let reserved = self.reserved.load(Ordering::Relaxed);
        reserved.saturating_add(self.unsent.load(Ordering::Relaxed))
    }

    pub(crate) fn reserve(&self, bytes: usize) {
        self.reserved.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Releases reserved bytes.
    pub(crate) fn release(&self, bytes: usize) {
        self.reserved.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(crate) fn set_unsent(&self, bytes: usize) {
        self.unsent.store(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::PressureLevel;

    #[test]
    fn r_11_the_ladder_has_its_steps_at_80_90_and_95_percent() {
        for (resident, expected) in [
            (0, PressureLevel::Calm),
            (799, PressureLevel::Calm),
            (800, PressureLevel::Tight),
            (899, PressureLevel::Tight),
            (900, PressureLevel::Severe),
            (949, PressureLevel::Severe),
            (950, PressureLevel::Critical),
            (5_000, PressureLevel::Critical),
        ] {
            assert_eq!(PressureLevel::of(resident, 1_000), expected, "{resident}");
        }
        assert_eq!(PressureLevel::of(u64::MAX, u64::MAX), PressureLevel::Critical);
        assert_eq!(PressureLevel::of(1, 0), PressureLevel::Critical);
    }
}
