//! `tollgate bench`: how many calls of a tool a gateway does, and how long they take, beside what
//! its health route takes: the difference is the call.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tollgate_engine::caller::Freshness;
use tollgate_engine::clock::{Clock as _, SystemClock};

use super::tools::items;
use crate::arguments;
use crate::cli::operate;
use crate::config::Config;
use crate::failure::Failure;
use crate::gateway::{Gateway, Order, View};
use crate::output::{Form, Output, Table, clean, span};

mod figures;

use figures::Figures;

/// Of the whole time, what the health route gets.
const SHARE: u32 = 5;
/// So many different complaints are shown.
const COMPLAINTS: usize = 3;

pub(super) async fn run(
    wanted: &operate::Bench,
    config: &Config,
    output: Output,
) -> Result<(), Failure> {
    let gateway = Gateway::open(config).await?;
    let measured = measure(wanted, &gateway, output).await;
    let place = match &gateway {
        Gateway::Remote(_) => format!("the gateway on {}", config.listen),
        Gateway::Local(_) => "a gateway in this process".to_owned(),
    };
    gateway.close().await;
    let (base, tool) = measured?;
    say(wanted, &place, (&base, tool.as_ref()), output);
    match tool {
        Some(tool) if tool.calls() == tool.errors() => Err(Failure::Said),
        _ => Ok(()),
    }
}

async fn measure(
    wanted: &operate::Bench,
    gateway: &Gateway,
    output: Output,
) -> Result<(Figures, Option<Figures>), Failure> {
    let view = View { agent: wanted.agent.as_deref(), ..View::default() };
    let order = match &wanted.name {
        Some(name) => Some((name, order(wanted, name, (gateway, view)).await?)),
        None => None,
    };
    let whole = Duration::from_secs(u64::from(wanted.seconds));
    let first = if order.is_some() { whole / SHARE } else { whole };
    output.note(&format!("{} at a time, for {} s …", wanted.connections, wanted.seconds));
    let base = load(wanted.connections, first, || async {
        gateway.health().await.map(drop).map_err(|failure| failure.to_string())
    });
    let base = base.await;
    let Some((name, arguments)) = order else { return Ok((base, None)) };
    let freshness = if wanted.cached { Freshness::Any } else { Freshness::Fresh };
    let tool = load(wanted.connections, whole, || async {
        let order = Order { name, arguments: arguments.clone(), view, freshness };
        match gateway.execute(order).await {
            Ok(outcome)
                if ["ok", "no_results"].contains(&outcome["status"].as_str().unwrap_or("")) =>
            {
                Ok(())
            }
            Ok(outcome) => {
                let said = |key: &str| outcome[key].as_str().unwrap_or_default().to_owned();
                Err(format!("{}: {}", said("status"), said("message")))
            }
            Err(failure) => Err(failure.to_string()),
        }
    });
    Ok((base, Some(tool.await)))
}

/// The arguments, if the tool may be called again and again.
async fn order(
    wanted: &operate::Bench,
    name: &str,
    (gateway, view): (&Gateway, View<'_>),
) -> Result<Value, Failure> {
    let listed = gateway.tools(view).await?;
    let tool = items(&listed, "tools").iter().find(|tool| tool["name"] == name);
    let Some(tool) = tool else {
        let why = format!("there is no tool `{name}` here; `tollgate tools` lists them");
        return Err(Failure::failed(why));
    };
    let effect = tool["effect"].as_str().unwrap_or("mutating");
    if effect != "read_only" && !wanted.allow_writes {
        let why =
            format!("`{name}` may change something ({effect}); `--allow-writes` calls it anyway");
        return Err(Failure::failed(why));
    }
    arguments::parse(&wanted.arguments, &tool["input_schema"]).map(Value::Object)
}

/// Calls one after the other on each connection until the time is over.
async fn load<F>(connections: u32, time: Duration, call: impl Fn() -> F) -> Figures
where
    F: Future<Output = Result<(), String>>,
{
    let began = SystemClock.now();
    let until = began + time;
    let lanes = (0..connections).map(|_| lane(until, &call));
    let lanes = join_all(lanes).await;
    Figures::of(lanes, SystemClock.now() - began)
}

async fn lane<F>(until: Instant, call: &impl Fn() -> F) -> figures::Lane
where
    F: Future<Output = Result<(), String>>,
{
    let mut lane = figures::Lane::default();
    loop {
        let began = SystemClock.now();
        if began >= until {
            return lane;
        }
        let answer = call().await;
        lane.note(SystemClock.now() - began, answer);
        // A gateway of this process answers without ever waiting.
        tokio::task::yield_now().await;
    }
}

fn say(
    wanted: &operate::Bench,
    place: &str,
    (base, tool): (&Figures, Option<&Figures>),
    output: Output,
) {
    let name = wanted.name.as_deref().unwrap_or_default();
    if output.form == Form::Json {
        output.json(&json!({
            "gateway": place, "connections": wanted.connections, "seconds": wanted.seconds,
            "tool": tool.map(|_| name), "health": base.to_json(), "calls": tool.map(Figures::to_json),
        }));
        return;
    }
    let head = ["WHAT", "CALLS", "PER SECOND", "P50", "P95", "P99", "ERRORS"];
    let mut table = Table::new(&head);
    table.row(row("health route", base));
    if let Some(tool) = tool {
        table.row(row(name, tool));
    }
    output.table(&table);
    output.note(&format!("{place}, {} at a time", wanted.connections));
    if let Some(tool) = tool {
        let more = tool.percentile(50).saturating_sub(base.percentile(50));
        output.note(&format!("a call takes {} longer than the health route", span(ms(more))));
        for (complaint, count) in tool.complaints().take(COMPLAINTS) {
            output.note(&clean(&format!("{count} × {complaint}")));
        }
    }
}

fn row(name: &str, figures: &Figures) -> Vec<String> {
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
