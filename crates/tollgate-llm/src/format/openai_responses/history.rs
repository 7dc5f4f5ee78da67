//! Encodes messages as items, for a provider and for a client's history.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    DIALECT, ITEM_KEY, OWN_ID_PREFIX, is_opaque_item, item_of, last_seen_value, part_writer,
};
use crate::conversation::{
    CallResult, ChatMedia, ChatMessage, ChatRole, FunctionCall, MediaKind, MessagePart,
    PartContent, ThoughtSignature,
};
use crate::extra::Extra;
use crate::format::encoding_losses::EncodingLosses;
use crate::format::result_media;

/// Whether the provider stores responses, and finds thoughts in them by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseStorage {
    There,
    Nowhere,
}

pub(super) fn for_provider(
    messages: &[Arc<ChatMessage>],
    kept: ResponseStorage,
    lost: &mut EncodingLosses,
) -> Vec<Value> {
    let mut writer = ResponsesHistoryWriter {
        out: Vec::new(),
        reader: ResponsesHistoryAudience::Provider { kept, lost },
    };
    messages.iter().for_each(|message| writer.message(message));
    writer.out
}

pub(super) fn for_client(messages: &[Arc<ChatMessage>]) -> Vec<Value> {
    let mut writer =
        ResponsesHistoryWriter { out: Vec::new(), reader: ResponsesHistoryAudience::Client };
    messages.iter().for_each(|message| writer.message(message));
    writer.out
}

/// The reader of the output.
enum ResponsesHistoryAudience<'a> {
    Provider {
        kept: ResponseStorage,
        lost: &'a mut EncodingLosses,
    },
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
        let mut said =
            PendingResponsesMessage { role, item: item_of(&message.extra), content: Vec::new() };
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
                    said.flush(&mut self.out);
                    self.item(part);
                    continue;
                }
            };
            let Some(value) = value else {
                self.lose(&part.content);
                continue;
            };
            let item = item_of(&part.extra).or(item_of(&message.extra));
            if item != said.item {
                said.flush(&mut self.out);
                said.item = item;
            }
            said.content.push(value);
        }
        if message.parts.is_empty() {
            said.content.push(part_writer::input_text("", &Extra::none()));
        }
        said.flush(&mut self.out);
    }

    /// Encodes a part that is a separate item.
    fn item(&mut self, part: &MessagePart) {
        let item = match &part.content {
            PartContent::Call(call) => Some(call_json(call, part)),
            PartContent::Result(result) => Some(self.result(result, part)),
            PartContent::Thinking { text, signature } => {
                self.may_carry(part, signature.as_ref()).then(|| {
                    let id = format!("rs_{OWN_ID_PREFIX}{}", self.out.len());
                    thought_json(text, signature.as_ref(), &part.extra, id)
                })
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

    /// A provider only accepts its own thoughts: signed by it, or with an id that it knows.
    fn may_carry(&self, part: &MessagePart, signature: Option<&ThoughtSignature>) -> bool {
        let ResponsesHistoryAudience::Provider { kept, .. } = &self.reader else { return true };
        match signature {
            Some(signature) => signature.maker == DIALECT,
            None => {
                let id = item_of(&part.extra).and_then(|item| item.get("id")?.as_str());
                *kept == ResponseStorage::There && id.is_some_and(|id| !is_ours(id))
            }
        }
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
        add(&mut item, item_of(&part.extra));
        Value::Object(item)
    }

    fn lose(&mut self, content: &PartContent) {
        if let ResponsesHistoryAudience::Provider { lost, .. } = &mut self.reader {
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
    content: Vec<Value>,
}

impl PendingResponsesMessage<'_> {
    fn flush(&mut self, out: &mut Vec<Value>) {
        if self.content.is_empty() {
            return;
        }
        let list = std::mem::take(&mut self.content);
        let recorded = self.item.is_some_and(|item| item.contains_key("id"));
        let said = if recorded { list.into() } else { content(list) };
        let mut item = Map::from_iter([
            ("role".to_owned(), Value::from(self.role)),
            ("content".to_owned(), said),
        ]);
        add(&mut item, self.item);
        if item["content"].is_array() {
            item.entry("type").or_insert_with(|| "message".into());
        }
        out.push(Value::Object(item));
    }
}

pub(super) fn is_ours(id: &str) -> bool {
    id.split_once('_').is_some_and(|(_, rest)| rest.starts_with(OWN_ID_PREFIX))
}

/// Restores the kept fields of an item; ids that were generated here are for clients only.
fn add(object: &mut Map<String, Value>, item: Option<&Map<String, Value>>) {
    for (key, value) in item.into_iter().flatten() {
        let ours = key == "id" && value.as_str().is_some_and(is_ours);
        if !ours && !object.contains_key(key) {
            object.insert(key.clone(), value.clone());
        }
    }
}

fn call_json(call: &FunctionCall, part: &MessagePart) -> Value {
    let mut item = Map::from_iter([
        ("type".to_owned(), Value::from("function_call")),
        ("call_id".to_owned(), call.id.clone().into()),
        ("name".to_owned(), call.name.clone().into()),
        ("arguments".to_owned(), call.arguments.clone().into()),
    ]);
    add(&mut item, item_of(&part.extra));
    Value::Object(item)
}

/// `id` is used for thoughts without one.
fn thought_json(
    text: &str,
    signature: Option<&ThoughtSignature>,
    extra: &Extra,
    id: String,
) -> Value {
    let mut item = Map::from_iter([("type".to_owned(), Value::from("reasoning"))]);
    if let Some(signature) = signature {
        item.insert("encrypted_content".to_owned(), signature.for_client(DIALECT).into());
    }
    add(&mut item, item_of(extra));
    if extra.get(DIALECT, ITEM_KEY).is_none() {
        item.insert("id".to_owned(), id.into());
    }
    if !item.contains_key("summary") {
        item.insert("summary".to_owned(), summary(text));
    }
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
