//! Encodes messages for a provider, and for a client's history. A neutral message may become
//! several, because each tool result is a separate message here.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::message_keys::{SPELLING_KEY, THOUGHTS_KEYS};
use super::reasoning_details::{self, DETAILS_KEY};
use super::{DIALECT, media, part_writer, tool};
use crate::conversation::{
    CallResult, ChatMedia, ChatMessage, ChatRequest, ChatRole, MediaKind, MediaSource, MessagePart,
    PartContent,
};
use crate::extra::Extra;
use crate::format::encoding_losses::EncodingLosses;
use crate::format::{openai_common, result_media};

/// Placeholder in a result whose media follow in a separate message.
const RESULT_FOLLOWS_NOTE: &str = "(the result follows as a file)";
/// The same for media that stand before the turn, because other results are still to come.
const RESULT_BEFORE_NOTE: &str = "(the result is the file before this turn)";
const FILES_BEFORE_NOTE: &str = "(files that the tools of the next turn returned)";

pub(super) fn for_provider(request: &ChatRequest, lost: &mut EncodingLosses) -> Vec<Value> {
    let file_policy = if openai_common::is_openais(&request.model) {
        ResultFilePolicy::Behind
    } else {
        ResultFilePolicy::AsSent
    };
    let mut writer = ChatHistoryWriter {
        out: Vec::new(),
        files: Vec::new(),
        calling: None,
        file_policy,
        reader: ChatHistoryAudience::Provider(lost),
    };
    writer.all(&request.messages);
    writer.out
}

pub(super) fn for_client(messages: &[Arc<ChatMessage>]) -> Value {
    let mut writer = ChatHistoryWriter {
        out: Vec::new(),
        files: Vec::new(),
        calling: None,
        file_policy: ResultFilePolicy::AsSent,
        reader: ChatHistoryAudience::Client,
    };
    writer.all(messages);
    Value::Array(writer.out)
}

/// The reader of the output.
enum ChatHistoryAudience<'a> {
    Provider(&'a mut EncodingLosses),
    /// Keeps signatures of other providers, and sends them back.
    Client,
}

struct ChatHistoryWriter<'a> {
    out: Vec<Value>,
    /// Files of results, held back: they must not come between two results.
    files: Vec<Value>,
    calling: Option<CallingTurn>,
    file_policy: ResultFilePolicy,
    reader: ChatHistoryAudience<'a>,
}

/// The last turn with calls.
struct CallingTurn {
    /// Index of its message in the output.
    at: usize,
    /// Calls without a result so far.
    open: usize,
}

/// Where files go that a client sent within a result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResultFilePolicy {
    AsSent,
    /// OpenAI itself only takes text there.
    Behind,
}

