//! Items of a stream being read: the part that each item maps to, and what has arrived of it.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::super::{
    DIALECT, WHOLE_CONTENT_KEY, WHOLE_ITEM_KEY, extra_field, item_reader, part_reader, with_item,
};
use crate::conversation::{MessagePart, PartContent, StopReason, ThoughtSignature};
use crate::delta::{PartOpening, ResponseDelta};
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::fields::FieldReader;

#[derive(Debug, Default)]
pub(super) struct ResponsesStreamItems {
    /// Deltas not taken yet.
    pub(super) out: Vec<ResponseDelta>,
    /// Keyed by their index in the output.
    items: BTreeMap<u64, ResponsesStreamItem>,
    /// Index in the output by `call_id`: some servers count the same call differently later.
    calls: HashMap<String, u64>,
    /// A call that ended without having begun.
    unannounced_call: Option<String>,
    parts: usize,
    plain: PlainStop,
}

/// Stop reason if the answer is complete; a later variant takes precedence.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PlainStop {
    #[default]
    End,
    Refused,
    Calls,
}

#[derive(Debug)]
enum ResponsesStreamItem {
    /// Contents by index; `fields` are those of the item.
    Message {
        fields: Map<String, Value>,
        contents: BTreeMap<u64, ResponsesOpenPart>,
    },
    Call(ResponsesOpenPart),
    Thoughts {
        fields: Map<String, Value>,
        spoken: Option<ResponsesOpenPart>,
    },
    Opaque(ResponsesOpenPart),
    Done,
}

/// Index of an item in the output, and of a content part in the item.
#[derive(Debug, Clone, Copy)]
struct ContentPosition {
    item: u64,
    content: u64,
}

/// A part that is open.
#[derive(Debug)]
struct ResponsesOpenPart {
    index: usize,
    text: String,
    is_opaque: bool,
}

impl ResponsesStreamItems {
    pub(super) fn is_empty(&self) -> bool {
        self.parts == 0
    }

    pub(super) fn plain_stop(&self) -> StopReason {
        match self.plain {
            PlainStop::End => StopReason::End,
            PlainStop::Refused => StopReason::Refused,
            PlainStop::Calls => StopReason::Calls,
        }
    }

    fn note_part(&mut self, part: &MessagePart) {
        let plain = match item_reader::plain_stop(std::slice::from_ref(part)) {
            StopReason::Calls => PlainStop::Calls,
            StopReason::Refused => PlainStop::Refused,
            _ => PlainStop::End,
        };
        self.plain = self.plain.max(plain);
    }

    pub(super) fn add_item(&mut self, at: u64, mut fields: FieldReader) -> Result<(), LlmError> {
        if let Some((id, open)) = self.open_call(&fields) {
            if open == at {
                return Ok(());
            }
            return Err(LlmError::invalid("item", format!("the call `{id}` begins twice")));
        }
        self.close_item(at);
        let kind = fields.peek("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let item = match kind.as_str() {
            "message" => {
                let known = ["role", "content", "status"];
                let fields = remaining_fields(fields.into_value(), &known);
                ResponsesStreamItem::Message { fields, contents: BTreeMap::new() }
            }
            "reasoning" => {
                let known = ["type", "summary", "content", "status", "encrypted_content"];
                ResponsesStreamItem::Thoughts {
                    fields: remaining_fields(fields.into_value(), &known),
                    spoken: None,
                }
            }
            "function_call" if !fields.has("namespace") => {
                let id = fields.needed_text("call_id")?;
                let name = fields.needed_text("name")?;
                let arguments = fields.text("arguments")?.unwrap_or_default();
                let extra = with_item(remaining_fields(fields.into_value(), &["type", "status"]));
                self.calls.insert(id.clone(), at);
                let mut spoken = self.open(PartOpening::Call { id, name }, extra);
                self.plain = PlainStop::Calls;
                self.out.extend(spoken.grow(arguments, Extra::none()));
                ResponsesStreamItem::Call(spoken)
            }
            _ => {
                let part = item_reader::opaque(fields.into_value());
                self.note_part(&part);
                ResponsesStreamItem::Opaque(self.open(PartOpening::Whole(part.content), part.extra))
            }
        };
        self.items.insert(at, item);
        Ok(())
    }

