//! Items of a response being written: maps parts to items, and emits the events for a part's start,
//! deltas and end.

use serde_json::{Map, Value, json};

use super::super::history::summary;
use super::super::{DIALECT, OWN_ID_PREFIX, WHOLE_ITEM_KEY, item_of, last_seen_value};
use super::part_position::{ResponsesPartKind, ResponsesPartPosition};
use super::{ModelRefusal, ResponsesEvent};
use crate::conversation::{ChatMedia, MediaKind, MediaSource, PartContent};
use crate::delta::{PartOpening, ResponseDelta};
use crate::extra::Extra;
use crate::format::openai_common::logprobs;

#[derive(Debug, Default)]
pub(super) struct ResponsesOutputItems {
    /// Id of the response, from which item ids are derived.
    pub(super) answer: String,
    /// The items in their current state.
    output: Vec<Map<String, Value>>,
    parts: Vec<ResponsesPartPosition>,
    /// The message that may still get more content.
    message: Option<usize>,
    /// Parts that are only a signature, written before the item that they belong to. Reasoning that
    /// nothing follows is left out: the API refuses it when the client sends it back.
    held: Vec<usize>,
    /// The events of this delta.
    out: Vec<ResponsesEvent>,
}

impl ResponsesOutputItems {
    pub(super) fn output(&self) -> Vec<Value> {
        self.output.iter().cloned().map(Value::Object).collect()
    }

    pub(super) fn refusal(&self) -> ModelRefusal {
        if self.parts.iter().any(|place| place.kind == ResponsesPartKind::Refusal) {
            ModelRefusal::Present
        } else {
            ModelRefusal::Absent
        }
    }

    pub(super) fn step(&mut self, delta: &ResponseDelta) -> Vec<ResponsesEvent> {
        match delta {
            ResponseDelta::Open { opening, extra, .. } => self.open(opening, extra),
            ResponseDelta::Grow { index, text, extra } => self.grow(*index, text, extra),
            ResponseDelta::Sign { index, signature } => {
                if let Some(place) = self.parts.get_mut(*index) {
                    place.signature = Some(signature.clone());
                }
            }
            ResponseDelta::Extra { index, extra } => {
                if let Some(place) = self.parts.get_mut(*index) {
                    place.extra.merge(extra.clone());
                }
            }
            ResponseDelta::Close { index } => self.close(*index),
            ResponseDelta::Start { .. } | ResponseDelta::End { .. } => {}
        }
        std::mem::take(&mut self.out)
    }

    fn open(&mut self, opening: &PartOpening, extra: &Extra) {
        let kind = match opening {
            PartOpening::Text => ResponsesPartKind::Text,
            PartOpening::Refusal => ResponsesPartKind::Refusal,
            PartOpening::Thinking if extra.get(DIALECT, "said_as").is_some() => {
                ResponsesPartKind::Thoughts
            }
            PartOpening::Thinking if item_of(extra).is_none() => ResponsesPartKind::Signature,
            PartOpening::Thinking => ResponsesPartKind::Summary,
            PartOpening::Call { .. } => ResponsesPartKind::Call,
            PartOpening::Whole(PartContent::Opaque { dialect: DIALECT, .. })
                if extra.get(DIALECT, WHOLE_ITEM_KEY).is_some() =>
            {
                ResponsesPartKind::Whole
            }
            PartOpening::Whole(PartContent::Opaque { dialect: DIALECT, .. }) => {
                ResponsesPartKind::Content
            }
            PartOpening::Whole(PartContent::Media(media)) if image(media).is_some() => {
                ResponsesPartKind::Whole
            }
            PartOpening::Whole(_) => ResponsesPartKind::Nothing,
        };
        let has_content = matches!(
            kind,
            ResponsesPartKind::Text | ResponsesPartKind::Refusal | ResponsesPartKind::Content
        );
        if !matches!(kind, ResponsesPartKind::Nothing | ResponsesPartKind::Signature) {
            self.write_held();
        }
        let item = match kind {
            ResponsesPartKind::Text | ResponsesPartKind::Refusal | ResponsesPartKind::Content => {
                self.message(extra)
            }
            ResponsesPartKind::Nothing | ResponsesPartKind::Signature => self.output.len(),
            _ => {
                self.end_message("completed");
                self.begin(opening, extra)
            }
        };
        let content = if has_content { self.contents(item).len() } else { 0 };
        let value = match opening {
            PartOpening::Whole(PartContent::Opaque { value, .. }) if has_content => value.clone(),
            _ => Value::Null,
        };
        let text = String::new();
        let extra = extra.clone();
        let place =
            ResponsesPartPosition { kind, item, content, text, signature: None, extra, value };
        if has_content {
            let part = place.part();
            self.contents(item).push(part.clone());
            self.say(&place, "response.content_part.added", json!({"part": part}));
        }
        self.parts.push(place);
    }

