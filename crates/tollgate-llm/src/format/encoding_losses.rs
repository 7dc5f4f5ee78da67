//! Encoding losses: collects what a dialect cannot express while a request is encoded. Used by the
//! writer of every dialect; the losses are reported to the client.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use serde_json::Value;
use tollgate_core::text::truncate_chars;

use crate::conversation::{
    ChatMessage, ChatRequest, ChatTool, MediaKind, MediaSource, PartContent,
};
use crate::dialect::Dialect;
use crate::error::MAX_QUOTED_CHARS;
use crate::extra::Extra;

/// Maximum number of losses listed per request.
const MAX_LISTED_LOSSES: usize = 32;

/// Objects of which readers take some fields: the rest is named field by field.
const PARTLY_READ_OBJECTS: &[&str] = &[
    "reasoning",
    "text",
    "format",
    "response_format",
    "json_schema",
    "image_url",
    "input_audio",
    "file",
    "function",
    "output_config",
    "functionCall",
    "functionResponse",
    "toolConfig",
    "functionCallingConfig",
    "generationConfig.thinkingConfig",
];

/// Depth to which they are named.
const MAX_FIELD_DEPTH: usize = 2;

/// Losses of one request, without duplicates.
#[derive(Debug)]
pub struct EncodingLosses {
    dialect: Dialect,
    /// The first losses, as text.
    texts: Vec<String>,
    /// Hashes of all losses: a request may have a million fields.
    seen: HashSet<u64>,
    hashes: RandomState,
}

/// Fields that are not reported as lost.
///
/// These are fields that the front handles for every provider, notes from readers to the writers of
/// their own dialect, and fields that are kept only for their spelling, since they have a neutral
/// form.
const UNREPORTED_FIELDS: &[&str] = &[
    "stream_options",
    "function_call",
    "max_tokens",
    "top_k",
    "said_as",
    "type",
    "item",
    "input",
    "parameters",
    "response",
    "inlineData",
    "fileData",
    "generationConfig.responseSchema",
];

impl EncodingLosses {
    /// Starts with the fields that only other dialects know, at any depth.
    pub fn of(request: &ChatRequest, dialect: Dialect) -> Self {
        let mut lost =
            Self { dialect, texts: Vec::new(), seen: HashSet::new(), hashes: RandomState::new() };
        lost.fields("", &request.extra);
        for message in &request.messages {
            lost.message(message);
        }
        for tool in &request.tools {
            if let ChatTool::Function(function) = tool {
                lost.fields("tools[].", &function.extra);
            }
        }
        lost
    }

    pub fn say(&mut self, what: impl Into<String>) {
        let what = what.into();
        let new = self.seen.insert(self.hashes.hash_one(what.as_str()));
        if new && self.texts.len() < MAX_LISTED_LOSSES {
            self.texts.push(what);
        }
    }

    /// Removes a loss: the field of another dialect could be encoded after all.
    pub fn retract(&mut self, field: &str) {
        let field = in_words(field);
        if self.seen.remove(&self.hashes.hash_one(field.as_str())) {
            self.texts.retain(|text| *text != field);
        }
    }

    /// Records a part that cannot be encoded in its position.
    pub fn content(&mut self, content: &PartContent) {
        self.say(match content {
            PartContent::Text(_) => "text where none is allowed".to_owned(),
            PartContent::Refusal(_) => "a refusal".to_owned(),
            PartContent::Thinking { .. } => "reasoning of another model".to_owned(),
            PartContent::Media(media) => {
                let kind = match media.kind {
                    MediaKind::Image => "an image",
                    MediaKind::Audio => "audio",
                    MediaKind::Video => "a video",
                    MediaKind::Document => "a document",
                };
                let source = match &media.source {
                    MediaSource::Url(_) => "by its address",
                    MediaSource::Base64 { .. } => "as bytes",
                    MediaSource::File(_) => "stored by another provider",
                };
                format!("{kind} {source}")
            }
            PartContent::Call(_) => "a tool call that no assistant made".to_owned(),
            PartContent::Result(_) => "a result where none is allowed".to_owned(),
            PartContent::Opaque { dialect, value } => {
                let kind = value["type"].as_str().unwrap_or("unknown");
                format!("a part of kind `{kind}` that only {dialect} has")
            }
        });
    }

    pub fn into_list(mut self) -> Vec<String> {
        match self.seen.len() - self.texts.len() {
            0 => {}
            more => self.texts.push(format!("and {more} more")),
        }
        self.texts
    }

    fn message(&mut self, message: &ChatMessage) {
        self.fields("messages[].", &message.extra);
        for part in &message.parts {
            self.fields("messages[].content[].", &part.extra);
        }
    }

    fn fields(&mut self, place: &str, extra: &Extra) {
        for (key, value) in extra.foreign_to(self.dialect) {
            if !UNREPORTED_FIELDS.contains(&key) {
                self.field(place, key, value, MAX_FIELD_DEPTH);
            }
        }
    }

    fn field(&mut self, place: &str, key: &str, value: &Value, depth: usize) {
        match value {
            Value::Object(inner) if depth > 0 && PARTLY_READ_OBJECTS.contains(&key) => {
                let place = format!("{place}{key}.");
                for (key, value) in inner {
                    self.field(&place, key, value, depth - 1);
                }
            }
            value if asks_nothing(value) => {}
            _ => self.say(in_words(&format!("{place}{key}"))),
        }
    }
}

fn in_words(field: &str) -> String {
    format!("field `{}`", truncate_chars(field, MAX_QUOTED_CHARS))
}

fn asks_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests;
