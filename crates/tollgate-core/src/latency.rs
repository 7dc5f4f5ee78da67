//! How long calls of one tool took lately: a window of samples, written without a lock.
//! Written at the end of every call, read by whoever decides or shows. Knows no tools and no clock.

use std::time::Duration;

mod ring;
mod stats;

pub use stats::LatencyStats;
pub(crate) use stats::rank;

use ring::{LatencyRing, VALUE_BITS};

/// One call that measured something: how long it took and how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    pub span: Duration,
    pub ending: SampleEnding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SampleEnding {
    Answered,
    /// An error. How long it took says nothing: a refusal in 2 ms does not make a slow tool fast.
    Failed,
    /// Given up at its limit: took longer than that, nobody knows how much.
    Overran,
}

/// The last calls of one tool in one environment. Any number of threads may write and read.
#[derive(Debug)]
pub struct LatencyWindow {
    ring: LatencyRing<{ Self::SIZE }>,
}

// A sample in 42 bits, the ending lowest, so that zero is no sample.
const ENDING_BITS: u32 = 2;
const SPAN_BITS: u32 = VALUE_BITS - ENDING_BITS;
const LONGEST_MICROS: u64 = (1 << SPAN_BITS) - 1;

impl Sample {
    /// Longer spans (12 days) are kept as this.
    pub const MAX_SPAN: Duration = Duration::from_micros(LONGEST_MICROS);

    /// The form in which samples are stored: whole microseconds, rounded up, so that what took
    /// longer than a limit still did. Fits a signed integer as databases have it.
    pub fn to_bits(self) -> u64 {
        let ending = match self.ending {
            SampleEnding::Answered => 1,
            SampleEnding::Failed => 2,
            SampleEnding::Overran => 3,
        };
        (self.micros() << ENDING_BITS) | ending
    }

    /// `None` for what [`Sample::to_bits`] never made.
    pub fn from_bits(bits: u64) -> Option<Self> {
        let ending = match bits & ((1 << ENDING_BITS) - 1) {
            1 => SampleEnding::Answered,
            2 => SampleEnding::Failed,
            3 => SampleEnding::Overran,
            _ => return None,
        };
        let micros = bits >> ENDING_BITS;
        (micros <= LONGEST_MICROS).then(|| Self { span: Duration::from_micros(micros), ending })
    }

    pub(crate) fn micros(self) -> u64 {
        let micros = self.span.as_nanos().div_ceil(1_000);
        u64::try_from(micros).unwrap_or(u64::MAX).min(LONGEST_MICROS)
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

    /// A window as it was before a restart, from its samples, oldest first.
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

    /// How many samples there ever were. Also a mark for [`LatencyWindow::latest`]: those from here on.
    pub fn recorded_count(&self) -> u64 {
        self.ring.pushed_count()
    }

    /// The samples recorded since the mark, oldest first. One that is just being written is left
    /// out.
    pub fn latest(&self, since: u64) -> Vec<Sample> {
        self.numbered_samples(since).into_iter().map(|(_, sample)| sample).collect()
    }

    /// The same, each with its number: the mark from which it is the first.
    pub(crate) fn numbered_samples(&self, since: u64) -> Vec<(u64, Sample)> {
        let values = self.ring.numbered_values(since).into_iter();
        values.filter_map(|(number, bits)| Some((number, Sample::from_bits(bits)?))).collect()
    }
}

#[cfg(test)]
mod tests;
