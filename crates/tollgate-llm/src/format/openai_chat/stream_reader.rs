//! Decodes the chunks of a provider's stream. Data beside the text, such as log probabilities,
//! further choices or audio, becomes extra fields of the next delta.

use serde_json::{Map, Value, json};
use tollgate_core::text::truncate_chars;

use self::calls::ChatCallAssembler;
use super::message_keys::{CONTENT_KEY, THOUGHTS_KEYS, with_spelling};
use super::{DIALECT, errors, part_reader, response, usage};
use crate::conversation::{MessagePart, StopReason, TokenUsage};
use crate::delta::{PartOpening, ResponseDelta};
use crate::error::{LlmError, MAX_QUOTED_CHARS};
use crate::extra::Extra;
use crate::format::fields::FieldReader;
use crate::format::{BrokenStreamError, MalformedResponseError, StreamReader};

mod calls;

#[derive(Debug, Default)]
pub(super) struct OpenAiChatStreamReader {
    /// The fields repeated in every chunk, once the first chunk has arrived.
    head: Option<Map<String, Value>>,
    parts: OpenAiChatParts,
    calls: ChatCallAssembler,
    finish: Option<String>,
    usage: TokenUsage,
    /// Extra fields for the end of the answer.
    tail: Extra,
    ended: bool,
}

/// The parts so far. At most one of text, thoughts and refusal is open.
#[derive(Debug, Default)]
struct OpenAiChatParts {
    count: usize,
    saying: Option<(ChatTextKind, usize)>,
    refused: bool,
    /// Calls stay open until the end, because their fragments may be interleaved.
    calls: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChatTextKind {
    Text,
    Refusal,
    Thinking(&'static str),
}

impl StreamReader for OpenAiChatStreamReader {
    fn read(
        &mut self,
        name: Option<&str>,
        data: &str,
    ) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
        match data.trim() {
            _ if self.ended => Ok(Vec::new()),
            "" => Ok(Vec::new()),
            "[DONE]" => self.finish(),
            data => {
                let chunk: Value = serde_json::from_str(data).map_err(|_| {
                    let shown = truncate_chars(data, MAX_QUOTED_CHARS);
                    MalformedResponseError(format!("an event is not JSON: {shown}"))
                })?;
                let error = chunk.get("error").is_some_and(|error| !error.is_null());
                if error || name == Some("error") {
                    return Err(BrokenStreamError::Reported(errors::read_value(0, &chunk)));
                }
                self.chunk(chunk).map_err(|failure| BrokenStreamError::Malformed(failure.into()))
            }
        }
    }

    fn end(&mut self) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
        if self.ended { Ok(Vec::new()) } else { self.finish() }
    }
}

impl OpenAiChatStreamReader {
    fn chunk(&mut self, chunk: Value) -> Result<Vec<ResponseDelta>, LlmError> {
        let mut out = Vec::new();
        let mut fields = FieldReader::new(chunk, "")?;
        for key in ["object", "obfuscation"] {
            fields.take(key);
        }
        if let Some(value) = fields.take("usage") {
            self.count(value);
        }
        let choices = fields.list("choices")?.unwrap_or_default();
        if self.head.is_none() && choices.is_empty() {
            for key in ["id", "model", "created"] {
                fields.take(key);
            }
            self.tail.merge(fields.rest(DIALECT));
            return Ok(out);
        }
        let mut beside = self.head(fields, &mut out)?;
        let mut left = Map::new();
        let mut others = Vec::new();
        for choice in choices {
            if choice["index"].as_u64().unwrap_or(0) == 0 {
                left = self.choice(choice, &mut out)?;
            } else {
                others.push(choice);
            }
        }
        if !left.is_empty() || !others.is_empty() {
            others.insert(0, Value::Object(left));
            beside.insert("choices".to_owned(), others.into());
        }
        self.attach(beside, &mut out);
        Ok(out)
    }

