//! the core of the gateway as a deterministic simulation.
//!
//! A seed decides servers, tools that come and go, callers, faults, when each happens, and every
//! random choice of the gate, on a clock that stands still while anybody works. The same seed is
//! the same world again, call by call.
//!
//! `TOLLGATE_SEEDS=5000` runs more worlds, `TOLLGATE_SEED=17` one alone. `TOLLGATE_SOAK=1` runs 100,000, or as many as
//! there is time for.

use std::collections::HashMap as Map;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use futures_util::future::join_all;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tollgate_core::id::ToolName;
use tollgate_core::tool::{ToolEffect, ToolOverride};
use tollgate_mcp::error_code::JsonRpcError;

use super::*;
use crate::upstream::{Change, Update};

/// In the ordinary run of the tests.
const SEEDS: u64 = 1_000;
/// With `TOLLGATE_SOAK`.
const SOAK_SEEDS: u64 = 100_000;
const SOAK_TIME: Duration = Duration::from_secs(15 * 60);
const CALLERS: usize = 6;
const CALLS_OF_ONE: usize = 8;
/// Of a world, on its own clock. Nothing in it may take that long.
const MAX_DURATION: Duration = Duration::from_secs(600);

/// All that happens in a world, in order, each with its moment.
#[derive(Clone)]
struct Trace {
    began: Instant,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Trace {
    fn begin() -> Self {
        Self { began: SystemClock.now(), lines: Arc::default() }
    }

    fn note(&self, what: &str) {
        let at = SystemClock.now() - self.began;
        self.lines.lock().push(format!("{at:?} {what}"));
    }
}

impl Observer for Trace {
    fn observe(&self, record: &CallRecord) {
        self.note(&format!("{record:?}"));
    }
}

/// The wall clock of a world begins at the same moment in each of them.
struct WorldClock {
    began: Instant,
}

impl Clock for WorldClock {
    fn now(&self) -> Instant {
        SystemClock.now()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000) + (self.now() - self.began)
    }
}

struct SeededRandom(Mutex<StdRng>);

impl RandomSource for SeededRandom {
    fn bits(&self) -> u128 {
        self.0.lock().random()
    }
}

/// What the server has seen: the tools by name, and how often each token came to a tool that writes.
#[derive(Default)]
struct Reached {
    names: Vec<String>,
    writes: Map<String, usize>,
}

