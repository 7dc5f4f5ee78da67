//! R-01, R-02, R-03 and R-05: load that the gateway has to carry without anybody noticing.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::task::JoinSet;

use super::client::{self, OpenLoopLoad};
use crate::chat::{BenchChatTarget, ChatApi};
use crate::clock::{self, micros, nanos};
use crate::config::{ConfiguredServer, ConfiguredTransport, GatewayConfig};
use crate::error::BenchError;
use crate::load::{HttpLoadConnection, LoadRequest, LoadSlice, LoadTarget, closed_loop, open_loop};
use crate::mock_model::{MockModel, MockModelBehavior, TOOL};
use crate::process::MeasuredProcess;
use crate::samples::Samples;
use crate::scenario::{BenchContext, BenchFigure, calling, http_server};
use crate::serve::ServerThread;
use crate::table::{FigureLimit, FigureRow, TargetVerdict};
use crate::upstream::EchoUpstream;
use crate::wire::Era;

const RATE: u32 = 1_000;
const CONNECTIONS: usize = 32;
const SETTLE: Duration = Duration::from_secs(1);

fn milliseconds(slice: &LoadSlice, q: f64) -> f64 {
    micros(slice.latencies.quantile(q)) / 1e3
}

/// R-01: beside a server that answers every request with the same bytes.
pub(super) async fn builtin_tool(
    bench: &BenchContext,
    span: Duration,
) -> Result<Vec<FigureRow>, BenchError> {
    let answer = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
    let fixed = bench.start_fixed(&answer).await?;
    let gateway = bench.start_gateway("builtin", &[]).await?;
    let bare = LoadTarget {
        name: "fixed",
        address: fixed.address,
        era: Era::Modern,
        ask: LoadRequest::Same(answer),
        process: Some(fixed.pid),
    };
    let roll = LoadTarget { ask: LoadRequest::Roll, ..calling(&gateway, String::new()) };
    let load = |span| open_loop::FixedRate { rate: RATE, span };
    let direct = open_loop::run(std::slice::from_ref(&bare), CONNECTIONS, load(span / 3)).await?;
    let through = open_loop::run(std::slice::from_ref(&roll), CONNECTIONS, load(span)).await?;
    let most = Duration::from_secs(3);
    let [bare, roll] = [
        closed_loop::run(&bare, 64, most).await?.rate(),
        closed_loop::run(&roll, 64, most).await?.rate(),
    ];
    gateway.stop().await?;
    fixed.stop().await?;
    let added = |q: f64, most: f64| {
        let limit = FigureLimit { most, unit: "ms", digits: 2 };
        let with = milliseconds(&through, q);
        let without = milliseconds(&direct, q);
        let what = format!("built-in tool at {RATE}/s: p{} added", q * 100.0);
        FigureRow::at_most("R-01", what, (with - without).max(0.0), limit)
            .with_note(&format!("{with:.2} instead of {without:.2}, {} calls", through.calls()))
    };
    Ok(vec![
        added(0.5, 0.5),
        added(0.99, 5.0),
        added(0.999, 25.0),
        FigureRow {
            id: "R-01",
            what: "built-in tool, as fast as it goes".to_owned(),
            measured: format!("{roll:.0}/s, fixed bytes {bare:.0}/s"),
            target: "≥ 4000/s and ≥ 0.35 × fixed bytes".to_owned(),
            ratio: Some(roll / bare),
            verdict: if roll >= 4_000.0 && roll / bare >= 0.35 {
                TargetVerdict::Ok
            } else {
                TargetVerdict::Short
            },
            figures: json!({ "perSecond": roll, "fixedPerSecond": bare }),
        },
    ])
}

