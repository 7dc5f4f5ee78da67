//! Automatic answers to questions of servers (elicitation): accepts everything, with values that
//! the schema suggests.

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tollgate_core::json;
use tollgate_mcp::client::{Event, ServerEventSender};
use tollgate_mcp::error_code::{self, JsonRpcError};
use tollgate_mcp::tasks::{self, Task};

/// Answers until the call is over.
pub(super) fn person() -> (ServerEventSender, Task) {
    let (events, mut received) = mpsc::channel(64);
    let task = tasks::spawn("person", async move {
        while let Some(event) = received.recv().await {
            if let Event::Question(question) = event {
                let params = question.params.as_deref().map(serde_json::value::RawValue::get);
                let params = params.and_then(|text| serde_json::from_str(text).ok());
                let answer = answer(&question.method, &params.unwrap_or(Value::Null));
                let unknown =
                    || JsonRpcError::new(error_code::METHOD_NOT_FOUND, "nobody asks that");
                let answer = answer.as_ref().map(json::raw_value).ok_or_else(unknown);
                // The server may have stopped waiting.
                let _ = question.reply.send(answer);
            }
        }
    });
    (events, task)
}

fn answer(method: &str, params: &Value) -> Option<Value> {
    match method {
        "elicitation/create" => {
            let content = sample_value(&params["requestedSchema"]);
            Some(json!({"action": "accept", "content": content}))
        }
        "sampling/createMessage" => Some(json!({
            "role": "assistant",
            "content": {"type": "text", "text": "All is well."},
            "model": "none",
            "stopReason": "endTurn",
        })),
        "roots/list" => Some(json!({"roots": []})),
        _ => None,
    }
}

/// A value for every property of an object schema: its default if it has one.
pub(super) fn sample_value(schema: &Value) -> Value {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let fields = properties.iter().map(|(name, property)| (name.clone(), value(property)));
    Value::Object(fields.collect())
}

fn value(schema: &Value) -> Value {
    if let Some(default) = schema.get("default") {
        return default.clone();
    }
    let first = schema["enum"].get(0).or_else(|| schema["oneOf"].get(0)?.get("const"));
    if let Some(first) = first {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => sample_value(schema),
        _ => json!("text"),
    }
}