    pub(super) fn finish_item(&mut self, at: u64, value: Value) -> Result<(), LlmError> {
        let call = call_id(&value).map(str::to_owned);
        let at = call.as_ref().and_then(|id| self.calls.get(id)).copied().unwrap_or(at);
        match self.items.get_mut(&at) {
            Some(ResponsesStreamItem::Done) => {}
            Some(ResponsesStreamItem::Message { contents, .. }) if !contents.is_empty() => {
                let unannounced = find_unannounced_parts(&value, contents);
                let extra = with_item(remaining_fields(value, &["role", "content"]));
                let indices = contents.values().map(|spoken| spoken.index);
                self.out.extend(
                    indices.map(|index| ResponseDelta::Extra { index, extra: extra.clone() }),
                );
                let of_item = |part: MessagePart| MessagePart { extra: extra.clone(), ..part };
                self.add_whole_parts(unannounced.into_iter().map(of_item).collect());
            }
            None | Some(ResponsesStreamItem::Message { .. }) => {
                self.items.insert(at, ResponsesStreamItem::Done);
                if let Some(id) = call {
                    self.calls.insert(id.clone(), at);
                    self.unannounced_call = Some(id);
                }
                self.add_whole_parts(item_reader::read(value, "item".to_owned())?);
            }
            Some(ResponsesStreamItem::Call(spoken)) => {
                let index = spoken.index;
                self.out.extend(spoken.rest(value["arguments"].as_str().unwrap_or_default()));
                let extra =
                    with_item(remaining_fields(value, &["type", "call_id", "name", "arguments"]));
                self.out.push(ResponseDelta::Extra { index, extra });
            }
            Some(ResponsesStreamItem::Thoughts { .. }) => self.finish_thoughts(at, value)?,
            // An item that ends as another kind than it began is not taken at its word.
            Some(ResponsesStreamItem::Opaque(spoken)) if item_reader::is_opaque_kind(&value) => {
                let extra = extra_field(WHOLE_ITEM_KEY, value);
                self.out.push(ResponseDelta::Extra { index: spoken.index, extra });
            }
            Some(ResponsesStreamItem::Opaque(_)) => {}
        }
        self.close_item(at);
        Ok(())
    }

    /// Completes a thought: its text, its signature, and all fields that the next round must send.
    fn finish_thoughts(&mut self, at: u64, value: Value) -> Result<(), LlmError> {
        let signature = value["encrypted_content"].as_str().map(str::to_owned);
        let part = item_reader::read_item(FieldReader::new(value, "item")?, "reasoning")?;
        self.think(at, String::new(), Extra::none(), Extra::none());
        let Some(ResponsesStreamItem::Thoughts { spoken: Some(spoken), .. }) =
            self.items.get_mut(&at)
        else {
            return Ok(());
        };
        let index = spoken.index;
        if let PartContent::Thinking { text, .. } = &part.content {
            self.out.extend(spoken.rest(text));
        }
        self.out.push(ResponseDelta::Extra { index, extra: part.extra });
        let signature = signature.map(|text| ThoughtSignature::new(DIALECT, text));
        self.out.extend(signature.map(|signature| ResponseDelta::Sign { index, signature }));
        Ok(())
    }

