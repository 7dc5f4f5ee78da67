//! P16 from outside: the processor time of a call through the front, with many tools and servers.

use std::net::SocketAddr;

use serde_json::json;

use super::{Bench, calling, cpu_per_call, http_server};
use crate::config::Server;
use crate::process::Process;
use crate::serve::OnThread;
use crate::table::{Row, Verdict};
use crate::trouble::Trouble;
use crate::upstream::Upstream;
use crate::wire::Era;

const CONNECTIONS: usize = 16;
const MOST: f64 = 1.10;

pub(super) async fn measure(bench: &Bench) -> Result<Vec<Row>, Trouble> {
    let few = OnThread::start("few tools", Upstream::new(10))?;
    let many = OnThread::start("many tools", Upstream::new(10_000))?;
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
    let row = |what: &str, value: f64| Row {
        id: "P16",
        what: format!("CPU of a call through the front, {what}"),
        measured: format!("{value:.1} µs, small {small:.1} µs"),
        target: format!("≤ {MOST:.2} × small"),
        ratio: Some(value / small),
        verdict: Verdict::at_most(value / small, MOST),
        figures: json!({ "cpuMicrosPerCall": { "small": small, "large": value } }),
    };
    Ok(vec![row("10 → 10,000 tools", cpu(1)), row("1 → 200 servers", cpu(2))])
}

async fn gateway(bench: &Bench, servers: usize, upstream: SocketAddr) -> Result<Process, Trouble> {
    let name = format!("crowd-{servers}-{}", upstream.port());
    let server = |at| http_server(&format!("s{at}"), upstream, Era::Modern);
    let servers: Vec<Server> = (0..servers).map(server).collect();
    bench.start_gateway(&name, &servers).await
}
