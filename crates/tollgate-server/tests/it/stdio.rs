//! MCP over stdio.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tollgate_core::filter::RequestFilter;
use tollgate_mcp::tasks::{self, Task};
use tollgate_server::{StdioClient, serve_stdio};

use crate::client::{TIMEOUT, with_meta};
use crate::stage::{Setup, Stage};
use crate::upstream::Upstream;

pub(crate) struct Pipe {
    writer: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    serving: Task,
}

impl Pipe {
    pub(crate) fn open(stage: &Stage) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let (reader, writer) = tokio::io::split(theirs);
        let gate = std::sync::Arc::clone(&stage.gate);
        let serving = tasks::spawn("pipe", async move {
            let client = StdioClient { agent: None, narrow: RequestFilter::default() };
            serve_stdio(gate, client, reader, writer).await.unwrap();
        });
        let (reader, writer) = tokio::io::split(ours);
        Self { writer, lines: BufReader::new(reader).lines(), serving }
    }

    pub(crate) async fn say(&mut self, text: &str) {
        self.writer.write_all(text.as_bytes()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    async fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id = id.into();
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.say(&body.to_string()).await;
    }

    pub(crate) async fn modern(&mut self, id: u64, method: &str, params: Value) {
        self.request(id, method, with_meta(params)).await;
    }

    pub(crate) async fn hear(&mut self) -> Value {
        let line = tokio::time::timeout(TIMEOUT, self.lines.next_line()).await.expect("in time");
        serde_json::from_str(&line.unwrap().expect("a line")).unwrap()
    }

    /// Closes our end; everything must end.
    pub(crate) async fn end(mut self) {
        self.writer.shutdown().await.unwrap();
        let ended = tokio::time::timeout(TIMEOUT, self.serving.wait()).await;
        assert!(ended.is_ok(), "served until the pipe ended");
    }
}

fn wait(ms: u64) -> Value {
    json!({"name": "wait", "arguments": {"ms": ms}})
}

#[tokio::test]
async fn both_eras_share_one_pipe() {
    let stage = Stage::start().await;
    let mut pipe = Pipe::open(&stage);
    pipe.modern(1, "server/discover", json!({})).await;
    assert_eq!(pipe.hear().await["result"]["supportedVersions"], json!(["2026-07-28"]));
    pipe.request(2, "tools/list", json!({})).await;
    assert_eq!(pipe.hear().await["error"]["code"], -32600, "not initialized");
    pipe.request(3, "initialize", json!({"protocolVersion": "2025-06-18"})).await;
    assert_eq!(pipe.hear().await["result"]["protocolVersion"], "2025-06-18");
    pipe.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    pipe.request(4, "tools/call", json!({"name": "echo", "arguments": {"text": "a"}})).await;
    let answer = pipe.hear().await;
    assert_eq!(answer["result"]["content"], json!([{"type": "text", "text": "a"}]));
    pipe.modern(5, "tools/call", json!({"name": "echo", "arguments": {"text": "b"}})).await;
    let answer = pipe.hear().await;
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["content"][0]["text"], "b");
    pipe.request("six", "ping", json!({})).await;
    assert_eq!(pipe.hear().await, json!({"jsonrpc": "2.0", "id": "six", "result": {}}));
    pipe.request(7, "initialize", json!({"protocolVersion": "2025-06-18"})).await;
    assert_eq!(pipe.hear().await["error"]["code"], -32600, "twice");
    pipe.end().await;
}

#[tokio::test]
async fn what_is_cut_on_a_pipe_is_not_promised_behind_a_handle() {
    let stage = Stage::start().await;
    let mut pipe = Pipe::open(&stage);
    pipe.request(1, "initialize", json!({"protocolVersion": "2025-06-18"})).await;
    pipe.hear().await;
    let call = json!({"name": "echo", "arguments": {"text": "x".repeat(2_000_000)}});
    pipe.request(2, "tools/call", call.clone()).await;
    let legacy = pipe.hear().await;
    pipe.modern(3, "tools/call", call).await;
    let modern = pipe.hear().await;
    for answer in [legacy, modern] {
        let content = &answer["result"]["content"];
        assert_eq!(content[1]["text"], "[cut: text of 2000000 bytes was cut to 1048576]");
        assert!(answer["result"]["_meta"]["dev.tollgate/result"].is_null());
    }
    pipe.end().await;
}