    /// Parts for which only the final event arrived.
    pub(super) fn add_whole_parts(&mut self, parts: Vec<MessagePart>) {
        for part in parts {
            self.note_part(&part);
            let (opening, text, signature) = match part.content {
                PartContent::Text(text) => (PartOpening::Text, text, None),
                PartContent::Refusal(text) => (PartOpening::Refusal, text, None),
                PartContent::Thinking { text, signature } => {
                    (PartOpening::Thinking, text, signature)
                }
                PartContent::Call(call) => {
                    (PartOpening::Call { id: call.id, name: call.name }, call.arguments, None)
                }
                whole => (PartOpening::Whole(whole), String::new(), None),
            };
            let mut spoken = self.open(opening, part.extra);
            let index = spoken.index;
            self.out.extend(spoken.grow(text, Extra::none()));
            self.out.extend(signature.map(|signature| ResponseDelta::Sign { index, signature }));
            self.out.push(ResponseDelta::Close { index });
        }
    }

    pub(super) fn event(&mut self, kind: &str, mut fields: FieldReader) -> Result<(), LlmError> {
        let at = output_index(&fields);
        if let Some(ResponsesStreamItem::Opaque(_)) = self.items.get(&at) {
            self.pass(at, kind, fields);
            return Ok(());
        }
        let delta = if kind.ends_with(".delta") { fields.text("delta")? } else { None };
        let delta = delta.unwrap_or_default();
        let place = ContentPosition { item: at, content: content_index(&fields) };
        match kind {
            "response.content_part.added" => {
                if let Some(part) = fields.object("part")? {
                    self.add_content(place, part);
                }
            }
            "response.content_part.done" => self.finish_content(place, &mut fields)?,
            "response.output_text.delta" => self.grow(place, delta, logprobs(&fields)),
            "response.refusal.delta" => {
                self.open_content(place, PartOpening::Refusal);
                self.grow(place, delta, Extra::none());
            }
            "response.output_text.done" => self.rest(place, fields.text("text")?),
            "response.refusal.done" => {
                self.open_content(place, PartOpening::Refusal);
                self.rest(place, fields.text("refusal")?);
            }
            "response.function_call_arguments.delta" => self.grow(place, delta, Extra::none()),
            "response.function_call_arguments.done" => {
                self.rest(place, fields.text("arguments")?);
            }
            "response.reasoning_summary_text.delta" => {
                self.think(at, delta, Extra::none(), Extra::none());
            }
            "response.reasoning_text.delta" => {
                self.think(at, delta, Extra::none(), extra_field("said_as", "reasoning_text"));
            }
            "response.reasoning_summary_part.added" => {
                if fields.peek("summary_index").and_then(Value::as_u64) > Some(0) {
                    self.think(at, "\n\n".to_owned(), extra_field("part", true), Extra::none());
                }
            }
            "response.reasoning_summary_part.done"
            | "response.reasoning_summary_text.done"
            | "response.reasoning_text.done" => {}
            _ => self.pass(at, kind, fields),
        }
        Ok(())
    }

    /// Opens a part of the type that it declares.
    fn add_content(&mut self, place: ContentPosition, part: FieldReader) {
        let opening = match part.peek("type").and_then(Value::as_str) {
            Some("refusal") => PartOpening::Refusal,
            Some("output_text") | None => PartOpening::Text,
            Some(_) => {
                let value = part.into_value();
                PartOpening::Whole(PartContent::Opaque { dialect: DIALECT, value })
            }
        };
        self.open_content(place, opening);
    }

    /// Opens a part, if its message exists and the part does not yet.
    fn open_content(&mut self, place: ContentPosition, opening: PartOpening) {
        let Some(ResponsesStreamItem::Message { fields, contents }) = self.items.get(&place.item)
        else {
            return;
        };
        if contents.contains_key(&place.content) {
            return;
        }
        if opening == PartOpening::Refusal {
            self.plain = self.plain.max(PlainStop::Refused);
        }
        let spoken = self.open(opening, with_item(fields.clone()));
        if let Some(ResponsesStreamItem::Message { contents, .. }) = self.items.get_mut(&place.item)
        {
            contents.insert(place.content, spoken);
        }
    }