    /// The message that this part belongs to: a new one, unless the provider assigned it to the
    /// previous one.
    fn message(&mut self, extra: &Extra) -> usize {
        let id = item_of(extra).and_then(|item| item.get("id"));
        if let Some(open) = self.message
            && id.is_some()
            && self.output[open].get("id") == id
        {
            return open;
        }
        self.end_message("completed");
        let item =
            json!({"type": "message", "status": "in_progress", "role": "assistant", "content": []});
        let index = self.add("msg", item, extra);
        self.message = Some(index);
        self.emit_item_added(index);
        index
    }

    fn begin(&mut self, opening: &PartOpening, extra: &Extra) -> usize {
        let index = match opening {
            PartOpening::Call { id, name } => {
                let item = json!({"type": "function_call", "status": "in_progress",
                    "call_id": id, "name": name, "arguments": ""});
                self.add("fc", item, extra)
            }
            PartOpening::Whole(PartContent::Opaque { value, .. }) => {
                self.output.push(value.as_object().cloned().unwrap_or_default());
                self.output.len() - 1
            }
            PartOpening::Whole(PartContent::Media(media)) => {
                let item = json!({"type": "image_generation_call", "status": "completed",
                    "result": image(media)});
                self.add("ig", item, extra)
            }
            _ => {
                let index = self.add("rs", json!({"type": "reasoning"}), extra);
                let item = &mut self.output[index];
                item.retain(|key, _| {
                    !["content", "encrypted_content", "status"].contains(&key.as_str())
                });
                item.insert("summary".to_owned(), json!([]));
                index
            }
        };
        self.emit_item_added(index);
        index
    }

    /// Adds a new item with the fields kept from the provider, and always with an id.
    fn add(&mut self, prefix: &str, item: Value, extra: &Extra) -> usize {
        let index = self.output.len();
        let Value::Object(mut item) = item else { return index };
        for (key, value) in item_of(extra).into_iter().flatten() {
            if !item.contains_key(key) {
                item.insert(key.clone(), value.clone());
            }
        }
        if !item.get("id").is_some_and(Value::is_string) {
            let id = format!("{prefix}_{OWN_ID_PREFIX}{index}_{}", self.answer);
            item.insert("id".to_owned(), id.into());
        }
        self.output.push(item);
        index
    }

    fn grow(&mut self, index: usize, text: &str, extra: &Extra) {
        let Some(mut place) = self.parts.get_mut(index).map(ResponsesPartPosition::take) else {
            return;
        };
        if let Some(event) = extra.get(DIALECT, "event") {
            self.pass(&place, event);
        }
        if extra.get(DIALECT, "part").is_some() {
            self.end_summary(&mut place);
        } else if !text.is_empty() {
            if place.kind == ResponsesPartKind::Signature {
                self.begin_thought(&mut place);
            }
            let first = place.text.is_empty();
            place.text.push_str(text);
            let mut fields = json!({"delta": text});
            if place.kind == ResponsesPartKind::Text {
                if let Some(tokens) = logprobs::of_chat(extra) {
                    place.add_logprobs(tokens);
                }
                let tokens = extra.get(DIALECT, "logprobs").or(logprobs::of_chat(extra)).cloned();
                fields["logprobs"] = tokens.unwrap_or_else(|| json!([]));
            }
            if first {
                self.first(&place);
            }
            if let Some(name) = place.kind.delta() {
                self.say(&place, name, fields);
            }
        }
        self.parts[index] = place;
    }

