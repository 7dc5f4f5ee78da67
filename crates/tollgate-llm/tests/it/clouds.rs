//! Requests to models in clouds, and what the tests of several clouds need.

use serde_json::{Value, json};
use tollgate_llm::conversation::ChatRequest;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::format::{self, RequestUrlParams};
use tollgate_llm::provider::{AskError, ModelRegistry};
use tollgate_llm::settings::{LlmSettings, ProviderSettings};

use crate::stage::{clock, model, read_stream};

pub(crate) fn one_provider(provider: ProviderSettings) -> LlmSettings {
    LlmSettings { providers: vec![provider], models: vec![model("m")] }
}

/// Text of the whole answer.
pub(crate) async fn ask(settings: &LlmSettings, request: &ChatRequest) -> Result<String, AskError> {
    let models = ModelRegistry::new(settings, clock(), None).unwrap();
    Ok(models.find("m").unwrap().ask(request).await?.text())
}

/// Text of the streamed answer.
pub(crate) async fn stream(
    settings: &LlmSettings,
    request: &ChatRequest,
) -> Result<String, AskError> {
    let models = ModelRegistry::new(settings, clock(), None).unwrap();
    let stream = models.find("m").unwrap().stream(request).await?;
    Ok(read_stream(stream).await.unwrap().text())
}

/// The second request of a tool loop: a call was made, and has a result.
pub(crate) fn after_a_call() -> ChatRequest {
    let body = json!({
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather in Ulm?"},
            {"role": "assistant", "content": null, "tool_calls": [{
                "id": "call_1", "type": "function",
                "function": {"name": "weather", "arguments": "{\"city\":\"Ulm\"}"},
            }]},
            {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
        ],
        "tools": [{"type": "function", "function": {
            "name": "weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        }}],
        "max_tokens": 64,
    });
    let openai = format::of(Dialect::OpenAiChat);
    openai.read_request(body, &RequestUrlParams::default()).unwrap()
}

/// Whether Claude gets a version of this cloud and no model; and the last text of the user.
pub(crate) fn check_claude(body: &Value, version: &str) -> Result<String, &'static str> {
    if body.get("model").is_some() {
        return Err("model: Extra inputs are not permitted");
    }
    if body["anthropic_version"] != version {
        return Err("anthropic_version: Field required");
    }
    if !body["max_tokens"].is_u64() {
        return Err("max_tokens: Field required");
    }
    Ok(last_text(&body["messages"]))
}

/// The last text in messages, however deep.
pub(crate) fn last_text(messages: &Value) -> String {
    match messages {
        Value::Array(list) => list.iter().map(last_text).rfind(|it| !it.is_empty()),
        Value::Object(fields) => match fields.get("text").and_then(Value::as_str) {
            Some(text) => Some(text.to_owned()),
            None => ["content", "parts"].iter().find_map(|key| match fields.get(*key)? {
                Value::String(text) => Some(text.clone()),
                inner => Some(last_text(inner)),
            }),
        },
        _ => None,
    }
    .unwrap_or_default()
}

/// The events of Claude's answer `echo: TEXT`.
pub(crate) fn claude_events(text: &str) -> Vec<Value> {
    vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
            "role": "assistant", "model": "m-id", "content": [], "stop_reason": null,
            "stop_sequence": null, "usage": {"input_tokens": 9, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": "echo: "}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
            "usage": {"output_tokens": 3}}),
        json!({"type": "message_stop",
            "amazon-bedrock-invocationMetrics": {"inputTokenCount": 9, "outputTokenCount": 3}}),
    ]
}

pub(crate) fn claude_answer(text: &str) -> String {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m-id",
        "content": [{"type": "text", "text": format!("echo: {text}")}], "stop_reason": "end_turn",
        "stop_sequence": null, "usage": {"input_tokens": 9, "output_tokens": 3}})
    .to_string()
}
