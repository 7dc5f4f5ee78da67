//! Encodes the chunks of a client's stream: the role, text and calls as they arrive, one chunk with
//! the finish reason, and the usage if the client requested it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::reasoning_details::{DETAILS_KEY, ReasoningDetail};
use super::{DIALECT, errors, history, part_writer, report_json, response, tool, usage};
use crate::conversation::{
    ChatRequest, MediaKind, PartContent, StopReason, ThoughtSignature, TokenUsage,
};
use crate::delta::{PartOpening, ResponseDelta};
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::openai_common;
use crate::format::{ChatSseEvent, StreamWriter};
use crate::gateway_report::GatewayReport;

#[derive(Debug)]
pub(super) struct OpenAiChatStreamWriter {
    counting: UsageReporting,
    calling: ToolCallStyle,
    /// The fields repeated in every chunk.
    head: Map<String, Value>,
    parts: Vec<ChatPartKind>,
    calls: usize,
    thoughts: SignedThoughts,
    end: Option<(StopReason, TokenUsage, Extra)>,
}

/// Thoughts that may be signed, and signed ones that wait for the part behind them: their detail
/// names the call that they led to.
#[derive(Debug, Default)]
struct SignedThoughts {
    /// Texts by part.
    texts: BTreeMap<usize, String>,
    waiting: Vec<WaitingThought>,
    /// Number of details written.
    written: usize,
}

#[derive(Debug)]
struct WaitingThought {
    text: String,
    signature: String,
}

impl SignedThoughts {
    fn sign(&mut self, part: usize, signature: &ThoughtSignature) {
        let text = self.texts.remove(&part).unwrap_or_default();
        self.waiting.push(WaitingThought { text, signature: signature.for_client(DIALECT) });
    }

    /// The details of what waits; only the last one is next to the part behind it.
    fn take(&mut self, call: Option<&str>) -> Option<Value> {
        let waiting = std::mem::take(&mut self.waiting);
        let last = waiting.len().checked_sub(1)?;
        let details = waiting.iter().enumerate().map(|(at, thought)| {
            let call = call.filter(|_| at == last);
            let WaitingThought { text, signature } = thought;
            let detail = ReasoningDetail { text, signature: signature.clone(), call };
            detail.json(self.written + at)
        });
        let details: Vec<Value> = details.collect();
        self.written += details.len();
        Some(Value::Object(Map::from_iter([(DETAILS_KEY.to_owned(), details.into())])))
    }
}

/// Whether the client requested the usage at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UsageReporting {
    Reported,
    Unreported,
}

