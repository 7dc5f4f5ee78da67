//! One client cannot lock out others: by connections, sessions or work.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tollgate_engine::builtin::{self, BuiltinTool, BuiltinToolContext, BuiltinToolError};
use tollgate_engine::clock::{Clock, SystemClock};
use tollgate_server::{Limits, Right, Rights};

use crate::client::Call;
use crate::stage::{Setup, Stage, key};

/// Keeps its thread from doing anything else, as a faulty library would.
struct Blocking;

const BLOCKED: Duration = Duration::from_secs(4);

#[async_trait]
impl BuiltinTool for Blocking {
    fn definition(&self) -> Value {
        json!({"name": "block", "description": "Blocks", "inputSchema": {"type": "object"}})
    }

    async fn call(
        &self,
        _: &Map<String, Value>,
        _: &BuiltinToolContext,
    ) -> Result<builtin::BuiltinReply, BuiltinToolError> {
        std::thread::sleep(BLOCKED);
        Ok(builtin::BuiltinReply { text: "done".to_owned(), structured: None })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_12_probes_are_answered_while_every_worker_is_stuck() {
    let tools = vec![builtin::Server { name: "stuck", tools: vec![Box::new(Blocking)] }];
    let stage = Stage::with(Setup { tools, ..Setup::default() }).await;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let block = || stage.modern("tools/call", json!({"name": "block", "arguments": {}})).send();
    let began = SystemClock.now();
    let stuck = join_all((0..2 * workers).map(|_| block()));
    let probes = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let mut longest = Duration::ZERO;
        for path in ["/healthz", "/readyz"].repeat(20) {
            let at = SystemClock.now();
            assert_eq!(stage.request("GET", path).send().await.status, 200);
            longest = longest.max(SystemClock.now() - at);
        }
        (longest, SystemClock.now() - began)
    };
    let (replies, (longest, until)) = tokio::join!(stuck, probes);
    assert!(replies.iter().all(|reply| reply.status == 200), "{replies:?}");
    assert!(until < BLOCKED, "they were answered while nothing else was: {until:?}");
    assert!(longest < Duration::from_secs(1), "{longest:?}");
}

#[tokio::test]
async fn r_12_idle_connections_make_room_and_busy_ones_stay() {
    let limits = Limits { connections: 4, ..Limits::default() };
    let stage = Stage::with(Setup { limits, ..Setup::default() }).await;
    // Past their first bytes: they hold a place each.
    let mut idle = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(stage.address).await.unwrap();
        stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc").await.unwrap();
        idle.push(stream);
    }
    for _ in 0..20 {
        assert_eq!(stage.modern("tools/list", json!({})).brief().await, "200 ok");
    }
    let wait = json!({"name": "wait", "arguments": {"ms": 3_000}});
    // One after the other: a connection whose request is not read yet would make room for the next.
    let mut calls = JoinSet::new();
    for number in 1..=4 {
        calls.spawn(stage.modern("tools/call", wait.clone()).send());
        stage.call_tool(number).await;
    }
    let reply = stage.modern("tools/list", json!({})).send().await;
    assert_eq!(reply.status, 503, "all are busy: {reply:?}");
    assert_eq!(reply.header("retry-after").as_deref(), Some("1"));
    assert_eq!(reply.json()["code"], "too_many_connections");
    assert_eq!(stage.request("GET", "/healthz").send().await.status, 200);
    let replies = calls.join_all().await;
    assert!(replies.iter().all(|reply| reply.status == 200), "{replies:?}");
    assert_eq!(stage.modern("tools/list", json!({})).brief().await, "200 ok");
    for mut stream in idle {
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut rest));
        assert!(closed.await.is_ok(), "let go");
    }
}

fn by(name: &str, call: Call) -> Call {
    call.header("x-api-key", &format!("{name}-0123456789abcdef"))
}

async fn for_key(limits: Limits) -> Stage {
    let rights: Rights = [Right::Execute].into_iter().collect();
    let keys =
        ["greedy", "modest"].map(|name| key(name, &format!("{name}-0123456789abcdef"), rights));
    Stage::with(Setup { limits, keys: keys.to_vec(), ..Setup::default() }).await
}

fn initialize(stage: &Stage) -> Call {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    stage.post(body.to_string())
}

fn in_session(stage: &Stage, id: &str, method: &str, params: &Value) -> Call {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let call = stage.post(body.to_string());
    call.header("mcp-session-id", id).header("mcp-protocol-version", "2025-11-25")
}

#[tokio::test]
async fn s_13_handshakes_of_one_key_lock_out_nobody() {
    let limits = Limits { sessions: 30, sessions_per_key: 20, ..Limits::default() };
    let stage = for_key(limits).await;
    let open = async |name: &str| {
        let reply = by(name, initialize(&stage)).send().await;
        (reply.status, reply.header("mcp-session-id").unwrap_or_default())
    };
    let (_, modest) = open("modest").await;
    let (_, working) = open("greedy").await;
    let wait = json!({"name": "wait", "arguments": {"ms": 3_000}});
    let call = by("greedy", in_session(&stage, &working, "tools/call", &wait)).send();
    let flood = async {
        stage.call_tool(1).await;
        let mut last = String::new();
        for _ in 0..200 {
            let (status, id) = open("greedy").await;
            assert_eq!(status, 200);
            last = id;
        }
        last
    };
    let (reply, last) = tokio::join!(call, flood);
    assert_eq!(reply.brief(), "200 ok", "a session in which something runs is not idle");
    let ping = async |name: &str, id: &str| {
        by(name, in_session(&stage, id, "ping", &json!({}))).brief().await
    };
    assert_eq!(ping("modest", &modest).await, "200 ok", "another key lost nothing");
    assert_eq!(ping("greedy", &last).await, "200 ok");
    assert_eq!(open("modest").await.0, 200, "and may have more");
}

#[tokio::test]
async fn s_13_a_key_whose_sessions_all_listen_gets_429_and_others_go_on() {
    let limits = Limits { sessions_per_key: 3, ..Limits::default() };
    let stage = for_key(limits).await;
    let mut streams = Vec::new();
    for _ in 0..3 {
        let reply = by("greedy", initialize(&stage)).send().await;
        let id = reply.header("mcp-session-id").unwrap();
        let listen = stage.request("GET", "/mcp").header("accept", "text/event-stream");
        let listen = listen.header("mcp-session-id", &id);
        let mut stream = by("greedy", listen).stream().await;
        stream.silent().await;
        streams.push(stream);
    }
    let refused = by("greedy", initialize(&stage)).send().await;
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(by("modest", initialize(&stage)).send().await.status, 200);
    drop(streams);
}
