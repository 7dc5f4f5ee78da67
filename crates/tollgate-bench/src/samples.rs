//! Measured values, kept whole: quantiles are exact.

use std::time::Duration;

/// Invariant: ascending.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples {
    sorted: Vec<u64>,
}

impl Samples {
    pub(crate) fn of_nanos(mut nanos: Vec<u64>) -> Self {
        nanos.sort_unstable();
        Self { sorted: nanos }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self::of_nanos([self.sorted, other.sorted].concat())
    }

    pub(crate) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The smallest value that at least the share `q` of all values does not exceed.
    pub(crate) fn quantile(&self, q: f64) -> Duration {
        let count = self.sorted.len();
        let rank = (q * count as f64).ceil() as usize;
        let at = rank.clamp(1, count.max(1)) - 1;
        Duration::from_nanos(self.sorted.get(at).copied().unwrap_or(0))
    }
}

/// The middle value; of an even number, the mean of the two.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[count / 2],
        count => f64::midpoint(values[count / 2 - 1], values[count / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::{Samples, median};

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let samples = Samples::of_nanos((1..=1000).rev().collect());
        for (q, expected) in [(0.0, 1), (0.5, 500), (0.99, 990), (0.999, 999), (1.0, 1000)] {
            assert_eq!(samples.quantile(q).as_nanos(), expected, "{q}");
        }
        assert_eq!(Samples::default().quantile(0.5).as_nanos(), 0);
    }

    #[test]
    fn the_median_is_the_middle() {
        assert!((median([3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median([4.0, 1.0]) - 2.5).abs() < 1e-9);
    }
}