/// Which form of tool calls the client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolCallStyle {
    Tools,
    /// Legacy form: one call, without an id.
    Function,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChatPartKind {
    Text,
    Refusal,
    Thinking(&'static str),
    Call(usize),
    Whole,
}

impl OpenAiChatStreamWriter {
    pub(super) fn new(request: &ChatRequest) -> Self {
        let options = request.extra.get(DIALECT, "stream_options");
        let counting = match options.and_then(|options| options["include_usage"].as_bool()) {
            Some(true) => UsageReporting::Reported,
            Some(false) | None => UsageReporting::Unreported,
        };
        let calling = if response::is_legacy(request) {
            ToolCallStyle::Function
        } else {
            ToolCallStyle::Tools
        };
        let head = head("", &request.model, 0);
        let thoughts = SignedThoughts::default();
        Self { counting, calling, head, parts: Vec::new(), calls: 0, thoughts, end: None }
    }

    fn chunk(&self, delta: &Value, extra: &Extra) -> Map<String, Value> {
        let mut chunk = self.head.clone();
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": null});
        chunk.insert("choices".to_owned(), json!([choice]));
        if self.counting == UsageReporting::Reported {
            chunk.insert("usage".to_owned(), Value::Null);
        }
        if let Some(logprobs) = logprobs(extra) {
            chunk["choices"][0]["logprobs"] = logprobs;
        }
        extra.write_into(DIALECT, &mut chunk);
        chunk
    }

    fn open(&mut self, opening: &PartOpening, extra: &Extra) -> Option<Value> {
        let kind = match opening {
            PartOpening::Text => ChatPartKind::Text,
            PartOpening::Refusal => ChatPartKind::Refusal,
            PartOpening::Thinking => ChatPartKind::Thinking(history::thoughts_key(extra)),
            PartOpening::Call { .. } => ChatPartKind::Call(self.calls),
            PartOpening::Whole(_) => ChatPartKind::Whole,
        };
        self.parts.push(kind);
        match opening {
            PartOpening::Text | PartOpening::Refusal | PartOpening::Thinking => None,
            PartOpening::Call { id, name } => {
                let function = json!({"name": name, "arguments": ""});
                let mut call = Map::from_iter([
                    ("id".to_owned(), id.clone().into()),
                    ("type".to_owned(), "function".into()),
                    ("function".to_owned(), function),
                ]);
                extra.write_into(DIALECT, &mut call);
                self.next_call(call)
            }
            PartOpening::Whole(PartContent::Opaque { dialect: DIALECT, value })
                if tool::is_call(value, extra) =>
            {
                self.next_call(value.as_object().cloned().unwrap_or_default())
            }
            PartOpening::Whole(PartContent::Media(media)) if media.kind == MediaKind::Image => {
                part_writer::media(media, extra).map(|image| json!({"images": [image]}))
            }
            PartOpening::Whole(PartContent::Opaque { dialect: DIALECT, value })
                if response::is_image(extra) =>
            {
                Some(json!({"images": [value]}))
            }
            PartOpening::Whole(PartContent::Opaque { dialect: DIALECT, value }) => {
                Some(json!({"content": [value]}))
            }
            PartOpening::Whole(_) => None,
        }
    }

    /// Details of thoughts, once it is known what follows them.
    fn details_before(&mut self, opening: &PartOpening) -> Option<Value> {
        match opening {
            PartOpening::Thinking => None,
            PartOpening::Call { id, .. } => self.thoughts.take(Some(id)),
            PartOpening::Text | PartOpening::Refusal | PartOpening::Whole(_) => {
                self.thoughts.take(None)
            }
        }
    }

    fn next_call(&mut self, mut call: Map<String, Value>) -> Option<Value> {
        let index = self.calls;
        self.calls += 1;
        match self.calling {
            ToolCallStyle::Tools => {
                call.insert("index".to_owned(), index.into());
                Some(json!({"tool_calls": [call]}))
            }
            // The legacy form cannot express calls of other kinds.
            ToolCallStyle::Function if index == 0 => {
                call.remove("function").map(|function| json!({"function_call": function}))
            }
            ToolCallStyle::Function => None,
        }
    }

    fn grow(&self, index: usize, text: &str) -> Option<Value> {
        match *self.parts.get(index)? {
            ChatPartKind::Text => Some(json!({"content": text})),
            ChatPartKind::Refusal => Some(json!({"refusal": text})),
            ChatPartKind::Thinking(key) => {
                Some(Value::Object(Map::from_iter([(key.to_owned(), Value::from(text))])))
            }
            ChatPartKind::Call(index) => {
                self.about_call(index, json!({"function": {"arguments": text}}))
            }
            ChatPartKind::Whole => None,
        }
    }

    fn about_call(&self, index: usize, mut call: Value) -> Option<Value> {
        match self.calling {
            ToolCallStyle::Tools => {
                call["index"] = index.into();
                Some(json!({"tool_calls": [call]}))
            }
            ToolCallStyle::Function if index == 0 => {
                Some(json!({"function_call": call["function"]}))
            }
            ToolCallStyle::Function => None,
        }
    }

    /// Extra fields of a whole part.
    fn beside(&self, index: usize, extra: &Extra) -> Option<Value> {
        let fields = Value::Object(extra.fields(DIALECT)?.clone());
        match (*self.parts.get(index)?, self.calling) {
            (ChatPartKind::Call(index), ToolCallStyle::Tools) => self.about_call(index, fields),
            (ChatPartKind::Call(_), ToolCallStyle::Function) | (ChatPartKind::Whole, _) => None,
            (ChatPartKind::Text | ChatPartKind::Refusal | ChatPartKind::Thinking(_), _) => {
                Some(fields)
            }
        }
    }

    fn reason(&self, stop: &StopReason) -> String {
        match (stop, response::write_stop(stop)) {
            (StopReason::Refused, _) if self.parts.contains(&ChatPartKind::Refusal) => {
                "stop".to_owned()
            }
            (_, "tool_calls") if self.calling == ToolCallStyle::Function => {
                "function_call".to_owned()
            }
            (_, reason) => reason.to_owned(),
        }
    }
}

impl StreamWriter for OpenAiChatStreamWriter {
    fn write(&mut self, delta: &ResponseDelta) -> Vec<ChatSseEvent> {
        let none = Extra::none();
        let (content, extra) = match delta {
            ResponseDelta::Start { id, model, created, extra } => {
                self.head = head(id, model, *created);
                extra.write_into(DIALECT, &mut self.head);
                (Some(json!({"role": "assistant", "content": ""})), &none)
            }
            ResponseDelta::Open { opening, extra, .. } => {
                let details = self.details_before(opening);
                (merge(details, self.open(opening, extra)), &none)
            }
            ResponseDelta::Grow { index, text, extra } => {
                if let Some(ChatPartKind::Thinking(_)) = self.parts.get(*index) {
                    self.thoughts.texts.entry(*index).or_default().push_str(text);
                }
                let empty = text.is_empty() && extra.fields(DIALECT).is_none();
                (if empty { None } else { self.grow(*index, text) }, extra)
            }
            ResponseDelta::Sign { index, signature } => {
                self.thoughts.sign(*index, signature);
                (None, &none)
            }
            ResponseDelta::Extra { index, extra } => (self.beside(*index, extra), &none),
            ResponseDelta::Close { index } => {
                self.thoughts.texts.remove(index);
                (None, &none)
            }
            ResponseDelta::End { stop, usage, extra } => {
                self.end = Some((stop.clone(), usage.clone(), extra.clone()));
                (None, &none)
            }
        };
        let chunk =
            content.map(|content| ChatSseEvent::data(&Value::Object(self.chunk(&content, extra))));
        chunk.into_iter().collect()
    }

    fn end(&mut self, report: Option<&GatewayReport>) -> Vec<ChatSseEvent> {
        let (stop, used, extra) =
            self.end.take().unwrap_or((StopReason::End, TokenUsage::default(), Extra::none()));
        let (extra, counted) = end_fields(&extra);
        let details = self.thoughts.take(None);
        let mut last = self.chunk(&json!({}), &extra);
        last["choices"][0]["finish_reason"] = self.reason(&stop).into();
        if let Some(report) = report {
            last.insert("tollgate".to_owned(), report_json(report));
        }
        let details = details.map(|details| self.chunk(&details, &Extra::none()));
        let mut frames: Vec<ChatSseEvent> =
            details.into_iter().chain([last]).map(|it| ChatSseEvent::data(&it.into())).collect();
        if self.counting == UsageReporting::Reported {
            let mut chunk = self.head.clone();
            chunk.insert("choices".to_owned(), json!([]));
            chunk.insert("usage".to_owned(), usage::write(&used));
            counted.write_into(DIALECT, &mut chunk);
            frames.push(ChatSseEvent::data(&Value::Object(chunk)));
        }
        frames.push(ChatSseEvent { name: None, data: "[DONE]".to_owned() });
        frames
    }

    fn fail(&mut self, failure: &LlmError) -> Vec<ChatSseEvent> {
        vec![ChatSseEvent::data(&errors::write(failure))]
    }
}

/// One delta of both.
fn merge(details: Option<Value>, more: Option<Value>) -> Option<Value> {
    match (details, more) {
        (Some(Value::Object(mut details)), Some(Value::Object(more))) => {
            details.extend(more);
            Some(details.into())
        }
        (details, more) => more.or(details),
    }
}

fn head(id: &str, model: &str, created: u64) -> Map<String, Value> {
    Map::from_iter([
        ("id".to_owned(), id.into()),
        ("object".to_owned(), "chat.completion.chunk".into()),
        ("created".to_owned(), created.into()),
        ("model".to_owned(), model.into()),
    ])
}

fn logprobs(extra: &Extra) -> Option<Value> {
    let own = || extra.get(DIALECT, "choices")?.get(0)?.get("logprobs").cloned();
    own().or_else(|| openai_common::logprobs::for_chat(extra))
}

/// Fields of the last chunk, in which `message` becomes `delta`, and those of the usage chunk.
fn end_fields(extra: &Extra) -> (Extra, Extra) {
    let mut fields = extra.fields(DIALECT).cloned().unwrap_or_default();
    let usage = fields.shift_remove("usage").map(|usage| ("usage".to_owned(), usage));
    for choice in fields.get_mut("choices").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(choice) = choice.as_object_mut()
            && let Some(message) = choice.shift_remove("message")
        {
            choice.insert("delta".to_owned(), message);
        }
    }
    (Extra::new(DIALECT, fields), Extra::new(DIALECT, usage.into_iter().collect()))
}
