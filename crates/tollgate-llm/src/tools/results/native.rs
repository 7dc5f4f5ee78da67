//! Reads and writes results in each API's own format. The four chat dialects use their conversation
//! codecs; MCP and the realtime APIs have their own formats here.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tollgate_core::json::Object;

use crate::conversation::{
    CallEnd, CallResult, ChatMedia, ChatMessage, ChatRole, FunctionCall, MediaKind, MediaSource,
    MessagePart, PartContent,
};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format::fields::{FieldReader, wrong};
use crate::format::{self, DialectCodec, RequestUrlParams};
use crate::tools::tool_format::ToolFormat;

use super::parts;

/// Name in results of an unknown tool.
pub(super) const DEFAULT_TOOL_NAME: &str = "tool";

pub(super) fn dialect(form: ToolFormat) -> Option<Dialect> {
    match form {
        ToolFormat::OpenAi => Some(Dialect::OpenAiChat),
        ToolFormat::OpenAiResponses => Some(Dialect::OpenAiResponses),
        ToolFormat::Anthropic => Some(Dialect::Anthropic),
        ToolFormat::Gemini => Some(Dialect::Gemini),
        ToolFormat::Mcp | ToolFormat::OpenAiRealtime | ToolFormat::GeminiLive => None,
    }
}

/// Results as a client appends them to its history, or sends them.
pub(super) fn write(results: &[CallResult], form: ToolFormat) -> Vec<Value> {
    if let Some(dialect) = dialect(form) {
        return history(results, format::of(dialect));
    }
    match form {
        ToolFormat::GeminiLive => {
            let each: Vec<Value> = results.iter().map(live).collect();
            vec![json!({"toolResponse": {"functionResponses": each}})]
        }
        ToolFormat::OpenAiRealtime => results.iter().map(realtime).collect(),
        _ => results.iter().map(mcp).collect(),
    }
}

/// One result as one message of the dialect. Files that clients get behind a result are within it.
pub(super) fn write_one(result: &CallResult, dialect: Dialect) -> Option<Value> {
    let mut messages = history(std::slice::from_ref(result), format::of(dialect)).into_iter();
    let mut first = messages.next()?;
    for more in messages {
        let mut list = match first["content"].take() {
            Value::Array(list) => list,
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            _ => Vec::new(),
        };
        list.extend(more["content"].as_array().into_iter().flatten().cloned());
        first["content"] = list.into();
    }
    Some(first)
}

/// Messages of the dialect, ready to append. They are encoded together with their calls, because
/// some dialects omit results without a call; the calls are then removed again.
fn history(results: &[CallResult], format: &dyn DialectCodec) -> Vec<Value> {
    let mut calls = Vec::new();
    let mut answered = Vec::new();
    for (at, result) in results.iter().enumerate() {
        let mut result = result.clone();
        if result.call_id.is_empty() {
            result.call_id = format!("{PLACEHOLDER_ID_PREFIX}{at}");
        }
        let name = result.name.get_or_insert_with(|| DEFAULT_TOOL_NAME.to_owned()).clone();
        let call = FunctionCall { id: result.call_id.clone(), name, arguments: "{}".to_owned() };
        calls.push(MessagePart::new(PartContent::Call(call)));
        answered.push(MessagePart::new(PartContent::Result(result)));
    }
    let calls = Arc::new(ChatMessage::new(ChatRole::Assistant, calls));
    let answered = Arc::new(ChatMessage::new(ChatRole::User, answered));
    let list = |written: Value| match written {
        Value::Array(messages) => messages,
        other => vec![other],
    };
    let before = list(format.write_history(std::slice::from_ref(&calls))).len();
    let mut written: Vec<Value> =
        list(format.write_history(&[calls, answered])).into_iter().skip(before).collect();
    written.iter_mut().for_each(forget);
    written
}

/// Temporary id for a call without one, used only while encoding.
const PLACEHOLDER_ID_PREFIX: &str = "tollgate-unnamed-";

fn name_call(part: &mut Value, at: usize) {
    if let Some(Value::Object(response)) = part.get_mut("functionResponse") {
        response.entry("id").or_insert_with(|| format!("{PLACEHOLDER_ID_PREFIX}{at}").into());
    }
}

/// Removes temporary ids. Only Gemini's calls may have none.
fn forget(message: &mut Value) {
    for part in message.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten() {
        let response = part.get_mut("functionResponse").and_then(Value::as_object_mut);
        let Some(response) = response else { continue };
        let id = response.get("id").and_then(Value::as_str);
        if id.is_some_and(|id| id.starts_with(PLACEHOLDER_ID_PREFIX)) {
            response.shift_remove("id");
        }
    }
}

