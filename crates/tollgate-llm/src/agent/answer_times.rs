//! How long the models' answers take, as measured: decides how long a strong model may wait for the
//! opener of its answer.

use std::time::Duration;

use quick_cache::sync::Cache;

/// Models with a measured time.
const MAX_MEASURED_MODELS: usize = 200;
/// A head start of one twelfth makes an answer at most 9 % later.
const HEAD_START_SHARE: u32 = 12;
/// For a model that was not measured yet: a tenth of the shortest answers that people wait for.
const FIRST_HEAD_START: Duration = Duration::from_millis(20);
/// How slowly the estimate follows answers that take longer: by one part in so many.
const RISE: u32 = 8;

/// How little time an answer takes, by name of the model: a short answer lowers it at once, so that
/// the head start is a small part of the next short one as well.
pub(super) struct AnswerTimes(Cache<String, Duration>);

impl Default for AnswerTimes {
    fn default() -> Self {
        Self(Cache::new(MAX_MEASURED_MODELS))
    }
}

impl AnswerTimes {
    /// Two answers that end at once may lose one measurement, which does no harm.
    pub(super) fn record(&self, model: &str, took: Duration) {
        let low = match self.0.get(model) {
            Some(low) if took > low => low + (took - low) / RISE,
            _ => took,
        };
        self.0.insert(model.to_owned(), low);
    }

    /// How long this model may wait to be told the opener, without being noticeably later.
    pub(super) fn head_start(&self, model: &str) -> Duration {
        self.0.get(model).map_or(FIRST_HEAD_START, |low| low / HEAD_START_SHARE)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{AnswerTimes, FIRST_HEAD_START};

    #[test]
    fn a_head_start_is_a_twelfth_of_the_short_answers_so_far() {
        let times = AnswerTimes::default();
        assert_eq!(times.head_start("m"), FIRST_HEAD_START);
        times.record("m", Duration::from_millis(1200));
        assert_eq!(times.head_start("m"), Duration::from_millis(100));
        times.record("m", Duration::from_millis(2400));
        assert_eq!(times.head_start("m"), Duration::from_micros(112_500));
        times.record("m", Duration::from_millis(240));
        assert_eq!(times.head_start("m"), Duration::from_millis(20));
        assert_eq!(times.head_start("other"), FIRST_HEAD_START);
    }
}
