use std::time::{Duration, Instant, SystemTime};

use super::{MeterTime, ModelLimitExceededError, ScopeLimits, ScopeMeter, admit, check_exhausted};
use crate::id::AgentId;
use crate::model_usage::{Cost, ModelLimit, UsageDay, UsageEstimate, UsageScope, UsageTotals};

#[expect(clippy::disallowed_methods, reason = "a fixed start for the arithmetic")]
fn now() -> Instant {
    Instant::now()
}

/// A scope with its limits, at a time that the test moves.
struct Stage {
    scope: UsageScope,
    limits: Vec<ModelLimit>,
    meter: ScopeMeter,
    time: MeterTime,
}

impl Stage {
    fn new(limits: &[&str]) -> Self {
        let limits = limits.iter().map(|text| ModelLimit::parse(text).unwrap()).collect();
        let wall = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * 20_000 + 82_800);
        let time = MeterTime { now: now(), wall };
        Self {
            scope: UsageScope::Key("bot".to_owned()),
            limits,
            meter: ScopeMeter::default(),
            time,
        }
    }

    fn pass(&mut self, time: Duration) {
        self.time.now += time;
        self.time.wall += time;
    }

    fn admit(&mut self, estimate: &UsageEstimate) -> Result<(), ModelLimitExceededError> {
        let Self { scope, limits, meter, time } = self;
        admit(&mut [ScopeLimits { scope, limits, meter }], estimate, *time)
    }

    fn check_exhausted(&mut self) -> Result<(), ModelLimitExceededError> {
        let Self { scope, limits, meter, time } = self;
        check_exhausted(&mut [ScopeLimits { scope, limits, meter }], *time)
    }

    fn settle(&mut self, estimate: &UsageEstimate, used: &UsageTotals) {
        self.meter.settle(estimate, used, UsageDay::of(self.time.wall));
    }

    /// Whole seconds until a retry of a request that is refused. `None`: no retry would help.
    fn refuse(&mut self, estimate: &UsageEstimate) -> Option<u64> {
        let refused = self.admit(estimate).expect_err("over a limit");
        refused.retry_after.map(crate::rate::whole_seconds)
    }
}

fn tokens(input: u64, output: u64) -> UsageEstimate {
    UsageEstimate { input, output, ..UsageEstimate::default() }
}

fn used(input: u64, output: u64) -> UsageTotals {
    UsageTotals { requests: 1, input, output, ..UsageTotals::default() }
}

#[test]
fn requests_per_minute_come_back_one_by_one() {
    let mut stage = Stage::new(&["2 requests/min"]);
    let one = tokens(10, 10);
    for _ in 0..2 {
        stage.admit(&one).unwrap();
        stage.settle(&one, &used(10, 10));
    }
    assert_eq!(stage.refuse(&one), Some(30));
    stage.pass(Duration::from_secs(29));
    assert_eq!(stage.refuse(&one), Some(1));
    stage.pass(Duration::from_secs(1));
    stage.admit(&one).unwrap();
    assert_eq!(stage.refuse(&one), Some(30));
}

#[test]
fn tokens_are_reserved_until_the_real_number_is_known() {
    let mut stage = Stage::new(&["1000 tokens/min"]);
    let large = tokens(100, 700);
    stage.admit(&large).unwrap();
    assert_eq!(stage.refuse(&large), Some(36), "800 of 1000 are reserved");
    stage.settle(&large, &used(100, 50));
    stage.admit(&large).unwrap();
    stage.settle(&large, &used(100, 750));
    assert_eq!(stage.refuse(&tokens(1, 0)), Some(1), "all 1000 are used");
}

#[test]
fn a_request_that_fails_gives_back_its_tokens_but_counts_as_a_request() {
    let mut stage = Stage::new(&["1000 tokens/day", "3 requests/day"]);
    let large = tokens(900, 100);
    for _ in 0..3 {
        stage.admit(&large).unwrap();
        stage.settle(&large, &UsageTotals { requests: 1, ..UsageTotals::default() });
    }
    let refused = stage.admit(&large).unwrap_err();
    assert_eq!(refused.limit.to_string(), "3 requests/day");
}

#[test]
fn a_limit_by_day_ends_at_midnight_utc() {
    let mut stage = Stage::new(&["5 USD/day"]);
    let dear = UsageEstimate {
        input_cost: Cost::parse("1").unwrap(),
        output_cost: Cost::parse("4").unwrap(),
        ..UsageEstimate::default()
    };
    stage.admit(&dear).unwrap();
    stage.settle(&dear, &UsageTotals { cost: Cost::parse("5").unwrap(), ..used(1, 1) });
    let refused = stage.admit(&dear).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "this key has reached its limit of 5 USD/day; try again in 3600 s"
    );
    stage.pass(Duration::from_secs(3_600));
    stage.admit(&dear).unwrap();
}

