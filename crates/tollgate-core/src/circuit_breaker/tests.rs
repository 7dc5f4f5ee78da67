use super::*;

/// Plays a script and shows what was let through. One sign per call: `+` answered, `-` failed,
/// `~` abandoned; a number waits so many milliseconds. Shown: `.` let through, `?` as a probe,
/// `x` refused.
fn check(script: &str, expected: &str) {
    let mut now = start();
    let mut breaker = CircuitBreaker::default();
    let mut shown = String::new();
    for word in script.split_whitespace() {
        if let Ok(wait) = word.parse() {
            now += Duration::from_millis(wait);
            continue;
        }
        for sign in word.chars() {
            let outcome = match sign {
                '+' => Outcome::Answered,
                '-' => Outcome::Failed,
                _ => Outcome::Abandoned,
            };
            match breaker.admit(now) {
                Ok(admission) => {
                    shown.push(if admission == BreakerPermit::Probe { '?' } else { '.' });
                    breaker.record(now, admission, outcome);
                }
                Err(_) => shown.push('x'),
            }
        }
    }
    assert_eq!(shown, expected, "{script}");
}

#[expect(clippy::disallowed_methods, reason = "any instant will do as the start of a script")]
fn start() -> Instant {
    Instant::now()
}

#[test]
fn r_17_five_failures_in_a_row_open_it() {
    check("----+----+", "..........");
    check("-----+", ".....x");
}

#[test]
fn r_17_half_of_twenty_within_ten_seconds_open_it() {
    check("-+-+-+-+-+-+-+-+-+-+ +", "....................x");
    check("-+-+-+-+-+-+-+-+-+ +", "...................");
    check("++++++++++++ ----+----+", "......................");
}

#[test]
fn failures_leave_the_window_as_it_rolls() {
    check("-+-+-+-+-+ 10001 -+-+-+-+-+ +", ".....................");
}

#[test]
fn r_17_one_probe_decides_whether_it_closes() {
    check("----- 999 + 1 + +++", ".....x?...");
    check("----- 1000 -+ 1999 + 1 ++", ".....?xx?.");
}

#[test]
fn rests_grow_to_half_a_minute_and_no_further() {
    let probes = "1000 - 2000 - 4000 - 8000 - 16000 - 30000 - 30000 -";
    check(&format!("----- {probes} 29999 + 1 +"), ".....???????x?");
}

#[test]
fn a_second_call_is_refused_while_the_probe_is_away() {
    let mut breaker = CircuitBreaker::default();
    let now = start();
    for _ in 0..CONSECUTIVE_FAILURES {
        breaker.record(now, BreakerPermit::Ordinary, Outcome::Failed);
    }
    assert_eq!(breaker.state(), BreakerState::Open);
    assert_eq!(breaker.admit(now), Err(Refused { retry_after: FIRST_OPEN_PERIOD }));
    let later = now + FIRST_OPEN_PERIOD;
    assert_eq!(breaker.admit(later), Ok(BreakerPermit::Probe));
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
    assert!(breaker.admit(later).is_err());
}

#[test]
fn an_abandoned_probe_leaves_the_chance_to_the_next_caller() {
    check("----- 1000 ~ ~ + +", ".....???.");
}

#[test]
fn callers_who_give_up_never_open_it() {
    check("~~~~~~~~~~~~~~~~~~~~~~~~ +", ".........................");
}

#[test]
fn late_failures_do_not_prolong_the_rest() {
    let mut breaker = CircuitBreaker::default();
    let now = start();
    for _ in 0..CONSECUTIVE_FAILURES {
        breaker.record(now, BreakerPermit::Ordinary, Outcome::Failed);
    }
    let late = now + Duration::from_millis(900);
    for _ in 0..CONSECUTIVE_FAILURES {
        breaker.record(late, BreakerPermit::Ordinary, Outcome::Failed);
    }
    assert_eq!(breaker.admit(now + FIRST_OPEN_PERIOD), Ok(BreakerPermit::Probe));
}

#[test]
fn the_count_of_failures_is_that_of_the_outcomes_remembered() {
    let mut recent = RecentOutcomes::default();
    let mut now = start();
    for step in 0..5_000_u64 {
        // Bursts that fill the memory, and pauses that empty some or all of it.
        now += Duration::from_millis(if step % 1_700 == 0 { 11_000 } else { step % 13 });
        let outcome = if step % 7 < 3 { Outcome::Failed } else { Outcome::Answered };
        recent.add(now, outcome);
        let failed = recent.outcomes.iter().filter(|(_, it)| *it == Outcome::Failed).count();
        assert_eq!(recent.failed, failed, "{step}");
        assert!(recent.outcomes.len() <= MAX_REMEMBERED_OUTCOMES);
    }
}

#[test]
fn a_refusal_is_foreseen_without_taking_the_probe() {
    let mut breaker = CircuitBreaker::default();
    let now = start();
    assert_eq!(breaker.refusal(now), None);
    for _ in 0..CONSECUTIVE_FAILURES {
        let permit = breaker.admit(now).unwrap();
        breaker.record(now, permit, Outcome::Failed);
    }
    assert_eq!(breaker.refusal(now), Some(FIRST_OPEN_PERIOD));
    let later = now + FIRST_OPEN_PERIOD;
    assert_eq!(breaker.refusal(later), None);
    assert_eq!(breaker.admit(later), Ok(BreakerPermit::Probe), "it was not taken");
    assert_eq!(breaker.refusal(later), Some(FIRST_OPEN_PERIOD), "one probe is under way");
}
