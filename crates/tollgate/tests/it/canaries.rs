//! S-23: secrets of every kind, planted in a config, sent through whatever can fail, and looked for in
//! all that leaves the gateway: answers, streams, the admin API, logs, spans, metrics, the audit trail.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::isolated_gateway::Python;
use crate::terminal::Terminal;
use crate::{tollgate, tollgate_with};

const LEAKY: &str = include_str!("leaky.py");
const TIMEOUT: Duration = Duration::from_secs(120);

/// Each is found by its number. Letters that JSON, URLs and HTML escape are in some of them.
fn canary(name: &str) -> String {
    match name {
        "env" => "canary/env+\"9f\"-1d7c=&é".to_owned(),
        "header" => "canary-header/5b+27=&".to_owned(),
        name => format!("canary-{name}-5b27e9d041"),
    }
}

const PLANTED: [&str; 18] = [
    "key-one",
    "key-two",
    "token",
    "client-secret",
    "access",
    "refresh",
    "cookie",
    "env",
    "dsn",
    "header",
    "query",
    "argument",
    "provider",
    "args",
    "file",
    "otlp",
    "search",
    "webhook",
];

/// Speaks HTTP as a server, a provider, an authorization server and a collector, and repeats in its
/// answers whatever it was sent. What the collector hears is kept.
struct Echo {
    address: String,
    /// Every byte that it was sent.
    received: Arc<Mutex<Vec<u8>>>,
    collected: Arc<Mutex<Vec<u8>>>,
}

impl Echo {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let echo = Self { address, received: Arc::default(), collected: Arc::default() };
        let received = Arc::clone(&echo.received);
        let collected = Arc::clone(&echo.collected);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let received = Arc::clone(&received);
                let collected = Arc::clone(&collected);
                thread::spawn(move || while answer(&stream, &received, &collected).is_some() {});
            }
        });
        echo
    }
}

fn answer(
    mut stream: &TcpStream,
    received: &Mutex<Vec<u8>>,
    collected: &Mutex<Vec<u8>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).ok().filter(|read| *read > 0)?;
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let text = String::from_utf8_lossy(&body).into_owned();
    let message = format!("{head} {text}");
    received.lock().extend_from_slice(message.as_bytes());
    let (status, reply) = match head.split(' ').nth(1)? {
        path if path.starts_with("/otlp/") => {
            collected.lock().extend_from_slice(&body);
            (200, json!({}))
        }
        "/token" => (
            200,
            json!({"access_token": canary("access"), "token_type": "bearer",
            "refresh_token": canary("refresh"), "expires_in": 3600}),
        ),
        "/bad-token" => (400, json!({"error": "invalid_grant", "error_description": message})),
        path if path.starts_with("/v1/chat") => chat(&text, &message),
        path => mcp(path, &text, &message),
    };
    let (kind, reply) = match &reply {
        Value::String(page) => ("text/html", format!("<pre>{page}</pre>")),
        reply => ("application/json", reply.to_string()),
    };
    let head = format!(
        "HTTP/1.1 {status} Said\r\ncontent-type: {kind}\r\nx-echo: {}\r\n",
        canary("header")
    );
    write!(stream, "{head}content-length: {}\r\n\r\n{reply}", reply.len()).ok()
}

/// By what the user says; OpenAI's own words for a wrong key have both of its ends in them.
fn chat(text: &str, content: &str) -> (u16, Value) {
    let key = canary("provider");
    let parts = format!("{}************{}", &key[..9], &key[key.len() - 4..]);
    let message = format!("Incorrect API key provided: {parts}. You sent {content}");
    let mut status = [401, 403, 400, 404, 429, 500].into_iter();
    let status = status.rfind(|status| text.contains(&format!("say {status}")));
    match status {
        Some(status) => {
            (status, json!({"error": {"message": message, "type": "t", "code": parts}}))
        }
        None => (
            200,
            json!({"id": "c", "object": "chat.completion", "model": "m", "choices": [{"index": 0,
            "finish_reason": "stop", "message": {"role": "assistant", "content": content}}]}),
        ),
    }
}

