//! at a small volume, seen from outside: the memory that each idle live session, and
//! each call that waits for its server, adds to the gateway.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tollgate_testkit::ws::{RawUpgradeRequest, RawWebSocket, RawWebSocketMessage};

use crate::running::Served;

/// Opened before anything is measured: the first ones fill caches and pools.
const FIRST: usize = 100;
/// Few enough for a process that may open 1,024 files.
const MEASURED: usize = 250;
/// The goal for 9,000 sessions is 40 KiB. A test build needs 32, and once needed 67.
const SESSION_KIB: u64 = 44;
/// The goal for 1,000 calls is 64 KiB. A test build needs 50, and once needed 63.
const CALL_KIB: u64 = 57;
const PER_SERVER: usize = 50;

fn resident_kib(gateway: &Served) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", gateway.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Waits until each of those that were measured holds no more than this. What was needed only for a
/// moment goes back to the system a second later.
async fn assert_each(what: &str, gateway: &Served, before: u64, most: u64) {
    let mut each = u64::MAX;
    for _ in 0..100 {
        each = resident_kib(gateway).saturating_sub(before) / MEASURED as u64;
        if each <= most {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{what}: {each} KiB each, at most {most} are allowed");
}

async fn text(socket: &mut RawWebSocket) -> String {
    match socket.message().await {
        RawWebSocketMessage::Text(text) => text,
        other => panic!("no text: {other:?}"),
    }
}

/// A client and a provider that have heard of each other, and are silent from then on.
struct IdleSession {
    _client: RawWebSocket,
    _provider: RawWebSocket,
}

impl IdleSession {
    async fn open(gateway: SocketAddr, provider: &TcpListener) -> Self {
        let accepted = async {
            let (stream, _) = provider.accept().await.unwrap();
            let mut socket =
                RawUpgradeRequest::read(stream).await.unwrap().welcome().await.unwrap();
            let created = json!({"type": "session.created", "event_id": "e", "session":
                {"type": "realtime", "object": "realtime.session", "id": "sess_1"}});
            socket.text(created.to_string()).await.unwrap();
            assert!(text(&mut socket).await.contains("session.update"), "the tools are declared");
            socket
        };
        let dialled = async {
            let dialled = RawWebSocket::dial(gateway, "/v1/realtime?model=bench", &[]).await;
            let mut socket = dialled.unwrap();
            assert!(text(&mut socket).await.contains("session.created"));
            socket
        };
        let (provider, client) = tokio::join!(accepted, dialled);
        Self { _client: client, _provider: provider }
    }
}

#[tokio::test]
async fn r_04_an_idle_session_holds_little_memory() {
    let provider = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gateway = Served::start(&format!(
        "limits: {{ live_sessions: 10000, live_per_key: 10000 }}\n\
         providers:\n  up: {{ kind: openai, base_url: \"http://{}/v1\", api_key: k, \
         concurrent: 10000 }}\n\
         models:\n  bench: {{ provider: up, id: bench-1, api: realtime }}\n\
         default_agent: speaker\n\
         agents:\n  speaker: {{ tools: [\"*\"], auto_execute: [roll], models: [bench] }}\n",
        provider.local_addr().unwrap()
    ));
    let address = gateway.address.parse().unwrap();
    let mut sessions = Vec::new();
    for _ in 0..FIRST {
        sessions.push(IdleSession::open(address, &provider).await);
    }
    let before = resident_kib(&gateway);
    for _ in 0..MEASURED {
        sessions.push(IdleSession::open(address, &provider).await);
    }
    assert_each("a session", &gateway, before, SESSION_KIB).await;
}

/// An MCP server over HTTP whose tool never answers; it reports each call.
async fn serve_silent_tool(listener: TcpListener, called: mpsc::Sender<()>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        connections.spawn(answer_all(stream, called.clone()));
    }
}

async fn answer_all(stream: TcpStream, called: mpsc::Sender<()>) {
    let mut stream = BufReader::new(stream);
    while let Some(message) = read_post(&mut stream).await {
        let result = match message["method"].as_str().unwrap() {
            "server/discover" => {
                json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
            }
            "tools/list" => json!({"tools": [{
                "name": "hang",
                "inputSchema": {"type": "object"},
                "annotations": {"readOnlyHint": true},
            }]}),
            "tools/call" => {
                called.try_send(()).unwrap();
                // Held open, and never answered.
                return std::future::pending().await;
            }
            other => panic!("{other}"),
        };
        let mut result = result;
        result["resultType"] = json!("complete");
        let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.get_mut().write_all([head, body].concat().as_bytes()).await.unwrap();
    }
}

/// The message of the next request; `None` at the end of the connection.
async fn read_post(stream: &mut BufReader<TcpStream>) -> Option<Value> {
    let mut line = String::new();
    let mut length = 0;
    loop {
        line.clear();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(serde_json::from_slice(&body).unwrap())
}

/// A call that its server has received.
async fn wait_in_call(
    gateway: SocketAddr,
    number: usize,
    called: &mut mpsc::Receiver<()>,
) -> TcpStream {
    let name = format!("s{}_hang", number / PER_SERVER);
    let body = json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
    "name": name, "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }}})
    .to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {gateway}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: {name}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(gateway).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4_096];
    tokio::select! {
        received = called.recv() => assert!(received.is_some(), "the server is there"),
        read = stream.read(&mut answer) => {
            panic!("it should wait: {}", String::from_utf8_lossy(&answer[..read.unwrap()]));
        }
    }
    stream
}

/// Starts a gateway and waits until the tools of all servers can be called.
fn start_with_tools(config: &str) -> Served {
    let gateway = Served::start(config);
    for _ in 0..400 {
        let tools = gateway.ask("GET", "/v1/tools").body;
        let mut servers = 0..(FIRST + MEASURED) / PER_SERVER;
        if servers.all(|at| tools.contains(&format!("s{at}_hang"))) {
            return gateway;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("a server is missing: {}", gateway.log());
}

#[tokio::test]
async fn r_05_a_call_that_waits_for_its_server_holds_little_memory() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap();
    let (sender, mut called) = mpsc::channel(FIRST + MEASURED);
    let _serving = tokio::task::JoinSet::from_iter([serve_silent_tool(listener, sender)]);
    let servers: String = (0..(FIRST + MEASURED) / PER_SERVER)
        .map(|at| {
            format!(
                "  s{at}: {{ transport: streamable-http, url: \"http://{server}/mcp\", protocol: \
                 \"2026-07-28\", trusted: true, calibrate: false, \
                 defaults: {{ timeout_ms: 120000 }} }}\n"
            )
        })
        .collect();
    let config = format!("limits: {{ timeout_ms: 120000 }}\nservers:\n{servers}");
    let gateway = tokio::task::spawn_blocking(move || start_with_tools(&config)).await.unwrap();
    let address = gateway.address.parse().unwrap();
    let mut waiting = Vec::new();
    for number in 0..FIRST {
        waiting.push(wait_in_call(address, number, &mut called).await);
    }
    let before = resident_kib(&gateway);
    for number in FIRST..FIRST + MEASURED {
        waiting.push(wait_in_call(address, number, &mut called).await);
    }
    assert_each("a call", &gateway, before, CALL_KIB).await;
}
