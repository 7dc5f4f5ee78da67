//! A provider of calls over WebRTC and SIP, as strict as OpenAI: the standard key only, a form with
//! exactly two parts, known fields, and no sideband before the call is there.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tollgate_mcp::tasks::{self, Task};
use tollgate_testkit::ws::RawUpgradeRequest;

use crate::live_sessions::{Talker, models};
use crate::stage::{Setup, Stage};

pub(crate) const OFFER: &str = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n";
const ANSWER: &str = "v=0\r\no=- 3 4 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n";
/// Fields of a session that the vendor knows.
const FIELDS: [&str; 13] = [
    "type",
    "model",
    "instructions",
    "output_modalities",
    "audio",
    "tools",
    "tool_choice",
    "max_output_tokens",
    "include",
    "tracing",
    "truncation",
    "prompt",
    "reasoning",
];
const TIMEOUT: Duration = Duration::from_secs(30);

/// A gateway, and the provider of its calls.
pub(crate) struct CallStage {
    pub(crate) stage: Stage,
    pub(crate) provider: Arc<CallProvider>,
    sidebands: tokio::sync::Mutex<mpsc::Receiver<Sideband>>,
    _accepting: Task,
}

#[derive(Default)]
pub(crate) struct CallProvider {
    /// Requests, in order.
    pub(crate) seen: Mutex<Vec<SeenRequest>>,
    /// Answer to the next requests that create a call, instead of the usual one. Empty: none at all.
    pub(crate) says: Mutex<Option<String>>,
    /// Attempts at a sideband that are still refused, of any call.
    pub(crate) unready: Mutex<usize>,
    /// Calls created so far.
    created: Mutex<usize>,
    /// Session configurations by call.
    calls: Mutex<BTreeMap<String, Value>>,
}

#[derive(Debug, Clone)]
pub(crate) struct SeenRequest {
    pub(crate) path: String,
    pub(crate) body: String,
}

pub(crate) struct Sideband {
    pub(crate) call: String,
    pub(crate) talker: Talker,
}

impl CallStage {
    pub(crate) async fn open(setup: Setup) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let provider = Arc::new(CallProvider::default());
        let (sender, sidebands) = mpsc::channel(64);
        let serving = Arc::clone(&provider);
        let accepting = tasks::spawn("provider", async move {
            let mut running = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                running.spawn(Arc::clone(&serving).serve(stream, sender.clone()));
            }
        });
        let stage = Stage::with(Setup { models: models(&url), ..setup }).await;
        let sidebands = tokio::sync::Mutex::new(sidebands);
        Self { stage, provider, sidebands, _accepting: accepting }
    }

    /// The next sideband that the gateway opens. It has been greeted.
    pub(crate) async fn sideband(&self) -> Sideband {
        let mut sidebands = self.sidebands.lock().await;
        let next = tokio::time::timeout(TIMEOUT, sidebands.recv());
        next.await.expect("a sideband in time").expect("the provider is there")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.stage.address
    }
}

impl CallProvider {
    /// Announces an incoming SIP call.
    pub(crate) fn ring(&self, call: &str) {
        self.calls.lock().insert(call.to_owned(), Value::Null);
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.seen.lock().iter().map(|seen| seen.path.clone()).collect()
    }

    /// The body of the last request to this path.
    pub(crate) fn body_of(&self, path: &str) -> String {
        let seen = self.seen.lock();
        seen.iter().rfind(|seen| seen.path == path).expect("it was requested").body.clone()
    }

    /// Waits for a request to this path.
    pub(crate) async fn await_request(&self, path: &str) {
        let seen = async {
            while !self.paths().iter().any(|seen| seen == path) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, seen).await.expect("requested in time");
    }

