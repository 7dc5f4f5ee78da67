//! P1 and P2: calls through the gateway to a Streamable HTTP server, as fast as they go.

use std::net::SocketAddr;

use serde_json::json;

use super::{BenchContext, cpu_per_call, http_server, three};
use crate::clock::micros;
use crate::error::BenchError;
use crate::load::{LoadSlice, LoadTarget};
use crate::process::MeasuredProcess;
use crate::samples::median;
use crate::serve::ServerThread;
use crate::table::{FigureRow, TargetVerdict};
use crate::upstream::EchoUpstream;
use crate::wire::Era;

/// Of the bare proxy's throughput.
const MIN_THROUGHPUT_RATIO: f64 = 0.80;
/// Of the time that the bare proxy adds.
const MAX_ADDED_RATIO: f64 = 1.5;

/// The servers of these measurements, all up.
struct ThroughputServers {
    upstream: ServerThread,
    bare: MeasuredProcess,
    gateway: MeasuredProcess,
}

impl ThroughputServers {
    async fn start(bench: &BenchContext, tools: usize) -> Result<Self, BenchError> {
        let upstream = ServerThread::start("upstream", EchoUpstream::new(tools))?;
        let bare = bench.start_bare(upstream.address).await?;
        let servers = Era::BOTH.map(|era| http_server(era.name(), upstream.address, era));
        let gateway = bench.start_gateway(&format!("tools-{tools}"), &servers).await?;
        Ok(Self { upstream, bare, gateway })
    }

    /// A client of an era, to a server of the same era.
    fn targets(&self, era: Era) -> [LoadTarget; 3] {
        let direct: SocketAddr = self.upstream.address;
        three(direct, &self.bare, &self.gateway, &format!("{}_echo", era.name()), era)
    }

    async fn stop(self) -> Result<(), BenchError> {
        self.gateway.stop().await?;
        self.bare.stop().await
    }
}

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let mut rows = Vec::new();
    let set = ThroughputServers::start(bench, 2).await?;
    for era in Era::BOTH {
        for connections in [16, 64] {
            let rounds = bench.rounds(&set.targets(era), connections).await?;
            let what = format!("tools/call, {}, {connections} connections", era.name());
            rows.push(row(what, &rounds));
        }
    }
    set.stop().await?;
    let set = ThroughputServers::start(bench, 1_000).await?;
    for connections in [16, 64] {
        let rounds = bench.rounds(&set.targets(Era::Modern), connections).await?;
        let what = format!("tools/call, {connections} connections, 2 × 1,000 tools");
        rows.push(row(what, &rounds));
    }
    set.stop().await?;
    Ok(rows)
}

fn row(what: String, rounds: &[[LoadSlice; 3]]) -> FigureRow {
    let ratio = median(rounds.iter().map(|[_, bare, gateway]| gateway.rate() / bare.rate()));
    let rate = |at: usize| median(rounds.iter().map(|round| round[at].rate()));
    let cpu = |at: usize| cpu_per_call(rounds.iter().map(|round| &round[at]));
    FigureRow {
        id: "P1",
        what,
        measured: format!(
            "{:.0}/s, bare {:.0}/s; CPU {:.1} µs, bare {:.1} µs",
            rate(2),
            rate(1),
            cpu(2),
            cpu(1)
        ),
        target: format!("≥ {MIN_THROUGHPUT_RATIO} × bare"),
        ratio: Some(ratio),
        verdict: TargetVerdict::at_least(ratio, MIN_THROUGHPUT_RATIO),
        figures: json!({
            "perSecond": { "direct": rate(0), "bare": rate(1), "gateway": rate(2) },
            "cpuMicrosPerCall": { "bare": cpu(1), "gateway": cpu(2) },
            "p99Micros": {
                "direct": p99(rounds, 0), "bare": p99(rounds, 1), "gateway": p99(rounds, 2),
            },
        }),
    }
}

fn p99(rounds: &[[LoadSlice; 3]], at: usize) -> f64 {
    median(rounds.iter().map(|round| micros(round[at].latencies.quantile(0.99))))
}

/// P2: what one call after the other takes longer.
pub(super) async fn added_by_one(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let set = ThroughputServers::start(bench, 2).await?;
    let mut rows = Vec::new();
    for era in Era::BOTH {
        let rounds = bench.rounds(&set.targets(era), 1).await?;
        let p50 = |slice: &LoadSlice| micros(slice.latencies.quantile(0.5));
        let added = |at: usize| median(rounds.iter().map(|round| p50(&round[at]) - p50(&round[0])));
        let direct = median(rounds.iter().map(|round| p50(&round[0])));
        let bare = added(1);
        let gateway = added(2);
        let ratio = gateway / bare;
        rows.push(FigureRow {
            id: "P2",
            what: format!("tools/call, {}, 1 connection: p50 added", era.name()),
            measured: format!("{gateway:.0} µs, bare {bare:.0} µs, over direct {direct:.0} µs"),
            target: format!("≤ {MAX_ADDED_RATIO} × bare"),
            ratio: Some(ratio),
            verdict: TargetVerdict::at_most(ratio, MAX_ADDED_RATIO),
            figures: json!({ "directMicros": direct, "addedMicros": { "bare": bare, "gateway": gateway } }),
        });
    }
    set.stop().await?;
    Ok(rows)
}