    /// Starts the answer with the first chunk; returns the fields that changed in later ones.
    fn head(
        &mut self,
        mut fields: FieldReader,
        out: &mut Vec<ResponseDelta>,
    ) -> Result<Map<String, Value>, LlmError> {
        let id = fields.text("id")?.unwrap_or_default();
        let model = fields.text("model")?.unwrap_or_default();
        let created = fields.take("created").and_then(|at| at.as_u64()).unwrap_or(0);
        let Value::Object(mut rest) = fields.into_value() else { return Ok(Map::new()) };
        rest.retain(|_, value| !value.is_null());
        if let Some(head) = &self.head {
            rest.retain(|key, value| head.get(key) != Some(value));
            return Ok(rest);
        }
        self.calls.answer = id.clone();
        self.head = Some(rest.clone());
        out.push(ResponseDelta::Start { id, model, created, extra: Extra::new(DIALECT, rest) });
        Ok(Map::new())
    }

    /// Returns the remaining fields of the choice.
    fn choice(
        &mut self,
        choice: Value,
        out: &mut Vec<ResponseDelta>,
    ) -> Result<Map<String, Value>, LlmError> {
        let mut choice = FieldReader::new(choice, "choices[0]")?;
        choice.take("index");
        if let Some(value) = choice.take("usage") {
            self.count(value);
        }
        if let Some(reason) = choice.text("finish_reason")?.filter(|reason| !reason.is_empty()) {
            self.finish = Some(reason);
        }
        let mut left = Map::new();
        if let Some(delta) = choice.object("delta")? {
            let unread = self.read_delta(delta, out)?;
            if !unread.is_empty() {
                left.insert("delta".to_owned(), Value::Object(unread));
            }
        }
        if let Value::Object(rest) = choice.into_value() {
            left.extend(rest.into_iter().filter(|(_, value)| !value.is_null()));
        }
        Ok(left)
    }

    fn read_delta(
        &mut self,
        mut delta: FieldReader,
        out: &mut Vec<ResponseDelta>,
    ) -> Result<Map<String, Value>, LlmError> {
        delta.take("role");
        let mut thought = None;
        for key in THOUGHTS_KEYS {
            let text = delta.text(key)?.filter(|text| !text.is_empty());
            thought = thought.or(text.map(|text| (key, text)));
        }
        if let Some((key, text)) = thought {
            self.parts.say(ChatTextKind::Thinking(key), text, out);
        }
        self.content(&mut delta, out)?;
        if let Some(text) = delta.text("refusal")?.filter(|text| !text.is_empty()) {
            self.parts.refused = true;
            self.parts.say(ChatTextKind::Refusal, text, out);
        }
        for call in delta.list("tool_calls")?.unwrap_or_default() {
            self.calls.read(call, &mut self.parts, out)?;
        }
        if let Some(function) = delta.take("function_call") {
            let call = json!({"index": -1, "function": function});
            self.calls.read(call, &mut self.parts, out)?;
        }
        for image in response::read_images(&mut delta)? {
            self.parts.push_whole(image, out);
        }
        let Value::Object(mut left) = delta.into_value() else { return Ok(Map::new()) };
        left.retain(|_, value| !value.is_null());
        Ok(left)
    }

    /// A string, or a list of parts, some of which may be thoughts.
    fn content(
        &mut self,
        delta: &mut FieldReader,
        out: &mut Vec<ResponseDelta>,
    ) -> Result<(), LlmError> {
        if !delta.peek("content").is_some_and(Value::is_array) {
            if let Some(text) = delta.text("content")?.filter(|text| !text.is_empty()) {
                self.parts.say(ChatTextKind::Text, text, out);
            }
            return Ok(());
        }
        for piece in delta.list("content")?.unwrap_or_default() {
            if let Some(text) = part_reader::thought(&piece) {
                self.parts.say(ChatTextKind::Thinking(CONTENT_KEY), text, out);
            } else if let Some(text) = piece["text"].as_str() {
                self.parts.say(ChatTextKind::Text, text.to_owned(), out);
            } else if let Some(text) = piece["refusal"].as_str() {
                self.parts.refused = true;
                self.parts.say(ChatTextKind::Refusal, text.to_owned(), out);
            } else if let Ok(part) = part_reader::read(piece, "content".to_owned()) {
                self.parts.push_whole(part, out);
            }
        }
        Ok(())
    }

