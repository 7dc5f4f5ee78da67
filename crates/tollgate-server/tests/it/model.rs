//! A scripted model at a provider that speaks OpenAI's chat API.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tollgate_core::secret::Secret;
use tollgate_llm::settings::{
    self, LlmSettings, ProviderApi, ProviderKind, ProviderSettings, ProviderTimeouts, ToolMode,
};
use tollgate_mcp::tasks;

/// What it says to a request: words, `!name {json}` for a call, one on each line; `~300` on the
/// first one keeps it waiting for so many milliseconds; `#too long` is a refusal for the window.
type Script = Box<dyn Fn(&Value) -> String + Send + Sync>;

pub(crate) struct Model {
    pub(crate) address: SocketAddr,
    /// Bodies, in the order in which they came.
    pub(crate) requests: Arc<Mutex<Vec<Value>>>,
    /// Headers, beside them.
    pub(crate) headers: Arc<Mutex<Vec<HeaderMap>>>,
    _serving: tasks::Task,
}

#[derive(Clone)]
struct ReceivedRequests {
    bodies: Arc<Mutex<Vec<Value>>>,
    headers: Arc<Mutex<Vec<HeaderMap>>>,
}

impl Model {
    pub(crate) async fn saying(script: impl Fn(&Value) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let script: Arc<Script> = Arc::new(Box::new(script));
        let headers = Arc::new(Mutex::new(Vec::new()));
        let heard =
            ReceivedRequests { bodies: Arc::clone(&requests), headers: Arc::clone(&headers) };
        let serving = tasks::spawn("model", async move {
            let mut connections = JoinSet::new();
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let script = Arc::clone(&script);
                let heard = heard.clone();
                let service = service_fn(move |request| {
                    let script = Arc::clone(&script);
                    let heard = heard.clone();
                    async move { Ok::<_, Infallible>(answer(request, &script, &heard).await) }
                });
                let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                connections.spawn(async move {
                    let _ = serving.await;
                });
            }
        });
        Self { address, requests, headers, _serving: serving }
    }

    /// Calls the tools of `rounds`, one entry a round, then says what the last result was.
    pub(crate) async fn calling(rounds: &'static [&'static str]) -> Self {
        Self::saying(|request| {
            let messages = request["messages"].as_array().unwrap();
            let round = messages.iter().filter(|it| it["role"] == "assistant").count();
            match rounds.get(round) {
                Some(calls) => (*calls).to_owned(),
                None => format!("it said: {}", messages.last().unwrap()["content"]),
            }
        })
        .await
    }

    /// A config with it as the model `m`, and once more as `fast`.
    pub(crate) fn settings(&self) -> LlmSettings {
        let provider = ProviderSettings {
            name: "p".to_owned(),
            kind: ProviderKind::OpenAi,
            base_url: Some(format!("http://{}/v1", self.address)),
            api_key: Some(Secret::new("providers-own-key")),
            cloud: None,
            endpoints: Vec::new(),
            headers: Vec::new(),
            patience: ProviderTimeouts::default(),
            concurrent: ProviderSettings::DEFAULT_CONCURRENCY,
            retries: 0,
        };
        let model = settings::ModelSettings {
            name: "m".to_owned(),
            id: "model-at-home".to_owned(),
            provider: Some("p".to_owned()),
            context_window: 128_000,
            max_output: 4_096,
            tool_mode: ToolMode::Native,
            api: ProviderApi::Chat,
            store: false,
            behaves_like: None,
            pool: settings::PoolSettings::default(),
        };
        let name = "fast".to_owned();
        let id = "fast-at-home".to_owned();
        let fast = settings::ModelSettings { name, id, ..model.clone() };
        LlmSettings { providers: vec![provider], models: vec![model, fast] }
    }
}