fn mcp(path: &str, text: &str, message: &str) -> (u16, Value) {
    let Ok(request) = serde_json::from_str::<Value>(text) else { return (405, json!(message)) };
    let id = &request["id"];
    if id.is_null() {
        return (202, json!({}));
    }
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": message, "version": "1"}, "instructions": message}),
        "tools/list" => {
            json!({"tools": [{"name": "say", "description": message, "inputSchema": {"type": "object"}}]})
        }
        "tools/call" if text.contains("error page") => return (500, json!(message)),
        "tools/call" if text.contains("error body") => {
            return (
                400,
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": message, "data": message}}),
            );
        }
        "tools/call" => json!({"content": [{"type": "text", "text": format!("{path} {message}")}],
            "structuredContent": {"said": message}}),
        "ping" => json!({}),
        _ => {
            return (
                200,
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": message}}),
            );
        }
    };
    (200, json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

struct Gateway {
    process: Child,
    address: String,
    folder: TempDir,
    log: Arc<Mutex<String>>,
    reader: Option<thread::JoinHandle<()>>,
}

impl Gateway {
    fn start(folder: TempDir, config: &Value) -> Self {
        fs::write(folder.path().join("tollgate.yaml"), config.to_string()).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .current_dir(folder.path())
            .env("TOLLGATE_LOG", "trace")
            .env("TOLLGATE_LOG_FORMAT", "json")
            .env("ARGS_TOKEN", canary("args"))
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&log);
        let (tell, ready) = std::sync::mpsc::channel();
        let reader = thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // Whether it is JSON, tests ask of the whole log.
                if let Some((_, rest)) = line.split_once("tollgate is ready on http://") {
                    let address = rest.split(['"', ' ']).next().unwrap_or_default();
                    let _ = tell.send(address.to_owned());
                }
                written.lock().push_str(&format!("{line}\n"));
            }
        });
        let address = ready.recv_timeout(TIMEOUT);
        let address = address.unwrap_or_else(|_| panic!("not ready: {}", log.lock()));
        Self { process, address, folder, log, reader: Some(reader) }
    }

    /// Head and body of the answer, the body in one piece.
    fn send(&self, line: &str, key: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let line = match line.split_once('\r') {
            Some(_) => line.to_owned(),
            None => format!("{line} HTTP/1.1"),
        };
        let request = format!(
            "{line}\r\nhost: {}\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        whole(&answer)
    }

    fn admin(&self) -> String {
        let text = fs::read_to_string(self.folder.path().join(".tollgate/admin.token"));
        text.unwrap().trim().to_owned()
    }

    /// Ends it in good order: the log and all telemetry are complete then.
    fn stop(&mut self) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        self.process.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Without the sizes of chunks, which may stand in the middle of a word.
fn whole(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    if !head.to_lowercase().contains("transfer-encoding: chunked") {
        return text.clone();
    }
    let mut bytes = &answer[head.len() + 4..];
    let mut joined = Vec::new();
    while let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(&String::from_utf8_lossy(&bytes[..end]), 16).unwrap_or(0);
        if size == 0 || bytes.len() < end + 2 + size {
            break;
        }
        joined.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = bytes.get(end + 4 + size..).unwrap_or_default();
    }
    assert!(!body.is_empty() || joined.is_empty());
    format!("{head}\r\n\r\n{}", String::from_utf8_lossy(&joined))
}

/// The forms of a canary that must be nowhere.
fn forms(secret: &str) -> Vec<String> {
    let escaped = Value::from(secret).to_string();
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let escaped = escaped[1..escaped.len() - 1].to_owned();
    let ascii = escaped.replace('é', "\\u00e9");
    let twice = [&escaped, &ascii].map(|it| it.replace('\\', "\\\\").replace('"', "\\\""));
    let mut forms = vec![secret.to_owned(), escaped, ascii, hex];
    forms.extend(twice);
    // Without the ends, which depend on what stands before and behind.
    for before in ["", "x", "xy"] {
        let text = format!("{before}{secret}");
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let encoded = engine.encode(&text);
            forms.push(encoded[4..encoded.len() - 4].to_owned());
        }
    }
    forms
}

