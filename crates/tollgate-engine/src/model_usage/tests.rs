use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use tollgate_core::id::AgentId;
use tollgate_core::model_usage::{Cost, ModelLimit, SpeechTotals, UsageDay};
use tollgate_core::turn::{Principal, PrincipalGrant};
use tollgate_store::Store;

use super::{
    ModelCaller, ModelDemand, ModelReservation, ModelTokens, ModelUsageMeter, SessionCharge,
    SessionModel,
};
use crate::clock::Clock;
use crate::settings::ModelUsageSettings;

/// A clock that stands still unless the test moves it.
struct TestClock {
    began: (Instant, SystemTime),
    passed_ms: AtomicU64,
}

impl TestClock {
    #[expect(clippy::disallowed_methods, reason = "any start will do")]
    fn new() -> Arc<Self> {
        let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * 20_000 + 43_200);
        Arc::new(Self { began: (Instant::now(), noon), passed_ms: AtomicU64::new(0) })
    }

    fn passed(&self) -> Duration {
        Duration::from_millis(self.passed_ms.load(Ordering::Relaxed))
    }

    fn pass(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap();
        self.passed_ms.fetch_add(millis, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Instant {
        self.began.0 + self.passed()
    }

    fn wall(&self) -> SystemTime {
        self.began.1 + self.passed()
    }
}

fn limits(texts: &[&str]) -> Vec<ModelLimit> {
    texts.iter().map(|text| ModelLimit::parse(text).unwrap()).collect()
}

fn key(name: &str) -> ModelCaller {
    ModelCaller { principal: Principal::from_name(name), grant: None, agent: None }
}

fn demand(input: u64, max_output: u64) -> ModelDemand<'static> {
    ModelDemand { name: "opus", id: "claude-opus-4-8", input, max_output }
}

fn tokens(input: u64, output: u64) -> ModelTokens {
    ModelTokens { input, output, ..ModelTokens::default() }
}

fn meter(settings: ModelUsageSettings, store: Option<&Arc<Store>>) -> Arc<ModelUsageMeter> {
    ModelUsageMeter::open(TestClock::new(), settings, store.cloned())
}

fn per_key(texts: &[&str]) -> ModelUsageSettings {
    ModelUsageSettings { per_key: limits(texts), ..ModelUsageSettings::default() }
}

fn report(meter: &ModelUsageMeter) -> Vec<(String, String, u64, u64, u64)> {
    let mut rows = meter.report(UsageDay::FIRST, UsageDay::LAST).unwrap();
    rows.sort_by(|one, other| (&one.key, &one.agent).cmp(&(&other.key, &other.agent)));
    let row = |it: tollgate_store::model_usage::UsageRow| {
        (it.key, it.agent, it.totals.requests, it.totals.input, it.totals.output)
    };
    rows.into_iter().map(row).collect()
}

#[test]
fn what_a_provider_counted_replaces_the_estimate() {
    let meter = meter(ModelUsageSettings::default(), None);
    let reserved = meter.reserve(&key("a"), &demand(500, 4_096)).unwrap();
    assert_eq!(report(&meter), []);
    reserved.settle(&tokens(1_000_000, 100_000));
    assert_eq!(report(&meter), [("a".to_owned(), String::new(), 1, 1_000_000, 100_000)]);
    let [(labels, totals)] = &meter.totals_since_start()[..] else { panic!("one model") };
    assert_eq!((labels.model.as_str(), totals.cost), ("opus", Cost::parse("7.5").unwrap()));
}

#[test]
fn a_stream_that_is_cut_costs_its_question_and_what_had_arrived() {
    let meter = meter(ModelUsageSettings::default(), None);
    let mut cut = meter.reserve(&key("a"), &demand(500, 4_096)).unwrap();
    cut.note_arrived(398);
    drop(cut);
    let mut uncounted = meter.reserve(&key("b"), &demand(500, 4_096)).unwrap();
    uncounted.note_arrived(40);
    uncounted.settle(&ModelTokens::default());
    meter.reserve(&key("c"), &demand(500, 4_096)).unwrap().fail();
    let row = |name: &str, input, output| (name.to_owned(), String::new(), 1, input, output);
    assert_eq!(report(&meter), [row("a", 500, 100), row("b", 500, 10), row("c", 0, 0)]);
}

#[test]
fn a_model_without_a_price_costs_nothing_and_says_so() {
    let meter = meter(per_key(&["1 USD/day"]), None);
    let unknown = ModelDemand { name: "own", id: "my-finetune", input: 1_000_000, max_output: 10 };
    for _ in 0..3 {
        meter.reserve(&key("a"), &unknown).unwrap().settle(&tokens(1_000_000, 10));
    }
    let [(_, totals)] = &meter.totals_since_start()[..] else { panic!("one model") };
    assert_eq!((totals.cost, totals.unpriced), (Cost::ZERO, 3));
}