/// R-02: twenty children, and one more that answers nobody.
pub(super) async fn children(
    bench: &BenchContext,
    span: Duration,
) -> Result<Vec<FigureRow>, BenchError> {
    let mut rows = Vec::new();
    for mut row in BenchFigure::P6.measure(bench).await? {
        // The other figure of it is about processor time.
        if row.what.contains("p99") {
            row.id = "R-02";
            rows.push(row);
        }
    }
    let servers: Vec<ConfiguredServer> = (0..21).map(|at| echo_child(bench, at)).collect();
    let gateway = bench.start_gateway("slow-child", &servers).await?;
    let targets: Vec<LoadTarget> =
        (0..20).map(|at| calling(&gateway, format!("c{at}_echo"))).collect();
    let load = open_loop::FixedRate { rate: RATE, span: span / 2 };
    let before = milliseconds(&open_loop::run(&targets, 2, load).await?, 0.99);
    let mut waiting = JoinSet::new();
    for number in 0..40 {
        let mut connection =
            HttpLoadConnection::open(&calling(&gateway, "c20_hang".to_owned())).await?;
        waiting.spawn(async move { connection.call(number).await });
    }
    tokio::time::sleep(SETTLE).await;
    let beside = milliseconds(&open_loop::run(&targets, 2, load).await?, 0.99);
    drop(waiting);
    gateway.stop().await?;
    // Below a millisecond a fifth is noise.
    let allowed = (before * 1.2).max(before + 1.0);
    rows.push(
        FigureRow::at_most(
            "R-02",
            "p99 of 20 children beside one with 40 calls that hang".to_owned(),
            beside,
            FigureLimit { most: allowed, unit: "ms", digits: 2 },
        )
        .with_note(&format!("{before:.2} without it")),
    );
    Ok(rows)
}

fn echo_child(bench: &BenchContext, at: usize) -> ConfiguredServer {
    let command = vec![bench.own.display().to_string(), "stdio-echo".to_owned()];
    ConfiguredServer { name: format!("c{at}"), kind: ConfiguredTransport::Stdio { command } }
}

/// R-03: conversations with two rounds of tools, streamed, from a provider that takes no time.
pub(super) async fn chat(
    bench: &BenchContext,
    span: Duration,
) -> Result<Vec<FigureRow>, BenchError> {
    const ROUNDS: usize = 2;
    const RATE: f64 = 200.0;
    const CLIENTS: usize = 64;
    let provider =
        ServerThread::start("model", MockModel { manner: MockModelBehavior::Calls(ROUNDS) })?;
    let models = format!(
        "providers:\n  up: {{ kind: openai, base_url: \"http://{}/v1\", api_key: k, \
         concurrent: 4096 }}\n\
         models:\n  bench: {{ provider: up, id: bench-1, context_window: 128000 }}\n\
         agents:\n  looper: {{ models: [bench], tools: [{TOOL}], auto_execute: [\"*\"], \
         max_depth: 10 }}\n",
        provider.address
    );
    let config = GatewayConfig::new(&bench.scratch, "soak-chat")?.with(&models);
    let gateway = bench.start_gateway_on(&config.write()?).await?;
    let chat = BenchChatTarget { model: "looper", front: ChatApi::OpenAi };
    let target = LoadTarget { ask: LoadRequest::Chat(chat), ..calling(&gateway, String::new()) };
    let began = clock::now();
    let period = Duration::from_secs_f64(CLIENTS as f64 / RATE);
    let mut tasks = JoinSet::new();
    for at in 0..CLIENTS {
        let mut connection = HttpLoadConnection::open(&target).await?;
        tasks.spawn(async move {
            let mut due = began + period.mul_f64(at as f64 / CLIENTS as f64);
            let mut took = Vec::new();
            let mut number = at as u64;
            while due < began + span {
                tokio::time::sleep(due.saturating_duration_since(clock::now())).await;
                connection.stream(chat, number).await?.finish("gateway", number).await?;
                took.push(nanos(clock::now().saturating_duration_since(due)));
                number += CLIENTS as u64;
                due += period;
            }
            Ok::<_, BenchError>(took)
        });
    }
    let mut took = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        took.extend(joined.map_err(|error| BenchError::Process(error.to_string()))??);
    }
    gateway.stop().await?;
    let count = took.len();
    let took = Samples::of_nanos(took);
    let each = |q: f64| micros(took.quantile(q)) / 1e3 / (ROUNDS + 1) as f64;
    let what = format!("{RATE:.0} chats/s with {ROUNDS} rounds of tools, streamed: p99 per round");
    Ok(vec![
        FigureRow::at_most(
            "R-03",
            what,
            each(0.99),
            FigureLimit { most: 10.0, unit: "ms", digits: 2 },
        )
        .with_note(&format!("p50 {:.2}, {count} chats, all answered", each(0.5))),
    ])
}

