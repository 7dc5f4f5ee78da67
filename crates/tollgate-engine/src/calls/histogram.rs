//! A lock-free latency histogram.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Buckets for calls: in-process, up to the usual ceilings of the tiers, and beyond. In
/// microseconds.
pub const TOOL_BUCKETS: &[u64] = &[
    1_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 1_500_000,
    2_500_000, 4_000_000, 10_000_000, 30_000_000, 60_000_000,
];

/// Buckets that OpenTelemetry recommends for `mcp.client.operation.duration`.
pub const OPERATION_BUCKETS: &[u64] = &[
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    120_000_000,
    300_000_000,
];

pub struct Histogram {
    /// Upper bounds, ascending and inclusive.
    bounds: &'static [u64],
    /// One more than `bounds`: the last bucket has no upper bound.
    counts: Box<[AtomicU64]>,
    micros: AtomicU64,
}

/// The values at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramSnapshot {
    /// Upper bound in microseconds, and the cumulative count.
    pub up_to: Vec<(u64, u64)>,
    pub count: u64,
    pub sum: Duration,
}

impl Histogram {
    pub fn new(bounds: &'static [u64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, micros: AtomicU64::new(0) }
    }

    pub fn observe(&self, span: Duration) {
        // Rounded up, so that a duration above a bound stays above it.
        let micros = u64::try_from(span.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX);
        let place = self.bounds.partition_point(|bound| *bound < micros);
        self.counts[place].fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// The total is the sum of the buckets read, even during concurrent writes.
    pub fn read(&self) -> HistogramSnapshot {
        let mut count = 0;
        let mut up_to = Vec::with_capacity(self.bounds.len());
        for (at, of_bucket) in self.counts.iter().enumerate() {
            count += of_bucket.load(Ordering::Relaxed);
            if let Some(bound) = self.bounds.get(at) {
                up_to.push((*bound, count));
            }
        }
        HistogramSnapshot {
            up_to,
            count,
            sum: Duration::from_micros(self.micros.load(Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Histogram, TOOL_BUCKETS};

    #[test]
    fn a_span_counts_in_all_buckets_that_hold_it() {
        let histogram = Histogram::new(&[1_000, 5_000]);
        for micros in [0, 1_000, 1_001, 5_000, 5_001, 9_000_000] {
            histogram.observe(Duration::from_micros(micros));
        }
        histogram.observe(Duration::from_nanos(1_000_001));
        let spans = histogram.read();
        assert_eq!((spans.up_to, spans.count), (vec![(1_000, 2), (5_000, 5)], 7));
        assert_eq!(spans.sum, Duration::from_micros(9_013_003));
    }

    #[test]
    fn the_usual_ceilings_are_bounds() {
        for ceiling in [500_000, 1_500_000, 4_000_000] {
            assert!(TOOL_BUCKETS.contains(&ceiling), "{ceiling}");
        }
        assert!(TOOL_BUCKETS.is_sorted());
    }
}
