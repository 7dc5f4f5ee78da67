//! Encodes messages as items, for a provider and for a client's history.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{DIALECT, OWN_ID_PREFIX, is_opaque_item, item_of, last_seen_value, part_writer};
use crate::conversation::{
    CallResult, ChatMedia, ChatMessage, ChatRole, FunctionCall, MediaKind, MessagePart,
    PartContent, ThoughtSignature,
};
use crate::extra::Extra;
use crate::format::encoding_losses::EncodingLosses;
use crate::format::result_media;

/// Items have no ids: the provider would look for them among the responses that it stored, which
/// need not be there.
pub(super) fn for_provider(messages: &[Arc<ChatMessage>], lost: &mut EncodingLosses) -> Vec<Value> {
    let mut writer = ResponsesHistoryWriter {
        out: Vec::new(),
        reader: ResponsesHistoryAudience::Provider(lost),
    };
    messages.iter().for_each(|message| writer.message(message));
    without_stray_thoughts(writer.out)
}

/// Drops reasoning that no output follows: the API refuses it.
fn without_stray_thoughts(items: Vec<Value>) -> Vec<Value> {
    let mut kept = Vec::with_capacity(items.len());
    let mut is_output_next = false;
    for item in items.into_iter().rev() {
        let kind = item["type"].as_str().unwrap_or("message");
        if kind == "reasoning" && !is_output_next {
            continue;
        }
        is_output_next = match kind {
            "message" => item["role"] == "assistant",
            kind => !kind.ends_with("_output"),
        };
        kept.push(item);
    }
    kept.reverse();
    kept
}

pub(super) fn for_client(messages: &[Arc<ChatMessage>]) -> Vec<Value> {
    let mut writer =
        ResponsesHistoryWriter { out: Vec::new(), reader: ResponsesHistoryAudience::Client };
    messages.iter().for_each(|message| writer.message(message));
    writer.out
}

/// The reader of the output.
enum ResponsesHistoryAudience<'a> {
    Provider(&'a mut EncodingLosses),
    /// Keeps signatures of other providers, and sends them back.
    Client,
}

struct ResponsesHistoryWriter<'a> {
    out: Vec<Value>,
    reader: ResponsesHistoryAudience<'a>,
}

impl ResponsesHistoryWriter<'_> {
    fn message(&mut self, message: &ChatMessage) {
        let role = match message.role {
            ChatRole::System => "system",
            ChatRole::Developer => "developer",
            ChatRole::User => "user",
            ChatRole::Assistant => "assistant",
        };
        let ids = self.ids();
        let item = item_of(&message.extra);
        let mut pending = PendingResponsesMessage { role, item, ids, content: Vec::new() };
        for part in &message.parts {
            let value = match &part.content {
                PartContent::Text(text) if message.role == ChatRole::Assistant => {
                    Some(part_writer::output_text(text, &part.extra))
                }
                PartContent::Text(text) => Some(part_writer::input_text(text, &part.extra)),
                PartContent::Refusal(text) => Some(part_writer::refusal(text, &part.extra)),
                PartContent::Media(media) if message.role != ChatRole::Assistant => {
                    part_writer::media(media, &part.extra)
                }
                PartContent::Opaque { dialect: DIALECT, value } if !is_opaque_item(part) => {
                    Some(last_seen_value(value, &part.extra).clone())
                }
                _ => {
                    pending.flush(&mut self.out);
                    self.item(part);
                    continue;
                }
            };
            let Some(value) = value else {
                self.lose(&part.content);
                continue;
            };
            let item = item_of(&part.extra).or(item_of(&message.extra));
            if item != pending.item {
                pending.flush(&mut self.out);
                pending.item = item;
            }
            pending.content.push(value);
        }
        if message.parts.is_empty() {
            pending.content.push(part_writer::input_text("", &Extra::none()));
        }
        pending.flush(&mut self.out);
    }

    /// Encodes a part that is a separate item.
    fn item(&mut self, part: &MessagePart) {
        let item = match &part.content {
            PartContent::Call(call) => Some(call_json(call, part, self.ids())),
            PartContent::Result(result) => Some(self.result(result, part)),
            PartContent::Thinking { text, signature } => {
                self.thought(text, signature.as_ref(), &part.extra)
            }
            PartContent::Opaque { dialect: DIALECT, value } => {
                Some(last_seen_value(value, &part.extra).clone())
            }
            _ => None,
        };
        match item {
            Some(item) => self.out.push(item),
            None => self.lose(&part.content),
        }
    }

    fn ids(&self) -> ItemIds {
        match self.reader {
            ResponsesHistoryAudience::Provider(_) => ItemIds::Omitted,
            ResponsesHistoryAudience::Client => ItemIds::Retained,
        }
    }

    /// A provider only accepts thoughts that it sealed itself. It may be given them without an id,
    /// but not with another one than they were sealed with.
    fn thought(
        &self,
        text: &str,
        signature: Option<&ThoughtSignature>,
        extra: &Extra,
    ) -> Option<Value> {
        let mut item = Map::from_iter([("type".to_owned(), Value::from("reasoning"))]);
        let sealed = match self.reader {
            ResponsesHistoryAudience::Provider(_) => {
                Some(signature.filter(|it| it.maker == DIALECT)?.text.clone())
            }
            ResponsesHistoryAudience::Client => signature.map(|it| it.for_client(DIALECT)),
        };
        item.extend(sealed.map(|sealed| ("encrypted_content".to_owned(), sealed.into())));
        add(&mut item, item_of(extra), self.ids());
        if self.ids() == ItemIds::Retained && !item.contains_key("id") {
            let id = format!("rs_{OWN_ID_PREFIX}{}", self.out.len());
            item.insert("id".to_owned(), id.into());
        }
        if !item.contains_key("summary") {
            item.insert("summary".to_owned(), summary(text));
        }
        Some(Value::Object(item))
    }

    fn result(&mut self, result: &CallResult, part: &MessagePart) -> Value {
        let mut list = Vec::with_capacity(result.parts.len());
        for part in &result.parts {
            let value = match &part.content {
                PartContent::Text(text) => Some(part_writer::input_text(text, &part.extra)),
                PartContent::Media(media) => media_in_result(media, &part.extra),
                PartContent::Opaque { dialect: DIALECT, value } => Some(value.clone()),
                _ => None,
            };
            if value.is_none() {
                self.lose(&part.content);
            }
            let instead = match &part.content {
                PartContent::Media(media) => {
                    Some(part_writer::input_text(&result_media::instead(media), &Extra::none()))
                }
                _ => None,
            };
            list.extend(value.or(instead));
        }
        let mut item = Map::from_iter([
            ("type".to_owned(), Value::from("function_call_output")),
            ("call_id".to_owned(), result.call_id.clone().into()),
            ("output".to_owned(), content(list)),
        ]);
        add(&mut item, item_of(&part.extra), self.ids());
        Value::Object(item)
    }

    fn lose(&mut self, content: &PartContent) {
        if let ResponsesHistoryAudience::Provider(lost) = &mut self.reader {
            lost.content(content);
        }
    }
}

