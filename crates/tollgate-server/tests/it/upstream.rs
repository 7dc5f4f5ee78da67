//! A scripted legacy server over Streamable HTTP: says things while it works, asks questions,
//! hangs, changes its lists.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use futures_util::stream;
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, broadcast, mpsc, oneshot};
use tollgate_mcp::tasks::{self, Task};

pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    pub(crate) script: Arc<Script>,
    _serving: Task,
}

pub(crate) struct Script {
    pub(crate) calls: Mutex<Vec<String>>,
    pub(crate) cancelled: Mutex<Vec<Value>>,
    pub(crate) metas: Mutex<Vec<Value>>,
    /// Of the latest request.
    pub(crate) headers: Mutex<HeaderMap>,
    answers: Mutex<HashMap<String, oneshot::Sender<Value>>>,
    grown: Mutex<Vec<String>>,
    /// What a call of `linger` waits for.
    pub(crate) release: Semaphore,
    news: broadcast::Sender<String>,
}

impl Upstream {
    pub(crate) async fn start() -> Self {
        let script = Arc::new(Script {
            calls: Mutex::default(),
            cancelled: Mutex::default(),
            metas: Mutex::default(),
            headers: Mutex::default(),
            answers: Mutex::default(),
            grown: Mutex::default(),
            release: Semaphore::new(0),
            news: broadcast::Sender::new(64),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router =
            Router::new().route("/mcp", post(posted).get(listened)).with_state(Arc::clone(&script));
        let serving = tasks::spawn("upstream", async move {
            axum::serve(listener, router).await.unwrap();
        });
        Self { address, script, _serving: serving }
    }
}

impl Script {
    /// Adds a tool and says so.
    pub(crate) fn grow(&self, name: &str) {
        self.grown.lock().push(name.to_owned());
        self.tell("notifications/tools/list_changed", &json!({}));
    }

    /// Waits until the gateway hears what is told.
    pub(crate) async fn wait_for_reader(&self) {
        let heard = async {
            while self.news.receiver_count() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), heard).await.expect("heard in time");
    }

    /// Waits until a call is there.
    pub(crate) async fn is_called(&self) {
        let called = async {
            while self.calls.lock().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), called).await.expect("called in time");
    }

    /// Waits for the first one, for a while.
    pub(crate) async fn hears_a_cancel(&self) {
        for _ in 0..200 {
            if !self.cancelled.lock().is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the server was not told");
    }

    pub(crate) fn tell(&self, method: &str, params: &Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        let _ = self.news.send(message.to_string());
    }
}

async fn listened(State(script): State<Arc<Script>>) -> Response {
    let news = stream::unfold(script.news.subscribe(), |mut news| async move {
        let text = news.recv().await.ok()?;
        Some((event(&text), news))
    });
    ([("content-type", "text/event-stream")], Body::from_stream(news)).into_response()
}

async fn posted(State(script): State<Arc<Script>>, headers: HeaderMap, body: Bytes) -> Response {
    *script.headers.lock() = headers;
    let message: Value = serde_json::from_slice(&body).unwrap();
    let Some(method) = message["method"].as_str().map(str::to_owned) else {
        let waiting = script.answers.lock().remove(&message["id"].to_string());
        if let Some(waiting) = waiting {
            let _ = waiting.send(message["result"].clone());
        }
        return StatusCode::ACCEPTED.into_response();
    };
    if message.get("id").is_none() {
        if method == "notifications/cancelled" {
            script.cancelled.lock().push(message["params"]["requestId"].clone());
        }
        return StatusCode::ACCEPTED.into_response();
    }
    let params = message["params"].clone();
    let result = match method.as_str() {
        "initialize" => {
            let result = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": true}, "logging": {}, "completions": {},
                    "resources": {"subscribe": true, "listChanged": true}, "prompts": {}},
                "serverInfo": {"name": "scripted", "version": "1"},
            });
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            return ([("mcp-session-id", "s1")], Json(answer)).into_response();
        }
        "tools/call" => return call(script, message),
        "resources/read" if params["uri"] != "test://a" => {
            let error = json!({"code": -32002, "message": "no such resource"});
            return Json(json!({"jsonrpc": "2.0", "id": message["id"], "error": error}))
                .into_response();
        }
        _ => list_tools(&script, &method, &params),
    };
    Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
}

fn list_tools(script: &Script, method: &str, params: &Value) -> Value {
    match method {
        "tools/list" => {
            let grown = script.grown.lock().clone();
            let fixed = ["count", "log", "ask", "hang", "data"].map(str::to_owned);
            let tool = |name: String| json!({"name": name, "inputSchema": {"type": "object"}});
            json!({"tools": fixed.into_iter().chain(grown).map(tool).collect::<Vec<_>>()})
        }
        "resources/list" => {
            json!({"resources": [{"uri": "test://a", "name": "a"}]})
        }
        "resources/templates/list" => {
            json!({"resourceTemplates": [{"uriTemplate": "test://{x}", "name": "any"}]})
        }
        "prompts/list" => json!({"prompts": [{"name": "greet"}]}),
        "resources/read" => json!({"contents": [{"uri": params["uri"], "text": "hello"}]}),
        "prompts/get" => {
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]})
        }
        "completion/complete" => json!({"completion": {"values": ["x"], "hasMore": false}}),
        _ => json!({}),
    }
}

fn call(script: Arc<Script>, message: Value) -> Response {
    let params = &message["params"];
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    script.calls.lock().push(name.clone());
    script.metas.lock().push(params["_meta"].clone());
    let token = params["_meta"]["progressToken"].clone();
    let (sender, receiver) = mpsc::channel::<String>(16);
    let script_task = tasks::spawn("tool", async move {
        let say = |method: &str, params: Value| {
            let note = json!({"jsonrpc": "2.0", "method": method, "params": params});
            sender.try_send(note.to_string()).unwrap();
        };
        let mut result = json!({"content": [{"type": "text", "text": "done"}]});
        match name.as_str() {
            "count" if !token.is_null() => {
                for step in 1..=3 {
                    let progress = json!({"progressToken": token, "progress": step, "total": 3});
                    say("notifications/progress", progress);
                }
            }
            "log" => {
                say("notifications/message", json!({"level": "debug", "data": "quiet"}));
                say("notifications/message", json!({"level": "warning", "data": "loud"}));
            }
            "ask" => {
                let (answer, answered) = oneshot::channel();
                script.answers.lock().insert("\"q1\"".to_owned(), answer);
                let request = json!({"message": "who?", "requestedSchema": {"type": "object"}});
                let question = json!({"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create",
                    "params": request});
                sender.try_send(question.to_string()).unwrap();
                let answer = answered.await.unwrap_or_default();
                result["content"][0]["text"] = json!(answer["content"]["name"]);
            }
            "linger" => script.release.acquire().await.unwrap().forget(),
            "hang" => std::future::pending::<()>().await,
            "data" => {
                result["structuredContent"] = json!({"a": 1});
                result["_meta"] = json!({"vendor": true});
            }
            _ => {}
        }
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        let _ = sender.send(answer.to_string()).await;
    });
    let events = stream::unfold((receiver, script_task), |(mut receiver, task)| async move {
        let text = receiver.recv().await?;
        Some((event(&text), (receiver, task)))
    });
    ([("content-type", "text/event-stream")], Body::from_stream(events)).into_response()
}

fn event(text: &str) -> Result<String, Infallible> {
    Ok(format!("event: message\ndata: {text}\n\n"))
}
