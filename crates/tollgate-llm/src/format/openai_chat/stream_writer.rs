//! Writes the chunks of a client's stream: the role, the words and calls as they come, one chunk
//! with the reason why it ended, and the usage if the client asked for it.

use serde_json::{Map, Value, json};

use super::message::THOUGHTS_SIGNATURE;
use super::{DIALECT, history, openai_error, part, response, told_json, tool, usage};
use crate::conversation::{Content, MediaKind, Request, Stop, Usage};
use crate::delta::{Delta, Opening};
use crate::extra::Extra;
use crate::failure::Failure;
use crate::format::{Frame, StreamWriter};
use crate::told::Told;

#[derive(Debug)]
pub(super) struct Writer {
    counting: Counting,
    calling: Calling,
    /// What every chunk repeats.
    head: Map<String, Value>,
    parts: Vec<Kind>,
    calls: usize,
    end: Option<(Stop, Usage, Extra)>,
}

/// Whether the client wants the usage at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counting {
    Told,
    Untold,
}

/// What the client calls a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calling {
    Tools,
    /// The old form: one call, without an id.
    Function,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Refusal,
    Thinking(&'static str),
    Call(usize),
    Whole,
}

impl Writer {
    pub(super) fn new(request: &Request) -> Self {
        let options = request.extra.get(DIALECT, "stream_options");
        let counting = match options.and_then(|options| options["include_usage"].as_bool()) {
            Some(true) => Counting::Told,
            Some(false) | None => Counting::Untold,
        };
        let calling = if response::is_legacy(request) { Calling::Function } else { Calling::Tools };
        let head = head("", &request.model, 0);
        Self { counting, calling, head, parts: Vec::new(), calls: 0, end: None }
    }

    fn chunk(&self, delta: &Value, extra: &Extra) -> Map<String, Value> {
        let mut chunk = self.head.clone();
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": null});
        chunk.insert("choices".to_owned(), json!([choice]));
        if self.counting == Counting::Told {
            chunk.insert("usage".to_owned(), Value::Null);
        }
        if let Some(logprobs) = logprobs(extra) {
            chunk["choices"][0]["logprobs"] = logprobs.clone();
        }
        extra.write_into(DIALECT, &mut chunk);
        chunk
    }

    fn open(&mut self, opening: &Opening, extra: &Extra) -> Option<Value> {
        let kind = match opening {
            Opening::Text => Kind::Text,
            Opening::Refusal => Kind::Refusal,
            Opening::Thinking => Kind::Thinking(history::thoughts_key(extra)),
            Opening::Call { .. } => Kind::Call(self.calls),
            Opening::Whole(_) => Kind::Whole,
        };
        self.parts.push(kind);
        match opening {
            Opening::Text | Opening::Refusal | Opening::Thinking => None,
            Opening::Call { id, name } => {
                let function = json!({"name": name, "arguments": ""});
                let mut call = Map::from_iter([
                    ("id".to_owned(), id.clone().into()),
                    ("type".to_owned(), "function".into()),
                    ("function".to_owned(), function),
                ]);
                extra.write_into(DIALECT, &mut call);
                self.next_call(call)
            }
            Opening::Whole(Content::Opaque { dialect: DIALECT, value }) if tool::is_call(value) => {
                self.next_call(value.as_object().cloned().unwrap_or_default())
            }
            Opening::Whole(Content::Media(media)) if media.kind == MediaKind::Image => {
                part::media(media, extra).map(|image| json!({"images": [image]}))
            }
            Opening::Whole(_) => None,
        }
    }

    fn next_call(&mut self, mut call: Map<String, Value>) -> Option<Value> {
        let index = self.calls;
        self.calls += 1;
        match self.calling {
            Calling::Tools => {
                call.insert("index".to_owned(), index.into());
                Some(json!({"tool_calls": [call]}))
            }
            // The old form has no word for calls of other kinds.
            Calling::Function if index == 0 => {
                call.remove("function").map(|function| json!({"function_call": function}))
            }
            Calling::Function => None,
        }
    }

