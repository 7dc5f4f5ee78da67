use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// Fails at once, again and again, and shows the pauses in milliseconds; `!` marks exhaustion.
fn check(policy: BackoffPolicy, times: usize, expected: &str) {
    let mut backoff = Backoff::new(policy);
    let mut now = start();
    let mut shown = Vec::new();
    for _ in 0..times {
        let pause = backoff.record_failure(now, Duration::ZERO, 0.0);
        let mark = if matches!(pause, BackoffPause::Exhausted(_)) { "!" } else { "" };
        shown.push(format!("{}{mark}", pause.duration().as_millis()));
        now += pause.duration();
    }
    assert_eq!(shown.join(" "), expected);
}

fn policy(first_ms: u64, max_restarts: u32) -> BackoffPolicy {
    BackoffPolicy {
        first: Duration::from_millis(first_ms),
        longest: 30 * SECOND,
        max_restarts: Some(max_restarts),
    }
}

#[expect(clippy::disallowed_methods, reason = "any instant will do as the start of a script")]
fn start() -> Instant {
    Instant::now()
}

#[test]
fn r_22_pauses_double_until_the_server_has_failed_and_is_tried_once_a_minute_for_ever() {
    check(policy(500, 5), 8, "500 1000 2000 4000 8000 60000! 60000! 60000!");
    check(policy(1000, 5), 7, "1000 2000 4000 8000 16000 60000! 60000!");
}

#[test]
fn r_22_pauses_stop_growing_at_half_a_minute() {
    check(policy(1000, 100), 8, "1000 2000 4000 8000 16000 30000 30000 30000");
}

#[test]
fn no_restarts_allowed_means_failed_at_once() {
    check(policy(500, 0), 2, "60000! 60000!");
}

#[test]
fn without_a_limit_it_never_gives_up() {
    let policy = BackoffPolicy { max_restarts: None, longest: 2 * SECOND, first: SECOND };
    check(policy, 6, "1000 2000 2000 2000 2000 2000");
}

#[test]
fn r_22_a_healthy_minute_forgets_everything() {
    let mut backoff = Backoff::new(policy(500, 2));
    let now = start();
    for _ in 0..3 {
        backoff.record_failure(now, Duration::ZERO, 0.0);
    }
    let short = backoff.record_failure(now + SECOND, 59 * SECOND, 0.0);
    assert_eq!(short, BackoffPause::Exhausted(SLOW_RETRY));
    let long = backoff.record_failure(now + 90 * SECOND, 60 * SECOND, 0.0);
    assert_eq!(long, BackoffPause::Brief(Duration::from_millis(500)));
}

#[test]
fn jitter_only_shortens_and_by_a_quarter_at_most() {
    for (chance, expected) in [(0.0, 1000), (0.5, 875), (1.0, 750), (7.0, 750)] {
        let pause = Backoff::new(policy(1000, 5)).record_failure(start(), Duration::ZERO, chance);
        assert_eq!(pause, BackoffPause::Brief(Duration::from_millis(expected)));
    }
}

#[test]
fn a_thousand_failures_do_not_overflow() {
    let policy = BackoffPolicy { max_restarts: None, longest: 30 * SECOND, first: 10 * SECOND };
    let mut backoff = Backoff::new(policy);
    for _ in 0..1000 {
        assert!(backoff.record_failure(start(), Duration::ZERO, 0.3).duration() <= 30 * SECOND);
    }
}
