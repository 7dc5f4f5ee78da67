use tollgate_mcp::error_code::JsonRpcError;

use super::*;

fn millis(span: u64) -> Duration {
    Duration::from_millis(span)
}

/// A call that had time enough, of a tool in the fast tier.
fn plenty(took: u64) -> CallTiming {
    CallTiming {
        took: millis(took),
        had: millis(10_000),
        own: millis(10_000),
        ceiling: millis(500),
        waited_for: WaitsFor::Server,
    }
}

fn describe(sample: Option<Sample>) -> String {
    match sample {
        Some(Sample { span, ending }) => format!("{ending:?} {} µs", span.as_micros()),
        None => "nothing".to_owned(),
    }
}

#[test]
fn results_measure_by_their_status() {
    let check = |status: CallStatus, expected: &str| {
        assert_eq!(
            describe(sample(MeasuredReturn::Result(status), &plenty(7))),
            expected,
            "{status}"
        );
    };
    check(CallStatus::Ok, "Answered 7000 µs");
    check(CallStatus::NoResults, "Answered 7000 µs");
    check(CallStatus::Error, "Failed 7000 µs");
    check(CallStatus::Timeout, "Overran 10000001 µs");
    check(CallStatus::Pending, "nothing");
    check(CallStatus::Denied, "nothing");
    check(CallStatus::InvalidArguments, "nothing");
    check(CallStatus::RateLimited, "nothing");
    check(CallStatus::Offline, "nothing");
}

#[test]
fn failures_measure_what_is_the_fault_of_the_tool() {
    let check = |failure: BackendError, expected: &str| {
        assert_eq!(
            describe(sample(MeasuredReturn::Failure(&failure), &plenty(3))),
            expected,
            "{failure}"
        );
    };
    let refused = |code| BackendError::Refused(JsonRpcError::new(code, "no"));
    check(BackendError::Offline { state: "failed", reason: "gone".to_owned() }, "nothing");
    let resting = BackendError::Resting { reason: "open".to_owned(), retry_after: millis(1) };
    check(resting, "nothing");
    check(refused(error_code::INVALID_PARAMS), "nothing");
    check(refused(error_code::URL_ELICITATION_REQUIRED), "nothing");
    check(refused(error_code::HEADER_MISMATCH), "nothing");
    check(refused(error_code::MISSING_CLIENT_CAPABILITY), "nothing");
    check(refused(error_code::UNSUPPORTED_VERSION), "nothing");
    check(refused(error_code::INTERNAL_ERROR), "Failed 3000 µs");
    check(refused(error_code::METHOD_NOT_FOUND), "Failed 3000 µs");
    check(refused(42), "Failed 3000 µs");
    check(BackendError::Lost("broken pipe".to_owned()), "Failed 3000 µs");
    check(BackendError::Unauthorized("401".to_owned()), "Failed 3000 µs");
    check(BackendError::TooLarge { limit: 1 }, "Failed 3000 µs");
}

/// In milliseconds: what the call had, its own limit, and the ceiling of its tool's tier.
fn check_late(had: u64, own: u64, ceiling: u64, expected: &str) {
    let had = millis(had);
    let own = millis(own);
    let ceiling = millis(ceiling);
    let spent = CallTiming { took: had, had, own, ceiling, waited_for: WaitsFor::Server };
    let shown = describe(sample(MeasuredReturn::Late, &spent));
    assert_eq!(shown, expected, "{had:?} of {own:?} under {ceiling:?}");
}

#[test]
fn what_is_given_up_after_the_time_of_its_tier_took_longer_than_that() {
    check_late(10_000, 10_000, 500, "Overran 10000001 µs");
    check_late(500, 10_000, 500, "Overran 500001 µs");
    check_late(1_500, 10_000, 500, "Overran 1500001 µs");
}

#[test]
fn the_first_call_of_a_turn_counts_though_the_turn_began_before_it() {
    check_late(499, 10_000, 500, "Overran 500001 µs");
    check_late(480, 10_000, 500, "Overran 500001 µs");
    check_late(479, 10_000, 500, "nothing");
}

#[test]
fn a_short_turn_does_not_make_a_tool_slow() {
    check_late(200, 10_000, 500, "nothing");
    check_late(500, 10_000, 1_500, "nothing");
    check_late(0, 10_000, 500, "nothing");
}

#[test]
fn a_tool_that_overruns_its_own_limit_does_so_in_any_tier() {
    check_late(300, 300, 500, "Overran 300001 µs");
    check_late(300, 300, 4_000, "Overran 300001 µs");
    check_late(100, 300, 4_000, "nothing");
}

#[test]
fn time_that_a_person_took_is_not_measured() {
    for came in [
        MeasuredReturn::Result(CallStatus::Ok),
        MeasuredReturn::Result(CallStatus::Error),
        MeasuredReturn::Late,
    ] {
        let spent = CallTiming { waited_for: WaitsFor::Person, ..plenty(9_000) };
        assert_eq!(sample(came, &spent), None, "{came:?}");
    }
}

#[test]
fn calls_that_go_on_measure_nothing_yet() {
    assert_eq!(sample(MeasuredReturn::Unfinished, &plenty(5)), None);
}

#[test]
fn absurd_spans_do_not_run_over() {
    let spent = CallTiming { had: Duration::MAX, own: Duration::MAX, ..plenty(1) };
    assert_eq!(sample(MeasuredReturn::Late, &spent).unwrap().span, Duration::MAX);
}
