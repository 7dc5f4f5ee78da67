//! Request fields that a response repeats. They are always the client's own: a provider would
//! repeat the agent's prompt and the gateway's tools.

use serde_json::{Map, Value, json};

use super::{DIALECT, request_writer, tool};
use crate::conversation::{ChatRequest, ParallelCalls};

/// Fields that override those of the provider.
pub(super) fn certain(request: &ChatRequest) -> Map<String, Value> {
    let (instructions, _) = request_writer::instructions(&request.messages);
    let tools: Vec<Value> = request.tools.iter().filter_map(|it| tool::write(it).ok()).collect();
    let choice = tool::write_choice(&request.tool_choice).ok().flatten();
    let mut text = extra_field(request, "text").unwrap_or_else(|| json!({}));
    if let Some(output) = &request.options.output {
        text["format"] = request_writer::output_json(output);
    } else if text.get("format").is_none() {
        text["format"] = json!({"type": "text"});
    }
    Map::from_iter([
        ("instructions".to_owned(), instructions.into()),
        ("tools".to_owned(), tools.into()),
        ("tool_choice".to_owned(), choice.unwrap_or_else(|| "auto".into())),
        // Kept by the gateway, whatever the provider does.
        ("store".to_owned(), request.options.store.unwrap_or(true).into()),
        // With tools given as a schema, the provider would repeat that schema here.
        ("text".to_owned(), text),
    ])
}

/// Fields that are written if the provider sends none.
pub(super) fn otherwise(request: &ChatRequest, body: &mut Map<String, Value>) {
    let options = &request.options;
    let field = |key: &str| extra_field(request, key);
    let mut reasoning = field("reasoning").unwrap_or_else(|| json!({"summary": null}));
    reasoning["effort"] = options.effort.clone().into();
    let parallel = options.parallel_calls != Some(ParallelCalls::Forbidden);
    let fields = [
        ("background", field("background").unwrap_or_else(|| false.into())),
        ("max_output_tokens", options.max_output.into()),
        ("metadata", field("metadata").unwrap_or_else(|| json!({}))),
        ("parallel_tool_calls", parallel.into()),
        ("previous_response_id", field("previous_response_id").unwrap_or_default()),
        ("reasoning", reasoning),
        ("service_tier", field("service_tier").unwrap_or_else(|| "default".into())),
        ("temperature", options.temperature.clone().map_or(Value::Null, Value::Number)),
        ("top_p", options.top_p.clone().map_or(Value::Null, Value::Number)),
        ("truncation", field("truncation").unwrap_or_else(|| "disabled".into())),
        ("user", options.user.clone().into()),
    ];
    for (key, value) in fields {
        if !body.contains_key(key) {
            body.insert(key.to_owned(), value);
        }
    }
}

fn extra_field(request: &ChatRequest, key: &str) -> Option<Value> {
    request.extra.get(DIALECT, key).cloned()
}
