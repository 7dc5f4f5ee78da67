//! Client and provider of the same dialect: request and stream are passed through.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tollgate_llm::settings::{LlmSettings, ProviderKind};
use tollgate_mcp::tasks;

use crate::chat::agent;
use crate::model::Model;
use crate::stage::{Setup, Stage};

/// A provider that gives the same answer to everybody.
struct Canned {
    address: SocketAddr,
    /// Heads and bodies.
    requests: Arc<Mutex<Vec<String>>>,
    _serving: tasks::Task,
}

impl Canned {
    async fn start(kind: &'static str, body: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        let serving = tasks::spawn("canned", async move {
            loop {
                let Ok((mut stream, _)) = listener.accept().await else { continue };
                let mut bytes = Vec::new();
                while !is_whole(&bytes) && stream.read_buf(&mut bytes).await.unwrap() > 0 {}
                heard.lock().push(String::from_utf8(bytes).unwrap());
                let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n\r\n");
                let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
            }
        });
        Self { address, requests: asked, _serving: serving }
    }

    /// The model `m` at this provider.
    async fn stage(&self, kind: ProviderKind) -> Stage {
        let model = Model::calling(&[]).await;
        let LlmSettings { mut providers, models } = model.settings();
        providers[0].kind = kind;
        providers[0].base_url = Some(format!("http://{}", self.address));
        let models = LlmSettings { providers, models };
        Stage::with(Setup { models, agents: vec![agent(&[])], ..Setup::default() }).await
    }
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.and_then(|length| length.parse().ok()) == Some(body.len())
}

fn gemini_events() -> String {
    let event = |text: &str, more: Value| {
        let mut candidate = json!({"content": {"parts": [{"text": text}], "role": "model"}});
        candidate.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let usage = json!({"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2});
        let event = json!({"candidates": [candidate], "usageMetadata": usage,
            "modelVersion": "x", "responseId": "r"});
        format!("data: {event}\r\n\r\n")
    };
    event("hel", json!({})) + &event("lo", json!({"finishReason": "STOP"}))
}

#[tokio::test]
async fn a_client_who_wants_a_list_gets_one_from_a_provider_of_events() {
    let canned = Canned::start("text/event-stream", gemini_events()).await;
    let stage = canned.stage(ProviderKind::Gemini).await;
    let body = json!({"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}).to_string();
    let path = "/v1beta/models/m:streamGenerateContent";
    let reply = stage.post(body.clone()).path(path).send().await;
    assert_eq!(reply.header("content-type").as_deref(), Some("application/json"));
    let pieces = reply.json();
    let texts = pieces.as_array().unwrap().iter();
    let text: String = texts
        .filter_map(|it| it["candidates"][0]["content"]["parts"][0]["text"].as_str())
        .collect();
    assert_eq!(text, "hello");
    let reply = stage.post(body).path(&format!("{path}?alt=sse")).send().await;
    assert_eq!(reply.text, gemini_events(), "bytes as they came");
    assert!(canned.requests.lock()[0].contains(":streamGenerateContent?alt=sse"));
}

#[tokio::test]
async fn features_that_a_client_asks_for_reach_the_provider_also_through_an_agent() {
    let answer = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "x",
        "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn",
        "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}});
    let canned = Canned::start("application/json", answer.to_string()).await;
    let stage = canned.stage(ProviderKind::Anthropic).await;
    for model in ["m", "sage"] {
        let body = json!({"model": model, "max_tokens": 9,
            "messages": [{"role": "user", "content": "hello"}]});
        let call = stage.post(body.to_string()).path("/v1/messages");
        let reply = call.header("anthropic-beta", "new-thing-2026").send().await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert_eq!(reply.header("x-tollgate-lost"), None);
    }
    for asked in canned.requests.lock().iter() {
        assert!(asked.contains("\r\nanthropic-beta: new-thing-2026\r\n"), "{asked}");
        assert_eq!(asked.matches("new-thing").count(), 1, "{asked}");
    }
}