    /// Begins the item of a thought that turns out to have a text, or to belong to an item.
    fn begin_thought(&mut self, place: &mut ResponsesPartPosition) {
        self.end_message("completed");
        place.kind = ResponsesPartKind::Summary;
        place.item = self.begin(&PartOpening::Thinking, &place.extra);
    }

    fn write_held(&mut self) {
        for index in std::mem::take(&mut self.held) {
            let mut place = self.parts[index].take();
            self.begin_thought(&mut place);
            self.set_thoughts(&place);
            self.emit_item_done_as_is(place.item);
            self.parts[index] = place;
        }
    }

    /// Emits the events before the first text of a thought.
    fn first(&mut self, place: &ResponsesPartPosition) {
        let (name, part) = match place.kind {
            ResponsesPartKind::Summary => ("response.reasoning_summary_part.added", "summary_text"),
            ResponsesPartKind::Thoughts => ("response.content_part.added", "reasoning_text"),
            _ => return,
        };
        self.say(place, name, json!({"part": {"type": part, "text": ""}}));
    }

    /// Ends one part of a summary; another may follow.
    fn end_summary(&mut self, place: &mut ResponsesPartPosition) {
        if place.text.is_empty() {
            return;
        }
        let text = std::mem::take(&mut place.text);
        let (done, part_done, key, kind) = match place.kind {
            ResponsesPartKind::Thoughts => (
                "response.reasoning_text.done",
                "response.content_part.done",
                "content",
                "reasoning_text",
            ),
            _ => (
                "response.reasoning_summary_text.done",
                "response.reasoning_summary_part.done",
                "summary",
                "summary_text",
            ),
        };
        let part = json!({"type": kind, "text": text});
        self.say(place, done, json!({"text": text}));
        self.say(place, part_done, json!({"part": part}));
        let list = self.output[place.item].entry(key).or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.push(part);
        }
        place.content += 1;
    }

    fn close(&mut self, index: usize) {
        let Some(mut place) = self.parts.get_mut(index).map(ResponsesPartPosition::take) else {
            return;
        };
        match place.kind {
            ResponsesPartKind::Text | ResponsesPartKind::Refusal => {
                let part = place.part();
                let (name, fields) = match place.kind {
                    ResponsesPartKind::Text => {
                        let logprobs = part.get("logprobs").cloned().unwrap_or_else(|| json!([]));
                        (
                            "response.output_text.done",
                            json!({"text": place.text, "logprobs": logprobs}),
                        )
                    }
                    _ => ("response.refusal.done", json!({"refusal": place.text})),
                };
                self.say(&place, name, fields);
                self.say(&place, "response.content_part.done", json!({"part": part}));
                self.contents(place.item)[place.content] = part;
            }
            ResponsesPartKind::Content => {
                let part = place.part();
                self.say(&place, "response.content_part.done", json!({"part": part}));
                self.contents(place.item)[place.content] = part;
            }
            ResponsesPartKind::Call => {
                let name = "response.function_call_arguments.done";
                self.say(&place, name, json!({"arguments": place.text}));
                self.set(&place, [("arguments", place.text.clone().into())]);
                self.emit_item_done(place.item, "completed");
            }
            ResponsesPartKind::Summary | ResponsesPartKind::Thoughts => {
                self.end_summary(&mut place);
                self.set_thoughts(&place);
                self.emit_item_done_as_is(place.item);
            }
            ResponsesPartKind::Whole => {
                if let Value::Object(item) = last_seen_value(&Value::Null, &place.extra) {
                    self.output[place.item] = item.clone();
                }
                self.emit_item_done_as_is(place.item);
            }
            ResponsesPartKind::Signature if place.signature.is_some() => self.held.push(index),
            ResponsesPartKind::Signature | ResponsesPartKind::Nothing => {}
        }
        self.parts[index] = place;
    }

    /// Sets the kept fields of thoughts, and the signature.
    fn set_thoughts(&mut self, place: &ResponsesPartPosition) {
        for key in ["summary", "content", "status"] {
            let kept = item_of(&place.extra).and_then(|item| item.get(key));
            if let Some(kept) = kept.filter(|kept| !kept.is_null()) {
                self.set(place, [(key, kept.clone())]);
            }
        }
        if let Some(signature) = &place.signature {
            self.set(place, [("encrypted_content", signature.for_client(DIALECT).into())]);
        }
        if self.output[place.item].get("summary") == Some(&Value::Null) {
            self.set(place, [("summary", summary(""))]);
        }
    }

    fn set<const N: usize>(&mut self, place: &ResponsesPartPosition, fields: [(&str, Value); N]) {
        let item = &mut self.output[place.item];
        item.extend(fields.map(|(key, value)| (key.to_owned(), value)));
    }

    /// End of the response; `status` is that of the last message.
    pub(super) fn finish(&mut self, status: &str) -> Vec<ResponsesEvent> {
        self.end_message(status);
        std::mem::take(&mut self.out)
    }

    fn end_message(&mut self, status: &str) {
        if let Some(index) = self.message.take() {
            self.emit_item_done(index, status);
        }
    }

    fn emit_item_done(&mut self, index: usize, status: &str) {
        self.output[index].insert("status".to_owned(), status.into());
        self.emit_item_done_as_is(index);
    }

    fn emit_item_done_as_is(&mut self, index: usize) {
        let fields = json!({"output_index": index, "item": self.output[index]});
        self.out.push(ResponsesEvent::new("response.output_item.done", fields));
    }

    fn emit_item_added(&mut self, index: usize) {
        let fields = json!({"output_index": index, "item": self.output[index]});
        self.out.push(ResponsesEvent::new("response.output_item.added", fields));
    }

    fn contents(&mut self, item: usize) -> &mut Vec<Value> {
        let content = self.output[item].entry("content").or_insert_with(|| json!([]));
        if !content.is_array() {
            *content = json!([]);
        }
        content.as_array_mut().expect("it was just made one")
    }

    /// Emits an event about the item and content of a part.
    fn say(&mut self, place: &ResponsesPartPosition, name: &str, fields: Value) {
        let mut event = ResponsesEvent::new(name, fields);
        event.fields.extend(self.address(place));
        self.out.push(event);
    }

    fn address(&self, place: &ResponsesPartPosition) -> Map<String, Value> {
        let id = self.output.get(place.item).and_then(|item| item.get("id")).cloned();
        let mut address = Map::from_iter([
            ("item_id".to_owned(), id.unwrap_or_default()),
            ("output_index".to_owned(), place.item.into()),
        ]);
        let number = match place.kind {
            ResponsesPartKind::Text
            | ResponsesPartKind::Refusal
            | ResponsesPartKind::Content
            | ResponsesPartKind::Thoughts => "content_index",
            ResponsesPartKind::Summary => "summary_index",
            ResponsesPartKind::Signature
            | ResponsesPartKind::Call
            | ResponsesPartKind::Whole
            | ResponsesPartKind::Nothing => return address,
        };
        address.insert(number.to_owned(), place.content.into());
        address
    }

    /// Passes on an event of the provider, with its position in this stream.
    fn pass(&mut self, place: &ResponsesPartPosition, event: &Value) {
        let mut passed =
            ResponsesEvent::new(event["type"].as_str().unwrap_or_default(), event.clone());
        for (key, value) in self.address(place) {
            if passed.fields.contains_key(&key) {
                passed.fields.insert(key, value);
            }
        }
        self.out.push(passed);
    }
}

/// An image generated by a model, as this dialect's image tool returns it.
fn image(media: &ChatMedia) -> Option<&str> {
    match (media.kind, &media.source) {
        (MediaKind::Image, MediaSource::Base64 { data, .. }) => Some(data),
        _ => None,
    }
}