#[test]
fn s_33_key_agent_and_model_have_limits_of_their_own() {
    let agent = AgentId::parse("gm").unwrap();
    let settings = ModelUsageSettings {
        per_key: limits(&["100 requests/min"]),
        agents: HashMap::from([(agent.clone(), limits(&["2 requests/min"]))]),
        models: HashMap::from([("opus".to_owned(), limits(&["4 requests/min"]))]),
        ..ModelUsageSettings::default()
    };
    let meter = meter(settings, None);
    let with_agent = |name: &str| ModelCaller { agent: Some(agent.clone()), ..key(name) };
    let ask = |caller: &ModelCaller| {
        let reserved = meter.reserve(caller, &demand(1, 1));
        reserved.map(ModelReservation::fail).map_err(|refused| refused.to_string())
    };
    ask(&with_agent("a")).unwrap();
    ask(&with_agent("b")).unwrap();
    let refused = ask(&with_agent("c")).unwrap_err();
    assert!(refused.starts_with("agent `gm` has reached its limit of 2 requests/min"), "{refused}");
    ask(&key("a")).unwrap();
    ask(&key("a")).unwrap();
    let refused = ask(&key("d")).unwrap_err();
    assert!(refused.starts_with("model `opus` has reached"), "{refused}");
    let own =
        PrincipalGrant { model_limits: Some(limits(&["1 requests/h"])), ..Default::default() };
    let limited = ModelCaller { grant: Some(Arc::new(own)), ..key("e") };
    let other = ModelDemand { name: "haiku", ..demand(1, 1) };
    meter.reserve(&limited, &other).unwrap().fail();
    let refused = meter.reserve(&limited, &other).err().unwrap().to_string();
    assert!(refused.starts_with("this key has reached its limit of 1 requests/h"), "{refused}");
    let counts = meter.refusals();
    assert_eq!((counts.key, counts.agent, counts.model), (1, 1, 1));
}