#[tokio::test]
async fn garbage_on_the_pipe_is_answered_and_passed_over() {
    let stage = Stage::start().await;
    let mut pipe = Pipe::open(&stage);
    for (line, code) in [
        ("hello", -32700),
        ("{}", -32600),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"unheard/of"}"#, -32600),
    ] {
        pipe.say(line).await;
        assert_eq!(pipe.hear().await["error"]["code"], code, "{line}");
    }
    pipe.say(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#).await;
    pipe.say("\r").await;
    pipe.say(&"x".repeat((16 << 20) + 10)).await;
    assert_eq!(pipe.hear().await["error"]["code"], -32600, "too long");
    pipe.modern(1, "tools/call", json!({"name": "echo"})).await;
    assert_eq!(pipe.hear().await["id"], 1);
    pipe.end().await;
}

#[tokio::test]
async fn requests_run_side_by_side_and_can_be_cancelled() {
    let stage = Stage::start().await;
    let mut pipe = Pipe::open(&stage);
    pipe.modern(1, "tools/call", wait(5_000)).await;
    pipe.modern(1, "tools/call", wait(1)).await;
    assert_eq!(pipe.hear().await["error"]["code"], -32600, "b_jr_08: the id is in use");
    pipe.modern(2, "tools/call", wait(1)).await;
    assert_eq!(pipe.hear().await["id"], 2, "the quick one first");
    pipe.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    stage.reaches(&stage.seen.cancelled, 1).await;
    pipe.modern(1, "tools/call", wait(1)).await;
    assert_eq!(pipe.hear().await["result"]["content"][0]["text"], "waited", "the id is free");
    pipe.modern(3, "tools/call", wait(5_000)).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    pipe.end().await;
    stage.reaches(&stage.seen.cancelled, 2).await;
}

#[tokio::test]
async fn lines_piped_in_at_once_are_answered_before_the_end() {
    let stage = Stage::start().await;
    let mut pipe = Pipe::open(&stage);
    pipe.request(1, "initialize", json!({"protocolVersion": "2025-06-18"})).await;
    pipe.request(2, "tools/call", wait(100)).await;
    pipe.writer.shutdown().await.unwrap();
    assert_eq!(pipe.hear().await["id"], 1);
    assert_eq!(pipe.hear().await["result"]["content"][0]["text"], "waited");
    pipe.end().await;
}

#[tokio::test]
async fn a_pipe_carries_questions_and_changes() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    let mut pipe = Pipe::open(&stage);
    let capabilities = json!({"elicitation": {}});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities});
    pipe.request(1, "initialize", hello).await;
    pipe.hear().await;
    pipe.request(2, "tools/call", json!({"name": "up_ask"})).await;
    let question = pipe.hear().await;
    assert_eq!(question["method"], "elicitation/create");
    let result = json!({"action": "accept", "content": {"name": "ada"}});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
    pipe.say(&answer.to_string()).await;
    assert_eq!(pipe.hear().await["result"]["content"][0]["text"], "ada");
    up.script.wait_for_reader().await;
    up.script.grow("more");
    assert_eq!(pipe.hear().await["method"], "notifications/tools/list_changed");
    let listen = json!({"notifications": {"toolsListChanged": true}});
    pipe.modern(7, "subscriptions/listen", listen).await;
    assert_eq!(pipe.hear().await["method"], "notifications/subscriptions/acknowledged");
    pipe.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#)
        .await;
    pipe.modern(7, "server/discover", json!({})).await;
    assert_eq!(pipe.hear().await["id"], 7);
    pipe.end().await;
}
