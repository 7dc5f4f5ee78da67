//! Mergeable latency statistics of a tool: over time, and over installations that share them.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::latency::{Sample, SampleEnding, rank};

/// Calls, errors, and a latency histogram with fixed buckets.
///
/// Exact below 16 µs, then eight buckets per doubling: a percentile is never below the true one,
/// and less than an eighth above it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LatencyAggregate {
    calls: u64,
    errors: u64,
    /// By the upper bound of a bucket in microseconds: the number of calls in it.
    steps: BTreeMap<u64, u64>,
}

/// Inconsistent numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AggregateError {
    #[error("more than {} calls", LatencyAggregate::MAX_COUNTED_CALLS)]
    TooMany,
    #[error("{errors} errors in {calls} calls")]
    Errors { errors: u64, calls: u64 },
    #[error("{timed} durations and {errors} errors do not add up to {calls} calls")]
    Spans { timed: u64, errors: u64, calls: u64 },
    #[error("the histogram has no bucket up to {0} µs")]
    OffScale(u64),
    #[error("the bucket up to {0} µs appears twice")]
    Twice(u64),
}

/// Log2 of the buckets per doubling.
const STEP_BITS: u32 = 3;

impl LatencyAggregate {
    /// Maximum from one source: the largest integer that JSON represents exactly. Sums may be
    /// larger.
    pub const MAX_COUNTED_CALLS: u64 = (1 << 53) - 1;

    pub fn of(samples: &[Sample]) -> Self {
        let mut aggregate = Self::default();
        samples.iter().for_each(|sample| aggregate.add(*sample));
        aggregate
    }

    /// From external numbers; buckets in the format of [`LatencyAggregate::steps`].
    pub fn from_untrusted(
        calls: u64,
        errors: u64,
        steps: impl IntoIterator<Item = (u64, u64)>,
    ) -> Result<Self, AggregateError> {
        if calls > Self::MAX_COUNTED_CALLS {
            return Err(AggregateError::TooMany);
        }
        if errors > calls {
            return Err(AggregateError::Errors { errors, calls });
        }
        let mut aggregate = Self { calls, errors, steps: BTreeMap::new() };
        for (micros, count) in steps.into_iter().filter(|(_, count)| *count > 0) {
            if micros > longest() || step(micros) != micros {
                return Err(AggregateError::OffScale(micros));
            }
            if aggregate.steps.insert(micros, count).is_some() {
                return Err(AggregateError::Twice(micros));
            }
        }
        let timed = aggregate.timed_calls();
        // A timeout counts as duration and as error; every other call is one of them.
        if timed > calls || timed + errors < calls {
            return Err(AggregateError::Spans { timed, errors, calls });
        }
        Ok(aggregate)
    }

    pub fn add(&mut self, sample: Sample) {
        self.calls = self.calls.saturating_add(1);
        if sample.ending != SampleEnding::Answered {
            self.errors = self.errors.saturating_add(1);
        }
        if sample.ending != SampleEnding::Failed {
            self.count(step(sample.micros()), 1);
        }
    }

    /// Adds all calls of the other.
    pub fn merge(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.errors = self.errors.saturating_add(other.errors);
        other.steps().for_each(|(micros, count)| self.count(micros, count));
    }

    pub fn calls(&self) -> u64 {
        self.calls
    }

    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// The non-empty buckets, ascending: upper bound in microseconds, and count.
    pub fn steps(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.steps.iter().map(|(micros, count)| (*micros, *count))
    }

    /// By nearest rank, as in the window; errors other than timeouts have no duration.
    pub fn percentile(&self, percent: u8) -> Option<Duration> {
        let mut left = rank(percent, self.timed_calls())?;
        for (micros, count) in self.steps() {
            if left <= count {
                return Some(Duration::from_micros(micros));
            }
            left -= count;
        }
        None
    }

    pub fn p50(&self) -> Option<Duration> {
        self.percentile(50)
    }

    /// Number of calls that the percentiles are computed from.
    pub fn timed_calls(&self) -> u64 {
        self.steps.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    fn count(&mut self, micros: u64, more: u64) {
        let count = self.steps.entry(micros).or_default();
        *count = count.saturating_add(more);
    }
}

fn longest() -> u64 {
    Sample { span: Sample::MAX_SPAN, ending: SampleEnding::Answered }.micros()
}

/// The upper bound of the bucket of a duration.
fn step(micros: u64) -> u64 {
    let width = micros.max(1).ilog2().saturating_sub(STEP_BITS);
    micros | ((1 << width) - 1)
}
