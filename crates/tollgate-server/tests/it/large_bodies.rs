//! P21, R-35: bodies that are large, or that expand when parsed. Each costs only its sender.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tollgate_core::json::JsonBounds;
use tollgate_server::{Limits, MemoryGauge, MemoryLimit, PollWatch, Right, Rights};

use crate::client::Call;
use crate::model::Model;
use crate::stage::{Setup, Stage, key};

/// No poll of a worker may take longer (R-35).
const MAX_POLL: Duration = Duration::from_millis(20);

fn execute(stage: &Stage, arguments: &str) -> Call {
    let body = format!("{{\"name\":\"echo\",\"arguments\":{arguments}}}");
    stage.post(body).path("/v1/tools/execute")
}

fn small(stage: &Stage) -> Call {
    execute(stage, r#"{"text":"hello"}"#)
}

fn assert_short_polls(watch: &PollWatch, what: &str) {
    let longest = watch.longest();
    assert!(longest < MAX_POLL, "{what}: a poll took {longest:?}");
    watch.reset();
}

#[tokio::test]
async fn r_35_large_bodies_leave_the_workers() {
    let model = Model::calling(&[]).await;
    let stage = Stage::with(Setup { models: model.settings(), ..Setup::default() }).await;
    let watch = stage.front.watch_polls();
    let text = "x".repeat(3 << 20);
    let arguments = json!({"text": text, "n": vec![0; 50_000]}).to_string();
    for _ in 0..3 {
        assert_eq!(small(&stage).send().await.status, 200);
    }
    assert_short_polls(&watch, "small calls");

    let many = join_all((0..4).map(|_| execute(&stage, &arguments).send()));
    assert!(many.await.iter().all(|reply| reply.status == 200));
    assert_short_polls(&watch, "/v1/tools/execute");

    let params = json!({"name": "echo", "arguments": {"text": text}});
    assert_eq!(stage.modern("tools/call", params.clone()).brief().await, "200 ok");
    assert_short_polls(&watch, "/mcp, modern");
    let session = stage.open_session("2025-11-25", json!({})).await;
    assert_eq!(session.call(1, "tools/call", &params).brief().await, "200 ok");
    assert_short_polls(&watch, "/mcp, legacy");

    let call = |at: usize| {
        json!({"id": format!("c{at}"), "type": "function",
        "function": {"name": "echo", "arguments": json!({"text": &text[..900_000]}).to_string()}})
    };
    let calls: Vec<_> = (0..3).map(call).collect();
    let reply = stage.post(json!(calls).to_string()).path("/v1/mcp/tool/execute").send().await;
    assert_eq!(reply.status, 200, "{reply:.300?}");
    assert_short_polls(&watch, "/v1/mcp/tool/execute");

    let messages: Vec<_> =
        (0..30).map(|_| json!({"role": "user", "content": &text[..100_000]})).collect();
    let body = json!({"model": "m", "messages": messages}).to_string();
    for path in ["/v1/chat/completions", "/v1/messages"] {
        let reply = stage.post(body.clone()).path(path).send().await;
        assert!([200, 400].contains(&reply.status), "{path}: {reply:.300?}");
        assert_short_polls(&watch, path);
    }
}

#[tokio::test]
async fn p_21_more_values_than_allowed_are_refused_in_the_words_of_each_api() {
    let limits = Limits { json: JsonBounds { values: 1_000, depth: 16 }, ..Limits::default() };
    let stage = Stage::with(Setup { limits, ..Setup::default() }).await;
    let many = format!("[{}0]", "{\"a\":0},".repeat(600));
    let deep = format!("{}1{}", "[".repeat(20), "]".repeat(20));
    for (path, member) in [
        ("/v1/tools/execute", "arguments"),
        ("/mcp", "params"),
        ("/v1/mcp/tool/execute", "function"),
        ("/v1/chat/completions", "messages"),
        ("/v1/responses", "input"),
        ("/v1/messages", "messages"),
        ("/v1beta/models/m:generateContent", "contents"),
        ("/v1/code", "source"),
        ("/api/keys", "name"),
    ] {
        let send = async |value: &str| {
            let body = format!("{{\"{member}\":{value}}}");
            stage.post(body).path(path).by_admin().send().await
        };
        let reply = send(&many).await;
        assert_eq!(reply.status, 413, "{path}: {reply:?}");
        let words = "the JSON has more than 1000 values (`limits.json_values`)";
        assert!(reply.text.contains(words), "{path}: {}", reply.text);
        let reply = send(&deep).await;
        assert_eq!(reply.status, 400, "{path}: {reply:?}");
        let words = "the JSON is nested deeper than 16 levels (`limits.json_depth`)";
        assert!(reply.text.contains(words), "{path}: {}", reply.text);
        let error = reply.json();
        let shape = match path {
            "/mcp" => &error["error"]["code"],
            "/v1/messages" => &error["error"]["type"],
            "/v1beta/models/m:generateContent" => &error["error"]["status"],
            "/api/keys" => &error["code"],
            _ => &error["error"]["code"],
        };
        assert!(!shape.is_null(), "{path}: {error}");
    }
    assert_eq!(small(&stage).send().await.status, 200);
}

#[tokio::test]
async fn p_21_arguments_of_too_many_values_are_not_checked() {
    let stage = Stage::start().await;
    let many = format!("{{\"text\":[{}0]}}", "{\"a\":0},".repeat(50_000));
    let reply = execute(&stage, &many).send().await;
    assert_eq!(reply.status, 400, "{reply:.300?}");
    assert!(reply.text.contains("`limits.argument_values`"), "{}", reply.text);
    assert_eq!(stage.calls(), 0);
    let fewer = format!("{{\"text\":[{}0]}}", "{\"a\":0},".repeat(49_000));
    let reply = execute(&stage, &fewer).send().await;
    assert_eq!(reply.json()["status"], "invalid_arguments", "{reply:.300?}");
}

/// Never says how much is in use: only the limit counts.
struct Unknown;

impl MemoryGauge for Unknown {
    fn resident_bytes(&self) -> Option<u64> {
        None
    }
}

/// Room for bodies, and what one key may have of it.
const ROOM: usize = 4 << 20;
const SHARE: usize = ROOM / 2;
/// Fits once into a share, and not twice.
const LARGE: usize = SHARE / 4 * 3;

async fn tight(keys: &[&str]) -> Stage {
    let memory = MemoryLimit::with_gauge(8 * ROOM as u64, Arc::new(Unknown));
    let limits = Limits { memory, ..Limits::default() };
    let rights: Rights = [Right::Execute].into_iter().collect();
    let key = |name: &&str| key(name, &format!("{name}-0123456789abcdef"), rights);
    let keys = keys.iter().map(key).collect();
    Stage::with(Setup { limits, keys, ..Setup::default() }).await
}

fn by(name: &str, call: Call) -> Call {
    call.header("x-api-key", &format!("{name}-0123456789abcdef"))
}

/// A request of so many bytes that has only just begun.
async fn begin(stage: &Stage, name: &str, bytes: usize) -> TcpStream {
    let head = format!(
        "POST /v1/tools/execute HTTP/1.1\r\nhost: {}\r\nx-api-key: {name}-0123456789abcdef\r\n\
         content-type: application/json\r\ncontent-length: {bytes}\r\n\r\n{{",
        stage.address
    );
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn p_21_bodies_share_a_budget_and_small_ones_and_other_keys_do_not_starve() {
    let stage = tight(&["greedy", "modest"]).await;
    let large = format!("{{\"text\":\"{}\"}}", "x".repeat(LARGE));
    let held = begin(&stage, "greedy", LARGE).await;
    // Until it holds its room, a second one of the key would get in.
    let refused = loop {
        let reply = by("greedy", execute(&stage, &large)).send().await;
        if reply.status != 200 {
            break reply;
        }
    };
    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(refused.json()["error"]["code"], "no_room_for_body");
    assert!(refused.header("retry-after").is_some());
    for name in ["greedy", "modest"] {
        assert_eq!(by(name, small(&stage)).send().await.status, 200, "{name}: small");
    }
    assert_eq!(by("modest", execute(&stage, &large)).send().await.status, 200, "another key");
    drop(held);
    let again = tokio::time::timeout(Duration::from_secs(30), async {
        while by("greedy", execute(&stage, &large)).send().await.status != 200 {}
    });
    again.await.expect("room is given back when a request is gone");
    let huge = format!("{{\"text\":\"{}\"}}", "x".repeat(SHARE));
    let refused = by("modest", execute(&stage, &huge)).send().await;
    assert_eq!(refused.status, 413, "{refused:?}");
    assert!(refused.text.contains("`limits.memory_mb`"), "{}", refused.text);
}

#[tokio::test]
async fn p_21_a_body_that_does_not_say_its_size_reserves_as_it_grows() {
    let stage = tight(&["greedy"]).await;
    let held = begin(&stage, "greedy", LARGE).await;
    let head = format!(
        "POST /v1/tools/execute HTTP/1.1\r\nhost: {}\r\nx-api-key: greedy-0123456789abcdef\r\n\
         content-type: application/json\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        stage.address
    );
    let send = async |bytes: usize| {
        let text = format!(r#"{{"name":"echo","arguments":{{"text":"{}"}}}}"#, "x".repeat(bytes));
        let mut stream = TcpStream::connect(stage.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        for piece in text.as_bytes().chunks(100_000) {
            let size = format!("{:x}\r\n", piece.len());
            let _ = stream.write_all(&[size.as_bytes(), piece, b"\r\n"].concat()).await;
        }
        let _ = stream.write_all(b"0\r\n\r\n").await;
        let mut answer = Vec::new();
        let end = stream.read_to_end(&mut answer);
        tokio::time::timeout(Duration::from_secs(60), end).await.expect("an answer").ok();
        String::from_utf8_lossy(&answer).chars().take(12).collect::<String>()
    };
    assert_eq!(send(10_000).await, "HTTP/1.1 200");
    let answered = loop {
        let answered = send(LARGE).await;
        if answered != "HTTP/1.1 200" {
            break answered;
        }
    };
    assert_eq!(answered, "HTTP/1.1 503");
    drop(held);
    let again = tokio::time::timeout(Duration::from_secs(60), async {
        while send(LARGE).await != "HTTP/1.1 200" {}
    });
    again.await.expect("room is given back");
}
