//! How long the models' answers take, as measured: decides how long a strong model may wait for the
//! opener of its answer.

use std::time::Duration;

use quick_cache::sync::Cache;

/// Models with a measured time.
const MAX_MEASURED_MODELS: usize = 200;
/// A head start of one twelfth makes an answer at most 9 % later.
const HEAD_START_SHARE: u32 = 12;
/// For a model that was not measured yet.
const FIRST_HEAD_START: Duration = Duration::from_millis(50);

/// Moving average of the time of an answer, by name of the model.
pub(super) struct AnswerTimes(Cache<String, Duration>);

impl Default for AnswerTimes {
    fn default() -> Self {
        Self(Cache::new(MAX_MEASURED_MODELS))
    }
}

impl AnswerTimes {
    /// Two answers that end at once may lose one measurement, which does no harm.
    pub(super) fn record(&self, model: &str, took: Duration) {
        let average = self.0.get(model).map_or(took, |before| (before * 3 + took) / 4);
        self.0.insert(model.to_owned(), average);
    }

    /// How long this model may wait to be told the opener, without being noticeably later.
    pub(super) fn head_start(&self, model: &str) -> Duration {
        self.0.get(model).map_or(FIRST_HEAD_START, |average| average / HEAD_START_SHARE)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{AnswerTimes, FIRST_HEAD_START};

    #[test]
    fn a_head_start_is_a_twelfth_of_the_answers_so_far() {
        let times = AnswerTimes::default();
        assert_eq!(times.head_start("m"), FIRST_HEAD_START);
        times.record("m", Duration::from_millis(1200));
        assert_eq!(times.head_start("m"), Duration::from_millis(100));
        times.record("m", Duration::from_millis(2400));
        assert_eq!(times.head_start("m"), Duration::from_millis(125));
        assert_eq!(times.head_start("other"), FIRST_HEAD_START);
    }
}