fn assert_silent(of: &str, text: &str, admin: &str) {
    let secrets = PLANTED.iter().map(|name| (*name, canary(name)));
    for (name, secret) in secrets.chain([("admin", admin.to_owned())]) {
        for form in forms(&secret) {
            if let Some(at) = text.find(&form) {
                let begin = text.floor_char_boundary(at.saturating_sub(300));
                let end = text.ceil_char_boundary((at + form.len() + 100).min(text.len()));
                panic!("`{name}` is in {of} as {form}: …{}…", &text[begin..end]);
            }
        }
    }
}

fn config(folder: &TempDir, echo: &Echo) -> Value {
    let base = format!("http://{}", echo.address);
    let python = Python::found();
    let script = folder.path().join("leaky.py");
    fs::write(&script, LEAKY).unwrap();
    fs::write(folder.path().join("file.secret"), format!("{}\n", canary("file"))).unwrap();
    let file = format!("${{file:{}}}", folder.path().join("file.secret").display());
    let tracks = folder.path().join("tracks.yaml");
    fs::write(&tracks, "tracks: [{ title: A, file: a.ogg, moods: [calm] }]\n").unwrap();
    let web = |path: &str, more: Value| {
        let mut server = json!({"transport": "streamable-http", "url": format!("{base}{path}"),
            "protocol": "2025-11-25", "restart": {"backoff_ms": 100}});
        server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server
    };
    json!({
        "database": format!("postgres://app:{}@127.0.0.1:1/db", canary("dsn")),
        "audit": {"arguments": "redacted", "redact": ["pin_code"], "durable": "none"},
        "telemetry": {"capture": "redacted", "otlp": {"endpoint": format!("{base}/otlp"), "protocol": "http/json",
            "headers": {"x-tenant": canary("otlp")}, "spans_every_ms": 100, "metrics_every_ms": 500}},
        "builtin": {
            "web": {"search": "brave", "url": format!("{base}/search"), "api_key": canary("search")},
            "music": {"library": tracks, "webhook": format!("{base}/hook/{}?room=1", canary("webhook"))},
        },
        "servers": {
            "leaky": {"command": [python.program, "-u", script, "--api-key", "${ARGS_TOKEN}"],
                "env": {"LEAKY_VALUE": canary("env"), "LEAKY_FILE": file}, "protocol": "2025-11-25",
                "restart": {"backoff_ms": 100, "max_restarts": 100}},
            "tokened": web("/a", json!({"auth": {"token": canary("token")}})),
            "headed": web("/b", json!({"headers": {"X-Any": canary("header"), "Cookie": format!("sid={}", canary("cookie"))}})),
            "queried": web(&format!("/c?api_key={}", canary("query")), json!({})),
            "granted": web("/d", json!({"auth": {"oauth": {"client_id": "c", "client_secret": canary("client-secret"),
                "token_url": format!("{base}/token")}}})),
            "refused": web("/e", json!({"auth": {"oauth": {"client_id": "c", "client_secret": canary("client-secret"),
                "token_url": format!("{base}/bad-token")}}})),
            "absent": {"command": ["/no/such/program", "--token", "${ARGS_TOKEN}"]},
        },
        "providers": {"echo": {"kind": "openai", "base_url": format!("{base}/v1"), "api_key": canary("provider")}},
        "models": {"m": {"provider": "echo", "context_window": 128_000}},
        "keys": [{"name": "one", "key": canary("key-one"), "role": "caller", "rights": ["execute"]},
            {"name": "two", "key": canary("key-two"), "role": "caller", "rights": ["execute"]}],
    })
}

