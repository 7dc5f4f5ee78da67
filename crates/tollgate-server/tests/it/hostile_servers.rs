//! Scripted hostile servers: a child over stdio, and HTTP servers of both eras.
//!
//! A call carries its script as JSON, in an argument of a tool or a prompt, or in the URI of a
//! resource; without one the answer is correct.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use futures_util::{StreamExt, stream};
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tollgate_engine::settings::{Server, ServerTransport, StdioCommand};
use tollgate_mcp::Revision;
use tollgate_mcp::tasks::{self, Task};

use crate::stage::{Setup, Stage, at, server};

/// The servers of a hostile stage: a child, a legacy one and a modern one over HTTP.
pub(crate) const SERVERS: [&str; 3] = ["pipe", "old", "new"];

/// What a server is to do with one call. `@ID@`, `@TOKEN@`, `@DEEP@` and `@FILL@` stand for the
/// id of the request, its progress token, ten thousand lists within each other, and what
/// [`filled`] says.
pub(crate) fn plan(say: &[&str]) -> Value {
    json!({"say": say, "fill": "", "each": 0, "times": 0, "then": "", "ms": 600, "again": 1})
}

/// With so many of `fill` for `@FILL@`. What is large is written in pieces.
pub(crate) fn fill_queue(mut plan: Value, fill: &str, count: usize) -> Value {
    let times = count.div_ceil(100_000);
    let more = json!({"fill": fill, "each": count / times, "times": times});
    plan.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    plan
}

/// Says all but the last message so often.
pub(crate) fn again(mut plan: Value, times: usize) -> Value {
    plan["again"] = json!(times);
    plan
}

/// `sleep`: half of the last message, and `ms` later the rest. `exit`: half of it, then gone.
/// `hold`: over HTTP, everything but the last message, and `ms` later that one.
/// `heard`: a child answers with all that it has read so far.
pub(crate) fn then(mut plan: Value, what: &str) -> Value {
    plan["then"] = json!(what);
    plan
}

