//! Never more than the limit and what may come at once, whoever takes and whenever.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use proptest::prelude::*;

use super::*;

#[expect(clippy::disallowed_methods, reason = "any moment will do")]
fn origin() -> Instant {
    Instant::now()
}

fn limit(calls: u32, seconds: u64) -> RateLimit {
    RateLimit { calls, per: Duration::from_secs(seconds) }
}

fn take(bucket: &TokenBucket, limit: RateLimit, now: Instant) -> Result<(), Duration> {
    bucket.take(limit, now).map(drop)
}

/// Asks at these milliseconds; shows which were let through (`x`) and how long the others wait.
fn check(limit: RateLimit, script: &[(u64, &str)]) {
    let start = origin();
    let bucket = TokenBucket::new(start);
    for (at, expected) in script {
        let shown = match take(&bucket, limit, start + Duration::from_millis(*at)) {
            Ok(()) => "x".to_owned(),
            Err(wait) => wait.as_millis().to_string(),
        };
        assert_eq!(shown, *expected, "at {at}");
    }
}

#[test]
fn all_may_come_at_once_and_then_one_after_the_other() {
    check(
        limit(3, 3),
        &[(0, "x"), (0, "x"), (0, "x"), (0, "1000"), (999, "1"), (1_000, "x"), (1_000, "1000")],
    );
    check(limit(1, 60), &[(5, "x"), (6, "59999"), (60_004, "1"), (60_005, "x")]);
    check(limit(3, 3), &[(0, "x"), (9_000, "x"), (9_000, "x"), (9_000, "x"), (9_000, "1000")]);
    check(limit(7, 60), &[(0, "x"); 7]);
}

#[test]
fn a_limit_that_changes_keeps_what_was_taken() {
    let start = origin();
    let bucket = TokenBucket::new(start);
    for _ in 0..10 {
        take(&bucket, limit(10, 60), start).unwrap();
    }
    assert!(take(&bucket, limit(20, 60), start).is_err(), "all of it was used up");
    assert_eq!(take(&bucket, limit(5, 60), start), Err(Duration::from_secs(12)));
    assert_eq!(take(&bucket, limit(10, 1), start), Err(Duration::from_millis(100)), "not a minute");
    assert!(take(&bucket, limit(10, 1), start + Duration::from_millis(59_100)).is_ok());
}

#[test]
fn what_is_given_back_was_never_taken() {
    let start = origin();
    let bucket = TokenBucket::new(start);
    for _ in 0..100 {
        bucket.take(limit(2, 60), start).unwrap().give_back();
    }
    assert!(bucket.is_idle(start));
    let first = bucket.take(limit(2, 60), start).unwrap();
    let second = bucket.take(limit(2, 60), start).unwrap();
    first.give_back();
    assert!(take(&bucket, limit(2, 60), start).is_err(), "another was taken since: it stays spent");
    second.give_back();
    assert!(take(&bucket, limit(2, 60), start).is_ok());
}

proptest! {
    #[test]
    fn no_window_ever_has_more_than_the_limit_and_a_burst(
        calls in 1..50_u32,
        seconds in 1..10_u64,
        steps in prop::collection::vec(0..400_u64, 1..400),
    ) {
        let limit = limit(calls, seconds);
        let start = origin();
        let bucket = TokenBucket::new(start);
        let mut now = 0;
        let mut passed: Vec<u64> = Vec::new();
        for step in steps {
            now += step;
            let at = start + Duration::from_millis(now);
            match take(&bucket, limit, at) {
                Ok(()) => passed.push(now),
                Err(wait) => {
                    prop_assert!(take(&bucket, limit, at + wait - Duration::from_nanos(1)).is_err());
                }
            }
        }
        for (at, first) in passed.iter().enumerate() {
            let within = passed[at..].iter().take_while(|it| **it < first + seconds * 1_000);
            prop_assert!(within.count() <= 2 * calls as usize);
        }
        let most = u64::from(calls) + now * u64::from(calls) / (seconds * 1_000);
        prop_assert!(passed.len() as u64 <= most);
    }

    #[test]
    fn whoever_waits_as_long_as_told_is_let_through(calls in 1..1_000_u32, seconds in 1..90_000_u64) {
        let limit = limit(calls, seconds);
        let start = origin();
        let bucket = TokenBucket::new(start);
        for _ in 0..calls {
            prop_assert!(take(&bucket, limit, start).is_ok());
        }
        let wait = take(&bucket, limit, start).unwrap_err();
        prop_assert!(take(&bucket, limit, start + wait).is_ok());
    }
}

#[test]
fn two_threads_together_get_no_more_than_one() {
    let limit = limit(10_000, 3_600);
    let start = origin();
    let bucket = TokenBucket::new(start);
    let passed = AtomicUsize::new(0);
    let run = || {
        for _ in 0..20_000 {
            match bucket.take(limit, start) {
                // Some change their mind: that must not let others through twice.
                Ok(taken) if passed.load(Ordering::Relaxed) % 7 == 3 => {
                    taken.give_back();
                    if take(&bucket, limit, start).is_ok() {
                        passed.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Ok(_) => drop(passed.fetch_add(1, Ordering::Relaxed)),
                Err(_) => {}
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(run);
        scope.spawn(run);
    });
    let passed = passed.into_inner();
    assert!(passed <= 10_000, "{passed}");
    assert!(passed > 9_000, "{passed}");
}
