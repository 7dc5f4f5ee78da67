//! Load that expects load shedding: a connection, requests at a fixed rate or as fast as they go, and a
//! tally of how they were answered.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::clock::{self, micros, nanos};
use crate::config::key_of;
use crate::error::BenchError;
use crate::samples::Samples;
use crate::wire::{self, Era};

/// However it is answered.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(90);
/// Of answers that are wrong, so many are told.
const MAX_REASONS: usize = 3;

/// A request to be made.
#[derive(Debug, Clone)]
pub(super) struct SoakRequest {
    path: &'static str,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
    /// Of the request, to be found in the answer.
    pub(super) id: u64,
}

/// A call of a tool over `/mcp`, by the key of this name.
pub(super) fn call(key: &str, tool: &str, id: u64, arguments: &str) -> SoakRequest {
    let mut headers = wire::headers(Era::Modern, "tools/call", Some(tool));
    let secret = HeaderValue::from_str(&key_of(key)).expect("plain ASCII");
    headers.insert("x-api-key", secret);
    headers.insert(header::HOST, HeaderValue::from_static("localhost"));
    SoakRequest { path: "/mcp", headers, body: wire::call_with(tool, id, arguments), id }
}

/// The same over REST, where a refusal is a status of HTTP.
pub(super) fn execute(key: &str, tool: &str, id: u64, arguments: &str) -> SoakRequest {
    let body = format!("{{\"name\":\"{tool}\",\"arguments\":{arguments}}}");
    SoakRequest { path: "/v1/tools/execute", body, ..call(key, tool, id, arguments) }
}

impl SoakRequest {
    /// Whether this is the result of the call.
    fn is_served(&self, reply: &SoakReply) -> bool {
        reply.status == StatusCode::OK
            && match self.path {
                "/mcp" => wire::check_result("the gateway", self.id, &reply.body).is_ok(),
                _ => {
                    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
                    body["status"] == "ok"
                }
            }
    }
}

pub(super) struct SoakConnection {
    sender: SendRequest<Full<Bytes>>,
    _driver: JoinSet<()>,
}

#[derive(Debug)]
pub(super) struct SoakReply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl SoakConnection {
    pub(super) async fn open(address: SocketAddr) -> Result<Self, BenchError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // Requests see for themselves when the connection is gone.
            let _ = connection.await;
        });
        Ok(Self { sender, _driver: driver })
    }

    pub(super) async fn call(&mut self, sent: &SoakRequest) -> Result<SoakReply, BenchError> {
        let body = Bytes::from(sent.body.clone());
        self.send(Method::POST, sent.path, sent.headers.clone(), body).await
    }

    pub(super) async fn get(
        &mut self,
        path: &str,
        headers: HeaderMap,
    ) -> Result<SoakReply, BenchError> {
        self.send(Method::GET, path, headers, Bytes::new()).await
    }

    pub(super) async fn send(
        &mut self,
        method: Method,
        path: &str,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<SoakReply, BenchError> {
        headers.entry(header::HOST).or_insert(HeaderValue::from_static("localhost"));
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().map_err(std::io::Error::other)?;
        *request.headers_mut() = headers;
        let answered = async {
            self.sender.ready().await?;
            let (head, body) = self.sender.send_request(request).await?.into_parts();
            let body = body.collect().await?.to_bytes();
            Ok::<_, hyper::Error>(SoakReply { status: head.status, headers: head.headers, body })
        };
        let stuck = |_| BenchError::Stuck { what: "an answer".to_owned(), limit: ANSWER_TIMEOUT };
        Ok(tokio::time::timeout(ANSWER_TIMEOUT, answered).await.map_err(stuck)??)
    }
}

/// How requests were answered.
#[derive(Debug, Default)]
pub(super) struct AnswerTally {
    /// Nanoseconds of those that were served.
    pub(super) served: Vec<u64>,
    /// Of those that were refused in good order: 429 or 503 with `retry-after`.
    pub(super) shed: Vec<u64>,
    /// Of all others, how many and in words.
    pub(super) wrong: u64,
    pub(super) reasons: Vec<String>,
}

impl AnswerTally {
    pub(super) fn total(&self) -> u64 {
        self.served.len() as u64 + self.shed.len() as u64 + self.wrong
    }

    pub(super) fn add(&mut self, other: Self) {
        self.served.extend(other.served);
        self.shed.extend(other.shed);
        self.wrong += other.wrong;
        self.reasons.extend(other.reasons);
        self.reasons.truncate(MAX_REASONS);
    }

    /// Milliseconds, of those that were served.
    pub(super) fn served_quantile(&self, q: f64) -> f64 {
        milliseconds(&self.served, q)
    }

