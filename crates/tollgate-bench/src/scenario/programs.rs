//! P14: programs in workers. How long until one that could call a thousand tools does its first
//! thing, and how many calls it makes in a second, when they cost nothing themselves.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::future::try_join_all;
use parking_lot::Mutex;
use serde_json::json;
use serde_json::value::RawValue;
use tollgate_sandbox::frames::{Answer, Call, Fence};
use tollgate_sandbox::host::HostCalls;
use tollgate_sandbox::limits::Limits;
use tollgate_sandbox::sandbox::{Program, Sandbox, Settings};
use tollgate_sandbox::stopwatch::Stopwatch;

use super::Bench;
use crate::clock::{self, micros, nanos};
use crate::samples::{Samples, median};
use crate::table::{Limit, Row, Verdict};
use crate::trouble::Trouble;

const SERVERS: usize = 20;
const TOOLS: usize = 1_000;
const START: Limit = Limit { most: 1_000.0, unit: "µs", digits: 0 };
/// Calls in a second.
const LEAST: f64 = 10_000.0;
/// Of one program.
const CALLS: u32 = 5_000;
const TOGETHER: usize = 16;
/// A worker that is being started takes the processor from what is measured.
const SETTLE: Duration = Duration::from_millis(30);

const ONE: &str = "result = server0.tool0(n = 1)";

pub(super) async fn measure(bench: &Bench) -> Result<Vec<Row>, Trouble> {
    let worker = bench.worker();
    let rounds = bench.pace.rounds;
    // On as many threads as the gateway has; a program waits in a task there, too.
    let measured = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime
            .block_on(runtime.spawn(async move { all(&worker, rounds).await }))
            .map_err(|error| Trouble::Process(format!("the programs' runtime broke: {error}")))?
    });
    measured.await.map_err(|error| Trouble::Process(error.to_string()))?
}

async fn all(worker: &Path, rounds: usize) -> Result<Vec<Row>, Trouble> {
    Ok(vec![
        start(worker, rounds).await?,
        crowd(worker, rounds).await?,
        rate(worker, rounds).await?,
    ])
}

/// One program after the other, each in a worker that was ready.
async fn start(worker: &Path, rounds: usize) -> Result<Row, Trouble> {
    let world = World::new(worker, 1)?;
    let (mut begun, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..rounds * 40 {
        world.warm().await?;
        tokio::time::sleep(SETTLE).await;
        let timed = world.run(ONE).await?;
        begun.push(nanos(timed.first));
        whole.push(nanos(timed.whole));
    }
    let mut cold = Vec::new();
    for _ in 0..rounds * 4 {
        let fresh = World::new(worker, 0)?;
        cold.push(nanos(fresh.run(ONE).await?.first));
    }
    let [begun, whole, cold] = [begun, whole, cold].map(Samples::of_nanos);
    let at = |samples: &Samples, q: f64| micros(samples.quantile(q));
    let what = format!("program with {TOOLS} tools, worker ready: first call after");
    let how = format!(
        "p99 {:.0}, whole program {:.0}, worker not ready {:.0}",
        at(&begun, 0.99),
        at(&whole, 0.5),
        at(&cold, 0.5)
    );
    Ok(Row::limited("P14", what, at(&begun, 0.5), START).explained(&how).with(json!({
        "micros": {
            "first": { "p50": at(&begun, 0.5), "p99": at(&begun, 0.99) },
            "whole": { "p50": at(&whole, 0.5), "p99": at(&whole, 0.99) },
            "cold": { "p50": at(&cold, 0.5), "p99": at(&cold, 0.99) },
        },
        "limit": START.most,
    })))
}

/// As many at once as a gateway runs, each in a worker that was ready. A figure without a target.
async fn crowd(worker: &Path, rounds: usize) -> Result<Row, Trouble> {
    let world = World::new(worker, TOGETHER)?;
    let mut whole = Vec::new();
    for _ in 0..rounds * 2 {
        // The keeper fills up after the first one was asked for.
        world.warm().await?;
        tokio::time::sleep(SETTLE * 20).await;
        let timed = try_join_all((0..TOGETHER).map(|_| world.run(ONE))).await?;
        whole.extend(timed.iter().map(|timed| nanos(timed.whole)));
    }
    let whole = Samples::of_nanos(whole);
    let (half, most) = (micros(whole.quantile(0.5)), micros(whole.quantile(1.0)));
    Ok(Row {
        id: "P14",
        what: format!("{TOGETHER} such programs at once, whole"),
        measured: format!("{half:.0} µs, the last one {most:.0} µs"),
        target: String::new(),
        ratio: None,
        verdict: Verdict::Ok,
        figures: json!({ "micros": { "p50": half, "max": most } }),
    })
}

/// Calls that are answered at once, one after the other and side by side.
async fn rate(worker: &Path, rounds: usize) -> Result<Row, Trouble> {
    let world = World::new(worker, 1)?;
    let single = format!("for i in range({CALLS}):\n    x = server7.tool3(n = i)\nresult = x");
    let wide = format!(
        "for i in range({}):\n    x = parallel([(server7.tool3, {{'n': j}}) for j in range(10)])\n\
         result = x",
        CALLS / 10
    );
    let (mut each, mut tens) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        for (source, rates) in [(&single, &mut each), (&wide, &mut tens)] {
            world.warm().await?;
            tokio::time::sleep(SETTLE).await;
            let timed = world.run(source).await?;
            rates.push(f64::from(CALLS) / timed.whole.as_secs_f64());
        }
    }
    let (each, tens) = (median(each), median(tens));
    Ok(Row {
        id: "P14",
        what: "calls of a program, answered at once".to_owned(),
        measured: format!("{each:.0}/s one after the other, {tens:.0}/s ten at a time"),
        target: format!("≥ {LEAST}/s"),
        ratio: Some(each / LEAST),
        verdict: Verdict::at_least(each, LEAST),
        figures: json!({ "perSecond": { "single": each, "ten": tens }, "limit": LEAST }),
    })
}

