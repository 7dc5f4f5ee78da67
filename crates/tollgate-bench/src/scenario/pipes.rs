//! P6: servers behind pipes: what the gateway's own work costs, and twenty of them at once.

use bytes::Bytes;
use serde_json::json;

use super::{BenchContext, calling, cpu_per_call};
use crate::clock::micros;
use crate::config::{ConfiguredServer, ConfiguredTransport};
use crate::error::BenchError;
use crate::load::{LoadRequest, LoadSlice, LoadTarget, PipeLoadConnection, open_loop};
use crate::process::MeasuredProcess;
use crate::samples::median;
use crate::table::{FigureLimit, FigureRow};
use crate::wire::Era;

const CONNECTIONS: usize = 16;
const CHILDREN: usize = 20;
const RATE: u32 = 1_000;

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let servers: Vec<ConfiguredServer> = (0..CHILDREN).map(|at| echo_server(bench, at)).collect();
    let gateway = bench.start_gateway("pipes", &servers).await?;
    let rows = vec![cpu_added(bench, &gateway).await?, delay_added(bench, &gateway).await?];
    gateway.stop().await?;
    Ok(rows)
}

/// Against a server that only takes the request and says an answer of the same size.
async fn cpu_added(
    bench: &BenchContext,
    gateway: &MeasuredProcess,
) -> Result<FigureRow, BenchError> {
    let answer = Bytes::from_static(
        br#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"The quick brown fox jumps over the lazy dog, number 1000000000"}]}}"#,
    );
    let fixed = bench.start_fixed(&answer).await?;
    let floor = LoadTarget {
        name: "static",
        address: fixed.address,
        era: Era::Modern,
        ask: LoadRequest::Same(answer),
        process: Some(fixed.pid),
    };
    let rounds = bench.rounds(&[floor, target(gateway, 0)], CONNECTIONS).await?;
    fixed.stop().await?;
    let cpu = |at: usize| cpu_per_call(rounds.iter().map(|round| &round[at]));
    let floor = cpu(0);
    let whole = cpu(1);
    let rate = median(rounds.iter().map(|round| round[1].rate()));
    let limit = FigureLimit { most: 30.0, unit: "µs", digits: 1 };
    let what = format!("stdio server, {CONNECTIONS} connections: CPU added per call");
    let how = format!("{whole:.1} − {floor:.1} for HTTP alone, at {rate:.0}/s");
    Ok(FigureRow::at_most("P6", what, whole - floor, limit).with_note(&how).with(json!({
        "cpuMicrosPerCall": { "httpAlone": floor, "gateway": whole },
        "perSecond": rate,
        "limit": limit.most,
    })))
}

/// Against the same children called without a gateway.
async fn delay_added(
    bench: &BenchContext,
    gateway: &MeasuredProcess,
) -> Result<FigureRow, BenchError> {
    let targets: Vec<LoadTarget> = (0..CHILDREN).map(|at| target(gateway, at)).collect();
    let load = open_loop::FixedRate { rate: RATE, span: bench.pace.long_slice };
    let mut rounds = Vec::new();
    for _ in 0..bench.pace.long_rounds {
        let connections: Result<Vec<_>, BenchError> = (0..CHILDREN)
            .map(|_| PipeLoadConnection::open(&bench.own).map(open_loop::LoadConnection::Pipe))
            .collect();
        let direct = open_loop::on_connections(connections?, load).await?;
        rounds.push([direct, open_loop::run(&targets, 2, load).await?]);
    }
    let p99 = |slice: &LoadSlice| micros(slice.latencies.quantile(0.99)) / 1e3;
    let added = median(rounds.iter().map(|[direct, gateway]| p99(gateway) - p99(direct)));
    let direct = median(rounds.iter().map(|round| p99(&round[0])));
    let limit = FigureLimit { most: 10.0, unit: "ms", digits: 2 };
    let what = format!("{CHILDREN} stdio servers, {RATE}/s in all: p99 added");
    Ok(FigureRow::at_most("P6", what, added, limit)
        .with_note(&format!("over direct {direct:.2}"))
        .with(json!({ "addedMilliseconds": added, "directMilliseconds": direct, "limit": 10.0 })))
}

fn target(gateway: &MeasuredProcess, child: usize) -> LoadTarget {
    calling(gateway, format!("c{child}_echo"))
}

fn echo_server(bench: &BenchContext, at: usize) -> ConfiguredServer {
    let command = vec![bench.own.display().to_string(), "stdio-echo".to_owned()];
    ConfiguredServer { name: format!("c{at}"), kind: ConfiguredTransport::Stdio { command } }
}
