//! O1: the page of metrics where a thousand tools were called, beside a server that has the same
//! bytes ready.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{BenchContext, GatewayConfig, calling, http_server, listing};
use crate::clock;
use crate::error::BenchError;
use crate::load::HttpLoadConnection;
use crate::process::MeasuredProcess;
use crate::samples::Samples;
use crate::serve::ServerThread;
use crate::table::{FigureLimit, FigureRow};
use crate::upstream::EchoUpstream;
use crate::wire::Era;

const TOOLS: usize = 1_000;
/// Pages in a round.
const PAGES: usize = 20;

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let upstream = ServerThread::start("upstream", EchoUpstream::new(TOOLS))?;
    let servers = [http_server("up", upstream.address, Era::Modern)];
    let config = GatewayConfig::new(&bench.scratch, "exported")?.servers(&servers);
    let gateway = bench.start_gateway_with(&config, &servers).await?;
    call_all(&gateway).await?;
    let token = std::fs::read_to_string(config.data().join("admin.token"))?;
    let mut reader = MetricsScraper::open(&gateway, token.trim()).await?;
    let page = reader.page().await?;
    let series = page.split(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"#")).count();
    if series < TOOLS * 10 {
        return Err(BenchError::wrong("the gateway", "not all tools are in its page", &page));
    }
    let fixed = bench.start_fixed(&page).await?;
    let mut same = MetricsScraper::open(&fixed, "").await?;
    let mut pages = Vec::new();
    let mut bytes = Vec::new();
    for _ in 0..bench.pace.rounds * PAGES {
        for (reader, times) in [(&mut same, &mut bytes), (&mut reader, &mut pages)] {
            let began = clock::now();
            reader.page().await?;
            times.push(clock::nanos(clock::now() - began));
        }
    }
    fixed.stop().await?;
    gateway.stop().await?;
    let pages = Samples::of_nanos(pages);
    let bytes = Samples::of_nanos(bytes);
    let millis = |samples: &Samples| clock::micros(samples.quantile(0.5)) / 1e3;
    let limit = FigureLimit { most: 10.0, unit: "ms", digits: 2 };
    let what = format!("/metrics of 1,000 tools, {series} series ({} KiB)", page.len() / 1024);
    let whole = millis(&pages);
    let ready = millis(&bytes);
    let figures = json!({ "bytes": page.len(), "series": series,
        "p50Millis": { "static": ready, "gateway": whole }, "limit": limit.most });
    let how = format!("{:.1} × static, {ready:.2} ms", whole / ready);
    Ok(vec![FigureRow::at_most("O1", what, whole, limit).with_note(&how).with(figures)])
}

/// Each of the tools once.
async fn call_all(gateway: &MeasuredProcess) -> Result<(), BenchError> {
    let mut opened = HttpLoadConnection::open(&listing(gateway)).await?;
    let (names, _) = opened.list().await?;
    // One of them never answers.
    let answer = |name: &String| name.starts_with("up_") && name != "up_hang";
    for name in names.into_iter().filter(answer) {
        HttpLoadConnection::open(&calling(gateway, name)).await?.call(1).await?;
    }
    Ok(())
}

/// One connection that reads the page again and again.
struct MetricsScraper {
    sender: SendRequest<Full<Bytes>>,
    headers: HeaderMap,
    _driver: JoinSet<()>,
}

impl MetricsScraper {
    async fn open(process: &MeasuredProcess, token: &str) -> Result<Self, BenchError> {
        let stream = TcpStream::connect(process.address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // Whoever reads sees for itself when the connection is gone.
            let _ = connection.await;
        });
        let mut headers = HeaderMap::new();
        let plain = |text: &str| HeaderValue::from_str(text).expect("plain ASCII");
        headers.insert(header::HOST, plain(&process.address.to_string()));
        headers.insert(header::AUTHORIZATION, plain(&format!("Bearer {token}")));
        Ok(Self { sender, headers, _driver: driver })
    }

    async fn page(&mut self) -> Result<Bytes, BenchError> {
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = http::Uri::from_static("/metrics");
        request.headers_mut().clone_from(&self.headers);
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        match status {
            StatusCode::OK => Ok(body),
            _ => Err(BenchError::wrong("the page of metrics", "not status 200", &body)),
        }
    }
}