/// One whole answer with this result.
pub(crate) fn result(text: &str) -> Value {
    plan(&[&format!(r#"{{"jsonrpc":"2.0","id":@ID@,"result":{text}}}"#)])
}

/// One whole answer with this error.
pub(crate) fn error(text: &str) -> Value {
    plan(&[&format!(r#"{{"jsonrpc":"2.0","id":@ID@,"error":{text}}}"#)])
}

/// A gateway before one server of each kind.
pub(crate) struct Hostile {
    pub(crate) stage: Stage,
    /// Everything that reached the servers over HTTP: request lines, headers and bodies.
    pub(crate) received: Arc<Mutex<Vec<u8>>>,
    _serving: Task,
}

impl Hostile {
    pub(crate) async fn start() -> Self {
        Self::with(Duration::from_secs(20), Setup::default()).await
    }

    /// `patience` is how long the gateway waits for an answer of any of the servers.
    pub(crate) async fn with(patience: Duration, setup: Setup) -> Self {
        let received = Arc::new(Mutex::new(Vec::new()));
        let (address, serving) = serve(Arc::clone(&received)).await;
        let servers = [
            server("pipe", child(), Revision::NEWEST_LEGACY),
            server("old", at(address), Revision::NEWEST_LEGACY),
            server("new", at(address), Revision::NEWEST),
        ];
        let servers = servers.map(|it| Server { timeout: patience, ..it }).into();
        let stage = Stage::with(Setup { servers, ..setup }).await;
        Self { stage, received, _serving: serving }
    }
}

/// The arguments of a call that is answered by this plan.
pub(crate) fn make_plan(plan: &Value) -> Value {
    json!({"plan": plan.to_string()})
}

/// The URI of a resource of this server that is answered by this plan.
pub(crate) fn resource(server: &str, plan: &Value) -> String {
    let hex: String = plan.to_string().bytes().map(|byte| format!("{byte:02x}")).collect();
    // Both eras are one server here, told apart by its templates.
    format!("{server}://{hex}")
}

fn child() -> ServerTransport {
    let words = ["python3", "-u", "-c", CHILD].map(str::to_owned).into();
    ServerTransport::Stdio(StdioCommand::new(words))
}

const CHILD: &str = r#"
import json, os, sys, time
LISTED = {
    "tools/list": {"tools": [{"name": "say", "inputSchema": {"type": "object"}},
        {"name": "shaped", "inputSchema": {"type": "object"}, "outputSchema": {
            "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}]},
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "pipe://{x}", "name": "r"}]},
    "prompts/list": {"prompts": [{"name": "prompt", "arguments": [{"name": "plan"}]}]},
    "ping": {},
    "initialize": {"protocolVersion": "2025-11-25", "serverInfo": {"name": "child", "version": "1"},
                   "capabilities": {"tools": {}, "resources": {}, "prompts": {}}},
}
GOOD = {
    "tools/call": {"content": [{"type": "text", "text": "fine"}]},
    "resources/read": {"contents": [{"uri": "pipe://", "text": "fine"}]},
    "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": "fine"}}]},
}
DEEP = "[" * 10000 + "]" * 10000
heard = []
def write(text): sys.stdout.buffer.write(text.encode()); sys.stdout.flush()
def answer(id, result): write(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}) + "\n")
for line in sys.stdin:
    heard.append(line)
    request = json.loads(line)
    method, id, params = request.get("method"), request.get("id"), request.get("params") or {}
    if id is None: continue
    if method in LISTED: answer(id, LISTED[method]); continue
    given = (params.get("arguments") or {}).get("plan")
    uri = params.get("uri", "")
    if len(uri) > len("pipe://"): given = bytes.fromhex(uri.split("://")[1]).decode()
    if not given: answer(id, GOOD[method]); continue
    plan = json.loads(given)
    then = plan["then"]
    if then == "heard": answer(id, {"content": [{"type": "text", "text": "".join(heard)}]}); continue
    token = str((params.get("_meta") or {}).get("progressToken", 0))
    for text in plan["say"][:-1] * plan["again"] + plan["say"][-1:]:
        text = text.replace("@ID@", str(id)).replace("@TOKEN@", token).replace("@DEEP@", DEEP)
        head, fills, tail = text.partition("@FILL@")
        write(head[:len(head) // 2])
        if then == "sleep": time.sleep(plan["ms"] / 1000)
        if then == "exit": os._exit(1)
        write(head[len(head) // 2:])
        for _ in range(plan["times"] if fills else 0): write(plan["fill"] * plan["each"])
        write(tail + "\n")
"#;

async fn serve(received: Arc<Mutex<Vec<u8>>>) -> (SocketAddr, Task) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let refused = || async { StatusCode::METHOD_NOT_ALLOWED };
    let router = Router::new().route("/mcp", post(posted).get(refused)).with_state(received);
    let serving = tasks::spawn("hostile", async move {
        axum::serve(listener, router).await.unwrap();
    });
    (address, serving)
}

async fn posted(
    State(received): State<Arc<Mutex<Vec<u8>>>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    {
        let mut received = received.lock();
        for (name, value) in &headers {
            received.extend_from_slice(name.as_str().as_bytes());
            received.extend_from_slice(b": ");
            received.extend_from_slice(value.as_bytes());
            received.push(b'\n');
        }
        received.extend_from_slice(&body);
        received.push(b'\n');
    }
    let message: Value = serde_json::from_slice(&body).unwrap();
    if message.get("id").is_none() {
        return StatusCode::ACCEPTED.into_response();
    }
    let is_modern = headers.get("mcp-protocol-version").is_some_and(|it| it == "2026-07-28");
    let params = &message["params"];
    let uri = params["uri"].as_str().and_then(|uri| uri.split_once("://"));
    let by_uri = uri.map(|(_, hex)| unhex(hex)).filter(|plan| !plan.is_empty());
    let given = params["arguments"]["plan"].as_str().map(str::to_owned).or(by_uri);
    match given {
        Some(given) => say(&message, serde_json::from_str(&given).unwrap()).await,
        None => {
            let scheme = if is_modern { "new" } else { "old" };
            let result = good(message["method"].as_str().unwrap(), scheme);
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            Json(answer).into_response()
        }
    }
}

fn good(method: &str, scheme: &str) -> Value {
    let capabilities = json!({"tools": {}, "resources": {}, "prompts": {}});
    let text = json!({"type": "text", "text": "fine"});
    match method {
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
            "serverInfo": {"name": "hostile", "version": "1"}}),
        "server/discover" => json!({"supportedVersions": ["2026-07-28"],
            "capabilities": capabilities, "resultType": "complete", "ttlMs": 0,
            "cacheScope": "private"}),
        "tools/list" => {
            let shape = json!({"type": "object", "properties": {"n": {"type": "integer"}},
                "required": ["n"]});
            let input = json!({"type": "object"});
            json!({"tools": [{"name": "say", "inputSchema": input},
                {"name": "shaped", "inputSchema": input, "outputSchema": shape}]})
        }
        "resources/templates/list" => {
            json!({"resourceTemplates": [{"uriTemplate": format!("{scheme}://{{x}}"), "name": "r"}]})
        }
        "resources/list" => json!({"resources": []}),
        "prompts/list" => json!({"prompts": [{"name": "prompt", "arguments": [{"name": "plan"}]}]}),
        "tools/call" => json!({"content": [text]}),
        "resources/read" => json!({"contents": [{"uri": "x://", "text": "fine"}]}),
        "prompts/get" => json!({"messages": [{"role": "user", "content": text}]}),
        _ => json!({}),
    }
}

/// One message is a plain answer; several are a stream, which ends after the last.
async fn say(message: &Value, plan: Value) -> Response {
    let id = message["id"].to_string();
    let token = message["params"]["_meta"]["progressToken"].to_string();
    let number = |key: &str| usize::try_from(plan[key].as_u64().unwrap()).unwrap();
    let fill = Bytes::from(plan["fill"].as_str().unwrap().repeat(number("each")));
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let then = plan["then"].as_str().unwrap();
    let texts = plan["say"].as_array().unwrap();
    let is_plain = texts.len() == 1 && then != "exit";
    let (start, end) = if is_plain { ("", "") } else { ("event: message\ndata: ", "\n\n") };
    let mut pieces = Vec::new();
    let last = texts.last().into_iter();
    let before = &texts[..texts.len().saturating_sub(1)];
    for text in (0..number("again")).flat_map(|_| before).chain(last) {
        let text = text.as_str().unwrap().replace("@ID@", &id).replace("@TOKEN@", &token);
        let text = text.replace("@DEEP@", &deep);
        if then == "exit" {
            pieces.push(Ok(Bytes::from(format!("{start}{}", &text[..text.len() / 2]))));
            pieces.push(Err(std::io::ErrorKind::BrokenPipe.into()));
            break;
        }
        let fills = if text.contains("@FILL@") { number("times") } else { 0 };
        let (head, tail) = text.split_once("@FILL@").unwrap_or((&text, ""));
        pieces.push(Ok(Bytes::from(format!("{start}{head}"))));
        pieces.extend((0..fills).map(|_| Ok(fill.clone())));
        pieces.push(Ok(Bytes::from(format!("{tail}{end}"))));
    }
    if then == "sleep" {
        tokio::time::sleep(Duration::from_millis(plan["ms"].as_u64().unwrap())).await;
    }
    let held = if then == "hold" { pieces.split_off(pieces.len() - 2) } else { Vec::new() };
    let pause = Duration::from_millis(plan["ms"].as_u64().unwrap());
    let held = stream::once(async move {
        if !held.is_empty() {
            tokio::time::sleep(pause).await;
        }
        stream::iter::<Vec<std::io::Result<Bytes>>>(held)
    });
    let body = Body::from_stream(stream::iter(pieces).chain(held.flatten()));
    let kind = if is_plain { "application/json" } else { "text/event-stream" };
    ([("content-type", kind)], body).into_response()
}

fn unhex(text: &str) -> String {
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2).unwrap_or("20"), 16).unwrap();
    String::from_utf8((0..text.len()).step_by(2).map(byte).collect()).unwrap()
}