/// R-05: a thousand calls that wait, and what others notice of them.
pub(super) async fn measure_waiting_calls(
    bench: &BenchContext,
    span: Duration,
) -> Result<Vec<FigureRow>, BenchError> {
    const WAITING_CALLS: usize = 1_000;
    const PER_SERVER: usize = 50;
    let upstream = ServerThread::start("upstream", EchoUpstream::new(2))?;
    let servers: Vec<ConfiguredServer> = (0..WAITING_CALLS / PER_SERVER)
        .map(|at| http_server(&format!("s{at}"), upstream.address, Era::Modern))
        .collect();
    let gateway = bench.start_gateway("soak-parked", &servers).await?;
    tokio::time::sleep(SETTLE).await;
    let alone = roll_latency_p99(&gateway, span / 2).await?;
    // What the load used and freed goes back to the system first: it would count as there before.
    tokio::time::sleep(SETTLE * 2).await;
    let before = gateway.usage()?.resident_bytes;
    let mut waiting = JoinSet::new();
    for at in 0..WAITING_CALLS {
        let tool = format!("s{}_hang", at % (WAITING_CALLS / PER_SERVER));
        let mut connection = HttpLoadConnection::open(&calling(&gateway, tool)).await?;
        waiting.spawn(async move { connection.call(at as u64).await });
    }
    tokio::time::sleep(SETTLE * 2).await;
    let after = gateway.usage()?.resident_bytes;
    let beside = roll_latency_p99(&gateway, span / 2).await?;
    let answered = waiting.try_join_next().is_some();
    drop(waiting);
    gateway.stop().await?;
    if answered {
        return Err(BenchError::Process("a call was answered that should have waited".to_owned()));
    }
    let each = after.saturating_sub(before) as f64 / WAITING_CALLS as f64 / 1024.0;
    // Below a millisecond twice as much is noise.
    let allowed = (alone * 2.0).max(alone + 1.0);
    Ok(vec![
        FigureRow::at_most(
            "R-05",
            format!("memory of each of {WAITING_CALLS} calls that wait"),
            each,
            FigureLimit { most: 64.0, unit: "KiB", digits: 1 },
        ),
        FigureRow::at_most(
            "R-05",
            "p99 of another tool beside them".to_owned(),
            beside,
            FigureLimit { most: allowed, unit: "ms", digits: 2 },
        )
        .with_note(&format!("{alone:.2} without them")),
    ])
}

/// The p99 of small calls at a modest rate, in milliseconds.
async fn roll_latency_p99(gateway: &MeasuredProcess, span: Duration) -> Result<f64, BenchError> {
    let make: client::MakeRequest =
        Arc::new(|id| client::call("nobody", "roll", id, r#"{"expression":"2d6"}"#));
    let load = OpenLoopLoad { address: gateway.address, rate: 200.0, connections: 8, span, make };
    let tally = load.run().await;
    if tally.wrong > 0 || !tally.shed.is_empty() {
        let reasons = tally.reasons.join("; ");
        return Err(BenchError::Process(format!("calls failed beside those that wait: {reasons}")));
    }
    Ok(tally.served_quantile(0.99))
}
