//! Whole answers, both ways. One choice is neutral; further ones, and all that is not known, stay
//! behind as a skeleton of the answer in its extra fields, and come back into the same places.

use serde_json::{Map, Value, json};

use super::message::THOUGHTS_SIGNATURE_KEY;
use super::request::LEGACY_FUNCTIONS_KEY;
use super::{DIALECT, history, message, part, report_json, tool, usage};
use crate::conversation::{
    ChatRequest, ChatResponse, MediaKind, MessagePart, PartContent, StopReason, TokenUsage,
};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format::MalformedResponseError;
use crate::format::fields::FieldReader;
use crate::gateway_report::GatewayReport;

pub(super) fn read(body: Value) -> Result<ChatResponse, MalformedResponseError> {
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        let message = error["message"].as_str().or(error.as_str()).unwrap_or("no reason is given");
        return Err(MalformedResponseError(format!("it is an error: {message}")));
    }
    Ok(read_body(body)?)
}

fn read_body(body: Value) -> Result<ChatResponse, LlmError> {
    let mut fields = FieldReader::new(body, "")?;
    let id = fields.text("id")?.unwrap_or_default();
    let model = fields.text("model")?.unwrap_or_default();
    let created = fields.take("created").and_then(|at| at.as_u64()).unwrap_or(0);
    fields.take("object");
    let usage = fields.peek("usage").map_or_else(TokenUsage::default, usage::read);
    let mut choices = fields.list("choices")?.unwrap_or_default();
    if choices.is_empty() {
        return Err(fields.missing("choices"));
    }
    let mut choice = FieldReader::new(choices.remove(0), "choices[0]")?;
    choice.take("index");
    let reason = choice.text("finish_reason")?;
    let mut said = choice.object("message")?.ok_or_else(|| choice.missing("message"))?;
    said.take("role");
    let mut parts = message::read_assistant(&mut said)?;
    said.take("content");
    for part in &mut parts {
        if let PartContent::Opaque { value, .. } = &part.content
            && let Some(text) = part::thought(value)
        {
            part.content = PartContent::Thinking { text, signature: None };
            part.extra = message::with_spelling(message::CONTENT_KEY);
        }
    }
    parts.extend(read_images(&mut said)?);
    choice.put_back("message", said);
    choices.insert(0, choice.into_value());
    fields.put("choices", choices);
    let stop = read_stop(reason.as_deref(), plain_stop(&parts));
    let extra = fields.rest(DIALECT);
    Ok(ChatResponse { id, model, created, parts, stop, usage, extra })
}

/// Pictures that a model makes; OpenAI has no place for them, OpenRouter has this one.
pub(super) fn read_images(said: &mut FieldReader) -> Result<Vec<MessagePart>, LlmError> {
    let at = said.place("images");
    said.take("images").map_or_else(|| Ok(Vec::new()), |images| part::read_all(images, &at))
}

/// `stop` is what an answer comes to that just ends.
pub(super) fn read_stop(reason: Option<&str>, stop: StopReason) -> StopReason {
    match reason {
        Some("length") => StopReason::Length,
        Some("content_filter") => StopReason::Filtered,
        Some("tool_calls" | "function_call") => StopReason::Calls,
        Some("stop") | None => stop,
        Some(other) => StopReason::Other { dialect: DIALECT, reason: other.to_owned() },
    }
}

/// A call that the client forced ends with `stop` too, and so does a refusal.
fn plain_stop(parts: &[MessagePart]) -> StopReason {
    let has = |wanted: fn(&PartContent) -> bool| parts.iter().any(|part| wanted(&part.content));
    if has(|content| matches!(content, PartContent::Call(_))) {
        StopReason::Calls
    } else if has(|content| matches!(content, PartContent::Refusal(_))) {
        StopReason::Refused
    } else {
        StopReason::End
    }
}

/// Whether a client knows functions only.
pub(super) fn is_legacy(request: &ChatRequest) -> bool {
    request.extra.get(DIALECT, LEGACY_FUNCTIONS_KEY).is_some()
}

