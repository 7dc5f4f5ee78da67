//! P12: the wall. Thousands of turns against servers that hang, drip, crash, answer late, flood
//! and answer with more than anyone wants: no turn may last longer than its ceiling.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{BenchContext, http_server};
use crate::clock;
use crate::config::{ConfiguredServer, ConfiguredTransport, GatewayConfig};
use crate::error::BenchError;
use crate::misbehaving_servers::{Misbehavior, WALL};
use crate::process::MeasuredProcess;
use crate::samples::Samples;
use crate::table::{FigureLimit, FigureRow};
use crate::wire::Era;

const CLIENTS: usize = 32;

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let wicked = MeasuredProcess::helper(&bench.own, ["wicked"]).await?;
    // One server for each manner: a breaker that opens for one of them hides no other.
    let web = |manner: Misbehavior| format!("web_{}", manner.name());
    let servers =
        Misbehavior::ALL.map(|manner| http_server(&web(manner), wicked.address, Era::Modern));
    let pipes = Misbehavior::ALL.map(|manner| pipe(bench, manner));
    let servers: Vec<ConfiguredServer> = servers.into_iter().chain(pipes).collect();
    let gateway = start(bench, &servers).await?;
    let over_web = Misbehavior::ALL.map(|manner| format!("{}_{}", web(manner), manner.name()));
    let over_pipes = Misbehavior::ALL.map(|manner| format!("{0}_{0}", manner.name()));
    let mut rows = Vec::new();
    for (what, tools) in [("HTTP", over_web), ("pipes", over_pipes)] {
        rows.push(turns(bench, &gateway, what, &tools).await?);
    }
    gateway.stop().await?;
    wicked.stop().await?;
    Ok(rows)
}

fn pipe(bench: &BenchContext, manner: Misbehavior) -> ConfiguredServer {
    let own = bench.own.display().to_string();
    let command = vec![own, "wicked".to_owned(), manner.name().to_owned()];
    ConfiguredServer {
        name: manner.name().to_owned(),
        kind: ConfiguredTransport::Stdio { command },
    }
}

/// Every tool is always in the view: what is measured here is the wall, not the tiers.
async fn start(
    bench: &BenchContext,
    servers: &[ConfiguredServer],
) -> Result<MeasuredProcess, BenchError> {
    let wall = WALL.as_millis();
    let budget = format!(
        "budget: {{ tiers: {{ fast_ms: {}, standard_ms: {}, deep_ms: {wall} }} }}\n\
         agents: {{ rig: {{ tools: [\"*\"], budget_tier: deep }} }}\n",
        wall - 2,
        wall - 1
    );
    let config = GatewayConfig::new(&bench.scratch, "wall")?.servers(servers).with(&budget);
    bench.start_gateway_with(&config, servers).await
}

/// What the turns came to.
#[derive(Default)]
struct WallTally {
    nanos: Vec<u64>,
    statuses: BTreeMap<String, u64>,
}

async fn turns(
    bench: &BenchContext,
    gateway: &MeasuredProcess,
    what: &str,
    tools: &[String],
) -> Result<FigureRow, BenchError> {
    let each = bench.pace.turns / 2 / CLIENTS;
    let mut connections = JoinSet::new();
    for opened in 0..CLIENTS {
        let tools = tools.to_vec();
        let address = gateway.address;
        connections.spawn(async move {
            let mut line = RestConnection::open(address).await?;
            let mut tally = WallTally::default();
            for turn in 0..each {
                let tool = &tools[(opened + turn) % tools.len()];
                let began = clock::now();
                let outcome = line.execute(tool).await?;
                tally.nanos.push(clock::nanos(clock::now() - began));
                let status = outcome["status"].as_str().unwrap_or("?").to_owned();
                *tally.statuses.entry(status).or_default() += 1;
            }
            Ok::<_, BenchError>(tally)
        });
    }
    let mut timers = JoinSet::new();
    timers.spawn(bare_timer(each));
    let mut all = WallTally::default();
    while let Some(opened) = connections.join_next().await {
        let tally = opened.map_err(|error| BenchError::Process(error.to_string()))??;
        all.nanos.extend(tally.nanos);
        for (status, count) in tally.statuses {
            *all.statuses.entry(status).or_default() += count;
        }
    }
    let timers = timers.join_all().await.pop().unwrap_or_default();
    Ok(row(what, all, &timers))
}

/// How late a plain timer of this program is meanwhile: what the machine itself adds.
async fn bare_timer(count: usize) -> Samples {
    let mut nanos = Vec::new();
    for _ in 0..count {
        let began = clock::now();
        tokio::time::sleep(WALL).await;
        nanos.push(clock::nanos((clock::now() - began).saturating_sub(WALL)));
    }
    Samples::of_nanos(nanos)
}

fn row(what: &str, tally: WallTally, timers: &Samples) -> FigureRow {
    let past = |nanos: u64| nanos.saturating_sub(clock::nanos(WALL));
    let past = Samples::of_nanos(tally.nanos.into_iter().map(past).collect());
    let ms = |samples: &Samples, q: f64| samples.quantile(q).as_secs_f64() * 1e3;
    let statuses: Vec<String> =
        tally.statuses.iter().map(|(status, count)| format!("{count} {status}")).collect();
    let limit = FigureLimit { most: 20.0, unit: "ms", digits: 1 };
    let name =
        format!("the wall: most past {} ms, {} turns over {what}", WALL.as_millis(), past.len());
    let how = format!(
        "p50 {:.1}, p99.9 {:.1}; a bare timer up to {:.1}; {}",
        ms(&past, 0.5),
        ms(&past, 0.999),
        ms(timers, 1.0),
        statuses.join(", ")
    );
    FigureRow::at_most("P12", name, ms(&past, 1.0), limit).with_note(&how).with(json!({
        "worstMs": ms(&past, 1.0),
        "p50Ms": ms(&past, 0.5),
        "p999Ms": ms(&past, 0.999),
        "timerWorstMs": ms(timers, 1.0),
        "turns": past.len(),
        "statuses": tally.statuses,
    }))
}

/// One connection to the plain API.
struct RestConnection {
    sender: SendRequest<Full<Bytes>>,
    host: HeaderValue,
    _driver: JoinSet<()>,
}

impl RestConnection {
    async fn open(address: std::net::SocketAddr) -> Result<Self, BenchError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // The turns see for themselves when the connection is gone.
            let _ = connection.await;
        });
        let host = HeaderValue::from_str(&address.to_string()).expect("plain ASCII");
        Ok(Self { sender, host, _driver: driver })
    }

    /// One turn with one call, until the last byte of its outcome.
    async fn execute(&mut self, tool: &str) -> Result<Value, BenchError> {
        let body = json!({ "name": tool, "arguments": { "text": "x" } }).to_string();
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = http::Uri::from_static("/v1/tools/execute");
        request.headers_mut().insert(header::HOST, self.host.clone());
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        match serde_json::from_slice(&body) {
            Ok(outcome) if status == StatusCode::OK => Ok(outcome),
            _ => Err(BenchError::wrong("gateway", "no outcome", &body)),
        }
    }
}
