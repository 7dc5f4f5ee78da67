//! P14: programs in workers.
//!
//! How long until one that could call a thousand tools does its first thing, and how many calls it
//! makes in a second: such that cost nothing, and such of a built-in tool through the gate.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::future::try_join_all;
use parking_lot::Mutex;
use serde_json::json;
use serde_json::value::RawValue;
use tollgate_engine::Parts;
use tollgate_engine::settings::EngineSettings;
use tollgate_sandbox::frames::{Answer, InterpreterLimits, ProgramCall};
use tollgate_sandbox::host::HostCalls;
use tollgate_sandbox::limits::Limits;
use tollgate_sandbox::sandbox::{self, ProgramSandbox, SandboxProgram};
use tollgate_sandbox::stopwatch::Stopwatch;

use super::BenchContext;
use super::in_process_gate::InProcessGate;
use crate::clock::{self, micros, nanos};
use crate::error::BenchError;
use crate::samples::{Samples, median};
use crate::table::{FigureLimit, FigureRow, TargetVerdict};

const SERVERS: usize = 20;
const TOOLS: usize = 1_000;
const START_LIMIT: FigureLimit = FigureLimit { most: 1_000.0, unit: "µs", digits: 0 };
/// Calls in a second.
const MIN_CALLS_PER_SECOND: f64 = 10_000.0;
/// Of one program.
const CALLS: u32 = 5_000;
const TOGETHER: usize = 16;
/// A worker that is being started takes the processor from what is measured.
const SETTLE: Duration = Duration::from_millis(30);

const ONE: &str = "result = server0.tool0(n = 1)";

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let data = bench.scratch.path().join("door-programs");
    let place = ProgramPaths { worker: bench.worker(), data };
    let rounds = bench.pace.rounds;
    // On as many threads as the gateway has; a program waits in a task there, too.
    let measured = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let rows = runtime.block_on(runtime.spawn(async move { all(&place, rounds).await }));
        rows.map_err(|error| BenchError::Process(format!("the programs' runtime broke: {error}")))?
    });
    measured.await.map_err(|error| BenchError::Process(error.to_string()))?
}

struct ProgramPaths {
    worker: PathBuf,
    data: PathBuf,
}

async fn all(place: &ProgramPaths, rounds: usize) -> Result<Vec<FigureRow>, BenchError> {
    Ok(vec![
        start(&place.worker, rounds).await?,
        measure_concurrency(&place.worker, rounds).await?,
        rate(&place.worker, rounds).await?,
        through_the_gate(place, rounds).await?,
    ])
}