/// A request of the stateless revision that wants to hear of progress and of logs.
fn modern(method: &str, params: &Value) -> (String, Value) {
    let name =
        params["name"].as_str().map_or_else(String::new, |name| format!("\r\nmcp-name: {name}"));
    let line = format!(
        "POST /mcp HTTP/1.1\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: {method}{name}"
    );
    let mut params = params.clone();
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/logLevel": "debug",
        "progressToken": 7});
    (line, json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

/// Everything that a caller can do, well and badly.
fn call_everything(gateway: &Gateway, key: &str) -> String {
    let mut received = String::new();
    let mut ask = |line: &str, body: Value| {
        received.push_str(&gateway.send(line, key, &body.to_string()));
        received.push('\n');
    };
    let tools = [
        ("leaky_say", json!({"how": "ok"})),
        ("leaky_say", json!({"how": "tool error", "pin_code": canary("argument")})),
        ("leaky_say", json!({"how": "error", "token": key})),
        ("leaky_say", json!({"how": "garbage"})),
        ("leaky_fail", json!({"how": 5, "pin_code": canary("argument")})),
        ("tokened_say", json!({})),
        ("headed_say", json!({"how": "error page"})),
        ("queried_say", json!({"how": "error body"})),
        ("queried_say", json!({"how": "error page"})),
        ("granted_say", json!({})),
        ("granted_say", json!({"how": "error body"})),
        ("refused_say", json!({})),
        ("absent_say", json!({})),
        ("search", json!({"query": "anything"})),
        ("play_track", json!({"mood": "calm"})),
        ("leaky_say", json!({"how": "die"})),
        ("leaky_say", json!({"how": "ok"})),
    ];
    for (name, arguments) in tools {
        let call = json!({"name": name, "arguments": arguments});
        ask("POST /v1/tools/execute", call.clone());
        let function = json!({"name": name, "arguments": arguments.to_string()});
        ask(
            "POST /v1/mcp/tool/execute?format=chat",
            json!({"id": "1", "type": "function", "function": function}),
        );
        let (line, body) = modern("tools/call", &json!({"name": name, "arguments": arguments}));
        ask(&line, body);
    }
    for method in ["tools/list", "prompts/list", "resources/list", "server/discover"] {
        let (line, body) = modern(method, &json!({}));
        ask(&line, body);
    }
    for say in ["hello", "say 401", "say 403", "say 400", "say 404", "say 429", "say 500"] {
        for stream in [false, true] {
            ask(
                "POST /v1/chat/completions",
                json!({"model": "m", "stream": stream,
                "messages": [{"role": "user", "content": say}]}),
            );
        }
        ask(
            "POST /v1/messages",
            json!({"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": say}]}),
        );
    }
    ask("GET /v1/tools", json!({}));
    ask("POST /v1/tools/execute", json!({"name": key}));
    ask(&format!("GET /nowhere?x={key}"), json!({}));
    received
}

/// A log line of a server that several callers use at once is for none of them, so one who wants to hear it has to
/// call alone. The server may be starting again.
fn call_alone(gateway: &Gateway, key: &str) -> String {
    let call = json!({"name": "leaky_say", "arguments": {"how": "ok"}});
    let (line, body) = modern("tools/call", &call);
    let mut answer = String::new();
    for _ in 0..300 {
        answer = gateway.send(&line, key, &body.to_string());
        if answer.contains("notifications/message") {
            return answer;
        }
        thread::sleep(Duration::from_millis(200));
    }
    panic!("no log line: {answer}");
}