impl ChatHistoryWriter<'_> {
    fn all(&mut self, messages: &[Arc<ChatMessage>]) {
        for message in messages {
            self.message(message);
        }
        match self.calling {
            // Nothing may come between the results that are there and those that the client adds.
            Some(CallingTurn { at, open: 1.. }) => self.put_files_before(at),
            _ => self.flush(),
        }
    }

    fn put_files_before(&mut self, turn: usize) {
        if self.files.is_empty() {
            return;
        }
        for message in &mut self.out[turn..] {
            if message["content"] == RESULT_FOLLOWS_NOTE {
                message["content"] = RESULT_BEFORE_NOTE.into();
            }
        }
        let note = part_writer::text(FILES_BEFORE_NOTE, &Extra::none());
        let files = std::iter::once(note).chain(std::mem::take(&mut self.files));
        let message = json!({"role": "user", "content": files.collect::<Vec<_>>()});
        self.out.insert(turn, message);
    }

    fn message(&mut self, message: &ChatMessage) {
        let is_result = |part: &&MessagePart| matches!(part.content, PartContent::Result(_));
        for part in message.parts.iter().filter(is_result) {
            if let PartContent::Result(result) = &part.content {
                self.result(result, &message.extra);
            }
        }
        if !message.parts.is_empty() && message.parts.iter().all(|part| is_result(&part)) {
            return;
        }
        self.flush();
        let (role, fields) = match message.role {
            ChatRole::System => ("system", self.content_fields(message)),
            ChatRole::Developer => ("developer", self.content_fields(message)),
            ChatRole::User => ("user", self.content_fields(message)),
            ChatRole::Assistant => ("assistant", self.assistant(message)),
        };
        let mut object = Map::from_iter([("role".to_owned(), role.into())]);
        object.extend(fields);
        message.extra.write_into(DIALECT, &mut object);
        if let Some(open) = object.get("tool_calls").and_then(Value::as_array).map(Vec::len) {
            self.calling = Some(CallingTurn { at: self.out.len(), open });
        }
        self.out.push(Value::Object(object));
    }

    fn content_fields(&mut self, message: &ChatMessage) -> Map<String, Value> {
        let mut list = Vec::with_capacity(message.parts.len());
        for part in &message.parts {
            let value = match &part.content {
                PartContent::Text(text) => Some(part_writer::text(text, &part.extra)),
                PartContent::Refusal(text) => Some(part_writer::text(text, &part.extra)),
                PartContent::Media(media) => part_writer::media(media, &part.extra),
                PartContent::Opaque { dialect: DIALECT, value } => Some(value.clone()),
                PartContent::Result(_) => continue,
                PartContent::Thinking { .. }
                | PartContent::Call(_)
                | PartContent::Opaque { .. } => None,
            };
            self.push(&mut list, value, &part.content);
        }
        Map::from_iter([("content".to_owned(), content(list))])
    }

    fn assistant(&mut self, message: &ChatMessage) -> Map<String, Value> {
        let mut list = Vec::new();
        let mut calls = Vec::new();
        let mut fields = self.thoughts(&message.parts);
        for part in &message.parts {
            let value = match &part.content {
                PartContent::Text(text) => Some(part_writer::text(text, &part.extra)),
                PartContent::Refusal(text) => Some(part_writer::refusal(text, &part.extra)),
                PartContent::Call(call) => {
                    calls.push(tool::write_call(call, part));
                    continue;
                }
                PartContent::Opaque { dialect: DIALECT, value }
                    if tool::is_call(value, &part.extra) =>
                {
                    calls.push(value.clone());
                    continue;
                }
                PartContent::Opaque { dialect: DIALECT, value } => Some(value.clone()),
                PartContent::Thinking { .. } => continue,
                PartContent::Media(_) | PartContent::Result(_) | PartContent::Opaque { .. } => None,
            };
            self.push(&mut list, value, &part.content);
        }
        let content_json =
            if list.is_empty() && !calls.is_empty() { Value::Null } else { content(list) };
        fields.insert("content".to_owned(), content_json);
        if !calls.is_empty() {
            fields.insert("tool_calls".to_owned(), calls.into());
        }
        fields
    }

    /// Providers only get thoughts of providers of this dialect; clients keep all of them.
    fn thoughts(&mut self, parts: &[MessagePart]) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut joined = String::new();
        for part in parts {
            let PartContent::Thinking { text, signature } = &part.content else { continue };
            if let ChatHistoryAudience::Provider(lost) = &mut self.reader {
                let own = signature.as_ref().is_none_or(|signature| signature.maker == DIALECT);
                let said_as = part.extra.get(DIALECT, SPELLING_KEY).and_then(Value::as_str);
                if !own || !said_as.is_some_and(|key| THOUGHTS_KEYS.contains(&key)) {
                    if !own || signature.is_none() {
                        lost.content(&part.content);
                    }
                    continue;
                }
            }
            if text.is_empty() {
                continue;
            }
            joined.push_str(text);
            fields =
                Map::from_iter([(thoughts_key(&part.extra).to_owned(), joined.clone().into())]);
        }
        let details = match &self.reader {
            ChatHistoryAudience::Provider(_) => reasoning_details::write_all(parts, |signature| {
                (signature.maker == DIALECT).then(|| signature.text.clone())
            }),
            ChatHistoryAudience::Client => {
                reasoning_details::write_all(parts, |it| Some(it.for_client(DIALECT)))
            }
        };
        if !details.is_empty() {
            fields.insert(DETAILS_KEY.to_owned(), details.into());
        }
        fields
    }

    fn result(&mut self, result: &CallResult, extra: &Extra) {
        if let Some(calling) = &mut self.calling {
            calling.open = calling.open.saturating_sub(1);
        }
        let mut list = Vec::with_capacity(result.parts.len());
        let mut files = Vec::new();
        for part in &result.parts {
            match &part.content {
                PartContent::Media(media) => {
                    match in_result(media, &part.extra, self.file_policy) {
                        Some(ResultMediaPlacement::Here(value)) => list.push(value),
                        Some(ResultMediaPlacement::Behind(value)) => files.push(value),
                        None => {
                            self.lose(&part.content);
                            list.push(part_writer::text(
                                &result_media::instead(media),
                                &Extra::none(),
                            ));
                        }
                    }
                }
                PartContent::Text(text) => list.push(part_writer::text(text, &part.extra)),
                PartContent::Opaque { dialect: DIALECT, value } => list.push(value.clone()),
                other => self.lose(other),
            }
        }
        if list.is_empty() && !files.is_empty() {
            list.push(part_writer::text(RESULT_FOLLOWS_NOTE, &Extra::none()));
        }
        self.files.append(&mut files);
        let mut object = Map::from_iter([
            ("role".to_owned(), "tool".into()),
            ("tool_call_id".to_owned(), result.call_id.clone().into()),
            ("content".to_owned(), content(list)),
        ]);
        extra.write_into(DIALECT, &mut object);
        self.out.push(Value::Object(object));
    }

    fn flush(&mut self) {
        if !self.files.is_empty() {
            let files = std::mem::take(&mut self.files);
            self.out.push(json!({"role": "user", "content": files}));
        }
    }

    fn push(&mut self, list: &mut Vec<Value>, value: Option<Value>, content: &PartContent) {
        match value {
            Some(value) => list.push(value),
            None => self.lose(content),
        }
    }

    fn lose(&mut self, content: &PartContent) {
        if let ChatHistoryAudience::Provider(lost) = &mut self.reader {
            lost.content(content);
        }
    }
}