pub(super) fn write(
    response: &ChatResponse,
    request: &ChatRequest,
    told: Option<&GatewayReport>,
) -> Value {
    let legacy = is_legacy(request);
    let refused = response.parts.iter().any(|part| matches!(part.content, PartContent::Refusal(_)));
    let reason = match (&response.stop, write_stop(&response.stop)) {
        (_, "tool_calls") if legacy => "function_call",
        (StopReason::Refused, _) if refused => "stop",
        (_, reason) => reason,
    };
    let mut said = message_json(&response.parts);
    if legacy {
        only_function(&mut said);
    }
    let mut body = Map::from_iter([
        ("id".to_owned(), response.id.clone().into()),
        ("object".to_owned(), "chat.completion".into()),
        ("created".to_owned(), response.created.into()),
        ("model".to_owned(), response.model.clone().into()),
        ("choices".to_owned(), json!([{"index": 0, "message": said, "finish_reason": reason}])),
        ("usage".to_owned(), usage::write(&response.usage)),
    ]);
    response.extra.write_into(DIALECT, &mut body);
    if let Some(choice) = body["choices"][0].as_object_mut() {
        choice.entry("logprobs").or_insert(Value::Null);
    }
    if let Some(told) = told {
        body.insert("tollgate".to_owned(), report_json(told));
    }
    Value::Object(body)
}

/// A refusal in its own words is an end like any other here; whoever has seen one says so.
pub(super) fn write_stop(stop: &StopReason) -> &str {
    match stop {
        StopReason::Length => "length",
        StopReason::Calls => "tool_calls",
        StopReason::Filtered | StopReason::Refused => "content_filter",
        StopReason::Other { dialect: Dialect::OpenAiChat, reason } => reason,
        StopReason::End | StopReason::Sequence(_) | StopReason::Other { .. } => "stop",
    }
}

fn message_json(parts: &[MessagePart]) -> Map<String, Value> {
    let mut said = Map::from_iter([("role".to_owned(), "assistant".into())]);
    let (mut text, mut refusal) = (None::<String>, None::<String>);
    let (mut calls, mut images) = (Vec::new(), Vec::new());
    let (mut thoughts, mut signatures) = (None::<(&str, String)>, Vec::new());
    for part in parts {
        match &part.content {
            PartContent::Text(more) => text.get_or_insert_default().push_str(more),
            PartContent::Refusal(more) => refusal.get_or_insert_default().push_str(more),
            PartContent::Thinking { text, signature } => {
                let key = history::thoughts_key(&part.extra);
                thoughts.get_or_insert_with(|| (key, String::new())).1.push_str(text);
                signatures.push(signature);
            }
            PartContent::Call(call) => calls.push(tool::write_call(call, part)),
            PartContent::Opaque { dialect: DIALECT, value } if tool::is_call(value) => {
                calls.push(value.clone());
            }
            PartContent::Media(media) if media.kind == MediaKind::Image => {
                images.extend(part::media(media, &part.extra));
            }
            PartContent::Media(_) | PartContent::Result(_) | PartContent::Opaque { .. } => {}
        }
    }
    let nothing = calls.is_empty() && refusal.is_none() && images.is_empty();
    let content = text.map_or_else(|| if nothing { "".into() } else { Value::Null }, Value::from);
    said.insert("content".to_owned(), content);
    said.insert("refusal".to_owned(), refusal.into());
    said.extend(thoughts.map(|(key, text)| (key.to_owned(), text.into())));
    if let [Some(signature)] = &signatures[..] {
        said.insert(THOUGHTS_SIGNATURE_KEY.to_owned(), signature.for_client(DIALECT).into());
    }
    for (key, list) in [("tool_calls", calls), ("images", images)] {
        if !list.is_empty() {
            said.insert(key.to_owned(), list.into());
        }
    }
    said
}

/// For a client that asked for functions: the first call, as one.
fn only_function(said: &mut Map<String, Value>) {
    if let Some(mut calls) = said.shift_remove("tool_calls") {
        said.insert("function_call".to_owned(), calls[0]["function"].take());
    }
}
