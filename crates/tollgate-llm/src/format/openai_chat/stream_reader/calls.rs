//! Reassembles fragments of tool calls: by index, or by id where servers give every call the same
//! index; in any order and with gaps.

use serde_json::{Map, Value};

use super::super::DIALECT;
use super::super::tool::{opaque_call, read_arguments};
use super::OpenAiChatParts;
use crate::delta::{PartOpening, ResponseDelta};
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::MalformedResponseError;
use crate::format::fields::FieldReader;

#[derive(Debug, Default)]
pub(super) struct ChatCallAssembler {
    /// Id of the response, for calls that come without one.
    pub(super) answer: String,
    slots: Vec<ChatCallSlot>,
}

#[derive(Debug, Default)]
struct ChatCallSlot {
    at: Option<i64>,
    id: String,
    name: String,
    /// Arguments that arrived before the name.
    waiting: String,
    part: Option<usize>,
    /// A call of another kind: collected until it is complete.
    opaque: Option<Map<String, Value>>,
}

impl ChatCallAssembler {
    pub(super) fn read(
        &mut self,
        value: Value,
        parts: &mut OpenAiChatParts,
        out: &mut Vec<ResponseDelta>,
    ) -> Result<(), LlmError> {
        let mut fields = FieldReader::new(value, "tool_calls")?;
        let at = fields.take("index").and_then(|index| index.as_i64());
        let id = fields.text("id")?.unwrap_or_default();
        let kind = fields.peek("type").and_then(Value::as_str).unwrap_or("function").to_owned();
        let mut function = fields.object("function")?;
        let mut name = String::new();
        let mut arguments = String::new();
        if let Some(function) = &mut function {
            name = function.text("name")?.unwrap_or_default();
            arguments = read_arguments(function)?;
        }
        let found = self.slot(at, &id, &name);
        let slot = &mut self.slots[found];
        if slot.opaque.is_some() || kind != "function" {
            slot.grow_opaque(&id, fields);
            return Ok(());
        }
        fields.take("type");
        if let Some(function) = function {
            fields.put_back("function", function);
        }
        slot.name(&name)?;
        if slot.id.is_empty() {
            slot.id = id;
        }
        let extra = fields.rest(DIALECT);
        match slot.part {
            None if slot.name.is_empty() => slot.waiting.push_str(&arguments),
            None => {
                arguments.insert_str(0, &std::mem::take(&mut slot.waiting));
                self.open(found, extra, parts, out);
            }
            Some(index) if !extra.is_empty() => out.push(ResponseDelta::Extra { index, extra }),
            Some(_) => {}
        }
        if let Some(index) = self.slots[found].part
            && !arguments.is_empty()
        {
            out.push(ResponseDelta::Grow { index, text: arguments, extra: Extra::none() });
        }
        Ok(())
    }

    /// Index of the call that this fragment belongs to.
    fn slot(&mut self, at: Option<i64>, id: &str, name: &str) -> usize {
        let same = |slot: &ChatCallSlot| match at {
            Some(_) => slot.at == at,
            None => id.is_empty() || slot.id == id,
        };
        let found = self.slots.iter().rposition(same).filter(|found| {
            let slot = &self.slots[*found];
            let other = !id.is_empty() && !slot.id.is_empty() && slot.id != id;
            !other || name.is_empty()
        });
        found.unwrap_or_else(|| {
            self.slots.push(ChatCallSlot { at, ..ChatCallSlot::default() });
            self.slots.len() - 1
        })
    }

    fn open(
        &mut self,
        found: usize,
        extra: Extra,
        parts: &mut OpenAiChatParts,
        out: &mut Vec<ResponseDelta>,
    ) {
        let answer: String = self.answer.chars().filter(char::is_ascii_alphanumeric).collect();
        let slot = &mut self.slots[found];
        if slot.id.is_empty() {
            slot.id = format!("call_{found}_{answer}");
        }
        let opening = PartOpening::Call { id: slot.id.clone(), name: slot.name.clone() };
        let index = parts.open(opening, extra, out);
        parts.calls.push(index);
        slot.part = Some(index);
    }

    /// Calls of other kinds are complete now. A call without a name is an error.
    pub(super) fn finish(
        &mut self,
        parts: &mut OpenAiChatParts,
        out: &mut Vec<ResponseDelta>,
    ) -> Result<(), MalformedResponseError> {
        for slot in &mut self.slots {
            match slot.opaque.take() {
                Some(call) => parts.push_whole(opaque_call(Value::Object(call)), out),
                None if slot.part.is_none() => {
                    return Err(MalformedResponseError("a tool call has no name".to_owned()));
                }
                None => {}
            }
        }
        Ok(())
    }
}

impl ChatCallSlot {
    /// The name may be repeated but must not change: the call may already have been shown or run
    /// under it.
    fn name(&mut self, name: &str) -> Result<(), LlmError> {
        if self.name.is_empty() {
            name.clone_into(&mut self.name);
        } else if !name.is_empty() && name != self.name {
            let message = format!("a tool call changes its name from `{}` to `{name}`", self.name);
            return Err(LlmError::invalid("tool_calls", message));
        }
        Ok(())
    }

    fn grow_opaque(&mut self, id: &str, fields: FieldReader) {
        let call = self.opaque.get_or_insert_default();
        if !id.is_empty() && !call.contains_key("id") {
            call.insert("id".to_owned(), id.into());
        }
        if let Value::Object(more) = fields.into_value() {
            join(call, more);
        }
    }
}

/// Strings are appended; other values are set once.
fn join(call: &mut Map<String, Value>, more: Map<String, Value>) {
    for (key, value) in more {
        match (call.get_mut(&key), value) {
            (Some(Value::String(text)), Value::String(more)) if key != "type" && key != "name" => {
                text.push_str(&more);
            }
            (Some(Value::Object(inner)), Value::Object(more)) => join(inner, more),
            (Some(_), _) => {}
            (None, value) => drop(call.insert(key, value)),
        }
    }
}