#[test]
fn the_rest_of_a_day_goes_to_one_request_at_a_time() {
    let mut stage = Stage::new(&["1000 tokens/day"]);
    let open_end = tokens(50, 4_000);
    stage.admit(&open_end).unwrap();
    assert_eq!(stage.refuse(&tokens(1, 1)), Some(1), "soon: what is reserved may not be used");
    stage.settle(&open_end, &used(50, 900));
    stage.admit(&open_end).unwrap();
    stage.settle(&open_end, &used(50, 0));
    assert_eq!(stage.refuse(&open_end), Some(3_600));
}

#[test]
fn a_question_that_is_larger_than_the_limit_never_fits() {
    for limit in ["1000 tokens/min", "1000 tokens/day", "1000 input_tokens/h"] {
        let mut stage = Stage::new(&[limit]);
        assert_eq!(stage.refuse(&tokens(1_001, 0)), None, "{limit}");
        stage.admit(&tokens(1_000, 0)).unwrap();
    }
    let mut stage = Stage::new(&["10 output_tokens/min"]);
    stage.admit(&tokens(1_001, 4_096)).unwrap();
}

#[test]
fn a_reservation_beyond_the_limit_tells_nobody_to_wait_longer_than_its_period() {
    let mut stage = Stage::new(&["1000 tokens/min"]);
    let absurd = tokens(10, 1_000_000_000_000_000_000);
    stage.admit(&absurd).unwrap();
    assert_eq!(stage.refuse(&tokens(10, 10)), Some(60));
    stage.settle(&absurd, &used(10, 100));
    stage.admit(&tokens(10, 10)).unwrap();
}

#[test]
fn a_refusal_by_one_scope_takes_nothing_from_the_others() {
    let mut key = Stage::new(&["10 requests/min"]);
    let agent = UsageScope::Agent(AgentId::parse("gm").unwrap());
    let once = [ModelLimit::parse("1 requests/min").unwrap()];
    let mut meter = ScopeMeter::default();
    let estimate = tokens(1, 1);
    for expected in [true, false, false] {
        let Stage { scope, limits, meter: of_key, time } = &mut key;
        let mut scopes = [
            ScopeLimits { scope, limits, meter: of_key },
            ScopeLimits { scope: &agent, limits: &once, meter: &mut meter },
        ];
        assert_eq!(admit(&mut scopes, &estimate, *time).is_ok(), expected);
    }
    for _ in 0..9 {
        key.admit(&estimate).unwrap();
    }
    assert!(key.admit(&estimate).is_err());
}

#[test]
fn a_clock_that_goes_back_gives_no_second_day() {
    let mut stage = Stage::new(&["1 requests/day"]);
    stage.admit(&tokens(1, 1)).unwrap();
    stage.settle(&tokens(1, 1), &used(1, 1));
    stage.time.wall -= Duration::from_secs(86_400 * 3);
    assert!(stage.admit(&tokens(1, 1)).is_err());
}

#[test]
fn a_limit_that_is_lowered_holds_for_what_was_used_before() {
    let mut stage = Stage::new(&["100 requests/min"]);
    for _ in 0..50 {
        stage.admit(&tokens(1, 1)).unwrap();
    }
    stage.limits = vec![ModelLimit::parse("10 requests/min").unwrap()];
    assert!(stage.admit(&tokens(1, 1)).is_err());
}

#[test]
fn a_session_runs_until_a_limit_is_used_up_and_reservations_of_others_do_not_end_it() {
    for (limit, turns) in [
        ("3 requests/min", 3),
        ("3 requests/day", 3),
        ("100 tokens/h", 4),
        ("100 tokens/day", 4),
        ("60 input_tokens/day", 3),
    ] {
        let mut stage = Stage::new(&[limit]);
        // Makes the windows that roll.
        stage.check_exhausted().unwrap();
        for turn in 1..=turns {
            let day = UsageDay::of(stage.time.wall);
            stage.meter.add(&used(20, 5), day);
            assert_eq!(stage.check_exhausted().is_err(), turn == turns, "{limit} after {turn}");
        }
        let refused = stage.check_exhausted().unwrap_err();
        stage.pass(refused.retry_after.unwrap());
        assert!(stage.check_exhausted().is_ok(), "{limit}: {refused}");
    }
    for limit in ["1000 tokens/day", "1000 tokens/min"] {
        let mut stage = Stage::new(&[limit]);
        stage.admit(&tokens(100, 5_000)).unwrap();
        assert!(stage.admit(&tokens(1, 1)).is_err(), "{limit}: all of it is reserved");
        assert!(stage.check_exhausted().is_ok(), "{limit}");
    }
}

#[test]
fn a_reservation_that_is_given_back_leaves_nothing() {
    for limit in ["1 requests/min", "1 requests/day"] {
        let mut stage = Stage::new(&[limit]);
        stage.admit(&tokens(5, 5)).unwrap();
        assert!(stage.admit(&tokens(5, 5)).is_err());
        stage.meter.release(&tokens(5, 5));
        assert!(stage.admit(&tokens(5, 5)).is_ok(), "{limit}");
    }
}