async fn answer(
    request: Request<Incoming>,
    script: &Script,
    heard: &ReceivedRequests,
) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    // A form is none.
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    heard.bodies.lock().push(asked.clone());
    heard.headers.lock().push(head.headers.clone());
    let message = script(&asked);
    let message = match message.strip_prefix('~').and_then(|message| message.split_once('\n')) {
        Some((wait, message)) => {
            tokio::time::sleep(Duration::from_millis(wait.parse().unwrap())).await;
            message.to_owned()
        }
        None => message,
    };
    if let Some(text) = refusal_or_vectors(head.uri.path(), &asked, &message) {
        let status = if message == TOO_LONG { 400 } else { 200 };
        let response =
            Response::builder().status(status).header("content-type", "application/json");
        return response.body(Full::from(text.to_string())).unwrap();
    }
    let is_streamed = asked["stream"] == true;
    let number = heard.bodies.lock().len() - 1;
    let (media, text) = if is_streamed {
        ("text/event-stream", stream_of(&message, number))
    } else {
        ("application/json", whole(&message, number))
    };
    Response::builder().header("content-type", media).body(Full::from(text)).unwrap()
}

pub(crate) const TOO_LONG: &str = "#too long";

/// What is no answer of a chat.
fn refusal_or_vectors(path: &str, asked: &Value, message: &str) -> Option<Value> {
    if message == TOO_LONG {
        let error = json!({"message": "This model's maximum context length is 900 tokens.",
                           "type": "invalid_request_error", "param": "messages",
                           "code": "context_length_exceeded"});
        return Some(json!({ "error": error }));
    }
    if !path.ends_with("/embeddings") {
        return None;
    }
    let texts = asked["input"].as_array().map_or(1, Vec::len);
    let vectors: Vec<Value> = (0..texts)
        .map(|index| json!({"object": "embedding", "index": index, "embedding": [0.6, 0.8]}))
        .collect();
    Some(json!({"object": "list", "data": vectors, "model": asked["model"],
                "usage": {"prompt_tokens": 10, "total_tokens": 10}}))
}

fn parts(text: &str, number: usize) -> (Option<String>, Vec<Value>) {
    let calls = text.lines().filter_map(|line| line.strip_prefix('!')).enumerate();
    let calls = calls.map(|(at, line)| {
        let (name, arguments) = line.split_once(' ').unwrap_or((line, "{}"));
        json!({"index": at, "id": format!("c{number}_{at}"), "type": "function",
               "function": {"name": name, "arguments": arguments}})
    });
    let words: Vec<&str> = text.lines().filter(|line| !line.starts_with('!')).collect();
    ((!words.is_empty()).then(|| words.join("\n")), calls.collect())
}

fn finish(calls: &[Value]) -> &'static str {
    if calls.is_empty() { "stop" } else { "tool_calls" }
}

const USAGE: &str = r#"{"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}"#;

fn whole(text: &str, number: usize) -> String {
    let (content, mut calls) = parts(text, number);
    for call in &mut calls {
        call.as_object_mut().unwrap().remove("index");
    }
    let mut message = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        message["tool_calls"] = calls.clone().into();
    }
    let usage: Value = serde_json::from_str(USAGE).unwrap();
    json!({"id": format!("r{number}"), "object": "chat.completion", "created": 7, "model": "model-at-home",
           "choices": [{"index": 0, "message": message, "finish_reason": finish(&calls)}],
           "usage": usage})
    .to_string()
}

fn stream_of(message: &str, number: usize) -> String {
    let (content, calls) = parts(message, number);
    let chunk = |delta: Value, finish: Value| {
        json!({"id": format!("r{number}"), "object": "chat.completion.chunk", "created": 7,
               "model": "model-at-home",
               "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let mut chunks = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    for word in content.iter().flat_map(|text| text.split_inclusive(' ')) {
        chunks.push(chunk(json!({ "content": word }), Value::Null));
    }
    for call in &calls {
        chunks.push(chunk(json!({ "tool_calls": [call] }), Value::Null));
    }
    chunks.push(chunk(json!({}), finish(&calls).into()));
    let usage: Value = serde_json::from_str(USAGE).unwrap();
    chunks.push(json!({"id": "r", "object": "chat.completion.chunk", "created": 7,
                       "model": "model-at-home", "choices": [], "usage": usage}));
    let mut out: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    out.push_str("data: [DONE]\n\n");
    out
}
