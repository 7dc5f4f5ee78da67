//! P13: what the gateway adds to each frame of audio of a live session, beside what a plain TCP relay
//! adds, and P10 for such sessions.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;

use super::{BenchContext, calling, http_server};
use crate::clock::micros;
use crate::config::GatewayConfig;
use crate::error::BenchError;
use crate::load::{LoadRequest, LoadTarget, open_loop};
use crate::process::MeasuredProcess;
use crate::samples::{Samples, median};
use crate::serve::ServerThread;
use crate::speech::{FrameRate, SpeechProvider};
use crate::table::{FigureLimit, FigureRow, TargetVerdict};
use crate::upstream::EchoUpstream;
use crate::wire::Era;

/// What telephones and browsers send.
const EVERY_20_MS: f64 = 50.0;
/// Where two cores cannot carry everybody at that rate, the next one is tried.
const RATES: [f64; 5] = [EVERY_20_MS, 20.0, 10.0, 5.0, 2.0];
const MANY_SESSIONS: usize = 1_000;
const CALLS: usize = 500;
const LARGE_RESULTS_PER_SECOND: u32 = 65;
const LARGE_RESULT_CONNECTIONS: usize = 8;
const SETTLE: Duration = Duration::from_millis(500);

/// Sessions through the gateway, and what they are compared with.
struct SpeechStage {
    studio: SpeechProvider,
    relay: MeasuredProcess,
    gateway: MeasuredProcess,
    _upstream: ServerThread,
}

impl SpeechStage {
    async fn start(bench: &BenchContext) -> Result<Self, BenchError> {
        let studio = SpeechProvider::start()?;
        let upstream = ServerThread::start("upstream", EchoUpstream::with_large_results())?;
        let servers = [http_server("up", upstream.address, Era::Modern)];
        let config = config(bench, "speech", studio.address)?.servers(&servers);
        let gateway = bench.start_gateway_with(&config, &servers).await?;
        let relay = bench.start_relay(studio.address).await?;
        Ok(Self { studio, relay, gateway, _upstream: upstream })
    }

    /// Loads the gateway with calls while frames are measured.
    async fn load(&self, side: SideLoad, lasts: Duration) -> Result<(), BenchError> {
        if side == SideLoad::Nothing {
            return Ok(());
        }
        let echo = calling(&self.gateway, "up_large".to_owned());
        let target = LoadTarget { ask: LoadRequest::Large("up_large".to_owned()), ..echo };
        let load = open_loop::FixedRate { rate: LARGE_RESULTS_PER_SECOND, span: lasts };
        open_loop::run(&[target], LARGE_RESULT_CONNECTIONS, load).await?;
        Ok(())
    }
}

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let stage = SpeechStage::start(bench).await?;
    let mut rows = Vec::new();
    let loads = [
        (1, SideLoad::Nothing),
        (10, SideLoad::Nothing),
        (100, SideLoad::Nothing),
        (MANY_SESSIONS, SideLoad::Nothing),
        (10, SideLoad::LargeResults),
        (100, SideLoad::LargeResults),
    ];
    for (sessions, side) in loads {
        match measure_added_delay(bench, &stage, sessions, side).await {
            Ok(measured) => rows.extend(measured),
            // The other loads are worth measuring all the same.
            Err(trouble) => rows.push(FigureRow::failure("P13", &trouble.to_string())),
        }
    }
    rows.push(match tools(&stage.studio, &stage.gateway).await {
        Ok(row) => row,
        Err(trouble) => FigureRow::failure("P13", &trouble.to_string()),
    });
    stage.gateway.stop().await?;
    stage.relay.stop().await?;
    Ok(rows)
}