/// Each key asks from four threads at once, as fast as it can; every request is held for a moment.
#[test]
fn s_33_keys_that_ask_at_once_do_not_share_limits_and_never_overshoot_by_more_than_is_in_flight() {
    const LIMIT: u64 = 1_000;
    const THREADS: u64 = 4;
    let meter = meter(per_key(&["1000 tokens/day"]), None);
    let admitted: Vec<AtomicU64> = (0..4).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for (number, admitted) in admitted.iter().enumerate() {
            for _ in 0..THREADS {
                let meter = &meter;
                scope.spawn(move || {
                    let caller = key(&format!("key-{number}"));
                    for _ in 0..100 {
                        let Ok(reserved) = meter.reserve(&caller, &demand(10, 20)) else {
                            continue;
                        };
                        std::thread::yield_now();
                        // Each answer is 10 tokens longer than it should have been.
                        reserved.settle(&tokens(10, 30));
                        admitted.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        }
    });
    for (number, (_, _, requests, input, output)) in report(&meter).into_iter().enumerate() {
        let used = input + output;
        assert_eq!(requests, admitted[number].load(Ordering::Relaxed));
        assert!((LIMIT - 40..=LIMIT + THREADS * 10).contains(&used), "key {number} used {used}");
    }
}

#[test]
fn limits_by_day_survive_a_process_that_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tollgate.db");
    let store = Arc::new(Store::open(&file).unwrap());
    let first = meter(per_key(&["3 requests/day"]), Some(&store));
    for _ in 0..2 {
        first.reserve(&key("a"), &demand(1, 1)).unwrap().fail();
    }
    first.save().unwrap();
    // Not saved: what a crash may lose.
    first.reserve(&key("a"), &demand(1, 1)).unwrap().fail();
    // Nothing of it runs at its end.
    std::mem::forget(first);
    let store = Arc::new(Store::open(&file).unwrap());
    let second = meter(per_key(&["3 requests/day"]), Some(&store));
    second.reserve(&key("a"), &demand(1, 1)).unwrap().fail();
    assert!(second.reserve(&key("a"), &demand(1, 1)).is_err());
    second.reserve(&key("b"), &demand(1, 1)).unwrap().fail();
    let requests: Vec<u64> =
        report(&second).into_iter().map(|(_, _, requests, ..)| requests).collect();
    assert_eq!(requests, [3, 1], "saved and unsaved are one row");
    second.save().unwrap();
    assert_eq!(report(&second).len(), 2);
    second.save().unwrap();
    let requests: Vec<u64> =
        report(&second).into_iter().map(|(_, _, requests, ..)| requests).collect();
    assert_eq!(requests, [3, 1], "saving twice adds nothing");
}

#[tokio::test(start_paused = true)]
async fn usage_is_saved_in_the_background_and_at_the_end() {
    let store = Arc::new(Store::in_memory().unwrap());
    let meter = meter(ModelUsageSettings::default(), Some(&store));
    let archive = meter.start_saving();
    let saved = || store.model_usage().load(UsageDay::FIRST, UsageDay::LAST).unwrap().len();
    meter.reserve(&key("a"), &demand(1, 1)).unwrap().fail();
    while saved() == 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    meter.reserve(&key("b"), &demand(1, 1)).unwrap().fail();
    drop(archive);
    assert_eq!(saved(), 2);
}

#[test]
fn a_request_over_midnight_counts_for_the_day_on_which_it_ends() {
    let clock = TestClock::new();
    let meter = ModelUsageMeter::open(Arc::clone(&clock) as _, per_key(&["2 requests/day"]), None);
    let over_midnight = meter.reserve(&key("a"), &demand(1, 1)).unwrap();
    clock.pass(Duration::from_secs(43_200));
    over_midnight.settle(&tokens(1, 1));
    let rows = meter.report(UsageDay::FIRST, UsageDay::LAST).unwrap();
    assert_eq!(rows[0].day.number(), 20_001);
    meter.reserve(&key("a"), &demand(1, 1)).unwrap().fail();
    assert!(meter.reserve(&key("a"), &demand(1, 1)).is_err());
}

const VOICE: SessionModel<'_> = SessionModel { name: "voice", id: "gpt-live-1" };

fn turn(requests: u64, input: u64, output: u64) -> SessionCharge {
    SessionCharge { requests, tokens: tokens(input, output) }
}

#[test]
fn s_33_a_session_is_refused_at_its_limit_and_ends_when_it_reaches_one() {
    for limit in ["2 requests/h", "150 tokens/h", "150 tokens/day", "1 USD/day"] {
        let meter = meter(per_key(&[limit]), None);
        let mut first = meter.open_session(key("a"), VOICE).unwrap();
        let time = ModelTokens {
            speech: SpeechTotals { live_ms: 600_000, ..SpeechTotals::default() },
            ..tokens(70, 10)
        };
        let charge = SessionCharge { requests: 1, tokens: time };
        first.charge(VOICE, &charge);
        assert!(first.check(VOICE).is_ok(), "{limit}");
        first.charge(VOICE, &charge);
        let refused = first.check(VOICE).unwrap_err();
        assert_eq!(refused.limit.to_string(), limit);
        assert!(refused.retry_after.is_some_and(|wait| !wait.is_zero()), "{limit}");
        assert!(meter.open_session(key("a"), VOICE).is_err(), "{limit}");
        let other = meter.open_session(key("b"), VOICE).unwrap();
        assert!(other.check(VOICE).is_ok(), "{limit}: of another key");
    }
}

#[test]
fn sessions_that_begin_together_take_room_for_a_turn_each_and_give_it_back() {
    let meter = meter(per_key(&["5000 tokens/day"]), None);
    let first = meter.open_session(key("a"), VOICE).unwrap();
    let second = meter.open_session(key("a"), VOICE).unwrap();
    assert!(meter.open_session(key("a"), VOICE).is_err(), "6000 tokens at once");
    drop(first);
    assert!(meter.open_session(key("a"), VOICE).is_ok());
    drop(second);
    let rows = report(&meter);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].2, rows[0].3), (3, 0), "each was a request, and used nothing: {rows:?}");
}

#[test]
fn a_session_charges_the_models_that_work_for_it_to_themselves() {
    let meter = meter(ModelUsageSettings::default(), None);
    let mut session = meter.open_session(key("a"), VOICE).unwrap();
    let minute = SpeechTotals { live_ms: 60_000, ..SpeechTotals::default() };
    let time = ModelTokens { speech: minute, ..ModelTokens::default() };
    session.charge(VOICE, &SessionCharge { requests: 0, tokens: time });
    session.charge(VOICE, &turn(1, 0, 0));
    let other = SessionModel { name: "whisper-1", id: "whisper-1" };
    session.charge(other, &SessionCharge { requests: 1, tokens: time });
    assert_eq!(session.totals().cost.to_string(), "0.056");
    drop(session);
    let rows = meter.report(UsageDay::FIRST, UsageDay::LAST).unwrap();
    let mut costs: Vec<(String, String)> =
        rows.iter().map(|row| (row.model.clone(), row.totals.cost.to_string())).collect();
    costs.sort();
    let of = |model: &str, cost: &str| (model.to_owned(), cost.to_owned());
    assert_eq!(costs, [of("voice", "0.05"), of("whisper-1", "0.006")]);
}
