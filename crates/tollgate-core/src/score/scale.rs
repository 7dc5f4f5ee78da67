//! Histogram buckets for durations: exact below 16 µs, then eight per doubling. The same buckets as
//! those of [`super::LatencyAggregate`], so that counts can be converted.

use std::time::Duration;

/// Log2 of the buckets per doubling.
const STEP_BITS: u32 = 3;

/// Longer durations are counted in the last bucket: over an hour.
const MAX_MICROS: u64 = (1 << 32) - 1;

/// Number of buckets.
pub const PLACES: usize = 240;

/// The bucket of a duration.
pub fn place(span: Duration) -> usize {
    let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX).min(MAX_MICROS);
    let width = micros.max(1).ilog2().saturating_sub(STEP_BITS);
    (width as usize) * (1 << STEP_BITS) + (micros >> width) as usize
}

/// The upper bound of a bucket, in microseconds.
pub fn longest_micros(place: usize) -> u64 {
    let width = (place >> STEP_BITS).saturating_sub(1);
    let top = (place - (width << STEP_BITS)) as u64;
    ((top + 1) << width) - 1
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{PLACES, longest_micros, place};
    use crate::score::LatencyAggregate;

    #[test]
    fn every_span_is_within_its_place_and_above_the_one_before() {
        for micros in (0..5_000).chain((1..32).flat_map(|bit| [(1 << bit) - 1, 1 << bit])) {
            let at = place(Duration::from_micros(micros));
            assert!(micros <= longest_micros(at), "{micros}");
            assert!(at == 0 || micros > longest_micros(at - 1), "{micros}");
        }
        for long in [Duration::from_secs(4_295), Duration::from_secs(90_000), Duration::MAX] {
            assert_eq!(place(long), PLACES - 1, "{long:?}");
        }
    }

    #[test]
    fn places_are_steps_of_shared_figures() {
        let steps = (0..PLACES).map(|place| (longest_micros(place), 1));
        let figures = LatencyAggregate::from_untrusted(PLACES as u64, 0, steps).unwrap();
        assert_eq!(figures.timed_calls(), PLACES as u64);
    }
}
