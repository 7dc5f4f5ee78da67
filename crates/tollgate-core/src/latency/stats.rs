//! What samples say together: percentiles and the rate of errors.

use std::time::Duration;

use super::{Sample, SampleEnding};

/// Percentiles are by nearest rank: always a span that was measured, never one in between.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LatencyStats {
    pub count: usize,
    pub failed: usize,
    pub overran: usize,
    /// Of the calls that count for percentiles: answered or overrun. Ascending.
    micros: Vec<u64>,
}

impl FromIterator<Sample> for LatencyStats {
    fn from_iter<I: IntoIterator<Item = Sample>>(samples: I) -> Self {
        let mut figures = Self::default();
        for sample in samples {
            figures.count += 1;
            figures.failed += usize::from(sample.ending == SampleEnding::Failed);
            figures.overran += usize::from(sample.ending == SampleEnding::Overran);
            if sample.ending != SampleEnding::Failed {
                figures.micros.push(sample.micros());
            }
        }
        figures.micros.sort_unstable();
        figures
    }
}

impl LatencyStats {
    pub fn of(samples: &[Sample]) -> Self {
        samples.iter().copied().collect()
    }

    /// How many calls the percentiles are made of.
    pub fn timed(&self) -> usize {
        self.micros.len()
    }

    pub fn p50(&self) -> Option<Duration> {
        self.percentile(50)
    }

    pub fn p95(&self) -> Option<Duration> {
        self.percentile(95)
    }

    pub fn p99(&self) -> Option<Duration> {
        self.percentile(99)
    }

    /// The smallest span that at least so many of hundred calls did not exceed.
    pub fn percentile(&self, percent: u8) -> Option<Duration> {
        let rank = rank(percent, self.micros.len() as u64)?;
        self.at(usize::try_from(rank).ok()?)
    }

    /// The percentile at its worst: three standard errors of its rank later. Chance alone does
    /// not bring it down, be the calls few or of two kinds.
    pub fn surely(&self, percent: u8) -> Option<Duration> {
        let (count, percent) = (self.micros.len(), usize::from(percent.min(100)));
        let error = (count * percent * (100 - percent)).isqrt();
        self.at((count * percent + 3 * error).div_ceil(100).clamp(1, count.max(1)))
    }

    /// How many calls took longer than this.
    pub fn longer_than(&self, limit: Duration) -> usize {
        let kept = self.micros.partition_point(|it| Duration::from_micros(*it) <= limit);
        self.micros.len() - kept
    }

    pub fn errors(&self) -> usize {
        self.failed + self.overran
    }

    /// In percent; zero where nothing was called.
    pub fn error_rate(&self) -> f64 {
        100.0 * self.errors() as f64 / self.count.max(1) as f64
    }

    fn at(&self, rank: usize) -> Option<Duration> {
        self.micros.get(rank - 1).copied().map(Duration::from_micros)
    }
}

/// Which of `count` ascending values is the percentile, counted from 1.
pub(crate) fn rank(percent: u8, count: u64) -> Option<u64> {
    let scaled = (u128::from(count) * u128::from(percent.min(100))).div_ceil(100);
    // No more than `count`, so it fits again.
    (count > 0).then(|| u64::try_from(scaled).unwrap_or(count).max(1))
}