    async fn serve(self: Arc<Self>, mut stream: TcpStream, sidebands: mpsc::Sender<Sideband>) {
        let mut first = [0; 4];
        while stream.peek(&mut first).await.is_ok_and(|count| count > 0 && count < 4) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if &first == b"GET " {
            self.attach(stream, sidebands).await;
        } else {
            while let Some(request) = read_request(&mut stream).await {
                let answer = self.answer(&request);
                if answer.is_empty() {
                    return std::future::pending().await;
                }
                if stream.write_all(answer.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    }

    async fn attach(&self, stream: TcpStream, sidebands: mpsc::Sender<Sideband>) {
        let Some(request) = RawUpgradeRequest::read(stream).await else { return };
        let unknown = json_answer(
            404,
            &json!({"error": {
                "type": "invalid_request_error", "code": "call_id_not_found",
                "message": "No session found for the provided call_id", "param": null,
            }}),
        );
        let call = request.path.split_once("call_id=").map(|(_, id)| id.to_owned());
        let config = match &call {
            Some(call) => self.calls.lock().get(call).cloned(),
            // A session of its own, not a sideband.
            None => Some(json!({"type": "realtime", "tools": []})),
        };
        let call = call.or_else(|| request.path.contains("?model=").then(String::new));
        let is_unready = {
            let mut unready = self.unready.lock();
            let was = *unready;
            *unready = was.saturating_sub(1);
            was > 0
        };
        let (Some(call), Some(config), false) = (call, config, is_unready) else {
            return request.refuse(&unknown).await;
        };
        assert_eq!(request.header("authorization"), Some("Bearer sk-canary"));
        let Some(socket) = request.welcome().await else { return };
        let mut talker = Talker(socket);
        talker.say(json!({"type": "session.created", "event_id": "e", "session": config})).await;
        let _ = sidebands.send(Sideband { call, talker }).await;
    }

    fn answer(&self, request: &HttpRequest) -> String {
        let path = request.path.strip_prefix("/v1/realtime/calls").unwrap_or("?").to_owned();
        let body = request.body.clone();
        self.seen.lock().push(SeenRequest { path: path.clone(), body });
        if request.header("authorization") != "Bearer sk-canary" {
            return refusal(401, "invalid_api_key", "Incorrect API key provided");
        }
        match path.trim_start_matches('/').split_once('/') {
            None if path.is_empty() => {
                self.says.lock().clone().unwrap_or_else(|| self.create(request))
            }
            Some((call, verb)) => self.control(call, verb, request),
            None => refusal(404, "not_found", "no such route"),
        }
    }

    fn create(&self, request: &HttpRequest) -> String {
        let parts = form(request);
        let sdp = parts.get("sdp application/sdp");
        let session = parts.get("session application/json");
        let (Some(sdp), Some(session), 2) = (sdp, session, parts.len()) else {
            return refusal(400, "invalid_form", "expected the parts sdp and session");
        };
        let Ok(session) = serde_json::from_str::<Value>(session) else {
            return refusal(400, "invalid_json", "session is not JSON");
        };
        if let Some(refused) = session_refusal(&session) {
            return refused;
        }
        assert_eq!(sdp, OFFER);
        let id = {
            let mut created = self.created.lock();
            *created += 1;
            format!("rtc_u1_{created:021}")
        };
        self.calls.lock().insert(id.clone(), session);
        format!(
            "HTTP/1.1 201 Created\r\ncontent-type: application/sdp\r\n\
             location: /v1/realtime/calls/{id}\r\ncontent-length: {}\r\n\r\n{ANSWER}",
            ANSWER.len()
        )
    }

    fn control(&self, call: &str, verb: &str, request: &HttpRequest) -> String {
        let mut calls = self.calls.lock();
        let Some(config) = calls.get_mut(call) else {
            return refusal(404, "call_id_not_found", "No session found");
        };
        let is_ringing = config.is_null();
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let is_sound = match verb {
            "accept" => {
                if let Some(refused) = session_refusal(&body) {
                    return refused;
                }
                *config = body;
                is_ringing
            }
            "reject" => is_ringing && body["status_code"].is_u64() && calls.remove(call).is_some(),
            "refer" => !is_ringing && body["target_uri"].is_string(),
            "hangup" => request.body.is_empty() && calls.remove(call).is_some(),
            _ => false,
        };
        if !is_sound {
            return refusal(400, "invalid_request", "that does not fit the call");
        }
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned()
    }
}

/// The refusal of a session that the vendor does not take.
fn session_refusal(session: &Value) -> Option<String> {
    let Some(fields) = session.as_object() else {
        return Some(refusal(400, "invalid_type", "session is no object"));
    };
    if session["type"] != "realtime" || session["model"] != "gpt-realtime" {
        return Some(refusal(400, "missing_required_parameter", "type and model are required"));
    }
    let unknown = fields.keys().find(|key| !FIELDS.contains(&key.as_str()))?;
    let message = format!("Unknown parameter: 'session.{unknown}'.");
    Some(refusal(400, "unknown_parameter", &message))
}

/// The parts by name and type.
fn form(request: &HttpRequest) -> BTreeMap<String, String> {
    let kind = request.header("content-type");
    let Some(boundary) = kind.strip_prefix("multipart/form-data; boundary=") else {
        return BTreeMap::new();
    };
    let line = format!("--{boundary}");
    let parts = request.body.split(&line);
    let parts = parts.filter_map(|part| {
        let (head, content) = part.split_once("\r\n\r\n")?;
        let name = head.split("name=\"").nth(1)?.split('"').next()?;
        let kind = head.split("content-type: ").nth(1)?.trim();
        Some((format!("{name} {kind}"), content.strip_suffix("\r\n")?.to_owned()))
    });
    parts.collect()
}

struct HttpRequest {
    path: String,
    head: String,
    body: String,
}

impl HttpRequest {
    fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let mut found = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.next().map_or("", |(_, value)| value.trim())
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<HttpRequest> {
    let mut read = Vec::new();
    let end = loop {
        if let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(read[..end].to_vec()).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    let mut request = HttpRequest { path, head, body: String::new() };
    let length: usize = request.header("content-length").parse().unwrap_or(0);
    while read.len() < end + length {
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
    request.body = String::from_utf8(read[end..end + length].to_vec()).ok()?;
    Some(request)
}

pub(crate) fn json_answer(status: u16, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "HTTP/1.1 {status} Answer\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn refusal(status: u16, code: &str, message: &str) -> String {
    let error = json!({
        "type": "invalid_request_error", "code": code, "message": message, "param": null,
    });
    json_answer(status, &json!({ "error": error }))
}
