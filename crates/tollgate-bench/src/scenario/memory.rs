//! P10: what the gateway holds in memory: idle, under load, with calls that wait, and with live
//! sessions.

use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;

use super::{Bench, calling, http_server, speech, three};
use crate::config::Server;
use crate::load::{HttpLane, closed};
use crate::serve::OnThread;
use crate::table::{Limit, Row};
use crate::trouble::Trouble;
use crate::upstream::Upstream;
use crate::wire::Era;

const PARKED: usize = 1_000;
/// One server takes so many calls at a time and no more.
const PER_SERVER: usize = 50;
const SETTLE: Duration = Duration::from_millis(500);

pub(super) async fn measure(bench: &Bench) -> Result<Vec<Row>, Trouble> {
    let talking = Box::pin(speech::held(bench));
    Ok(vec![idle(bench).await?, loaded(bench).await?, parked(bench).await?, talking.await?])
}

async fn idle(bench: &Bench) -> Result<Row, Trouble> {
    let gateway = bench.start_gateway("idle", &[]).await?;
    tokio::time::sleep(SETTLE).await;
    let bytes = gateway.usage()?.resident_bytes;
    gateway.stop().await?;
    let limit = Limit { most: 25.0, unit: "MiB", digits: 1 };
    Ok(Row::limited("P10", "memory, idle".to_owned(), mebibytes(bytes), limit))
}

async fn loaded(bench: &Bench) -> Result<Row, Trouble> {
    let upstream = OnThread::start("upstream", Upstream::new(2))?;
    let bare = bench.start_bare(upstream.address).await?;
    let servers = [http_server("up", upstream.address, Era::Modern)];
    let gateway = bench.start_gateway("loaded", &servers).await?;
    let targets = three(upstream.address, &bare, (&gateway, "up_echo"), Era::Modern);
    for target in &targets[1..] {
        closed::run(target, 64, bench.pace.slice * 2).await?;
    }
    let (peak, bare_peak) = (gateway.usage()?.peak_bytes, bare.usage()?.peak_bytes);
    gateway.stop().await?;
    bare.stop().await?;
    let limit = Limit { most: 60.0, unit: "MiB", digits: 1 };
    let what = "memory, most under load on 64 connections".to_owned();
    let how = format!("bare {:.1}", mebibytes(bare_peak));
    Ok(Row::limited("P10", what, mebibytes(peak), limit)
        .explained(&how)
        .with(json!({ "peakBytes": peak, "barePeakBytes": bare_peak })))
}

/// Calls to servers that never answer.
async fn parked(bench: &Bench) -> Result<Row, Trouble> {
    let upstream = OnThread::start("upstream", Upstream::new(2))?;
    let servers: Vec<Server> = (0..PARKED / PER_SERVER)
        .map(|at| http_server(&format!("s{at}"), upstream.address, Era::Modern))
        .collect();
    let gateway = bench.start_gateway("parked", &servers).await?;
    tokio::time::sleep(SETTLE).await;
    let before = gateway.usage()?.resident_bytes;
    let mut waiting = JoinSet::new();
    for at in 0..PARKED {
        let tool = format!("s{}_hang", at % (PARKED / PER_SERVER));
        let mut lane = HttpLane::open(&calling(&gateway, tool)).await?;
        waiting.spawn(async move { lane.call(at as u64).await });
    }
    tokio::time::sleep(SETTLE * 2).await;
    let after = gateway.usage()?.resident_bytes;
    if let Some(answered) = waiting.try_join_next() {
        let answered = answered.map_err(|error| Trouble::Process(error.to_string()))?;
        return Err(answered.err().unwrap_or_else(|| {
            Trouble::Process("a call was answered that should have waited".to_owned())
        }));
    }
    drop(waiting);
    gateway.stop().await?;
    let each = after.saturating_sub(before) as f64 / PARKED as f64 / 1024.0;
    let limit = Limit { most: 64.0, unit: "KiB", digits: 1 };
    let what = format!("memory, each of {PARKED} calls that wait");
    Ok(Row::limited("P10", what, each, limit)
        .with(json!({ "beforeBytes": before, "afterBytes": after, "calls": PARKED })))
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