struct World {
    sandbox: Sandbox,
    names: Box<RawValue>,
    limits: Limits,
}

struct Timed {
    /// Until its first call was heard.
    first: Duration,
    whole: Duration,
}

impl World {
    fn new(worker: &Path, spare: usize) -> Result<Self, Trouble> {
        let sandbox = Sandbox::new(Settings {
            worker: worker.to_owned(),
            spare,
            together: TOGETHER,
            memory_bytes: 256 << 20,
            cpu: Duration::from_secs(60),
        });
        let names: Vec<(String, Vec<String>)> = (0..SERVERS)
            .map(|server| {
                let tools = (0..TOOLS / SERVERS).map(|tool| format!("tool{tool}")).collect();
                (format!("server{server}"), tools)
            })
            .collect();
        let broken = |error: serde_json::Error| Trouble::Process(error.to_string());
        let names = serde_json::value::to_raw_value(&names).map_err(broken)?;
        let fence = Fence { calls: CALLS, ..Limits::default().fence };
        Ok(Self { sandbox, names, limits: Limits { fence, ..Limits::default() } })
    }

    async fn warm(&self) -> Result<(), Trouble> {
        self.sandbox.warm().await.map_err(|broken| Trouble::Process(broken.to_string()))
    }

    async fn run(&self, source: &str) -> Result<Timed, Trouble> {
        let host = AtOnce::default();
        let began = clock::now();
        let program = Program { source, names: &self.names, limits: &self.limits, until: None };
        let ended = self.sandbox.run(&program, &host).await;
        let whole = clock::now() - began;
        let ended = ended.map_err(|error| Trouble::Process(error.to_string()))?;
        let first = host.first.lock().map(|first| first - began);
        match (ended.result, first) {
            (Ok(Some(_)), Some(first)) => Ok(Timed { first, whole }),
            (Err(failed), _) => {
                Err(Trouble::wrong("a program", "failed", failed.message.as_bytes()))
            }
            (Ok(_), _) => Err(Trouble::wrong("a program", "no result, or no call", b"")),
        }
    }
}

#[derive(Default)]
struct AtOnce {
    first: Arc<Mutex<Option<Instant>>>,
}

#[async_trait]
impl HostCalls for AtOnce {
    async fn call(&self, calls: Vec<Call>, _time: &Stopwatch) -> Vec<Answer> {
        self.first.lock().get_or_insert_with(clock::now);
        calls.into_iter().map(|call| Answer::Data(call.named)).collect()
    }
}
