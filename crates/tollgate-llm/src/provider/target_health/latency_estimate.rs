//! Latency estimate of one target: time to first token and time per token, as means in which older
//! samples count less. Pure; time is an argument.
//!
//! The windows of tools keep the last samples whatever their age; a provider that was slow an hour
//! ago has to become worth another look.

use std::time::{Duration, Instant};

/// After this time a sample counts half.
const HALF_LIFE: Duration = Duration::from_secs(60);
/// Without a sample for this long, nothing is known.
const MAX_AGE: Duration = Duration::from_secs(300);
/// Length of the answer for which targets are compared.
const COMPARED_TOKENS: f64 = 100.0;

#[derive(Debug, Default)]
pub(super) struct LatencyEstimate {
    first_token: DecayingMean,
    /// After the first.
    per_token: DecayingMean,
    /// Of answers that were not streamed.
    whole: DecayingMean,
}

impl LatencyEstimate {
    pub(super) fn record_first_token(&mut self, now: Instant, took: Duration) {
        self.first_token.add(now, took.as_secs_f64());
    }

    /// No token came in this time: it counts if that is already slower than expected.
    pub(super) fn record_no_token(&mut self, now: Instant, within: Duration) {
        let least = within.as_secs_f64();
        if self.first_token.at(now).is_none_or(|usual| least > usual) {
            self.first_token.add(now, least);
        }
    }

    pub(super) fn record_tokens(&mut self, now: Instant, tokens: u64, took: Duration) {
        if tokens > 1 {
            self.per_token.add(now, took.as_secs_f64() / (tokens - 1) as f64);
        }
    }

    pub(super) fn record_whole(&mut self, now: Instant, took: Duration) {
        self.whole.add(now, took.as_secs_f64());
    }

    pub(super) fn first_token(&self, now: Instant) -> Option<Duration> {
        self.first_token.at(now).and_then(to_duration)
    }

    pub(super) fn tokens_per_second(&self, now: Instant) -> Option<f64> {
        self.per_token.at(now).filter(|seconds| *seconds > 0.0).map(|seconds| 1.0 / seconds)
    }

    /// Expected time of a streamed answer of usual length; without streams, of a whole one.
    pub(super) fn estimate(&self, now: Instant) -> Option<Duration> {
        let per_token = self.per_token.at(now).unwrap_or(0.0);
        let streamed = self.first_token.at(now).map(|first| first + COMPARED_TOKENS * per_token);
        streamed.or_else(|| self.whole.at(now)).and_then(to_duration)
    }
}

fn to_duration(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

/// Exponentially decaying mean.
#[derive(Debug, Default)]
struct DecayingMean {
    sum: f64,
    weight: f64,
    last: Option<Instant>,
}

impl DecayingMean {
    fn add(&mut self, now: Instant, value: f64) {
        let kept = self.last.map_or(0.0, |last| {
            let age = now.saturating_duration_since(last);
            0.5_f64.powf(age.as_secs_f64() / HALF_LIFE.as_secs_f64())
        });
        self.sum = self.sum * kept + value;
        self.weight = self.weight * kept + 1.0;
        self.last = Some(now);
    }

    fn at(&self, now: Instant) -> Option<f64> {
        let age = now.saturating_duration_since(self.last?);
        (age <= MAX_AGE).then(|| self.sum / self.weight)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use tollgate_engine::clock::{Clock, SystemClock};

    use super::{HALF_LIFE, LatencyEstimate, MAX_AGE};

    fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn start() -> Instant {
        SystemClock.now()
    }

    #[test]
    fn older_samples_count_less() {
        let mut estimate = LatencyEstimate::default();
        let now = start();
        assert_eq!(estimate.estimate(now), None);
        estimate.record_first_token(now, millis(900));
        assert_eq!(estimate.first_token(now), Some(millis(900)));
        // Counts half by now: (900 / 2 + 300) / 1.5.
        estimate.record_first_token(now + HALF_LIFE, millis(300));
        assert_eq!(estimate.first_token(now + HALF_LIFE), Some(millis(500)));
    }

    #[test]
    fn what_was_not_measured_lately_is_unknown() {
        let mut estimate = LatencyEstimate::default();
        let now = start();
        estimate.record_first_token(now, millis(900));
        assert_eq!(estimate.estimate(now + MAX_AGE), Some(millis(900)));
        assert_eq!(estimate.estimate(now + MAX_AGE + millis(1)), None);
    }

    #[test]
    fn slow_tokens_outweigh_a_fast_start() {
        let now = start();
        let mut early = LatencyEstimate::default();
        early.record_first_token(now, millis(100));
        early.record_tokens(now, 51, Duration::from_secs(5));
        assert_eq!(early.tokens_per_second(now), Some(10.0));
        let mut steady = LatencyEstimate::default();
        steady.record_first_token(now, millis(900));
        steady.record_tokens(now, 501, Duration::from_secs(5));
        assert!(steady.estimate(now) < early.estimate(now), "1.9 s against 10.1 s");
        early.record_tokens(now, 1, Duration::from_secs(60));
        assert_eq!(early.tokens_per_second(now), Some(10.0), "one token has no rate");
    }

    #[test]
    fn waiting_in_vain_counts_once_it_is_longer_than_usual() {
        let now = start();
        let mut estimate = LatencyEstimate::default();
        estimate.record_no_token(now, millis(400));
        assert_eq!(estimate.first_token(now), Some(millis(400)));
        estimate.record_no_token(now, millis(100));
        assert_eq!(
            estimate.first_token(now),
            Some(millis(400)),
            "it may have been as fast as ever"
        );
        estimate.record_no_token(now, millis(800));
        assert_eq!(estimate.first_token(now), Some(millis(600)));
    }

    #[test]
    fn whole_answers_are_compared_where_nothing_is_streamed() {
        let now = start();
        let mut estimate = LatencyEstimate::default();
        estimate.record_whole(now, millis(2_000));
        assert_eq!(estimate.estimate(now), Some(millis(2_000)));
        estimate.record_first_token(now, millis(300));
        assert_eq!(estimate.estimate(now), Some(millis(300)));
    }
}
