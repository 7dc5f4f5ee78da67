//! P7: chat completions that are handed on to a provider, whole and streamed, and what streams hold
//! in memory.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;

use super::{BenchContext, cpu_per_call};
use crate::chat::{BenchChatTarget, ChatApi};
use crate::clock::{self, micros};
use crate::config::GatewayConfig;
use crate::error::{BenchError, within};
use crate::load::{HttpLoadConnection, LoadRequest, LoadSlice, LoadTarget};
use crate::mock_model::{MockModel, MockModelBehavior};
use crate::process::MeasuredProcess;
use crate::samples::{Samples, median};
use crate::serve::ServerThread;
use crate::table::{FigureLimit, FigureRow, TargetVerdict};
use crate::wire::Era;

/// Of the bare proxy's throughput.
const MIN_THROUGHPUT_RATIO: f64 = 0.75;
const STREAMS: usize = 1_000;
const SETTLE: Duration = Duration::from_millis(500);
const OPEN_STREAMS_TIMEOUT: Duration = Duration::from_secs(30);

/// As the client calls it; the provider knows it by another name.
const MODEL: &str = "bench";

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let provider = ServerThread::start("model", MockModel { manner: MockModelBehavior::Answers })?;
    let bare = bench.start_bare_to(provider.address, ChatApi::OpenAi.path()).await?;
    let gateway = start(bench, "completions", provider.address).await?;
    let targets = targets(provider.address, &bare, &gateway);
    let mut rows = Vec::new();
    for connections in [1, 16, 64] {
        let rounds = bench.rounds(&targets, connections).await?;
        rows.push(row(connections, &rounds));
    }
    rows.push(first_words(bench, &targets).await?);
    gateway.stop().await?;
    bare.stop().await?;
    for (front, how) in [(ChatApi::OpenAi, "handed on"), (ChatApi::Anthropic, "translated")] {
        rows.push(measure_stream_memory(bench, front, how).await?);
    }
    Ok(rows)
}

/// A gateway with one model, at one provider.
pub(super) async fn start(
    bench: &BenchContext,
    name: &str,
    provider: SocketAddr,
) -> Result<MeasuredProcess, BenchError> {
    start_with(bench, name, provider, "").await
}

/// The same with more in its config.
pub(super) async fn start_with(
    bench: &BenchContext,
    name: &str,
    provider: SocketAddr,
    more: &str,
) -> Result<MeasuredProcess, BenchError> {
    let models = format!(
        "providers:\n  up: {{ kind: openai, base_url: \"http://{provider}/v1\", api_key: k, \
         concurrent: 4096 }}\n\
         models:\n  {MODEL}: {{ provider: up, id: bench-1, context_window: 128000 }}\n{more}"
    );
    let config = GatewayConfig::new(&bench.scratch, name)?.with(&models);
    bench.start_gateway_on(&config.write()?).await
}

fn targets(
    direct: SocketAddr,
    bare: &MeasuredProcess,
    gateway: &MeasuredProcess,
) -> [LoadTarget; 3] {
    let ask = LoadRequest::Chat(BenchChatTarget { model: MODEL, front: ChatApi::OpenAi });
    let target = |name, address, process| LoadTarget {
        name,
        address,
        era: Era::Modern,
        ask: ask.clone(),
        process,
    };
    [
        target("direct", direct, None),
        target("bare", bare.address, Some(bare.pid)),
        target("gateway", gateway.address, Some(gateway.pid)),
    ]
}

fn row(connections: usize, rounds: &[[LoadSlice; 3]]) -> FigureRow {
    let ratio = median(rounds.iter().map(|[_, bare, gateway]| gateway.rate() / bare.rate()));
    let rate = |at: usize| median(rounds.iter().map(|round| round[at].rate()));
    let cpu = |at: usize| cpu_per_call(rounds.iter().map(|round| &round[at]));
    let p50 = |slice: &LoadSlice| micros(slice.latencies.quantile(0.5));
    let added = |at: usize| median(rounds.iter().map(|round| p50(&round[at]) - p50(&round[0])));
    FigureRow {
        id: "P7",
        what: format!("chat completion, {connections} connections"),
        measured: format!(
            "{:.0}/s, bare {:.0}/s; p50 added {:.0} µs, bare {:.0} µs",
            rate(2),
            rate(1),
            added(2),
            added(1)
        ),
        target: format!("≥ {MIN_THROUGHPUT_RATIO} × bare"),
        ratio: Some(ratio),
        verdict: TargetVerdict::at_least(ratio, MIN_THROUGHPUT_RATIO),
        figures: json!({
            "perSecond": { "direct": rate(0), "bare": rate(1), "gateway": rate(2) },
            "cpuMicrosPerCall": { "bare": cpu(1), "gateway": cpu(2) },
            "p50AddedMicros": { "bare": added(1), "gateway": added(2) },
        }),
    }
}

