//! Latency window of one tool: the last samples, recorded without a lock. Written at the end of
//! every call, read by tier decisions and reports. Independent of tools and clocks.

use std::time::Duration;

mod ring;
mod stats;

pub use stats::LatencyStats;
pub(crate) use stats::rank;

use ring::{LatencyRing, VALUE_BITS};

/// One measured call: its duration and ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    pub span: Duration,
    pub ending: SampleEnding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SampleEnding {
    Answered,
    /// An error. Its duration is ignored: a refusal within 2 ms does not make a slow tool fast.
    Failed,
    /// Timed out: took at least this long.
    Overran,
}

/// The last calls of one tool in one environment. Safe for concurrent writers and readers.
#[derive(Debug)]
pub struct LatencyWindow {
    ring: LatencyRing<{ Self::SIZE }>,
}

// A sample is 42 bits with the ending lowest, so that zero means no sample.
const ENDING_BITS: u32 = 2;
const SPAN_BITS: u32 = VALUE_BITS - ENDING_BITS;
const MAX_MICROS: u64 = (1 << SPAN_BITS) - 1;

impl Sample {
    /// Longer durations (12 days) are clamped to this.
    pub const MAX_SPAN: Duration = Duration::from_micros(MAX_MICROS);

    /// The storage format: whole microseconds, rounded up, so that a duration above a limit stays
    /// above it. Fits the signed integers of databases.
    pub fn to_bits(self) -> u64 {
        let ending = match self.ending {
            SampleEnding::Answered => 1,
            SampleEnding::Failed => 2,
            SampleEnding::Overran => 3,
        };
        (self.micros() << ENDING_BITS) | ending
    }

    /// `None` for values that [`Sample::to_bits`] does not produce.
    pub fn from_bits(bits: u64) -> Option<Self> {
        let ending = match bits & ((1 << ENDING_BITS) - 1) {
            1 => SampleEnding::Answered,
            2 => SampleEnding::Failed,
            3 => SampleEnding::Overran,
            _ => return None,
        };
        let micros = bits >> ENDING_BITS;
        (micros <= MAX_MICROS).then(|| Self { span: Duration::from_micros(micros), ending })
    }

    pub(crate) fn micros(self) -> u64 {
        let micros = self.span.as_nanos().div_ceil(1_000);
        u64::try_from(micros).unwrap_or(u64::MAX).min(MAX_MICROS)
    }
}

impl Default for LatencyWindow {
    fn default() -> Self {
        Self { ring: LatencyRing::new() }
    }
}

impl LatencyWindow {
    pub const SIZE: usize = 100;

    pub fn new() -> Self {
        Self::default()
    }

    /// Restores a window after a restart from its samples, oldest first.
    pub fn restore(samples: &[Sample]) -> Self {
        let window = Self::new();
        for sample in &samples[samples.len().saturating_sub(Self::SIZE)..] {
            window.record(*sample);
        }
        window
    }

    pub fn record(&self, sample: Sample) {
        self.ring.push(sample.to_bits());
    }

    /// Total number of samples ever recorded. Also a cursor for [`LatencyWindow::latest`].
    pub fn recorded_count(&self) -> u64 {
        self.ring.pushed_count()
    }

    /// The samples recorded since the cursor, oldest first. A sample that is being written is
    /// skipped.
    pub fn latest(&self, since: u64) -> Vec<Sample> {
        self.numbered_samples(since).into_iter().map(|(_, sample)| sample).collect()
    }

    /// Like [`LatencyWindow::latest`], each with its sequence number.
    pub(crate) fn numbered_samples(&self, since: u64) -> Vec<(u64, Sample)> {
        let values = self.ring.numbered_values(since).into_iter();
        values.filter_map(|(number, bits)| Some((number, Sample::from_bits(bits)?))).collect()
    }
}

#[cfg(test)]
mod tests;