/// What is to hold of one call.
struct Planned {
    name: &'static str,
    token: String,
    /// Given up by its caller after so long.
    patience: Duration,
    /// The wall of its turn.
    wall: Duration,
    starts: Duration,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Sums {
    answered: usize,
    refused: usize,
    failed: usize,
    given_up: usize,
    reached: usize,
}

impl Sums {
    fn and(self, other: Self) -> Self {
        Self {
            answered: self.answered + other.answered,
            refused: self.refused + other.refused,
            failed: self.failed + other.failed,
            given_up: self.given_up + other.given_up,
            reached: self.reached + other.reached,
        }
    }
}

fn millis(random: &mut StdRng, range: Range<u64>) -> Duration {
    Duration::from_millis(random.random_range(range))
}

/// One fault of a server, or an answer with the token of its call.
fn react(random: &Mutex<StdRng>, seen: &Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
    let token = seen.params["arguments"]["token"].as_str().unwrap_or_default().to_owned();
    let (delay, fate) = {
        let mut random = random.lock();
        (millis(&mut random, 0..900), random.random_range(0..16))
    };
    Box::pin(async move {
        tokio::time::sleep(delay).await;
        match fate {
            0 => Err(BackendError::Lost("the pipe broke".to_owned())),
            1 => Err(BackendError::Offline { state: "down", reason: "it crashed".to_owned() }),
            2 => Err(BackendError::Resting { reason: "busy".to_owned(), retry_after: delay }),
            3 => Err(BackendError::Refused(JsonRpcError::new(-32_000, "no"))),
            4 => Err(BackendError::Unusable("not MCP".to_owned())),
            5 => Err(BackendError::TooLarge { limit: 7 }),
            // Hangs, whoever waits.
            6 => std::future::pending().await,
            _ => Ok(text(&token)),
        }
    })
}

fn plan(random: &mut StdRng, caller: usize, number: usize) -> Planned {
    let names = ["s_a", "s_a", "s_b", "s_b", "s_b", "s_hidden", "hidden", "s_nothing"];
    // Some ask the same as somebody else: answers are shared then, but never with another token.
    let token = match random.random_range(0..4) {
        0 => format!("shared-{}", random.random_range(0..3)),
        _ => format!("{caller}-{number}"),
    };
    Planned {
        name: names[random.random_range(0..names.len())],
        token,
        patience: if random.random_bool(0.2) { millis(random, 0..600) } else { MAX_DURATION },
        wall: millis(random, 50..3_000),
        starts: millis(random, 0..400),
    }
}

/// One call, from its beginning to its answer, and all that has to hold of it alone.
async fn make(
    test: &TestGate,
    trace: &Trace,
    principal: &str,
    planned: &Planned,
    limit: Duration,
) -> Sums {
    tokio::time::sleep(planned.starts).await;
    let clock = SystemClock;
    let began = clock.now();
    let turn =
        Turn { deadline: Some(Deadline::after(began, planned.wall)), ..test.turn_of(principal) };
    let params =
        json!({"name": planned.name, "arguments": {"n": 1, "token": planned.token}}).to_string();
    let client = nobody();
    let call = test.gate.call(&turn, request(&params), Caller::silent(&client));
    let reply = tokio::time::timeout(planned.patience, call).await;
    let took = clock.now() - began;
    let budget = limit.min(planned.wall).min(planned.patience) + Duration::from_millis(1);
    assert!(took <= budget, "{} took {took:?}, its budget is {budget:?}", planned.name);
    let received = reply.as_ref().map_or_else(|_| "given up".to_owned(), describe_reply);
    trace.note(&format!("{principal} {} {}: {received}", planned.name, planned.token));
    match reply {
        Err(_) => Sums { given_up: 1, ..Sums::default() },
        Ok(Ok(Reply::Tool(outcome))) if outcome.status == CallStatus::Ok => {
            let text = describe_reply(&Ok(Reply::Tool(outcome)));
            assert_eq!(text, format!("ok {}", planned.token), "S-13: the answer is another's");
            assert!(matches!(planned.name, "s_a" | "s_b"), "S-29: {} ran", planned.name);
            Sums { answered: 1, ..Sums::default() }
        }
        Ok(Ok(_)) => Sums { failed: 1, ..Sums::default() },
        Ok(Err(_)) => Sums { refused: 1, ..Sums::default() },
    }
}

/// The tools of the server come and go.
async fn meddle(test: &TestGate, trace: &Trace, random: &mut StdRng) {
    for _ in 0..random.random_range(0..4) {
        tokio::time::sleep(millis(random, 0..700)).await;
        let change = match random.random_range(0..3) {
            0 => Change::Gone,
            1 => Change::Listed(Arc::new(listing(&["a", "hidden"].map(tool)))),
            _ => Change::Listed(Arc::new(listing(&["a", "b", "hidden"].map(tool)))),
        };
        let server = ServerId::parse("s").unwrap();
        test.updates.send(Update { server, change }).await.unwrap();
        trace.note("the tools changed");
    }
}

async fn world(seed: u64) -> (Sums, Vec<String>) {
    let mut random = StdRng::seed_from_u64(seed);
    let trace = Trace::begin();
    let limit = millis(&mut random, 100..2_000);
    let era = if random.random_bool(0.5) { Era::Modern } else { Era::Legacy };
    let cacheable = random.random_bool(0.5).then(|| millis(&mut random, 1..5_000));
    let reached = Arc::new(Mutex::new(Reached::default()));
    let seen_by = Arc::clone(&reached);
    let by_chance = Mutex::new(StdRng::from_rng(&mut random));
    let change = |rules: &mut ServerRules, _: &mut Vec<Value>| {
        rules.timeout = limit;
        let writes = ToolOverride { effect: Some(ToolEffect::Mutating), ..ToolOverride::default() };
        let reads = ToolOverride { idempotent: Some(true), cacheable, ..ToolOverride::default() };
        rules.tools = [(ToolName::new("a"), writes), (ToolName::new("b"), reads)].into();
    };
    let server = trace.clone();
    let script = move |seen: Seen| {
        server
            .note(&format!("the server hears {} {}", seen.name, seen.params["arguments"]["token"]));
        let mut reached = seen_by.lock();
        reached.names.push(seen.name.clone());
        if seen.name == "a" {
            let token = seen.params["arguments"]["token"].as_str().unwrap_or_default();
            *reached.writes.entry(token.to_owned()).or_default() += 1;
        }
        drop(reached);
        react(&by_chance, &seen)
    };
    let stage = RecordingStage {
        observers: vec![Box::new(trace.clone())],
        clock: Arc::new(WorldClock { began: trace.began }),
        random: Arc::new(SeededRandom(Mutex::new(StdRng::from_rng(&mut random)))),
        ..RecordingStage::default()
    };
    let test = gate_with(era, stage, change, script).await;
    let mut requests: Map<String, usize> = Map::new();
    let mut callers = Vec::new();
    for caller in 0..CALLERS {
        let calls: Vec<Planned> =
            (0..CALLS_OF_ONE).map(|number| plan(&mut random, caller, number)).collect();
        for planned in calls.iter().filter(|planned| planned.name == "s_a") {
            *requests.entry(planned.token.clone()).or_default() += 1;
        }
        callers.push((format!("p{caller}"), calls));
    }
    let calls = callers.iter().flat_map(|(principal, calls)| {
        calls.iter().map(|planned| make(&test, &trace, principal, planned, limit))
    });
    let everything = async { tokio::join!(join_all(calls), meddle(&test, &trace, &mut random)) };
    let (ended, ()) =
        tokio::time::timeout(MAX_DURATION, everything).await.expect("every call has an answer");
    let reached = reached.lock();
    let sums = Sums { reached: reached.names.len(), ..Sums::default() };
    let sums = ended.into_iter().fold(sums, Sums::and);
    assert!(reached.names.iter().all(|name| name != "hidden"), "S-29: a hidden tool was called");
    for (token, times) in &reached.writes {
        assert!(times <= &requests[token], "{token} was written {times} times");
    }
    let records = test.records.lock().len();
    assert_eq!(records, CALLERS * CALLS_OF_ONE, "R-36: each call has one record: {sums:?}");
    let lines = std::mem::take(&mut *trace.lines.lock());
    (sums, lines)
}

#[expect(clippy::disallowed_methods, reason = "how somebody asks for more worlds, or for one")]
fn seeds() -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let usual = if std::env::var_os("TOLLGATE_SOAK").is_some() { SOAK_SEEDS } else { SEEDS };
    match number("TOLLGATE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("TOLLGATE_SEEDS").unwrap_or(usual),
    }
}

