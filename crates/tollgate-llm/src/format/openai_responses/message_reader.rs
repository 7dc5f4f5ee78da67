//! Decodes items of a conversation into messages: consecutive items of the assistant form one
//! message, each result is a separate one.
//!
//! Called by the request reader; [`super::item_reader`] decodes single items.

use serde_json::{Map, Value};

use super::{DIALECT, is_opaque_item, item_reader, part_reader, with_item};
use crate::conversation::{
    CallEnd, CallResult, ChatMessage, ChatRole, FunctionCall, MessagePart, PartContent,
};
use crate::error::LlmError;
use crate::format::fields::{FieldReader, unknown};
use crate::format::pairing::CallPairing;

const ROLES: &[&str] = &["user", "assistant", "system", "developer"];

/// Item types of only this dialect that come from the client.
const CLIENT_ITEM_TYPES: &[&str] =
    &["item_reference", "mcp_approval_response", "compaction_trigger", "additional_tools"];

/// Whether all calls that results may refer to are in the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HistoryLocation {
    Here,
    /// The provider stores some of it.
    Elsewhere,
}

pub(super) fn read_all(
    list: Vec<Value>,
    history: HistoryLocation,
) -> Result<Vec<ChatMessage>, LlmError> {
    let mut reader =
        ResponsesInputReader { messages: Vec::new(), calls: CallPairing::default(), history };
    for (index, item) in list.into_iter().enumerate() {
        reader.item(FieldReader::new(item, format!("input[{index}]"))?)?;
    }
    Ok(reader.messages)
}

struct ResponsesInputReader {
    messages: Vec<ChatMessage>,
    calls: CallPairing,
    history: HistoryLocation,
}

impl ResponsesInputReader {
    fn item(&mut self, fields: FieldReader) -> Result<(), LlmError> {
        let kind = match fields.peek("type") {
            Some(Value::String(kind)) => kind.clone(),
            None if fields.has("role") => "message".to_owned(),
            None if fields.has("id") => "item_reference".to_owned(),
            None => return Err(fields.missing("type")),
            Some(other) => {
                return Err(crate::format::fields::wrong(&fields.place("type"), "a string", other));
            }
        };
        match kind.as_str() {
            "message" => self.message(fields),
            "function_call_output" if fields.has("call_id") || !fields.has("name") => {
                self.result(fields)
            }
            "function_call" | "reasoning" => {
                let at = fields.at().to_owned();
                let part = item_reader::read_item(fields, &kind)?;
                self.assistant(part, &at)
            }
            _ => self.other(fields, &kind),
        }
    }

    fn message(&mut self, mut fields: FieldReader) -> Result<(), LlmError> {
        let role = fields.needed_text("role")?;
        let role = match role.as_str() {
            "user" => ChatRole::User,
            "system" => ChatRole::System,
            "developer" => ChatRole::Developer,
            "assistant" => {
                let at = fields.at().to_owned();
                let parts = item_reader::read_message(fields)?;
                return self.push_assistant_message(parts, &at);
            }
            _ => return Err(unknown(&fields.place("role"), &role, ROLES)),
        };
        let at = fields.place("content");
        let content = fields.take("content").ok_or_else(|| fields.missing("content"))?;
        let parts = part_reader::read_all(content, &at)?;
        if role == ChatRole::System {
            // Otherwise it would be taken for the instructions.
            fields.put("type", "message");
        }
        let extra = item_extra(fields);
        self.messages.push(ChatMessage { role, parts, extra });
        Ok(())
    }

    fn result(&mut self, mut fields: FieldReader) -> Result<(), LlmError> {
        fields.take("type");
        let call_id = fields.needed_text("call_id")?;
        let at = fields.place("output");
        let name = fields.text("name")?;
        let output = fields.take("output").ok_or_else(|| fields.missing("output"))?;
        let parts = part_reader::read_all(output, &at)?;
        let mut result = CallResult { call_id, name, parts, end: CallEnd::Well };
        let paired = self.calls.result(&mut result, &fields.place("call_id"));
        if self.history == HistoryLocation::Here {
            paired?;
        }
        let part = MessagePart { content: PartContent::Result(result), extra: item_extra(fields) };
        self.messages.push(ChatMessage::new(ChatRole::User, vec![part]));
        Ok(())
    }

    fn other(&mut self, fields: FieldReader, kind: &str) -> Result<(), LlmError> {
        let at = fields.at().to_owned();
        if kind == "item_reference" {
            self.history = HistoryLocation::Elsewhere;
        }
        let part = item_reader::opaque(fields.into_value());
        if kind.ends_with("_output") || CLIENT_ITEM_TYPES.contains(&kind) {
            self.messages.push(ChatMessage::new(ChatRole::User, vec![part]));
            return Ok(());
        }
        self.assistant(part, &at)
    }

    /// Starts a new message if the previous one ends with text: otherwise the two would be merged.
    fn push_assistant_message(
        &mut self,
        parts: Vec<MessagePart>,
        at: &str,
    ) -> Result<(), LlmError> {
        let text = |part: &MessagePart| match part.content {
            PartContent::Text(_) | PartContent::Refusal(_) => true,
            PartContent::Opaque { .. } => !is_opaque_item(part),
            _ => false,
        };
        let ends = |message: &ChatMessage| message.parts.last().is_some_and(text);
        if self
            .messages
            .last()
            .is_some_and(|message| message.role == ChatRole::Assistant && ends(message))
        {
            self.messages.push(ChatMessage::new(ChatRole::Assistant, Vec::new()));
        }
        parts.into_iter().try_for_each(|part| self.assistant(part, at))
    }

    /// Appends to the assistant's last message.
    fn assistant(&mut self, part: MessagePart, at: &str) -> Result<(), LlmError> {
        if let Some(call) = extract_call(&part) {
            self.calls.call(&call, at)?;
        }
        match self.messages.last_mut() {
            Some(message) if message.role == ChatRole::Assistant => message.parts.push(part),
            _ => self.messages.push(ChatMessage::new(ChatRole::Assistant, vec![part])),
        }
        Ok(())
    }
}

/// A call whose result may arrive as that of a function.
fn extract_call(part: &MessagePart) -> Option<FunctionCall> {
    match &part.content {
        PartContent::Call(call) => Some(call.clone()),
        PartContent::Opaque { dialect: DIALECT, value }
            if is_opaque_item(part) && value["type"] == "function_call" =>
        {
            let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
            Some(FunctionCall { id: text("call_id"), name: text("name"), arguments: String::new() })
        }
        _ => None,
    }
}

fn item_extra(fields: FieldReader) -> crate::extra::Extra {
    match fields.into_value() {
        Value::Object(item) if !item.is_empty() => with_item(item),
        _ => crate::extra::Extra::new(DIALECT, Map::new()),
    }
}