/// Results may contain images and files, but no audio.
fn media_in_result(media: &ChatMedia, extra: &Extra) -> Option<Value> {
    match media.kind {
        MediaKind::Image if !result_media::is_picture(media) => None,
        MediaKind::Audio => None,
        MediaKind::Image | MediaKind::Video | MediaKind::Document => {
            part_writer::media(media, extra)
        }
    }
}

/// A message that is being written.
struct PendingResponsesMessage<'a> {
    role: &'static str,
    item: Option<&'a Map<String, Value>>,
    ids: ItemIds,
    content: Vec<Value>,
}

/// Whether items are written with their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemIds {
    Retained,
    Omitted,
}

impl PendingResponsesMessage<'_> {
    fn flush(&mut self, out: &mut Vec<Value>) {
        if self.content.is_empty() {
            return;
        }
        let list = std::mem::take(&mut self.content);
        let recorded =
            self.ids == ItemIds::Retained && self.item.is_some_and(|item| item.contains_key("id"));
        let content_json = if recorded { list.into() } else { content(list) };
        let mut item = Map::from_iter([
            ("role".to_owned(), Value::from(self.role)),
            ("content".to_owned(), content_json),
        ]);
        add(&mut item, self.item, self.ids);
        if item["content"].is_array() {
            item.entry("type").or_insert_with(|| "message".into());
        } else if self.ids == ItemIds::Omitted {
            // Only output with an id and a list has one.
            item.shift_remove("status");
        }
        out.push(Value::Object(item));
    }
}

fn is_ours(id: &str) -> bool {
    id.split_once('_').is_some_and(|(_, rest)| rest.starts_with(OWN_ID_PREFIX))
}

/// Restores the kept fields of an item, but none that are null: the API refuses some of those.
fn add(object: &mut Map<String, Value>, item: Option<&Map<String, Value>>, ids: ItemIds) {
    for (key, value) in item.into_iter().flatten() {
        let is_unwanted_id =
            key == "id" && (ids == ItemIds::Omitted || value.as_str().is_some_and(is_ours));
        if !is_unwanted_id && !value.is_null() && !object.contains_key(key) {
            object.insert(key.clone(), value.clone());
        }
    }
}

fn call_json(call: &FunctionCall, part: &MessagePart, ids: ItemIds) -> Value {
    let mut item = Map::from_iter([
        ("type".to_owned(), Value::from("function_call")),
        ("call_id".to_owned(), call.id.clone().into()),
        ("name".to_owned(), call.name.clone().into()),
        ("arguments".to_owned(), call.arguments.clone().into()),
    ]);
    add(&mut item, item_of(&part.extra), ids);
    Value::Object(item)
}

pub(super) fn summary(text: &str) -> Value {
    match text {
        "" => json!([]),
        text => json!([{"type": "summary_text", "text": text}]),
    }
}

/// A single plain text is written as a string.
fn content(mut list: Vec<Value>) -> Value {
    let plain = |part: &Map<String, Value>| {
        let annotated = part.get("annotations").is_some_and(|them| *them != json!([]));
        let fields = part.len() - usize::from(part.contains_key("annotations"));
        fields == 2 && !annotated && part.contains_key("text")
    };
    match &mut list[..] {
        [Value::Object(part)] if plain(part) => part["text"].take(),
        [] => "".into(),
        _ => list.into(),
    }
}
