//! P16 from outside: the processor time of a call through the front, with many tools and servers.

use std::net::SocketAddr;

use serde_json::json;

use super::{BenchContext, calling, cpu_per_call, http_server};
use crate::config::ConfiguredServer;
use crate::error::BenchError;
use crate::process::MeasuredProcess;
use crate::serve::ServerThread;
use crate::table::{FigureRow, TargetVerdict};
use crate::upstream::EchoUpstream;
use crate::wire::Era;

const CONNECTIONS: usize = 16;
const MAX_COST_RATIO: f64 = 1.10;

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let few = ServerThread::start("few tools", EchoUpstream::new(10))?;
    let many = ServerThread::start("many tools", EchoUpstream::new(10_000))?;
    let gateways = [
        gateway(bench, 1, few.address).await?,
        gateway(bench, 1, many.address).await?,
        gateway(bench, 200, few.address).await?,
    ];
    let tools = ["s0_echo", "s0_echo", "s100_echo"];
    let targets: [_; 3] = std::array::from_fn(|at| calling(&gateways[at], tools[at].to_owned()));
    let rounds = bench.rounds(&targets, CONNECTIONS).await?;
    for gateway in gateways {
        gateway.stop().await?;
    }
    let cpu = |at: usize| cpu_per_call(rounds.iter().map(|round| &round[at]));
    let small = cpu(0);
    let row = |what: &str, value: f64| FigureRow {
        id: "P16",
        what: format!("CPU of a call through the front, {what}"),
        measured: format!("{value:.1} µs, small {small:.1} µs"),
        target: format!("≤ {MAX_COST_RATIO:.2} × small"),
        ratio: Some(value / small),
        verdict: TargetVerdict::at_most(value / small, MAX_COST_RATIO),
        figures: json!({ "cpuMicrosPerCall": { "small": small, "large": value } }),
    };
    Ok(vec![row("10 → 10,000 tools", cpu(1)), row("1 → 200 servers", cpu(2))])
}

async fn gateway(
    bench: &BenchContext,
    servers: usize,
    upstream: SocketAddr,
) -> Result<MeasuredProcess, BenchError> {
    let name = format!("crowd-{servers}-{}", upstream.port());
    let server = |at| http_server(&format!("s{at}"), upstream, Era::Modern);
    let servers: Vec<ConfiguredServer> = (0..servers).map(server).collect();
    bench.start_gateway(&name, &servers).await
}