/// One program after the other, each in a worker that was ready.
async fn start(worker: &Path, rounds: usize) -> Result<FigureRow, BenchError> {
    let world = ProgramRunner::new(worker, 1)?;
    let mut begun = Vec::new();
    let mut whole = Vec::new();
    for _ in 0..rounds * 40 {
        world.warm().await?;
        tokio::time::sleep(SETTLE).await;
        let timed = world.run(ONE).await?;
        begun.push(nanos(timed.first));
        whole.push(nanos(timed.whole));
    }
    let mut cold = Vec::new();
    for _ in 0..rounds * 4 {
        let fresh = ProgramRunner::new(worker, 0)?;
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
    Ok(FigureRow::at_most("P14", what, at(&begun, 0.5), START_LIMIT).with_note(&how).with(json!({
        "micros": {
            "first": { "p50": at(&begun, 0.5), "p99": at(&begun, 0.99) },
            "whole": { "p50": at(&whole, 0.5), "p99": at(&whole, 0.99) },
            "cold": { "p50": at(&cold, 0.5), "p99": at(&cold, 0.99) },
        },
        "limit": START_LIMIT.most,
    })))
}

/// As many at once as a gateway runs, each in a worker that was ready. A figure without a target.
async fn measure_concurrency(worker: &Path, rounds: usize) -> Result<FigureRow, BenchError> {
    let world = ProgramRunner::new(worker, TOGETHER)?;
    let mut whole = Vec::new();
    for _ in 0..rounds * 2 {
        // The keeper fills up after the first one was asked for.
        world.warm().await?;
        tokio::time::sleep(SETTLE * 20).await;
        let timed = try_join_all((0..TOGETHER).map(|_| world.run(ONE))).await?;
        whole.extend(timed.iter().map(|timed| nanos(timed.whole)));
    }
    let whole = Samples::of_nanos(whole);
    let half = micros(whole.quantile(0.5));
    let most = micros(whole.quantile(1.0));
    Ok(FigureRow {
        id: "P14",
        what: format!("{TOGETHER} such programs at once, whole"),
        measured: format!("{half:.0} µs, the last one {most:.0} µs"),
        target: String::new(),
        ratio: None,
        verdict: TargetVerdict::Ok,
        figures: json!({ "micros": { "p50": half, "max": most } }),
    })
}

/// Calls that are answered at once.
async fn rate(worker: &Path, rounds: usize) -> Result<FigureRow, BenchError> {
    let world = ProgramRunner::new(worker, 1)?;
    let [single, ten] = sources("server7.tool3", "n", "i");
    let mut rates = CallRates::default();
    for _ in 0..rounds {
        for (source, rates) in [(&single, &mut rates.single), (&ten, &mut rates.ten)] {
            world.warm().await?;
            tokio::time::sleep(SETTLE).await;
            rates.push(per_second(world.run(source).await?.whole));
        }
    }
    Ok(rates.row("calls of a program, answered at once"))
}

/// Calls of a built-in tool, each through the gate like any other.
async fn through_the_gate(place: &ProgramPaths, rounds: usize) -> Result<FigureRow, BenchError> {
    std::fs::create_dir_all(place.data.join("files"))?;
    let mut settings = EngineSettings::new(place.data.clone());
    settings.code.worker.clone_from(&place.worker);
    settings.code.limits.fence.calls = CALLS;
    let door = InProcessGate::open_by(&settings, Parts::default(), 4).await?;
    let [single, ten] = sources("dice.roll", "expression", "'2d6+3'");
    let mut rates = CallRates::default();
    for _ in 0..rounds {
        for (source, rates) in [(&single, &mut rates.single), (&ten, &mut rates.ten)] {
            tokio::time::sleep(SETTLE).await;
            let began = clock::now();
            door.code(source).await?;
            rates.push(per_second(clock::now() - began));
        }
    }
    Ok(rates.row("calls of a program, a built-in tool through the gate"))
}

/// [`CALLS`] calls of one tool: one after the other, and ten side by side.
fn sources(tool: &str, name: &str, value: &str) -> [String; 2] {
    let single = format!("for i in range({CALLS}):\n    x = {tool}({name} = {value})\nresult = x");
    let ten = format!(
        "for i in range({}):\n    x = parallel([({tool}, {{'{name}': {value}}})] * 10)\nresult = x",
        CALLS / 10
    );
    [single, ten]
}

#[derive(Default)]
struct CallRates {
    single: Vec<f64>,
    ten: Vec<f64>,
}

impl CallRates {
    fn row(self, what: &str) -> FigureRow {
        let single = median(self.single);
        let ten = median(self.ten);
        FigureRow {
            id: "P14",
            what: what.to_owned(),
            measured: format!("{single:.0}/s one after the other, {ten:.0}/s ten at a time"),
            target: format!("≥ {MIN_CALLS_PER_SECOND}/s"),
            ratio: Some(single / MIN_CALLS_PER_SECOND),
            verdict: TargetVerdict::at_least(single, MIN_CALLS_PER_SECOND),
            figures: json!({ "perSecond": { "single": single, "ten": ten }, "limit": MIN_CALLS_PER_SECOND }),
        }
    }
}

fn per_second(whole: Duration) -> f64 {
    f64::from(CALLS) / whole.as_secs_f64()
}

struct ProgramRunner {
    sandbox: ProgramSandbox,
    names: Box<RawValue>,
    limits: Limits,
}

struct ProgramTiming {
    /// Until its first call was heard.
    first: Duration,
    whole: Duration,
}

impl ProgramRunner {
    fn new(worker: &Path, spare: usize) -> Result<Self, BenchError> {
        let sandbox = ProgramSandbox::new(sandbox::SandboxSettings {
            worker: worker.to_owned(),
            spare,
            together: TOGETHER,
            processes: TOGETHER,
            memory_bytes: 256 << 20,
            cpu: Duration::from_secs(60),
        });
        let names: Vec<(String, Vec<String>)> = (0..SERVERS)
            .map(|server| {
                let tools = (0..TOOLS / SERVERS).map(|tool| format!("tool{tool}")).collect();
                (format!("server{server}"), tools)
            })
            .collect();
        let broken = |error: serde_json::Error| BenchError::Process(error.to_string());
        let names = serde_json::value::to_raw_value(&names).map_err(broken)?;
        let fence = InterpreterLimits { calls: CALLS, ..Limits::default().fence };
        Ok(Self { sandbox, names, limits: Limits { fence, ..Limits::default() } })
    }

    async fn warm(&self) -> Result<(), BenchError> {
        self.sandbox.warm().await.map_err(|broken| BenchError::Process(broken.to_string()))
    }

    async fn run(&self, source: &str) -> Result<ProgramTiming, BenchError> {
        let host = InstantHost::default();
        let began = clock::now();
        let program = SandboxProgram {
            source,
            names: &self.names,
            limits: &self.limits,
            owner: None,
            until: None,
        };
        let ended = self.sandbox.run(&program, &host).await;
        let whole = clock::now() - began;
        let ended = ended.map_err(|error| BenchError::Process(error.to_string()))?;
        let first = host.first.lock().map(|first| first - began);
        match (ended.result, first) {
            (Ok(Some(_)), Some(first)) => Ok(ProgramTiming { first, whole }),
            (Err(failed), _) => {
                Err(BenchError::wrong("a program", "failed", failed.message.as_bytes()))
            }
            (Ok(_), _) => Err(BenchError::wrong("a program", "no result, or no call", b"")),
        }
    }
}

#[derive(Default)]
struct InstantHost {
    first: Arc<Mutex<Option<Instant>>>,
}

#[async_trait]
impl HostCalls for InstantHost {
    async fn call(&self, calls: Vec<ProgramCall>, _time: &Stopwatch) -> Vec<Answer> {
        self.first.lock().get_or_insert_with(clock::now);
        calls.into_iter().map(|call| Answer::Data(call.named)).collect()
    }
}
