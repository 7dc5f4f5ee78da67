//! P10: what the gateway holds in memory: idle, under load, with calls that wait, and with live
//! sessions.

use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;

use super::{BenchContext, calling, http_server, speech, three};
use crate::config::ConfiguredServer;
use crate::error::BenchError;
use crate::load::{HttpLoadConnection, closed_loop};
use crate::serve::ServerThread;
use crate::table::{FigureLimit, FigureRow};
use crate::upstream::EchoUpstream;
use crate::wire::Era;

const WAITING_CALLS: usize = 1_000;
/// One server takes so many calls at a time and no more.
const PER_SERVER: usize = 50;
const SETTLE: Duration = Duration::from_millis(500);

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let talking = Box::pin(speech::measure_session_memory(bench));
    Ok(vec![
        idle(bench).await?,
        measure_under_load(bench).await?,
        measure_waiting_calls(bench).await?,
        talking.await?,
    ])
}

async fn idle(bench: &BenchContext) -> Result<FigureRow, BenchError> {
    let gateway = bench.start_gateway("idle", &[]).await?;
    tokio::time::sleep(SETTLE).await;
    let bytes = gateway.usage()?.resident_bytes;
    gateway.stop().await?;
    let limit = FigureLimit { most: 25.0, unit: "MiB", digits: 1 };
    Ok(FigureRow::at_most("P10", "memory, idle".to_owned(), mebibytes(bytes), limit))
}

async fn measure_under_load(bench: &BenchContext) -> Result<FigureRow, BenchError> {
    let upstream = ServerThread::start("upstream", EchoUpstream::new(2))?;
    let bare = bench.start_bare(upstream.address).await?;
    let servers = [http_server("up", upstream.address, Era::Modern)];
    let gateway = bench.start_gateway("loaded", &servers).await?;
    let targets = three(upstream.address, &bare, &gateway, "up_echo", Era::Modern);
    for target in &targets[1..] {
        closed_loop::run(target, 64, bench.pace.slice * 2).await?;
    }
    let peak = gateway.usage()?.peak_bytes;
    let bare_peak = bare.usage()?.peak_bytes;
    gateway.stop().await?;
    bare.stop().await?;
    let limit = FigureLimit { most: 60.0, unit: "MiB", digits: 1 };
    let what = "memory, most under load on 64 connections".to_owned();
    let how = format!("bare {:.1}", mebibytes(bare_peak));
    Ok(FigureRow::at_most("P10", what, mebibytes(peak), limit)
        .with_note(&how)
        .with(json!({ "peakBytes": peak, "barePeakBytes": bare_peak })))
}

/// Calls to servers that never answer.
async fn measure_waiting_calls(bench: &BenchContext) -> Result<FigureRow, BenchError> {
    let upstream = ServerThread::start("upstream", EchoUpstream::new(2))?;
    let servers: Vec<ConfiguredServer> = (0..WAITING_CALLS / PER_SERVER)
        .map(|at| http_server(&format!("s{at}"), upstream.address, Era::Modern))
        .collect();
    let gateway = bench.start_gateway("parked", &servers).await?;
    tokio::time::sleep(SETTLE).await;
    let before = gateway.usage()?.resident_bytes;
    let mut waiting = JoinSet::new();
    for at in 0..WAITING_CALLS {
        let tool = format!("s{}_hang", at % (WAITING_CALLS / PER_SERVER));
        let mut connection = HttpLoadConnection::open(&calling(&gateway, tool)).await?;
        waiting.spawn(async move { connection.call(at as u64).await });
    }
    tokio::time::sleep(SETTLE * 2).await;
    let after = gateway.usage()?.resident_bytes;
    if let Some(answered) = waiting.try_join_next() {
        let answered = answered.map_err(|error| BenchError::Process(error.to_string()))?;
        return Err(answered.err().unwrap_or_else(|| {
            BenchError::Process("a call was answered that should have waited".to_owned())
        }));
    }
    drop(waiting);
    gateway.stop().await?;
    let each = after.saturating_sub(before) as f64 / WAITING_CALLS as f64 / 1024.0;
    let limit = FigureLimit { most: 64.0, unit: "KiB", digits: 1 };
    let what = format!("memory, each of {WAITING_CALLS} calls that wait");
    Ok(FigureRow::at_most("P10", what, each, limit)
        .with(json!({ "beforeBytes": before, "afterBytes": after, "calls": WAITING_CALLS })))
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
