//! Decodes single items of an assistant: in a response, a stream, or a client's history.

use serde_json::{Map, Value};

use super::{DIALECT, WHOLE_ITEM_KEY, extra_field, is_opaque_item, part_reader, with_item};
use crate::conversation::{FunctionCall, MessagePart, PartContent, StopReason, ThoughtSignature};
use crate::error::LlmError;
use crate::format::fields::{FieldReader, wrong};

/// Item types of only this dialect that wait for the client.
const CLIENT_WAIT_ITEM_TYPES: &[&str] = &[
    "function_call",
    "custom_tool_call",
    "computer_call",
    "local_shell_call",
    "apply_patch_call",
    "mcp_approval_request",
];

/// The parts of a response item.
pub(super) fn read(item: Value, at: String) -> Result<Vec<MessagePart>, LlmError> {
    let fields = FieldReader::new(item, at)?;
    let kind = fields.peek("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    match kind.as_str() {
        "message" => read_message(fields),
        "function_call" | "reasoning" => Ok(vec![read_item(fields, &kind)?]),
        _ => Ok(vec![opaque(fields.into_value())]),
    }
}

/// A message of the assistant: each content part records its item.
pub(super) fn read_message(mut fields: FieldReader) -> Result<Vec<MessagePart>, LlmError> {
    let at = fields.place("content");
    fields.take("role");
    let content = fields.take("content").ok_or_else(|| fields.missing("content"))?;
    let mut parts = part_reader::read_all(content, &at)?;
    if let Value::Object(item) = fields.into_value()
        && !item.is_empty()
    {
        for part in &mut parts {
            part.extra.merge(with_item(item.clone()));
        }
    }
    Ok(parts)
}

/// A call or a thought.
pub(super) fn read_item(mut fields: FieldReader, kind: &str) -> Result<MessagePart, LlmError> {
    let content = match kind {
        // In a namespace, the name alone would denote another function.
        "function_call" if fields.has("namespace") => return Ok(opaque(fields.into_value())),
        "function_call" => {
            let id = fields.needed_text("call_id")?;
            let name = fields.needed_text("name")?;
            let arguments = match fields.take("arguments") {
                None => String::new(),
                Some(Value::String(text)) => text,
                Some(object @ Value::Object(_)) => object.to_string(),
                Some(other) => return Err(wrong(&fields.place("arguments"), "a string", &other)),
            };
            PartContent::Call(FunctionCall { id, name, arguments })
        }
        _ => {
            let text = thoughts(fields.peek("summary"), fields.peek("content"));
            let signature = fields.text("encrypted_content")?;
            let signature = signature.map(|kept| ThoughtSignature::from_client(DIALECT, kept));
            PartContent::Thinking { text, signature }
        }
    };
    fields.take("type");
    let item = match fields.into_value() {
        Value::Object(item) => item,
        _ => Map::new(),
    };
    Ok(MessagePart { content, extra: with_item(item) })
}

/// The text of thoughts: the summary, or the full reasoning.
fn thoughts(summary: Option<&Value>, content: Option<&Value>) -> String {
    let texts = |list: Option<&Value>| {
        let list = list.and_then(Value::as_array).into_iter().flatten();
        let texts: Vec<String> =
            list.filter_map(|it| it["text"].as_str().map(str::to_owned)).collect();
        texts.join("\n\n")
    };
    match texts(summary) {
        none if none.is_empty() => texts(content),
        summary => summary,
    }
}

/// Whether an item is read as one that only this dialect has.
pub(super) fn is_opaque_kind(item: &Value) -> bool {
    match item["type"].as_str() {
        Some("message" | "reasoning") => false,
        Some("function_call") => !item["namespace"].is_null(),
        _ => item.is_object(),
    }
}

/// A whole item of a type that only this dialect has.
pub(super) fn opaque(value: Value) -> MessagePart {
    let content = PartContent::Opaque { dialect: DIALECT, value };
    MessagePart { content, extra: extra_field(WHOLE_ITEM_KEY, Value::Null) }
}

/// Stop reason of a complete response.
pub(super) fn plain_stop(parts: &[MessagePart]) -> StopReason {
    let waits = |part: &MessagePart| match &part.content {
        PartContent::Call(_) => true,
        PartContent::Opaque { dialect: DIALECT, value } if is_opaque_item(part) => {
            value["type"].as_str().is_some_and(|kind| CLIENT_WAIT_ITEM_TYPES.contains(&kind))
        }
        _ => false,
    };
    if parts.iter().any(waits) {
        StopReason::Calls
    } else if parts.iter().any(|part| matches!(part.content, PartContent::Refusal(_))) {
        StopReason::Refused
    } else {
        StopReason::End
    }
}
