//! Decodes the messages of a request: one neutral message each. Tool results are matched to their
//! calls. Called by the request reader.

use serde_json::Value;

use super::message_keys::{THOUGHTS_KEYS, THOUGHTS_SIGNATURE_KEY, with_spelling};
use super::{DIALECT, part_reader, reasoning_details, tool};
use crate::conversation::{
    CallEnd, CallResult, ChatMessage, ChatRole, FunctionCall, MessagePart, PartContent,
    ThoughtSignature,
};
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::fields::{FieldReader, unknown, wrong};
use crate::format::pairing::CallPairing;

const ROLES: &[&str] = &["system", "developer", "user", "assistant", "tool", "function"];

pub(super) fn read_all(list: Vec<Value>) -> Result<Vec<ChatMessage>, LlmError> {
    let mut calls = CallPairing::default();
    let mut messages = Vec::with_capacity(list.len());
    for (index, message) in list.into_iter().enumerate() {
        let at = format!("messages[{index}]");
        let message = read(message, at.clone(), &mut calls)?;
        for call in message.parts.iter().filter_map(extract_call) {
            calls.call(&call, &at)?;
        }
        messages.push(message);
    }
    Ok(messages)
}

/// A call of any kind: results of all kinds look the same.
fn extract_call(part: &MessagePart) -> Option<FunctionCall> {
    match &part.content {
        PartContent::Call(call) => Some(call.clone()),
        PartContent::Opaque { dialect: DIALECT, value } => {
            let id = value["id"].as_str()?.to_owned();
            let name = value["custom"]["name"].as_str().unwrap_or_default().to_owned();
            Some(FunctionCall { id, name, arguments: String::new() })
        }
        _ => None,
    }
}

fn read(value: Value, at: String, calls: &mut CallPairing) -> Result<ChatMessage, LlmError> {
    let mut fields = FieldReader::new(value, at)?;
    let role = fields.needed_text("role")?;
    match role.as_str() {
        "system" => read_content_message(fields, ChatRole::System),
        "developer" => read_content_message(fields, ChatRole::Developer),
        "user" => read_content_message(fields, ChatRole::User),
        "assistant" => assistant(fields),
        "tool" => result(fields, calls),
        "function" => legacy_result(fields, calls),
        _ => Err(unknown(&fields.place("role"), &role, ROLES)),
    }
}

fn read_content_message(mut fields: FieldReader, role: ChatRole) -> Result<ChatMessage, LlmError> {
    let at = fields.place("content");
    let content = fields.take("content").ok_or_else(|| fields.missing("content"))?;
    let parts = part_reader::read_all(content, &at)?;
    Ok(ChatMessage { role, parts, extra: fields.rest(DIALECT) })
}

fn assistant(mut fields: FieldReader) -> Result<ChatMessage, LlmError> {
    let at = fields.at().to_owned();
    let parts = read_assistant(&mut fields)?;
    if parts.is_empty() && !fields.has("audio") && !fields.has("content") {
        return Err(LlmError::invalid(
            fields.place("content"),
            format!("`{at}` has neither `content` nor `tool_calls`"),
        ));
    }
    fields.take("content");
    Ok(ChatMessage { role: ChatRole::Assistant, parts, extra: fields.rest(DIALECT) })
}

/// Decodes an assistant message of a request or a response. Empty content is left in place.
pub(super) fn read_assistant(fields: &mut FieldReader) -> Result<Vec<MessagePart>, LlmError> {
    let details = reasoning_details::take(fields);
    let thoughts = read_thoughts(fields)?;
    // Otherwise the text of the details would be there twice.
    let mut parts = Vec::from_iter(thoughts.filter(|_| details.is_empty()));
    let at = fields.place("content");
    if fields.peek("content").is_some_and(|content| content != "") {
        let content = fields.take("content").unwrap_or_default();
        parts.extend(part_reader::read_all(content, &at)?);
    }
    if let Some(refusal) = fields.text("refusal")?.filter(|refusal| !refusal.is_empty()) {
        parts.push(MessagePart::new(PartContent::Refusal(refusal)));
    }
    let at = fields.place("tool_calls");
    for (index, call) in fields.list("tool_calls")?.unwrap_or_default().into_iter().enumerate() {
        parts.push(tool::read_call(call, format!("{at}[{index}]"))?);
    }
    parts.extend(read_legacy_call(fields)?);
    reasoning_details::place(details, &mut parts);
    Ok(parts)
}

/// The legacy `function_call`. It has no id; one is derived from its position in the request.
fn read_legacy_call(fields: &mut FieldReader) -> Result<Option<MessagePart>, LlmError> {
    let Some(mut function) = fields.object("function_call")? else { return Ok(None) };
    let digits: String = fields.at().chars().filter(char::is_ascii_digit).collect();
    let name = function.needed_text("name")?;
    let arguments = tool::read_arguments(&mut function)?;
    let id = format!("call_function_{digits}");
    Ok(Some(MessagePart::new(PartContent::Call(FunctionCall { id, name, arguments }))))
}

pub(super) fn read_thoughts(fields: &mut FieldReader) -> Result<Option<MessagePart>, LlmError> {
    let signature = fields.text(THOUGHTS_SIGNATURE_KEY)?;
    let mut found = None;
    for key in THOUGHTS_KEYS {
        let text = match fields.take(key) {
            Some(Value::String(text)) if !text.is_empty() => text,
            None | Some(Value::String(_)) => continue,
            Some(other) => return Err(wrong(&fields.place(key), "a string", &other)),
        };
        found = found.or(Some((key, text)));
    }
    let Some((key, text)) = found else { return Ok(None) };
    let signature = signature.map(|kept| ThoughtSignature::from_client(DIALECT, kept));
    Ok(Some(MessagePart {
        content: PartContent::Thinking { text, signature },
        extra: with_spelling(key),
    }))
}

fn result(mut fields: FieldReader, calls: &mut CallPairing) -> Result<ChatMessage, LlmError> {
    let call_id = fields.needed_text("tool_call_id")?;
    let at = fields.place("content");
    let mut parts = match fields.take("content") {
        Some(content) => part_reader::read_all(content, &at)?,
        None => Vec::new(),
    };
    for part in &mut parts {
        mark_as_native(part);
    }
    let mut result = CallResult { call_id, name: None, parts, end: CallEnd::Well };
    calls.result(&mut result, &fields.place("tool_call_id"))?;
    Ok(result_message(fields, result))
}

/// OpenAI accepts no images in results; a client that sends some knows a server that does.
fn mark_as_native(part: &mut MessagePart) {
    if let PartContent::Media(_) = part.content {
        part.extra
            .merge(Extra::new(DIALECT, [("type".to_owned(), Value::Null)].into_iter().collect()));
    }
}

/// The legacy form refers to the call by name.
fn legacy_result(
    mut fields: FieldReader,
    calls: &mut CallPairing,
) -> Result<ChatMessage, LlmError> {
    let name = fields.needed_text("name")?;
    let call_id = calls.open_for(&name).unwrap_or(&name).to_owned();
    let parts = vec![MessagePart::text(fields.text("content")?.unwrap_or_default())];
    let mut result = CallResult { call_id, name: Some(name), parts, end: CallEnd::Well };
    calls.result(&mut result, &fields.place("name"))?;
    Ok(result_message(fields, result))
}

fn result_message(fields: FieldReader, result: CallResult) -> ChatMessage {
    let parts = vec![MessagePart::new(PartContent::Result(result))];
    ChatMessage { role: ChatRole::User, parts, extra: fields.rest(DIALECT) }
}
