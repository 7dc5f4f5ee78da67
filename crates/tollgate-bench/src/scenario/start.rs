//! P11: from the start of the process until it says that it is ready.

use serde_json::json;

use super::{BenchContext, listing};
use crate::config::{ConfiguredServer, ConfiguredTransport, GatewayConfig};
use crate::error::BenchError;
use crate::load::HttpLoadConnection;
use crate::process::MeasuredProcess;
use crate::samples::median;
use crate::table::{FigureLimit, FigureRow};

const SERVERS: usize = 20;
const HANGING: usize = 5;

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    Ok(vec![without_servers(bench).await?, with_hanging_servers(bench).await?])
}

async fn without_servers(bench: &BenchContext) -> Result<FigureRow, BenchError> {
    let config = GatewayConfig::new(&bench.scratch, "start")?.write()?;
    let mut millis = Vec::new();
    for _ in 0..bench.pace.starts {
        let gateway = bench.start_gateway_on(&config).await?;
        millis.push(gateway.took.as_secs_f64() * 1e3);
        gateway.stop().await?;
    }
    let limit = FigureLimit { most: 150.0, unit: "ms", digits: 0 };
    let value = median(millis.iter().copied());
    Ok(FigureRow::at_most("P11", "start to ready, no servers".to_owned(), value, limit)
        .with(json!({ "milliseconds": millis })))
}

async fn with_hanging_servers(bench: &BenchContext) -> Result<FigureRow, BenchError> {
    let mut millis = Vec::new();
    for round in 0..bench.pace.starts.min(2) {
        let servers: Vec<ConfiguredServer> = (0..SERVERS).map(|at| server(bench, at)).collect();
        let name = format!("start-hanging-{round}");
        let config = GatewayConfig::new(&bench.scratch, &name)?.servers(&servers).write()?;
        let gateway = bench.start_gateway_on(&config).await?;
        millis.push(gateway.took.as_secs_f64() * 1e3);
        check_tools(&gateway).await?;
        gateway.stop().await?;
    }
    let limit = FigureLimit { most: 3_000.0, unit: "ms", digits: 0 };
    let value = median(millis.iter().copied());
    let what = format!("start to ready, {SERVERS} stdio servers of which {HANGING} hang");
    Ok(FigureRow::at_most("P11", what, value, limit).with(json!({ "milliseconds": millis })))
}

/// Ready means that the tools of all good servers can be called.
async fn check_tools(gateway: &MeasuredProcess) -> Result<(), BenchError> {
    let (names, page) = HttpLoadConnection::open(&listing(gateway)).await?.list().await?;
    let good = names.iter().filter(|name| name.ends_with("_echo")).count();
    if good == SERVERS - HANGING {
        return Ok(());
    }
    Err(BenchError::wrong("gateway", "not the tools of all good servers", &page))
}

fn server(bench: &BenchContext, at: usize) -> ConfiguredServer {
    let mut command = vec![bench.own.display().to_string(), "stdio-echo".to_owned()];
    if at < HANGING {
        command.push("--hang".to_owned());
    }
    ConfiguredServer { name: format!("c{at}"), kind: ConfiguredTransport::Stdio { command } }
}