    fn grow(&self, index: usize, text: &str) -> Option<Value> {
        match *self.parts.get(index)? {
            Kind::Text => Some(json!({"content": text})),
            Kind::Refusal => Some(json!({"refusal": text})),
            Kind::Thinking(key) => {
                Some(Value::Object(Map::from_iter([(key.to_owned(), Value::from(text))])))
            }
            Kind::Call(index) => self.about_call(index, json!({"function": {"arguments": text}})),
            Kind::Whole => None,
        }
    }

    fn about_call(&self, index: usize, mut call: Value) -> Option<Value> {
        match self.calling {
            Calling::Tools => {
                call["index"] = index.into();
                Some(json!({"tool_calls": [call]}))
            }
            Calling::Function if index == 0 => Some(json!({"function_call": call["function"]})),
            Calling::Function => None,
        }
    }

    /// Fields of a part as a whole.
    fn beside(&self, index: usize, extra: &Extra) -> Option<Value> {
        let fields = Value::Object(extra.fields(DIALECT)?.clone());
        match (*self.parts.get(index)?, self.calling) {
            (Kind::Call(index), Calling::Tools) => self.about_call(index, fields),
            (Kind::Call(_), Calling::Function) | (Kind::Whole, _) => None,
            (Kind::Text | Kind::Refusal | Kind::Thinking(_), _) => Some(fields),
        }
    }

    fn reason(&self, stop: &Stop) -> String {
        match (stop, response::write_stop(stop)) {
            (Stop::Refused, _) if self.parts.contains(&Kind::Refusal) => "stop".to_owned(),
            (_, "tool_calls") if self.calling == Calling::Function => "function_call".to_owned(),
            (_, reason) => reason.to_owned(),
        }
    }
}

impl StreamWriter for Writer {
    fn write(&mut self, delta: &Delta) -> Vec<Frame> {
        let none = Extra::none();
        let (said, extra) = match delta {
            Delta::Start { id, model, created, extra } => {
                self.head = head(id, model, *created);
                extra.write_into(DIALECT, &mut self.head);
                (Some(json!({"role": "assistant", "content": ""})), &none)
            }
            Delta::Open { opening, extra, .. } => (self.open(opening, extra), &none),
            Delta::Grow { index, text, extra } => {
                let empty = text.is_empty() && extra.fields(DIALECT).is_none();
                (if empty { None } else { self.grow(*index, text) }, extra)
            }
            Delta::Sign { signature, .. } => {
                let kept = signature.for_client(DIALECT);
                let said = Map::from_iter([(THOUGHTS_SIGNATURE.to_owned(), kept.into())]);
                (Some(Value::Object(said)), &none)
            }
            Delta::Extra { index, extra } => (self.beside(*index, extra), &none),
            Delta::Close { .. } => (None, &none),
            Delta::End { stop, usage, extra } => {
                self.end = Some((stop.clone(), usage.clone(), extra.clone()));
                (None, &none)
            }
        };
        let chunk = said.map(|said| Frame::data(&Value::Object(self.chunk(&said, extra))));
        chunk.into_iter().collect()
    }

    fn end(&mut self, told: Option<&Told>) -> Vec<Frame> {
        let (stop, used, extra) =
            self.end.take().unwrap_or((Stop::End, Usage::default(), Extra::none()));
        let (extra, counted) = end_fields(&extra);
        let mut last = self.chunk(&json!({}), &extra);
        last["choices"][0]["finish_reason"] = self.reason(&stop).into();
        if let Some(told) = told {
            last.insert("tollgate".to_owned(), told_json(told));
        }
        let mut frames = vec![Frame::data(&Value::Object(last))];
        if self.counting == Counting::Told {
            let mut chunk = self.head.clone();
            chunk.insert("choices".to_owned(), json!([]));
            chunk.insert("usage".to_owned(), usage::write(&used));
            counted.write_into(DIALECT, &mut chunk);
            frames.push(Frame::data(&Value::Object(chunk)));
        }
        frames.push(Frame { name: None, data: "[DONE]".to_owned() });
        frames
    }

    fn fail(&mut self, failure: &Failure) -> Vec<Frame> {
        vec![Frame::data(&openai_error::write(failure))]
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

fn logprobs(extra: &Extra) -> Option<&Value> {
    extra.get(DIALECT, "choices")?.get(0)?.get("logprobs")
}

/// The fields of the last chunk, in which a message is a delta, and those of the usage.
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