    /// Citations and similar fields are complete only when the content is.
    fn finish_content(
        &mut self,
        place: ContentPosition,
        fields: &mut FieldReader,
    ) -> Result<(), LlmError> {
        let Some(part) = fields.take("part") else { return Ok(()) };
        let Some(ResponsesOpenPart { index, is_opaque, .. }) = self.open_part_mut(place) else {
            return Ok(());
        };
        let index = *index;
        let is_opaque = *is_opaque;
        let read = part_reader::read(part.clone(), "part".to_owned());
        let extra = match (is_opaque, read) {
            (true, Ok(MessagePart { content: PartContent::Opaque { .. }, .. })) => {
                extra_field(WHOLE_CONTENT_KEY, part)
            }
            // It ends as another kind than it began.
            (true, _) => Extra::none(),
            (false, read) => read?.extra,
        };
        if !extra.is_empty() {
            self.out.push(ResponseDelta::Extra { index, extra });
        }
        Ok(())
    }

    /// Appends to a message or a call.
    fn grow(&mut self, place: ContentPosition, text: String, extra: Extra) {
        self.open_content(place, PartOpening::Text);
        let step = self.open_part_mut(place).and_then(|spoken| spoken.grow(text, extra));
        self.out.extend(step);
    }

    /// The complete text, for servers that send no deltas.
    fn rest(&mut self, place: ContentPosition, whole: Option<String>) {
        self.open_content(place, PartOpening::Text);
        let whole = whole.unwrap_or_default();
        let step = self.open_part_mut(place).and_then(|spoken| spoken.rest(&whole));
        self.out.extend(step);
    }

    /// Appends to a thought, which is opened by its first text.
    fn think(&mut self, at: u64, text: String, extra: Extra, said_as: Extra) {
        if let Some(ResponsesStreamItem::Thoughts { fields, spoken: None }) = self.items.get(&at) {
            let mut kept = with_item(fields.clone());
            kept.merge(said_as);
            let begun = self.open(PartOpening::Thinking, kept);
            if let Some(ResponsesStreamItem::Thoughts { spoken, .. }) = self.items.get_mut(&at) {
                *spoken = Some(begun);
            }
        }
        let step = self
            .open_part_mut(ContentPosition { item: at, content: 0 })
            .and_then(|spoken| spoken.grow(text, extra));
        self.out.extend(step);
    }

    /// Passes on an event about an item that only this dialect has, or about content beside its
    /// text.
    fn pass(&mut self, at: u64, kind: &str, mut fields: FieldReader) {
        let place = ContentPosition { item: at, content: content_index(&fields) };
        let Some(index) = self.open_part_mut(place).map(|spoken| spoken.index) else { return };
        fields.put("type", kind);
        let extra = extra_field("event", fields.into_value());
        self.out.push(ResponseDelta::Grow { index, text: String::new(), extra });
    }

    fn open_part_mut(&mut self, place: ContentPosition) -> Option<&mut ResponsesOpenPart> {
        match self.items.get_mut(&place.item)? {
            ResponsesStreamItem::Message { contents, .. } => contents.get_mut(&place.content),
            ResponsesStreamItem::Call(spoken) | ResponsesStreamItem::Opaque(spoken) => Some(spoken),
            ResponsesStreamItem::Thoughts { spoken, .. } => spoken.as_mut(),
            ResponsesStreamItem::Done => None,
        }
    }

    fn open(&mut self, opening: PartOpening, extra: Extra) -> ResponsesOpenPart {
        let index = self.parts;
        self.parts += 1;
        let is_opaque = matches!(opening, PartOpening::Whole(_));
        self.out.push(ResponseDelta::Open { index, opening, extra });
        ResponsesOpenPart { index, text: String::new(), is_opaque }
    }