/// What an operator sees.
fn look_at_everything(gateway: &Gateway) -> String {
    let admin = gateway.admin();
    let mut seen = String::new();
    for path in [
        "/api/servers",
        "/api/servers/leaky",
        "/api/servers/queried",
        "/api/servers/absent",
        "/api/servers/leaky/logs",
        "/api/tools",
        "/api/tools/leaky/say",
        "/api/calls",
        "/api/audit?limit=1000",
        "/api/config",
        "/api/config?format=json",
        "/api/overview",
        "/api/telemetry",
        "/api/keys",
        "/api/agents",
        "/api/approvals",
        "/api/reload",
        "/api/connect",
        "/api/memory/sessions",
        "/api/memory/entities",
        "/metrics",
        "/mcp/status",
        "/healthz",
        "/readyz",
        "/api/sessions",
    ] {
        seen.push_str(&gateway.send(&format!("GET {path}"), &admin, ""));
    }
    let bad = json!({"command": ["/no/such/program", "--api-key", canary("args")], "env": {"A": canary("env")}});
    for (line, body) in [
        ("POST /mcp/test/leaky", json!({})),
        ("POST /mcp/test/refused", json!({})),
        ("POST /mcp/test/absent", json!({})),
        ("POST /api/servers/try", json!({"name": "x", "server": bad})),
        ("POST /api/reload", json!({})),
        (
            "POST /api/config/check",
            json!({"config": format!("servers: {{ a: {{ env: {{ X: [{}] }} }} }}", canary("env"))}),
        ),
    ] {
        seen.push_str(&gateway.send(line, &admin, &body.to_string()));
    }
    seen
}

