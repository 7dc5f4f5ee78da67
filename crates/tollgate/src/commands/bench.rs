//! `tollgate bench`: load test: throughput and latency of a tool's calls, compared with the health
//! route. The difference is the cost of the call.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tollgate_engine::caller::CacheFreshness;
use tollgate_engine::clock::{Clock as _, SystemClock};

use super::tools::items;
use crate::arguments;
use crate::cli::operate;
use crate::command_error::CommandError;
use crate::gateway::{Gateway, GatewayCall, ToolViewQuery};
use crate::output::{Output, OutputFormat, TextTable, clean, span};

mod statistics;

use statistics::{FailedCallError, LoadStatistics};
use tollgate_config::Config;

/// Divisor of the total time for the share of the health route.
const SHARE: u32 = 5;
/// Number of different errors shown.
const COMPLAINTS: usize = 3;

pub(super) async fn run(
    args: &operate::BenchArgs,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    let gateway = Gateway::open(config).await?;
    let measured = measure(args, &gateway, output).await;
    let place = match &gateway {
        Gateway::Remote(_) => format!("the gateway on {}", config.listen),
        Gateway::Local(_) => "a gateway in this process".to_owned(),
    };
    gateway.close().await;
    let (base, tool) = measured?;
    say(args, &place, &base, tool.as_ref(), output);
    match tool {
        Some(tool) if tool.calls() == tool.errors() => Err(CommandError::AlreadyPrinted),
        _ => Ok(()),
    }
}

async fn measure(
    args: &operate::BenchArgs,
    gateway: &Gateway,
    output: Output,
) -> Result<(LoadStatistics, Option<LoadStatistics>), CommandError> {
    let view = ToolViewQuery { agent: args.agent.as_deref(), ..ToolViewQuery::default() };
    let order = match &args.name {
        Some(name) => Some((name, order(args, name, gateway, view).await?)),
        None => None,
    };
    let whole = Duration::from_secs(u64::from(args.seconds));
    let first = if order.is_some() { whole / SHARE } else { whole };
    output.note(&format!("{} at a time, for {} s …", args.connections, args.seconds));
    let base = load(args.connections, first, || async {
        gateway.health().await.map(drop).map_err(|failure| FailedCallError(failure.to_string()))
    });
    let base = base.await;
    let Some((name, arguments)) = order else { return Ok((base, None)) };
    let freshness = if args.cached { CacheFreshness::Any } else { CacheFreshness::Fresh };
    let tool = load(args.connections, whole, || async {
        let order = GatewayCall { name, arguments: arguments.clone(), view, freshness };
        match gateway.execute(order).await {
            Ok(outcome)
                if ["ok", "no_results"].contains(&outcome["status"].as_str().unwrap_or("")) =>
            {
                Ok(())
            }
            Ok(outcome) => {
                let render = |key: &str| outcome[key].as_str().unwrap_or_default().to_owned();
                Err(FailedCallError(format!("{}: {}", render("status"), render("message"))))
            }
            Err(failure) => Err(FailedCallError(failure.to_string())),
        }
    });
    Ok((base, Some(tool.await)))
}

/// The arguments, if the tool may be called repeatedly.
async fn order(
    args: &operate::BenchArgs,
    name: &str,
    gateway: &Gateway,
    view: ToolViewQuery<'_>,
) -> Result<Value, CommandError> {
    let listed = gateway.tools(view).await?;
    let tool = items(&listed, "tools").iter().find(|tool| tool["name"] == name);
    let Some(tool) = tool else {
        let why = format!("there is no tool `{name}` here; `tollgate tools` lists them");
        return Err(CommandError::new(why));
    };
    let effect = tool["effect"].as_str().unwrap_or("mutating");
    if effect != "read_only" && !args.allow_writes {
        let why =
            format!("`{name}` may change something ({effect}); `--allow-writes` calls it anyway");
        return Err(CommandError::new(why));
    }
    arguments::parse(&args.arguments, &tool["input_schema"]).map(Value::Object)
}

/// Sends calls one after the other on each connection until the time is over.
async fn load<F>(connections: u32, time: Duration, call: impl Fn() -> F) -> LoadStatistics
where
    F: Future<Output = Result<(), FailedCallError>>,
{
    let began = SystemClock.now();
    let until = began + time;
    let workers = (0..connections).map(|_| run_connection(until, &call));
    let workers = join_all(workers).await;
    LoadStatistics::of(workers, SystemClock.now() - began)
}

async fn run_connection<F>(until: Instant, call: &impl Fn() -> F) -> statistics::ConnectionResults
where
    F: Future<Output = Result<(), FailedCallError>>,
{
    let mut connection = statistics::ConnectionResults::default();
    loop {
        let began = SystemClock.now();
        if began >= until {
            return connection;
        }
        let answer = call().await;
        connection.note(SystemClock.now() - began, answer);
        // An in-process gateway may answer without ever yielding.
        tokio::task::yield_now().await;
    }
}

fn say(
    args: &operate::BenchArgs,
    place: &str,
    base: &LoadStatistics,
    tool: Option<&LoadStatistics>,
    output: Output,
) {
    let name = args.name.as_deref().unwrap_or_default();
    if output.form == OutputFormat::Json {
        output.json(&json!({
            "gateway": place, "connections": args.connections, "seconds": args.seconds,
            "tool": tool.map(|_| name), "health": base.to_json(), "calls": tool.map(LoadStatistics::to_json),
        }));
        return;
    }
    let head = ["WHAT", "CALLS", "PER SECOND", "P50", "P95", "P99", "ERRORS"];
    let mut table = TextTable::new(&head);
    table.row(row("health route", base));
    if let Some(tool) = tool {
        table.row(row(name, tool));
    }
    output.table(&table);
    output.note(&format!("{place}, {} at a time", args.connections));
    if let Some(tool) = tool {
        let more = tool.percentile(50).saturating_sub(base.percentile(50));
        output.note(&format!("a call takes {} longer than the health route", span(ms(more))));
        for (complaint, count) in tool.complaints().take(COMPLAINTS) {
            output.note(&clean(&format!("{count} × {complaint}")));
        }
    }
}

fn row(name: &str, figures: &LoadStatistics) -> Vec<String> {
    let at = |percent: u32| span(ms(figures.percentile(percent)));
    vec![
        name.to_owned(),
        figures.calls().to_string(),
        format!("{:.0}", figures.per_second()),
        at(50),
        at(95),
        at(99),
        figures.errors().to_string(),
    ]
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1_000.0
}