/// Memory of sessions in which everybody has said something.
pub(super) async fn measure_session_memory(bench: &BenchContext) -> Result<FigureRow, BenchError> {
    let studio = SpeechProvider::start()?;
    let gateway = start(bench, "silence", studio.address).await?;
    tokio::time::sleep(SETTLE).await;
    let before = gateway.usage()?.resident_bytes;
    let mut clients = studio.open(gateway.address, MANY_SESSIONS).await?;
    // More than what is kept of the last half second.
    let pace = FrameRate { frames_per_second: 10.0, lasts: Duration::from_secs(4) };
    studio.talk(&mut clients, pace).await?;
    let after = gateway.usage()?.resident_bytes;
    gateway.stop().await?;
    let each = after.saturating_sub(before) as f64 / MANY_SESSIONS as f64 / 1024.0;
    let limit = FigureLimit { most: 64.0, unit: "KiB", digits: 1 };
    let what = format!("memory, each of {MANY_SESSIONS} live sessions");
    Ok(FigureRow::at_most("P10", what, each, limit)
        .with(json!({ "beforeBytes": before, "afterBytes": after, "sessions": MANY_SESSIONS })))
}

/// What else the gateway does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SideLoad {
    Nothing,
    LargeResults,
}

/// The delays of one way of the frames, over all rounds.
#[derive(Default)]
struct MeasuredWay {
    delays: Vec<Samples>,
    lost: u64,
}

impl MeasuredWay {
    /// The median of all rounds, in milliseconds.
    fn at(&self, quantile: f64) -> f64 {
        median(self.delays.iter().map(|it| micros(it.quantile(quantile)) / 1e3))
    }
}

/// Frames over a direct connection, a TCP relay and the gateway, in turns.
async fn measure_added_delay(
    bench: &BenchContext,
    stage: &SpeechStage,
    sessions: usize,
    side: SideLoad,
) -> Result<Vec<FigureRow>, BenchError> {
    let studio = &stage.studio;
    let rate = sustained_rate(studio, &stage.gateway, sessions).await?;
    // Many sessions send enough frames in half of the time.
    let lasts = if sessions < 100 { bench.pace.long_slice } else { bench.pace.long_slice / 2 };
    let pace = FrameRate { frames_per_second: rate, lasts };
    let addresses = [studio.address, stage.relay.address, stage.gateway.address];
    let mut ways: [MeasuredWay; 3] = Default::default();
    let mut cpu = Vec::new();
    for round in 0..bench.pace.long_rounds {
        for turn in 0..addresses.len() {
            let at = (round + turn) % addresses.len();
            let mut clients = studio.open(addresses[at], sessions).await?;
            let before = stage.gateway.usage()?.cpu;
            let (talk, calls) =
                tokio::join!(studio.talk(&mut clients, pace), stage.load(side, pace.lasts));
            calls?;
            let talk = talk?;
            if addresses[at] == stage.gateway.address {
                let used = stage.gateway.usage()?.cpu - before;
                cpu.push(used.as_secs_f64() / pace.lasts.as_secs_f64() / sessions as f64);
            }
            ways[at].lost += talk.due.saturating_sub(talk.delays.len() as u64);
            ways[at].delays.push(talk.delays);
        }
    }
    Ok(rows(&ways, &SpeechLoad { sessions, rate, side, cpu: median(cpu) }))
}

/// What was going on while frames were measured.
struct SpeechLoad {
    sessions: usize,
    rate: f64,
    side: SideLoad,
    /// Of one session, in cores.
    cpu: f64,
}

impl SpeechLoad {
    fn describe(&self) -> String {
        let beside = match self.side {
            SideLoad::Nothing => "",
            SideLoad::LargeResults => ", beside 65 results/s of 200 KB",
        };
        format!("{} sessions, {} frames/s each way{beside}", self.sessions, self.rate)
    }
}