#[test]
fn s_23_no_planted_secret_leaves_the_gateway_by_any_way() {
    let echo = Echo::start();
    let folder = TempDir::new().unwrap();
    let config = config(&folder, &echo);
    let mut gateway = Gateway::start(folder, &config);
    let admin = gateway.admin();
    let mut events = TcpStream::connect(&gateway.address).unwrap();
    write!(
        events,
        "GET /api/events HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {admin}\r\n\r\n",
        gateway.address
    )
    .unwrap();
    let events = thread::spawn(move || {
        let mut received = Vec::new();
        let _ = events.read_to_end(&mut received);
        whole(&received)
    });
    let keys = ["key-one", "key-two"].map(canary);
    let received = thread::scope(|scope| {
        let gateway = &gateway;
        let callers = keys.each_ref().map(|key| scope.spawn(|| call_everything(gateway, key)));
        callers.map(|caller| caller.join().unwrap())
    });
    let alone = keys.each_ref().map(|key| call_alone(&gateway, key));
    let received: Vec<String> =
        received.iter().zip(&alone).map(|(together, alone)| format!("{together}{alone}")).collect();
    for text in &received {
        assert!(text.matches("[masked:secret]").count() > 300, "servers were heard: {text}");
        for received in [
            "notifications/progress",
            "notifications/message",
            "structuredContent",
            "\"isError\":true",
            "-32000",
            "`providers.echo.api_key`",
            "Incorrect API key provided: <secret>",
        ] {
            assert!(text.contains(received), "no {received}: {text}");
        }
        assert_silent("what a caller was answered", text, &admin);
    }
    assert_silent("the admin API", &look_at_everything(&gateway), &admin);
    let place = gateway.folder.path().to_owned();
    for words in [
        &["audit", "list", "--json"][..],
        &["audit", "export"],
        &["servers", "list", "--json"],
        &["servers", "logs", "leaky"],
        &["doctor"],
    ] {
        let words = [words, &["--listen", &gateway.address]].concat();
        let run = tollgate_with(
            &place,
            &words,
            &[("ARGS_TOKEN", &canary("args")), ("PATH", "/usr/bin:/bin")],
        );
        assert_silent(&words.join(" "), &format!("{}{}", run.stdout, run.stderr), &admin);
    }
    let limits = fs::read_to_string(format!("/proc/{}/limits", gateway.process.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    gateway.stop();
    let events = events.join().unwrap();
    assert!(events.contains("event: "), "{events}");
    assert_silent("the events", &events, &admin);
    let log = gateway.log.lock().clone();
    assert!(log.lines().count() > 100, "TRACE says much");
    for line in log.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
    }
    assert_silent("the log", &log, &admin);
    let collected = String::from_utf8_lossy(&echo.collected.lock()).into_owned();
    assert!(collected.contains("gen_ai.tool.call.result"), "spans have results");
    assert!(collected.contains("resourceMetrics"), "metrics were sent");
    assert_silent("telemetry", &collected, &admin);
    let rows = fs::read(place.join(".tollgate/tollgate.db")).unwrap();
    let wal = fs::read(place.join(".tollgate/tollgate.db-wal")).unwrap_or_default();
    assert_silent("the database", &String::from_utf8_lossy(&[rows, wal].concat()), &admin);
}

/// S-22 for servers of every way to authorize, providers and collectors; servers over pipes, and tokens
/// of an issuer, are in the tests of the fronts.
#[test]
fn s_22_the_key_of_a_client_is_in_no_outgoing_byte() {
    let echo = Echo::start();
    let folder = TempDir::new().unwrap();
    let config = config(&folder, &echo);
    let mut gateway = Gateway::start(folder, &config);
    thread::scope(|scope| {
        for key in ["key-one", "key-two"].map(canary) {
            let gateway = &gateway;
            scope.spawn(move || call_everything(gateway, &key));
        }
    });
    let admin = gateway.admin();
    look_at_everything(&gateway);
    gateway.stop();
    let received = String::from_utf8_lossy(&echo.received.lock()).into_owned();
    // What is meant for them did arrive: each of these is the credential of another way.
    for name in
        ["token", "cookie", "header", "query", "access", "client-secret", "provider", "otlp"]
    {
        let secret = canary(name);
        let is_basic = received.contains(&STANDARD_NO_PAD.encode(format!("c:{secret}")));
        assert!(received.contains(&secret) || is_basic, "`{name}` was not used");
    }
    for key in [canary("key-one"), canary("key-two"), admin] {
        for form in forms(&key) {
            assert!(!received.contains(&form), "{key} was sent as {form}");
        }
    }
}

#[test]
fn s_23_no_core_is_dumped() {
    let folder = TempDir::new().unwrap();
    let mut gateway = Gateway::start(folder, &json!({}));
    let id = gateway.process.id().to_string();
    assert!(Command::new("kill").args(["-ABRT", &id]).status().unwrap().success());
    let status = gateway.process.wait().unwrap();
    assert_eq!(status.signal(), Some(6));
    assert!(!status.core_dumped());
}

#[test]
fn s_23_old_values_stay_masked_after_a_reload() {
    let echo = Echo::start();
    let folder = TempDir::new().unwrap();
    let url = format!("http://{}/a", echo.address);
    let config = |token: &str| {
        json!({"servers": {"tokened": {"transport": "streamable-http", "url": url, "protocol": "2025-11-25",
            "auth": {"token": token}}}})
    };
    let gateway = Gateway::start(folder, &config(&canary("token")));
    fs::write(
        gateway.folder.path().join("tollgate.yaml"),
        config("another-token-8842").to_string(),
    )
    .unwrap();
    let admin = gateway.admin();
    let reloaded = gateway.send("POST /api/reload", &admin, "{}");
    assert!(reloaded.starts_with("HTTP/1.1 200"), "{reloaded}");
    let is_ready = || {
        let servers = gateway.send("GET /api/servers", &admin, "");
        servers
            .split("\"id\":\"tokened\"")
            .nth(1)
            .is_some_and(|it| it.contains("\"state\":\"ready\""))
    };
    let came = (0..400).any(|_| {
        thread::sleep(Duration::from_millis(25));
        is_ready()
    });
    assert!(came, "{}", gateway.send("GET /api/servers", &admin, ""));
    for text in [canary("token"), "another-token-8842".to_owned(), canary("key-one")] {
        let call = json!({"name": "tokened_say", "arguments": {"note": text}});
        let message = gateway.send("POST /v1/tools/execute", &admin, &call.to_string());
        let is_secret = text != canary("key-one");
        assert_eq!(!message.contains(&text), is_secret, "{message}");
        assert!(!message.contains("another-token-8842"), "{message}");
    }
}

#[test]
fn s_23_the_login_link_is_for_terminals_only() {
    let folder = TempDir::new().unwrap();
    let gateway = Gateway::start(folder, &json!({}));
    let token = gateway.admin();
    let is_reported = (0..400).any(|_| {
        thread::sleep(Duration::from_millis(25));
        gateway.log.lock().contains("with the token in ")
    });
    assert!(is_reported && gateway.log.lock().contains("admin.token"), "{}", gateway.log.lock());
    assert!(!gateway.log.lock().contains(&token));
    let folder = TempDir::new().unwrap();
    let mut terminal = Terminal::start(folder.path(), &["serve"]);
    terminal.sees("tollgate is ready on http://");
    terminal.sees("/#token=tga_");
}

#[test]
fn s_23_complaints_about_a_config_show_no_secret() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tollgate.yaml");
    for (text, secrets) in [
        ("servers:\n  a:\n    command: [srv, \"--api-key\", \"CANARY\", 5: 6]\n", &["CANARY"][..]),
        (
            "servers:\n  a: { command: [srv, --api-key, CANARY-9], args: 5, colour: red }\n",
            &["CANARY-9"],
        ),
        ("servers:\n  a: { command: \"srv --token CANARY-9 x\", start: never }\n", &["CANARY-9"]),
        ("servers:\n  a:\n    command: [srv]\n    env:\n      ANY: \"CANARY\n", &["CANARY"]),
        ("servers:\n  a:\n    command: [srv]\n    env:\n      ANY: CANARY: x\n", &["CANARY"]),
        ("servers:\n  a: { command: srv, args: [--api-key, CANARY], colour: red }\n", &["CANARY"]),
        ("servers:\n  a: { url: \"https://u:CANARY-9@example.com/\" }\n", &["CANARY-9"]),
        ("servers:\n  a: { url: \"https://example.com:0/?api_key=CANARY-9\" }\n", &["CANARY-9"]),
        ("database: { url: \"postgres://u:CANARY-9@h/d\" }\n", &["CANARY-9"]),
        ("keys: [{ name: a, key: CANARY-9, role: king }]\n", &["CANARY-9"]),
        (
            "providers: { p: { kind: openai, api_key: CANARY-9, base_url: CANARY-9 } }\n",
            &["CANARY-9"],
        ),
    ] {
        fs::write(&file, text).unwrap();
        for words in [
            &["check"][..],
            &["check", "--json"],
            &["serve", "--listen", "127.0.0.1:0"],
            &["doctor"],
        ] {
            let run = tollgate(folder.path(), words);
            assert_ne!(run.code, Some(0), "{text}");
            for secret in secrets {
                let message = format!("{}{}", run.stdout, run.stderr);
                assert!(!message.contains(secret), "{words:?} of {text}: {message}");
            }
        }
    }
    fs::write(&file, "keys: [{ nme: a, key: CANARY-9 }]\n").unwrap();
    let run = tollgate_with(folder.path(), &["serve"], &[("TOLLGATE_LOG_FORMAT", "json")]);
    assert!(run.stderr.lines().count() > 0);
    for line in run.stderr.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
    }
    let run = tollgate_with(
        folder.path(),
        &["serve", "--no-such-flag"],
        &[("TOLLGATE_LOG_FORMAT", "json")],
    );
    assert_eq!(run.code, Some(2));
    assert!(serde_json::from_str::<Value>(run.stderr.trim()).is_ok(), "{}", run.stderr);
}

#[test]
fn check_names_secrets_that_cannot_be_masked() {
    let folder = TempDir::new().unwrap();
    fs::write(
        folder.path().join("tollgate.yaml"),
        "servers: { a: { command: [srv], env: { API_KEY: short, LOG_LEVEL: debug } } }\n",
    )
    .unwrap();
    let run = tollgate(folder.path(), &["check"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("`servers.a.env.API_KEY` is too short"), "{}", run.stderr);
    assert!(!run.stderr.contains("LOG_LEVEL"), "{}", run.stderr);
}
