use std::time::Duration;

use super::{RetryProgress, retry_delay};
use crate::provider::RetryTarget;

fn check(again: RetryTarget, failed: u32, left: Option<u64>, expected: Option<u64>) {
    let tried = RetryProgress { failed, retries: 3, left: left.map(Duration::from_millis) };
    let pause = retry_delay(again, tried, 0.0);
    assert_eq!(pause, expected.map(Duration::from_millis), "{again:?} {tried:?}");
}

#[test]
fn pauses_double_up_to_a_limit_of_attempts() {
    let again = RetryTarget::SameModel { after: None };
    check(again, 1, None, Some(500));
    check(again, 2, None, Some(1_000));
    check(again, 3, None, Some(2_000));
    check(again, 4, None, None);
}

#[test]
fn a_provider_is_waited_for_within_reason() {
    let after = |seconds| RetryTarget::SameModel { after: Some(Duration::from_secs(seconds)) };
    check(after(0), 1, None, Some(500));
    check(after(7), 1, None, Some(7_000));
    check(after(20), 1, None, Some(20_000));
    check(after(21), 1, None, None);
    check(after(86_400), 1, None, None);
}

#[test]
fn no_pause_goes_past_the_time_that_is_left() {
    let again = RetryTarget::SameModel { after: None };
    check(again, 1, Some(501), Some(500));
    check(again, 1, Some(500), None);
    check(again, 1, Some(0), None);
}

#[test]
fn only_what_may_get_better_is_asked_again() {
    check(RetryTarget::OtherModel, 1, None, None);
    check(RetryTarget::Never, 1, None, None);
}

#[test]
fn chance_makes_pauses_shorter_by_a_quarter_at_most() {
    let tried = RetryProgress { failed: 1, retries: 1, left: None };
    for chance in [0.0, 0.3, 0.999, 7.0, -1.0] {
        let pause = retry_delay(RetryTarget::SameModel { after: None }, tried, chance).unwrap();
        let range = Duration::from_millis(375)..=Duration::from_millis(500);
        assert!(range.contains(&pause), "{pause:?}");
    }
}