fn rows(ways: &[MeasuredWay; 3], load: &SpeechLoad) -> Vec<FigureRow> {
    let [direct, relay, gateway] = ways;
    let load_text = load.describe();
    let added = |way: &MeasuredWay, q: f64| (way.at(q) - direct.at(q)).max(0.0);
    let figures = |q: f64| {
        json!({ "sessions": load.sessions, "framesPerSecond": load.rate, "quantile": q,
            "directMs": direct.at(q), "relayMs": relay.at(q), "gatewayMs": gateway.at(q),
            "lost": gateway.lost })
    };
    let median_row = {
        let ours = added(gateway, 0.5);
        let relays = added(relay, 0.5);
        let holds = ours <= relays.min(0.1);
        let measured = format!("{ours:.3} ms, the relay {relays:.3} ms");
        let what = format!("added per audio frame, p50, {load_text}");
        FigureRow::check("P13", what, measured, "≤ 1.0 × the relay and ≤ 0.1 ms", holds)
            .with(figures(0.5))
    };
    let slowest_row = {
        let ours = gateway.at(0.99);
        let relays = relay.at(0.99);
        let measured = format!("{ours:.3} ms, the relay {relays:.3} ms");
        let what = format!("an audio frame, p99, {load_text}");
        FigureRow::check("P13", what, measured, "≤ 2 × the relay", ours <= 2.0 * relays)
            .with(figures(0.99))
    };
    let lost_row = {
        let measured =
            format!("{}, direct {}, the relay {}", gateway.lost, direct.lost, relay.lost);
        let what = format!("lost frames, {load_text}");
        FigureRow::check("P13", what, measured, "0", gateway.lost == 0)
    };
    let cpu = format!("{:.3} % of a core", load.cpu * 100.0);
    let what = format!("CPU of the gateway for each session, {load_text}");
    vec![median_row, slowest_row, lost_row, untargeted_row(what, cpu)]
}

/// The highest rate at which nothing piles up.
async fn sustained_rate(
    studio: &SpeechProvider,
    gateway: &MeasuredProcess,
    sessions: usize,
) -> Result<f64, BenchError> {
    for frames_per_second in RATES {
        let pace = FrameRate { frames_per_second, lasts: Duration::from_secs(2) };
        let mut clients = studio.open(gateway.address, sessions).await?;
        if studio.talk(&mut clients, pace).await?.is_in_real_time() {
            return Ok(frames_per_second);
        }
    }
    Err(BenchError::Process(format!("{sessions} sessions are too many for this machine")))
}

/// From a model's call to its answer, with a tool that takes no time.
async fn tools(
    studio: &SpeechProvider,
    gateway: &MeasuredProcess,
) -> Result<FigureRow, BenchError> {
    let clients = studio.open(gateway.address, 1).await?;
    let took = studio.call("roll", CALLS).await?;
    drop(clients);
    let half = micros(took.quantile(0.5)) / 1e3;
    let most = micros(took.quantile(0.99)) / 1e3;
    let limit = FigureLimit { most: 0.3, unit: "ms", digits: 3 };
    let what = "round trip of a tool call in a session, tool in process, p50".to_owned();
    Ok(FigureRow::at_most("P13", what, half, limit)
        .with_note(&format!("p99 {most:.3}"))
        .with(json!({ "p50Ms": half, "p99Ms": most, "calls": took.len() })))
}

/// For what there is no target.
fn untargeted_row(what: String, measured: String) -> FigureRow {
    let target = String::new();
    let ratio = None;
    let figures = json!({});
    FigureRow { id: "P13", what, measured, target, ratio, verdict: TargetVerdict::Ok, figures }
}

async fn start(
    bench: &BenchContext,
    name: &str,
    studio: SocketAddr,
) -> Result<MeasuredProcess, BenchError> {
    bench.start_gateway_on(&config(bench, name, studio)?.write()?).await
}

fn config(
    bench: &BenchContext,
    name: &str,
    studio: SocketAddr,
) -> Result<GatewayConfig, BenchError> {
    let models = format!(
        "providers:\n  up: {{ kind: openai, base_url: \"http://{studio}/v1\", api_key: k, \
         concurrent: 4096 }}\n\
         models:\n  bench: {{ provider: up, id: bench-1, api: realtime }}\n\
         default_agent: speaker\n\
         agents:\n  speaker: {{ tools: [\"*\"], auto_execute: [roll], models: [bench] }}\n"
    );
    Ok(GatewayConfig::with_many_sessions(&bench.scratch, name)?.with(&models))
}
