//! P13: what the gateway adds to each frame of audio of a live session, and P10 for such sessions.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;

use super::BenchContext;
use crate::clock::micros;
use crate::config::GatewayConfig;
use crate::error::BenchError;
use crate::process::MeasuredProcess;
use crate::samples::{Samples, median};
use crate::speech::{FrameRate, SpeechProvider};
use crate::table::{FigureLimit, FigureRow, TargetVerdict};

/// What telephones and browsers send.
const EVERY_20_MS: f64 = 50.0;
/// Where two cores cannot carry everybody at that rate, the next one is tried.
const RATES: [f64; 5] = [EVERY_20_MS, 20.0, 10.0, 5.0, 2.0];
const MANY_SESSIONS: usize = 1_000;
const CALLS: usize = 500;
const SETTLE: Duration = Duration::from_millis(500);

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let studio = SpeechProvider::start()?;
    let gateway = start(bench, "speech", studio.address).await?;
    let mut rows = Vec::new();
    for sessions in [1, 100, MANY_SESSIONS] {
        match measure_added_delay(bench, &studio, &gateway, sessions).await {
            Ok(measured) => rows.extend(measured),
            // What fewer sessions came to is worth knowing all the same.
            Err(trouble) => rows.push(FigureRow::failure("P13", &trouble.to_string())),
        }
    }
    rows.push(match tools(&studio, &gateway).await {
        Ok(row) => row,
        Err(trouble) => FigureRow::failure("P13", &trouble.to_string()),
    });
    gateway.stop().await?;
    Ok(rows)
}

/// Memory of sessions in which everybody has said something.
pub(super) async fn measure_session_memory(bench: &BenchContext) -> Result<FigureRow, BenchError> {
    let studio = SpeechProvider::start()?;
    let gateway = start(bench, "silence", studio.address).await?;
    tokio::time::sleep(SETTLE).await;
    let before = gateway.usage()?.resident_bytes;
    let mut clients = studio.open(gateway.address, MANY_SESSIONS).await?;
    let pace = FrameRate { frames_per_second: 1.0, lasts: Duration::from_secs(3) };
    studio.talk(&mut clients, pace).await?;
    let after = gateway.usage()?.resident_bytes;
    gateway.stop().await?;
    let each = after.saturating_sub(before) as f64 / MANY_SESSIONS as f64 / 1024.0;
    let limit = FigureLimit { most: 64.0, unit: "KiB", digits: 1 };
    let what = format!("memory, each of {MANY_SESSIONS} live sessions");
    Ok(FigureRow::at_most("P10", what, each, limit)
        .with(json!({ "beforeBytes": before, "afterBytes": after, "sessions": MANY_SESSIONS })))
}

/// Frames without and with the gateway on their way, in turns.
async fn measure_added_delay(
    bench: &BenchContext,
    studio: &SpeechProvider,
    gateway: &MeasuredProcess,
    sessions: usize,
) -> Result<Vec<FigureRow>, BenchError> {
    let rate = sustained_rate(studio, gateway, sessions).await?;
    let pace = FrameRate { frames_per_second: rate, lasts: bench.pace.long_slice };
    let mut direct = Vec::new();
    let mut through = Vec::new();
    let mut cpu = Vec::new();
    for _ in 0..bench.pace.long_rounds {
        let mut clients = studio.open(studio.address, sessions).await?;
        direct.push(studio.talk(&mut clients, pace).await?.delays);
        drop(clients);
        let mut clients = studio.open(gateway.address, sessions).await?;
        let before = gateway.usage()?.cpu;
        through.push(studio.talk(&mut clients, pace).await?.delays);
        let used = gateway.usage()?.cpu - before;
        cpu.push(used.as_secs_f64() / pace.lasts.as_secs_f64() / sessions as f64);
    }
    let at = |all: &[Samples], q: f64| median(all.iter().map(|it| micros(it.quantile(q)) / 1e3));
    let row = |q: f64, most: f64| {
        let with = at(&through, q);
        let without = at(&direct, q);
        let what = format!(
            "added per audio frame, p{:.0}, {sessions} sessions, {rate} frames/s each way",
            q * 100.0
        );
        let limit = FigureLimit { most, unit: "ms", digits: 3 };
        FigureRow::at_most("P13", what, (with - without).max(0.0), limit)
            .with_note(&format!("{with:.3} instead of {without:.3}"))
            .with(json!({ "sessions": sessions, "framesPerSecond": rate, "quantile": q,
                "throughMs": with, "directMs": without }))
    };
    let cpu = untargeted_row(
        format!("CPU of a session at {rate} frames/s each way, {sessions} sessions"),
        format!("{:.3} % of a core", median(cpu) * 100.0),
    );
    Ok(match sessions {
        MANY_SESSIONS => vec![row(0.99, 5.0), cpu],
        _ => vec![row(0.5, 0.1), row(0.99, 1.0), cpu],
    })
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
    let what = "round trip of a tool call in a session, tool in process".to_owned();
    Ok(untargeted_row(what, format!("p50 {half:.3} ms, p99 {most:.3} ms"))
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
    let models = format!(
        "providers:\n  up: {{ kind: openai, base_url: \"http://{studio}/v1\", api_key: k, \
         concurrent: 4096 }}\n\
         models:\n  bench: {{ provider: up, id: bench-1, api: realtime }}\n\
         default_agent: speaker\n\
         agents:\n  speaker: {{ tools: [\"*\"], auto_execute: [roll], models: [bench] }}\n"
    );
    let config = GatewayConfig::with_many_sessions(&bench.scratch, name)?.with(&models);
    bench.start_gateway_on(&config.write()?).await
}
