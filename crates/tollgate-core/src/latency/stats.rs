//! Latency statistics of a window: percentiles and error rate.

use std::time::Duration;

use super::{Sample, SampleEnding};

/// Percentiles use the nearest rank: always a measured duration, never an interpolated one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LatencyStats {
    pub count: usize,
    pub failed: usize,
    pub overran: usize,
    /// Durations of the calls that count for percentiles: answered or timed out. Ascending.
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

    /// Number of calls that the percentiles are computed from.
    pub fn timed_calls(&self) -> usize {
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

    /// The smallest duration that is not exceeded by `percent` of the calls.
    pub fn percentile(&self, percent: u8) -> Option<Duration> {
        let rank = rank(percent, self.micros.len() as u64)?;
        self.at(usize::try_from(rank).ok()?)
    }

    /// Upper confidence bound of the percentile: three standard errors of its rank higher. Chance
    /// alone does not lower it, even with few calls or a bimodal distribution.
    pub fn surely(&self, percent: u8) -> Option<Duration> {
        let count = self.micros.len();
        let percent = usize::from(percent.min(100));
        let error = (count * percent * (100 - percent)).isqrt();
        self.at((count * percent + 3 * error).div_ceil(100).clamp(1, count.max(1)))
    }

    /// Number of calls that took longer than this.
    pub fn longer_than(&self, limit: Duration) -> usize {
        let retained = self.micros.partition_point(|it| Duration::from_micros(*it) <= limit);
        self.micros.len() - retained
    }

    pub fn errors(&self) -> usize {
        self.failed + self.overran
    }

    /// In percent; zero without calls.
    pub fn error_rate(&self) -> f64 {
        100.0 * self.errors() as f64 / self.count.max(1) as f64
    }

    fn at(&self, rank: usize) -> Option<Duration> {
        self.micros.get(rank - 1).copied().map(Duration::from_micros)
    }
}

/// The 1-based rank of the percentile among `count` ascending values.
pub(crate) fn rank(percent: u8, count: u64) -> Option<u64> {
    let scaled = (u128::from(count) * u128::from(percent.min(100))).div_ceil(100);
    // At most `count`, so the conversion does not overflow.
    (count > 0).then(|| u64::try_from(scaled).unwrap_or(count).max(1))
}