/// Where media of a result can be placed.
enum ResultMediaPlacement {
    Here(Value),
    Behind(Value),
}

/// Of documents these servers only accept PDF, of audio two formats.
fn in_result(
    media: &ChatMedia,
    extra: &Extra,
    policy: ResultFilePolicy,
) -> Option<ResultMediaPlacement> {
    if extra.get(DIALECT, "type").is_some() && policy == ResultFilePolicy::AsSent {
        return part_writer::media(media, extra).map(ResultMediaPlacement::Here);
    }
    let taken = match (media.kind, &media.source) {
        (MediaKind::Image, _) => result_media::is_picture(media),
        (MediaKind::Audio, MediaSource::Base64 { media_type, .. }) => {
            ["mp3", "wav"].contains(&media::audio_format(media_type))
        }
        (MediaKind::Document, MediaSource::Base64 { media_type, .. }) => {
            media_type == "application/pdf"
        }
        _ => true,
    };
    match result_media::words(media) {
        Some(words) => Some(ResultMediaPlacement::Here(part_writer::text(&words, &Extra::none()))),
        None => {
            part_writer::media(media, extra).filter(|_| taken).map(ResultMediaPlacement::Behind)
        }
    }
}

/// The field in which these thoughts arrived, or the default one.
pub(super) fn thoughts_key(extra: &Extra) -> &'static str {
    let said_as = extra.get(DIALECT, SPELLING_KEY).and_then(Value::as_str);
    THOUGHTS_KEYS.into_iter().find(|key| Some(*key) == said_as).unwrap_or(THOUGHTS_KEYS[0])
}

/// A single plain text is written as a string, which most servers prefer.
fn content(mut list: Vec<Value>) -> Value {
    match &mut list[..] {
        [] => "".into(),
        [Value::Object(part)] if part.len() == 2 && part["type"] == "text" => part["text"].take(),
        _ => list.into(),
    }
}