    pub(super) fn shed_quantile(&self, q: f64) -> f64 {
        milliseconds(&self.shed, q)
    }

    fn note(
        &mut self,
        sent: &SoakRequest,
        took: Duration,
        answered: Result<SoakReply, BenchError>,
    ) {
        let took = nanos(took);
        match answered {
            Ok(reply) if is_shed(&reply) => self.shed.push(took),
            Ok(reply) if sent.is_served(&reply) => self.served.push(took),
            Ok(reply) => {
                let text =
                    String::from_utf8_lossy(&reply.body).chars().take(200).collect::<String>();
                self.fail(format!("{}: {text}", reply.status));
            }
            Err(trouble) => self.fail(trouble.to_string()),
        }
    }

    fn fail(&mut self, reason: String) {
        self.wrong += 1;
        if self.reasons.len() < MAX_REASONS {
            self.reasons.push(reason);
        }
    }
}

fn milliseconds(nanos: &[u64], q: f64) -> f64 {
    micros(Samples::of_nanos(nanos.to_vec()).quantile(q)) / 1e3
}

/// A refusal that says when to try again.
pub(super) fn is_shed(reply: &SoakReply) -> bool {
    let is_busy =
        [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&reply.status);
    is_busy && reply.headers.contains_key(header::RETRY_AFTER)
}

/// What is sent: the request of each number.
pub(super) type MakeRequest = Arc<dyn Fn(u64) -> SoakRequest + Send + Sync>;

/// Requests at a fixed rate, on so many connections. Latency counts from when a request was due.
pub(super) struct OpenLoopLoad {
    pub(super) address: SocketAddr,
    pub(super) rate: f64,
    pub(super) connections: usize,
    pub(super) span: Duration,
    pub(super) make: MakeRequest,
}

impl OpenLoopLoad {
    pub(super) async fn run(&self) -> AnswerTally {
        let began = clock::now();
        let mut tasks = JoinSet::new();
        for at in 0..self.connections {
            let period = Duration::from_secs_f64(self.connections as f64 / self.rate);
            let first = began + period.mul_f64(at as f64 / self.connections as f64);
            let worker = ReconnectingClient {
                address: self.address,
                first,
                period,
                until: began + self.span,
            };
            let make = Arc::clone(&self.make);
            let connections = self.connections as u64;
            tasks.spawn(async move { worker.drive(make, at as u64, connections).await });
        }
        collect(tasks).await
    }
}

/// Requests as fast as they are answered, on so many connections.
pub(super) async fn closed_loop(
    address: SocketAddr,
    connections: usize,
    span: Duration,
    make: MakeRequest,
) -> AnswerTally {
    let until = clock::now() + span;
    let mut tasks = JoinSet::new();
    for at in 0..connections {
        let first = clock::now();
        let worker = ReconnectingClient { address, first, period: Duration::ZERO, until };
        let make = Arc::clone(&make);
        tasks.spawn(async move { worker.drive(make, at as u64, connections as u64).await });
    }
    collect(tasks).await
}

async fn collect(mut tasks: JoinSet<AnswerTally>) -> AnswerTally {
    let mut all = AnswerTally::default();
    while let Some(joined) = tasks.join_next().await {
        match joined {
            Ok(tally) => all.add(tally),
            Err(error) => all.fail(error.to_string()),
        }
    }
    all
}

/// One connection, which is opened again when it broke or was closed.
struct ReconnectingClient {
    address: SocketAddr,
    first: Instant,
    /// Zero: as soon as the last one was answered.
    period: Duration,
    until: Instant,
}

impl ReconnectingClient {
    async fn drive(self, make: MakeRequest, first: u64, step: u64) -> AnswerTally {
        let mut due = self.first;
        let mut number = first;
        let mut tally = AnswerTally::default();
        let mut connection = None;
        loop {
            let now = clock::now();
            if self.period.is_zero() {
                due = now;
            } else if due > now {
                tokio::time::sleep(due - now).await;
            }
            if due >= self.until || now >= self.until {
                return tally;
            }
            let sent = make(number);
            let answered = self.call(&mut connection, &sent).await;
            tally.note(&sent, clock::now().saturating_duration_since(due), answered);
            number += step;
            due += self.period;
        }
    }

    async fn call(
        &self,
        connection: &mut Option<SoakConnection>,
        sent: &SoakRequest,
    ) -> Result<SoakReply, BenchError> {
        let mut open = match connection.take() {
            Some(open) => open,
            None => SoakConnection::open(self.address).await?,
        };
        let reply = open.call(sent).await?;
        let closes = reply.headers.get(header::CONNECTION).is_some_and(|it| it == "close");
        *connection = (!closes).then_some(open);
        Ok(reply)
    }
}
