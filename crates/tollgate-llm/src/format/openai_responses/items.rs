//! Reads items of a conversation into messages: what an assistant did in one go is one message,
//! each result is one. Called by the request's reader; single items are read by [`super::output`].

use serde_json::{Map, Value};

use super::{DIALECT, output, part, with_item};
use crate::conversation::{Call, CallEnd, CallResult, Content, Message, Part, Role};
use crate::failure::Failure;
use crate::format::fields::{Fields, unknown};
use crate::format::pairing::Pairing;

const ROLES: &[&str] = &["user", "assistant", "system", "developer"];

/// Items that come from the client, of those that only this dialect has.
const CLIENTS: &[&str] =
    &["item_reference", "mcp_approval_response", "compaction_trigger", "additional_tools"];

/// Whether all calls that results may answer stand in the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum History {
    Here,
    /// The provider keeps some of it.
    Elsewhere,
}

pub(super) fn read_all(list: Vec<Value>, history: History) -> Result<Vec<Message>, Failure> {
    let mut reader = Reader { messages: Vec::new(), calls: Pairing::default(), history };
    for (index, item) in list.into_iter().enumerate() {
        reader.item(Fields::new(item, format!("input[{index}]"))?)?;
    }
    Ok(reader.messages)
}

struct Reader {
    messages: Vec<Message>,
    calls: Pairing,
    history: History,
}

impl Reader {
    fn item(&mut self, fields: Fields) -> Result<(), Failure> {
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
                let part = output::read_item(fields, &kind)?;
                self.assistant(part, &at)
            }
            _ => self.other(fields, &kind),
        }
    }

    fn message(&mut self, mut fields: Fields) -> Result<(), Failure> {
        let role = fields.needed_text("role")?;
        let role = match role.as_str() {
            "user" => Role::User,
            "system" => Role::System,
            "developer" => Role::Developer,
            "assistant" => {
                let at = fields.at().to_owned();
                let parts = output::read_message(fields)?;
                return self.said(parts, &at);
            }
            _ => return Err(unknown(&fields.place("role"), &role, ROLES)),
        };
        let at = fields.place("content");
        let content = fields.take("content").ok_or_else(|| fields.missing("content"))?;
        let parts = part::read_all(content, &at)?;
        if role == Role::System {
            // Else it would be taken for the instructions.
            fields.put("type", "message");
        }
        let extra = kept(fields);
        self.messages.push(Message { role, parts, extra });
        Ok(())
    }

    fn result(&mut self, mut fields: Fields) -> Result<(), Failure> {
        fields.take("type");
        let call_id = fields.needed_text("call_id")?;
        let (at, name) = (fields.place("output"), fields.text("name")?);
        let output = fields.take("output").ok_or_else(|| fields.missing("output"))?;
        let parts = part::read_all(output, &at)?;
        let mut result = CallResult { call_id, name, parts, end: CallEnd::Well };
        let paired = self.calls.result(&mut result, &fields.place("call_id"));
        if self.history == History::Here {
            paired?;
        }
        let part = Part { content: Content::Result(result), extra: kept(fields) };
        self.messages.push(Message::new(Role::User, vec![part]));
        Ok(())
    }

    fn other(&mut self, fields: Fields, kind: &str) -> Result<(), Failure> {
        let at = fields.at().to_owned();
        if kind == "item_reference" {
            self.history = History::Elsewhere;
        }
        let part = output::opaque(fields.into_value());
        if kind.ends_with("_output") || CLIENTS.contains(&kind) {
            self.messages.push(Message::new(Role::User, vec![part]));
            return Ok(());
        }
        self.assistant(part, &at)
    }

    /// A message of its own, if what was said before has no call behind it: then both would be one.
    fn said(&mut self, parts: Vec<Part>, at: &str) -> Result<(), Failure> {
        let text = |part: &Part| matches!(part.content, Content::Text(_) | Content::Refusal(_));
        let ends = |message: &Message| message.parts.last().is_some_and(text);
        if self
            .messages
            .last()
            .is_some_and(|message| message.role == Role::Assistant && ends(message))
        {
            self.messages.push(Message::new(Role::Assistant, Vec::new()));
        }
        parts.into_iter().try_for_each(|part| self.assistant(part, at))
    }

    /// Adds to what the assistant did last.
    fn assistant(&mut self, part: Part, at: &str) -> Result<(), Failure> {
        if let Some(call) = made(&part) {
            self.calls.call(&call, at)?;
        }
        match self.messages.last_mut() {
            Some(message) if message.role == Role::Assistant => message.parts.push(part),
            _ => self.messages.push(Message::new(Role::Assistant, vec![part])),
        }
        Ok(())
    }
}

/// A call whose result may come as that of a function.
fn made(part: &Part) -> Option<Call> {
    match &part.content {
        Content::Call(call) => Some(call.clone()),
        Content::Opaque { dialect: DIALECT, value } if value["type"] == "function_call" => {
            let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
            Some(Call { id: text("call_id"), name: text("name"), arguments: String::new() })
        }
        _ => None,
    }
}

fn kept(fields: Fields) -> crate::extra::Extra {
    match fields.into_value() {
        Value::Object(item) if !item.is_empty() => with_item(item),
        _ => crate::extra::Extra::new(DIALECT, Map::new()),
    }
}