/// How much later the first word of a stream comes through the gateway.
async fn first_words(
    bench: &BenchContext,
    targets: &[LoadTarget; 3],
) -> Result<FigureRow, BenchError> {
    let direct = &targets[0];
    let gateway = &targets[2];
    let mut rounds = Vec::new();
    for _ in 0..bench.pace.rounds {
        let first = |target| within(OPEN_STREAMS_TIMEOUT, "streams", stream_for(bench, target));
        let p50 = |samples: &Samples| micros(samples.quantile(0.5)) / 1e3;
        rounds.push((p50(&first(direct).await?), p50(&first(gateway).await?)));
    }
    let added = median(rounds.iter().map(|(direct, gateway)| gateway - direct));
    let over = median(rounds.iter().map(|(direct, _)| *direct));
    let limit = FigureLimit { most: 0.3, unit: "ms", digits: 3 };
    let what = "chat completion streamed, first word: p50 added".to_owned();
    Ok(FigureRow::at_most("P7", what, added, limit)
        .with_note(&format!("over direct {over:.3}"))
        .with(json!({ "directMilliseconds": over, "addedMilliseconds": added, "limit": 0.3 })))
}

/// One stream after the other, for a slice.
async fn stream_for(bench: &BenchContext, target: &LoadTarget) -> Result<Samples, BenchError> {
    let LoadRequest::Chat(chat) = target.ask else { return Ok(Samples::default()) };
    let mut connection = HttpLoadConnection::open(target).await?;
    let mut nanos = Vec::new();
    let until = clock::now() + bench.pace.slice;
    for number in 1.. {
        let stream = connection.stream(chat, number).await?;
        // The first ones open connections.
        if number > 3 {
            nanos.push(u64::try_from(stream.first.as_nanos()).unwrap_or(u64::MAX));
        }
        stream.finish(target.name, number).await?;
        if clock::now() > until {
            break;
        }
    }
    Ok(Samples::of_nanos(nanos))
}

/// What each of many streams holds that have begun and go on.
async fn measure_stream_memory(
    bench: &BenchContext,
    front: ChatApi,
    how: &str,
) -> Result<FigureRow, BenchError> {
    let provider = ServerThread::start("model", MockModel { manner: MockModelBehavior::Stops })?;
    let gateway = start(bench, &format!("held-{how}"), provider.address).await?;
    tokio::time::sleep(SETTLE).await;
    let before = gateway.usage()?.resident_bytes;
    let chat = BenchChatTarget { model: MODEL, front };
    let target = LoadTarget {
        name: "gateway",
        address: gateway.address,
        era: Era::Modern,
        ask: LoadRequest::Chat(chat),
        process: Some(gateway.pid),
    };
    let mut streams = Vec::with_capacity(STREAMS);
    within(OPEN_STREAMS_TIMEOUT, "opening streams", async {
        for number in 0..STREAMS {
            let mut connection = HttpLoadConnection::open(&target).await?;
            let stream = connection.stream(chat, number as u64).await?;
            streams.push((connection, stream));
        }
        Ok(())
    })
    .await?;
    tokio::time::sleep(SETTLE).await;
    let after = gateway.usage()?.resident_bytes;
    drop(streams);
    gateway.stop().await?;
    let each = after.saturating_sub(before) as f64 / STREAMS as f64 / 1024.0;
    let limit = FigureLimit { most: 64.0, unit: "KiB", digits: 1 };
    let what = format!("memory, each of {STREAMS} streams that are {how}");
    Ok(FigureRow::at_most("P7", what, each, limit)
        .with(json!({ "beforeBytes": before, "afterBytes": after, "streams": STREAMS })))
}
