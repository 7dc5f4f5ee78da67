//! The scripted model: a provider that gets the real requests of the agent loop, counts what a
//! provider would count, and has a script say what comes next. One conversation at a time.

use std::sync::Arc;

use http::{Request as HttpRequest, StatusCode};
use hyper::body::Incoming;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tollgate_llm::conversation::ChatRequest;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::format::{self, RequestUrlParams};
use tollgate_llm::tokens::{self, CountPrecision};

use super::tool_visibility;
use super::visible_context::VisibleContext;
use crate::serve::{self, BenchHandler, BenchResponse};

/// What a model does next, from what it was shown.
pub(super) trait ModelScript: Send {
    fn next(&mut self, seen: &VisibleContext) -> ScriptMove;
}

pub(super) enum ScriptMove {
    /// All at once.
    Call(Vec<ScriptedCall>),
    Say(String),
}

/// A call that the model asks for.
pub(super) struct ScriptedCall {
    pub(super) tool: String,
    pub(super) arguments: Value,
}

/// What a conversation came to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TokenTally {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) rounds: u32,
}

/// The conversation that is held.
pub(super) struct ScriptedConversation {
    pub(super) script: Box<dyn ModelScript>,
    pub(super) tally: TokenTally,
    /// What the script used without having been shown it: then its figures are worth nothing.
    pub(super) cheated: Option<String>,
}

/// Set for each conversation by whoever starts it.
pub(super) type CurrentConversation = Arc<Mutex<Option<ScriptedConversation>>>;

pub(super) struct ScriptedModel(pub(super) CurrentConversation);

impl BenchHandler for ScriptedModel {
    async fn handle(&self, request: HttpRequest<Incoming>) -> BenchResponse {
        let Ok(body) = serve::body_of(request).await else {
            return serve::empty(StatusCode::BAD_REQUEST);
        };
        let asked = serde_json::from_slice(&body).ok();
        let format = format::of(Dialect::OpenAiChat);
        let asked = asked.and_then(|it| format.read_request(it, &RequestUrlParams::default()).ok());
        let (Some(asked), Some(sitting)) = (asked, &mut *self.0.lock()) else {
            return serve::empty(StatusCode::BAD_REQUEST);
        };
        serve::json(sitting.answer(&asked).to_string().into())
    }
}

impl ScriptedConversation {
    fn answer(&mut self, request: &ChatRequest) -> Value {
        let exact = CountPrecision::Exact;
        let (system, others) = tokens::conversation(request, exact);
        let around = tokens::around_tools(request.tools.len(), Dialect::OpenAiChat);
        self.tally.input += system + others + tokens::tools(&request.tools, exact) + around;
        self.tally.rounds += 1;
        let seen = VisibleContext::of(request);
        match self.script.next(&seen) {
            ScriptMove::Say(text) => {
                self.tally.output += tokens::text(&text, exact);
                completion(&json!({ "role": "assistant", "content": text }), "stop")
            }
            ScriptMove::Call(requested) => {
                let round = self.tally.rounds;
                let call = |(at, it): (usize, &ScriptedCall)| {
                    json!({
                        "id": format!("call_{round}_{at}"),
                        "type": "function",
                        "function": { "name": it.tool, "arguments": it.arguments.to_string() },
                    })
                };
                let calls: Vec<Value> = requested.iter().enumerate().map(call).collect();
                for ScriptedCall { tool, arguments } in &requested {
                    if let Some(code) = arguments["code"].as_str() {
                        self.cheated = self
                            .cheated
                            .take()
                            .or_else(|| tool_visibility::first_unshown_tool(code, &seen));
                    }
                    self.tally.output += tokens::text(tool, exact);
                    self.tally.output += tokens::text(&arguments.to_string(), exact);
                }
                let message = json!({ "role": "assistant", "content": null, "tool_calls": calls });
                completion(&message, "tool_calls")
            }
        }
    }
}

fn completion(message: &Value, reason: &str) -> Value {
    json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_741_570_283,
        "model": "scripted",
        "choices": [{ "index": 0, "message": message, "finish_reason": reason }],
    })
}
