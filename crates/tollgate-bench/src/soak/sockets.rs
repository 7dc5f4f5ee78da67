//! thousands of live sessions in which nobody speaks, and a thousand in which everybody does.

use std::time::Duration;

use crate::clock::micros;
use crate::config::GatewayConfig;
use crate::error::BenchError;
use crate::process::{self, MeasuredProcess};
use crate::scenario::BenchContext;
use crate::speech::{FrameRate, SpeechProvider};
use crate::table::{FigureLimit, FigureRow};

const ACTIVE: usize = 1_000;
const MAX_IDLE_SOCKETS: usize = 9_000;
/// Files that each process needs beside its sockets.
const OTHER_FILES: u64 = 500;
const SETTLE: Duration = Duration::from_secs(1);

pub(super) async fn measure(
    bench: &BenchContext,
    span: Duration,
) -> Result<Vec<FigureRow>, BenchError> {
    // A bridged session is two sockets in the gateway, and two here.
    let files = process::file_limit().saturating_sub(OTHER_FILES);
    let idle = usize::try_from(files / 2).unwrap_or(MAX_IDLE_SOCKETS).min(MAX_IDLE_SOCKETS);
    let studio = SpeechProvider::start()?;
    let gateway = start(bench, studio.address).await?;
    tokio::time::sleep(SETTLE).await;
    let before = gateway.usage()?;
    let clients = studio.open(gateway.address, idle).await?;
    tokio::time::sleep(SETTLE).await;
    let opened = gateway.usage()?;
    tokio::time::sleep(span / 2).await;
    let waited = gateway.usage()?;
    let left = studio.count().await?;
    drop(clients);
    let mut clients = studio.open(gateway.address, ACTIVE).await?;
    let pace = FrameRate { frames_per_second: 5.0, lasts: (span / 2).max(Duration::from_secs(5)) };
    let talked = studio.talk(&mut clients, pace).await?;
    drop(clients);
    gateway.stop().await?;
    let each = opened.resident_bytes.saturating_sub(before.resident_bytes) as f64 / idle as f64;
    let busy = (waited.cpu - opened.cpu).as_secs_f64() / (span / 2).as_secs_f64();
    Ok(vec![
        FigureRow::at_most(
            "R-04",
            format!("memory of each of {idle} idle bridged sessions"),
            each / 1024.0,
            FigureLimit { most: 40.0, unit: "KiB", digits: 1 },
        ),
        FigureRow::at_most(
            "R-04",
            "processor time of all of them".to_owned(),
            busy * 100.0,
            FigureLimit { most: 5.0, unit: "% of a core", digits: 1 },
        ),
        FigureRow::check(
            "R-04",
            format!("sessions left after {:.0} s", (span / 2).as_secs_f64()),
            format!("{left} of {idle}"),
            "all",
            left == idle,
        ),
        FigureRow::at_most(
            "R-04",
            format!("relay p99 of {ACTIVE} sessions with 5 messages/s each way"),
            micros(talked.delays.quantile(0.99)) / 1e3,
            FigureLimit { most: 25.0, unit: "ms", digits: 2 },
        )
        .with_note(&format!("{} of {} frames came", talked.delays.len(), talked.due)),
    ])
}

async fn start(
    bench: &BenchContext,
    studio: std::net::SocketAddr,
) -> Result<MeasuredProcess, BenchError> {
    let models = format!(
        "providers:\n  up: {{ kind: openai, base_url: \"http://{studio}/v1\", api_key: k, \
         concurrent: 10000 }}\n\
         models:\n  bench: {{ provider: up, id: bench-1, api: realtime }}\n\
         default_agent: speaker\n\
         agents:\n  speaker: {{ tools: [\"*\"], auto_execute: [roll], models: [bench] }}\n"
    );
    let config = GatewayConfig::with_many_sessions(&bench.scratch, "soak-sockets")?.with(&models);
    bench.start_gateway_on(&config.write()?).await
}