    /// Closes all open items. A call that began but did not end may be the same as one that ended
    /// but did not begin: it must not run twice.
    pub(super) fn close(&mut self) -> Result<(), LlmError> {
        if let Some(id) = &self.unannounced_call
            && self.items.values().any(|item| matches!(item, ResponsesStreamItem::Call(_)))
        {
            let message = format!("the call `{id}` ends and never began, and another never ends");
            return Err(LlmError::invalid("item", message));
        }
        let open: Vec<u64> = self.items.keys().copied().collect();
        open.into_iter().for_each(|at| self.close_item(at));
        Ok(())
    }

    /// The id and the index of the call that this item is, if it has begun and not ended.
    fn open_call(&self, item: &FieldReader) -> Option<(String, u64)> {
        let id = item.peek("call_id").and_then(Value::as_str)?;
        let at = *self.calls.get(id)?;
        let is_open = matches!(self.items.get(&at), Some(ResponsesStreamItem::Call(_)));
        is_open.then(|| (id.to_owned(), at))
    }

    fn close_item(&mut self, at: u64) {
        let Some(item) = self.items.get_mut(&at) else { return };
        let open: Vec<ResponsesOpenPart> = match std::mem::replace(item, ResponsesStreamItem::Done)
        {
            ResponsesStreamItem::Message { contents, .. } => contents.into_values().collect(),
            ResponsesStreamItem::Call(spoken) | ResponsesStreamItem::Opaque(spoken) => vec![spoken],
            ResponsesStreamItem::Thoughts { spoken, .. } => Vec::from_iter(spoken),
            ResponsesStreamItem::Done => Vec::new(),
        };
        self.out
            .extend(open.into_iter().map(|spoken| ResponseDelta::Close { index: spoken.index }));
    }
}

impl ResponsesOpenPart {
    fn grow(&mut self, text: String, extra: Extra) -> Option<ResponseDelta> {
        if text.is_empty() && extra.is_empty() {
            return None;
        }
        self.text.push_str(&text);
        Some(ResponseDelta::Grow { index: self.index, text, extra })
    }

    /// Emits the missing rest of the complete text.
    fn rest(&mut self, whole: &str) -> Option<ResponseDelta> {
        let rest = whole.strip_prefix(self.text.as_str())?.to_owned();
        self.grow(rest, Extra::none())
    }
}

/// Content of unknown types in a finished message that no event announced.
fn find_unannounced_parts(
    message: &Value,
    contents: &BTreeMap<u64, ResponsesOpenPart>,
) -> Vec<MessagePart> {
    let list = message["content"].as_array().into_iter().flatten();
    let new = (0..).zip(list).filter(|(number, _)| !contents.contains_key(number));
    let parts = new.filter_map(|(_, part)| part_reader::read(part.clone(), String::new()).ok());
    parts.filter(|part| matches!(part.content, PartContent::Opaque { .. })).collect()
}

/// The `call_id` of an item that is a call of a function.
fn call_id(item: &Value) -> Option<&str> {
    let is_call = item["type"] == "function_call" && item["namespace"].is_null();
    item["call_id"].as_str().filter(|_| is_call)
}

pub(super) fn output_index(fields: &FieldReader) -> u64 {
    fields.peek("output_index").and_then(Value::as_u64).unwrap_or(0)
}

fn content_index(fields: &FieldReader) -> u64 {
    fields.peek("content_index").and_then(Value::as_u64).unwrap_or(0)
}

fn logprobs(fields: &FieldReader) -> Extra {
    let logprobs = fields.peek("logprobs").filter(|list| list.get(0).is_some());
    logprobs.map_or_else(Extra::none, |logprobs| extra_field("logprobs", logprobs.clone()))
}

/// The fields of an item to keep.
fn remaining_fields(item: Value, known: &[&str]) -> Map<String, Value> {
    let Value::Object(mut item) = item else { return Map::new() };
    item.retain(|key, value| !known.contains(&key.as_str()) && !value.is_null());
    item
}