fn mcp(result: &CallResult) -> Value {
    let content: Vec<Value> = result.parts.iter().map(mcp_item).collect();
    let mut written = Map::from_iter([("content".to_owned(), content.into())]);
    if result.end == CallEnd::Failed {
        written.insert("isError".to_owned(), true.into());
    }
    Value::Object(written)
}

fn mcp_item(part: &MessagePart) -> Value {
    match &part.content {
        PartContent::Text(text) => json!({"type": "text", "text": text}),
        PartContent::Media(ChatMedia {
            kind,
            source: MediaSource::Base64 { media_type, data },
            name,
            ..
        }) => match kind {
            MediaKind::Image => json!({"type": "image", "data": data, "mimeType": media_type}),
            MediaKind::Audio => json!({"type": "audio", "data": data, "mimeType": media_type}),
            MediaKind::Video | MediaKind::Document => {
                let uri = format!("file:///{}", name.as_deref().unwrap_or("document"));
                json!({"type": "resource", "resource": {
                    "uri": uri, "blob": data, "mimeType": media_type}})
            }
        },
        PartContent::Media(ChatMedia { source: MediaSource::Url(url), name, .. }) => {
            let name = name.as_deref().unwrap_or("file");
            json!({"type": "resource_link", "uri": url, "name": name})
        }
        _ => json!({"type": "text", "text": words(part)}),
    }
}

fn realtime(result: &CallResult) -> Value {
    let output = result_text(result);
    json!({"type": "conversation.item.create", "item": {
        "type": "function_call_output", "call_id": result.call_id, "output": output}})
}

/// All parts in order; parts that cannot be shown are named.
fn result_text(result: &CallResult) -> String {
    let each: Vec<String> = result.parts.iter().map(words).collect();
    each.join("\n")
}

pub(super) fn words(part: &MessagePart) -> String {
    match &part.content {
        PartContent::Text(text) => text.clone(),
        PartContent::Media(media) => {
            let kind = match media.kind {
                MediaKind::Image => "a picture",
                MediaKind::Audio => "a sound",
                MediaKind::Video => "a video",
                MediaKind::Document => "a document",
            };
            format!("({kind} that cannot be shown here)")
        }
        PartContent::Opaque { value, .. } => value.to_string(),
        _ => String::new(),
    }
}

fn live(result: &CallResult) -> Value {
    let text = result_text(result);
    let is_structure = text.starts_with(['{', '[']);
    let value = serde_json::from_str(&text).ok().filter(|_| is_structure);
    let key = if result.end == CallEnd::Failed { "error" } else { "output" };
    let mut written = Map::new();
    if !result.call_id.is_empty() {
        written.insert("id".to_owned(), result.call_id.as_str().into());
    }
    written.insert("name".to_owned(), result.name.as_deref().unwrap_or(DEFAULT_TOOL_NAME).into());
    written.insert("response".to_owned(), json!({key: value.unwrap_or(Value::String(text))}));
    Value::Object(written)
}

pub(super) fn read(document: Value, form: ToolFormat) -> Result<Vec<CallResult>, LlmError> {
    let items = items(document, form)?;
    match dialect(form) {
        Some(dialect) => read_dialect_results(items, dialect),
        None => items
            .into_iter()
            .enumerate()
            .map(|(at, item)| {
                let fields = FieldReader::new(item, format!("[{at}]"))?;
                match form {
                    ToolFormat::OpenAiRealtime => read_realtime_result(fields),
                    ToolFormat::GeminiLive => read_live_result(fields),
                    _ => Ok(read_mcp_result(&fields.into_value())),
                }
            })
            .collect(),
    }
}

/// Extracts the results of a document from their containers.
fn items(document: Value, form: ToolFormat) -> Result<Vec<Value>, LlmError> {
    let mut fields = match document {
        Value::Array(list) => {
            let each = list.into_iter().map(|item| match item {
                Value::Object(_) => items(item, form),
                other => Err(wrong("", "a list of results", &other)),
            });
            return Ok(each.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect());
        }
        Value::Object(fields) => fields,
        other => return Err(wrong("", "a result or a list of them", &other)),
    };
    let holder = match form {
        ToolFormat::Mcp => "result",
        ToolFormat::OpenAi => "messages",
        ToolFormat::OpenAiResponses => "input",
        ToolFormat::Anthropic => "content",
        ToolFormat::Gemini => "parts",
        ToolFormat::OpenAiRealtime => "item",
        ToolFormat::GeminiLive => "toolResponse",
    };
    let is_block = fields.contains_key("tool_use_id");
    match fields.shift_remove(holder) {
        Some(Value::Array(inner)) if !is_block => Ok(inner),
        Some(inner @ Value::Object(_)) if !is_block => items(inner, form),
        held => {
            fields.extend(held.map(|held| (holder.to_owned(), held)));
            match fields.shift_remove("functionResponses") {
                Some(Value::Array(inner)) => Ok(inner),
                _ => Ok(vec![Value::Object(fields)]),
            }
        }
    }
}