    fn count(&mut self, value: Value) {
        self.usage = usage::read(&value);
        self.tail.merge(Extra::new(DIALECT, Map::from_iter([("usage".to_owned(), value)])));
    }

    /// Attaches extra fields to the text of the same chunk. Without text, audio and other choices
    /// get a delta of their own, and the rest is kept for the end.
    fn attach(&mut self, beside: Map<String, Value>, out: &mut Vec<ResponseDelta>) {
        let choices = beside.get("choices").and_then(Value::as_array);
        let speaks = choices.is_some_and(|choices| {
            choices.len() > 1 || choices.iter().any(|choice| choice.get("delta").is_some())
        });
        let beside = Extra::new(DIALECT, beside);
        let grown = out.iter_mut().find_map(|delta| match delta {
            ResponseDelta::Grow { extra, .. } => Some(extra),
            _ => None,
        });
        match grown {
            Some(extra) => extra.merge(beside),
            None if speaks => {
                let index = match self.parts.count.checked_sub(1) {
                    Some(last) => last,
                    None => self.parts.begin(ChatTextKind::Text, out),
                };
                out.push(ResponseDelta::Grow { index, text: String::new(), extra: beside });
            }
            None => self.tail.merge(beside),
        }
    }

    fn finish(&mut self) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
        let Some(reason) = self.finish.take() else { return Err(BrokenStreamError::Short) };
        let mut out = Vec::new();
        self.calls.finish(&mut self.parts, &mut out)?;
        self.parts.close(&mut out);
        let plain = if !self.parts.calls.is_empty() {
            StopReason::Calls
        } else if self.parts.refused {
            StopReason::Refused
        } else {
            StopReason::End
        };
        self.ended = true;
        out.push(ResponseDelta::End {
            stop: response::read_stop(Some(&reason), plain),
            usage: self.usage.clone(),
            extra: std::mem::take(&mut self.tail),
        });
        Ok(out)
    }
}

impl OpenAiChatParts {
    fn say(&mut self, saying: ChatTextKind, text: String, out: &mut Vec<ResponseDelta>) {
        let index = match self.saying {
            Some((open, index)) if open == saying => index,
            _ => self.begin(saying, out),
        };
        out.push(ResponseDelta::Grow { index, text, extra: Extra::none() });
    }

    fn begin(&mut self, saying: ChatTextKind, out: &mut Vec<ResponseDelta>) -> usize {
        let (opening, extra) = match saying {
            ChatTextKind::Text => (PartOpening::Text, Extra::none()),
            ChatTextKind::Refusal => (PartOpening::Refusal, Extra::none()),
            ChatTextKind::Thinking(key) => (PartOpening::Thinking, with_spelling(key)),
        };
        let index = self.open(opening, extra, out);
        self.saying = Some((saying, index));
        index
    }

    /// Closes the open text part and opens a new part.
    fn open(&mut self, opening: PartOpening, extra: Extra, out: &mut Vec<ResponseDelta>) -> usize {
        out.extend(self.saying.take().map(|(_, index)| ResponseDelta::Close { index }));
        let index = self.count;
        self.count += 1;
        out.push(ResponseDelta::Open { index, opening, extra });
        index
    }

    fn push_whole(&mut self, part: MessagePart, out: &mut Vec<ResponseDelta>) {
        let MessagePart { content, extra } = part;
        let index = self.open(PartOpening::Whole(content), extra, out);
        out.push(ResponseDelta::Close { index });
    }

    fn close(&mut self, out: &mut Vec<ResponseDelta>) {
        out.extend(self.calls.iter().map(|index| ResponseDelta::Close { index: *index }));
        out.extend(self.saying.take().map(|(_, index)| ResponseDelta::Close { index }));
    }
}