/// Everything in a world happens on this thread and by its seed alone.
fn simulate(seed: u64) -> (Sums, Vec<String>) {
    let builder = &mut tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(world(seed))
}

/// As many of these worlds as there is time for, several at once.
#[expect(clippy::print_stdout, reason = "how many there were")]
fn simulate_all(seeds: Range<u64>) -> Sums {
    let next = AtomicU64::new(seeds.start);
    let end = seeds.end;
    let began = SystemClock.now();
    let work = || {
        let mut sums = Sums::default();
        while SystemClock.now() - began < SOAK_TIME {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                break;
            }
            let Ok((one, _)) = std::panic::catch_unwind(|| simulate(seed)) else {
                panic!("the world of TOLLGATE_SEED={seed} breaks a rule");
            };
            sums = sums.and(one);
        }
        sums
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let sums = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| worker.join().expect("no rule is broken"));
        ended.fold(Sums::default(), Sums::and)
    });
    println!("{} worlds: {sums:?}", next.into_inner().min(end) - seeds.start);
    sums
}

#[test]
fn r_37_soak_in_every_world_calls_are_answered_once_in_time_and_to_their_caller_alone() {
    let sums = simulate_all(seeds());
    let all = [sums.answered, sums.refused, sums.failed, sums.given_up, sums.reached];
    assert!(all.iter().all(|sum| *sum > 0), "a world in which nothing goes wrong: {sums:?}");
}

#[test]
fn r_37_a_seed_is_the_same_world_again_call_by_call() {
    for seed in 0..50 {
        let first = simulate(seed);
        let second = simulate(seed);
        let differs = first.1.iter().zip(&second.1).find(|(one, two)| one != two);
        assert_eq!(differs, None, "TOLLGATE_SEED={seed}");
        assert_eq!((first.0, first.1.len()), (second.0, second.1.len()), "TOLLGATE_SEED={seed}");
    }
    assert!(simulate(1).1 != simulate(2).1, "another seed is another world");
}
