//! Statistics of a load test: throughput, percentiles, errors. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

/// Why a call of the load test counts as failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct FailedCallError(pub(super) String);

/// Results of one connection.
#[derive(Default)]
pub(super) struct ConnectionResults {
    took: Vec<Duration>,
    complaints: BTreeMap<String, usize>,
}

impl ConnectionResults {
    pub(super) fn note(&mut self, took: Duration, answer: Result<(), FailedCallError>) {
        self.took.push(took);
        if let Err(FailedCallError(why)) = answer {
            *self.complaints.entry(why).or_default() += 1;
        }
    }
}

pub(super) struct LoadStatistics {
    /// Sorted, ascending.
    took: Vec<Duration>,
    whole: Duration,
    complaints: BTreeMap<String, usize>,
}

impl LoadStatistics {
    pub(super) fn of(connections: Vec<ConnectionResults>, whole: Duration) -> Self {
        let mut took = Vec::new();
        let mut complaints = BTreeMap::<String, usize>::new();
        for connection in connections {
            took.extend(connection.took);
            for (why, count) in connection.complaints {
                *complaints.entry(why).or_default() += count;
            }
        }
        took.sort_unstable();
        Self { took, whole, complaints }
    }

    pub(super) fn calls(&self) -> usize {
        self.took.len()
    }

    pub(super) fn errors(&self) -> usize {
        self.complaints.values().sum()
    }

    /// Most frequent first.
    pub(super) fn complaints(&self) -> impl Iterator<Item = (&str, usize)> {
        let mut all: Vec<(&str, usize)> =
            self.complaints.iter().map(|(why, count)| (why.as_str(), *count)).collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        all.into_iter()
    }

    pub(super) fn per_second(&self) -> f64 {
        let seconds = self.whole.as_secs_f64();
        if seconds > 0.0 { self.took.len() as f64 / seconds } else { 0.0 }
    }

    /// Nearest-rank percentile. Zero without samples.
    pub(super) fn percentile(&self, percent: u32) -> Duration {
        let rank = (self.took.len() * percent as usize).div_ceil(100);
        self.took.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    pub(super) fn to_json(&self) -> Value {
        let at = |percent: u32| {
            let microseconds = (self.percentile(percent).as_secs_f64() * 1e6).round();
            microseconds / 1_000.0
        };
        json!({
            "calls": self.calls(), "errors": self.errors(),
            "per_second": (self.per_second() * 10.0).round() / 10.0,
            "p50_ms": at(50), "p95_ms": at(95), "p99_ms": at(99),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{ConnectionResults, FailedCallError, LoadStatistics};

    #[test]
    fn lanes_are_counted_together() {
        let mut connections = vec![ConnectionResults::default(), ConnectionResults::default()];
        for (at, milliseconds) in (1..=100).rev().enumerate() {
            let answer = if milliseconds > 98 {
                Err(FailedCallError("timeout: slow".to_owned()))
            } else {
                Ok(())
            };
            connections[at % 2].note(Duration::from_millis(milliseconds), answer);
        }
        let figures = LoadStatistics::of(connections, Duration::from_secs(4));
        assert_eq!((figures.calls(), figures.errors()), (100, 2));
        assert_eq!(figures.percentile(50), Duration::from_millis(50));
        assert_eq!(figures.percentile(99), Duration::from_millis(99));
        assert_eq!(figures.complaints().collect::<Vec<_>>(), [("timeout: slow", 2)]);
        assert_eq!(figures.to_json()["per_second"], 25.0);
    }

    #[test]
    fn nothing_measured_is_nothing() {
        let figures = LoadStatistics::of(Vec::new(), Duration::ZERO);
        assert_eq!((figures.percentile(99), figures.per_second()), (Duration::ZERO, 0.0));
    }
}