fn read_mcp_result(item: &Value) -> CallResult {
    let text = item.to_string();
    let result = Object::parse(&text).unwrap_or_default();
    let end = if item["isError"] == true { CallEnd::Failed } else { CallEnd::Well };
    CallResult { call_id: String::new(), name: None, parts: parts(&result), end }
}

fn read_realtime_result(mut item: FieldReader) -> Result<CallResult, LlmError> {
    let call_id = item.needed_text("call_id")?;
    let parts = vec![MessagePart::text(item.needed_text("output")?)];
    Ok(CallResult { call_id, name: None, parts, end: CallEnd::Well })
}

fn read_live_result(mut item: FieldReader) -> Result<CallResult, LlmError> {
    let call_id = item.text("id")?.unwrap_or_default();
    let name = item.text("name")?;
    let response = item.take("response").unwrap_or_else(|| json!({}));
    let (value, end) = match (response.get("error"), response.get("output")) {
        (Some(error), _) => (error.clone(), CallEnd::Failed),
        (None, Some(output)) => (output.clone(), CallEnd::Well),
        (None, None) => (response, CallEnd::Well),
    };
    let text = match value {
        Value::String(text) => text,
        value => value.to_string(),
    };
    Ok(CallResult { call_id, name, parts: vec![MessagePart::text(text)], end })
}

/// Decodes results as the dialect does in a conversation: after the calls that they answer.
fn read_dialect_results(
    mut items: Vec<Value>,
    dialect: Dialect,
) -> Result<Vec<CallResult>, LlmError> {
    let body = match dialect {
        Dialect::OpenAiChat => {
            let calls: Vec<Value> = calls_of_results(
                &items,
                "tool_call_id",
                |id, name| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}),
            );
            let mut messages = vec![json!({"role": "assistant", "tool_calls": calls})];
            messages.extend(items);
            json!({"model": "-", "messages": messages})
        }
        Dialect::OpenAiResponses => {
            let mut input: Vec<Value> = calls_of_results(
                &items,
                "call_id",
                |id, name| json!({"type": "function_call", "call_id": id, "name": name, "arguments": "{}"}),
            );
            input.extend(items);
            json!({"model": "-", "input": input})
        }
        Dialect::Anthropic => {
            let calls: Vec<Value> = calls_of_results(
                &items,
                "tool_use_id",
                |id, name| json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
            );
            json!({"model": "-", "max_tokens": 1, "messages": [
                {"role": "assistant", "content": calls}, {"role": "user", "content": items}]})
        }
        Dialect::Gemini => {
            for (at, item) in items.iter_mut().enumerate() {
                name_call(item, at);
            }
            let calls: Vec<Value> = items
                .iter()
                .filter_map(|item| item.get("functionResponse"))
                .map(|it| json!({"functionCall": {"id": it["id"], "name": it["name"], "args": {}}}))
                .collect();
            json!({"contents": [
                {"role": "model", "parts": calls}, {"role": "user", "parts": items}]})
        }
    };
    let address = RequestUrlParams { model: Some("-"), delivery: None };
    let request = format::of(dialect).read_request(body, &address)?;
    let parts =
        request.messages.into_iter().flat_map(|message| Arc::unwrap_or_clone(message).parts);
    let results: Vec<CallResult> = parts
        .filter_map(|part| match part.content {
            PartContent::Result(mut result) => {
                result.name = result.name.filter(|name| name != DEFAULT_TOOL_NAME);
                if result.call_id.starts_with(PLACEHOLDER_ID_PREFIX) {
                    result.call_id.clear();
                }
                Some(result)
            }
            _ => None,
        })
        .collect();
    if results.is_empty() {
        Err(LlmError::invalid("", "there is no result in it"))
    } else {
        Ok(results)
    }
}

/// The calls that the results refer to.
fn calls_of_results(items: &[Value], key: &str, call: impl Fn(&str, &str) -> Value) -> Vec<Value> {
    let ids = items.iter().filter_map(|item| {
        Some((item.get(key)?.as_str()?, item.get("name").and_then(Value::as_str)))
    });
    ids.map(|(id, name)| call(id, name.unwrap_or(DEFAULT_TOOL_NAME))).collect()
}
