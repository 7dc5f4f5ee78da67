//! Reads the chunks of a provider's stream. Each is an answer of its own; texts that follow one
//! another are one part. Nothing marks the last chunk: what ended with a reason was whole.

use serde_json::{Map, Value};

use crate::conversation::{Content, Part, Stop};
use crate::delta::{Delta, Opening};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::format::{Broken, Malformed, StreamReader};

use super::answer::{Candidate, is_blocked, read_usage, stop, usage_rest};
use super::{errors, spelling};

const OWN: Dialect = Dialect::Gemini;

#[derive(Debug, Default)]
pub(super) struct Reader {
    phase: Phase,
    opened: usize,
    calls: usize,
    current: Option<(Growing, usize)>,
    reason: Option<String>,
    usage: Value,
    candidate: Map<String, Value>,
    extra: Map<String, Value>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Before,
    Within,
    After,
}

/// The kind of part that a text can be added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growing {
    Text,
    Thinking,
}

impl StreamReader for Reader {
    fn read(&mut self, _: Option<&str>, data: &str) -> Result<Vec<Delta>, Broken> {
        if data.is_empty() || data == "[DONE]" || self.phase == Phase::After {
            return Ok(Vec::new());
        }
        let Ok(Value::Object(mut chunk)) = serde_json::from_str(data) else {
            return Err(broken("a chunk is no JSON object"));
        };
        if chunk.contains_key("error") {
            return Err(Broken::Reported(errors::read(500, data.as_bytes())));
        }
        let mut deltas = Vec::new();
        self.begin(&mut chunk, &mut deltas);
        if let Some(usage @ Value::Object(_)) = chunk.remove("usageMetadata") {
            self.usage = usage;
        }
        let candidates = chunk.remove("candidates");
        self.extra.extend(chunk.into_iter().filter(|(_, value)| !value.is_null()));
        let first = match candidates {
            Some(Value::Array(list)) => list.into_iter().find(is_first),
            _ => None,
        };
        if let Some(candidate) = first {
            let Candidate { parts, reason, rest } = Candidate::read(candidate)?;
            for part in parts {
                self.part(part, &mut deltas);
            }
            self.reason = reason.or(self.reason.take());
            self.candidate.extend(rest);
        }
        Ok(deltas)
    }

    fn end(&mut self) -> Result<Vec<Delta>, Broken> {
        if std::mem::replace(&mut self.phase, Phase::After) == Phase::After {
            return Ok(Vec::new());
        }
        let blocked = self.extra.get("promptFeedback").is_some_and(is_blocked);
        let mut deltas = Vec::new();
        self.close(&mut deltas);
        let stop = match self.reason.take() {
            Some(reason) => stop(Some(&reason), self.calls),
            None if blocked => Stop::Filtered,
            None => return Err(Broken::Short),
        };
        let mut extra = std::mem::take(&mut self.extra);
        if !self.candidate.is_empty() {
            let candidate = std::mem::take(&mut self.candidate);
            extra.insert("candidates".to_owned(), Value::Array(vec![candidate.into()]));
        }
        let mut extra = Extra::new(OWN, extra);
        extra.merge(usage_rest(&self.usage));
        deltas.push(Delta::End { stop, usage: read_usage(&self.usage), extra });
        Ok(deltas)
    }
}

impl Reader {
    fn begin(&mut self, chunk: &mut Map<String, Value>, deltas: &mut Vec<Delta>) {
        let mut text = |key: &str| match chunk.remove(key) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let (id, model) = (text("responseId"), text("modelVersion"));
        if std::mem::replace(&mut self.phase, Phase::Within) == Phase::Before {
            deltas.push(Delta::Start { id, model, created: 0, extra: Extra::none() });
        }
    }

    fn part(&mut self, part: Part, deltas: &mut Vec<Delta>) {
        let Part { content, extra } = part;
        match content {
            Content::Text(text) => {
                let index = self.growing(Growing::Text, extra, deltas);
                grow(index, text, deltas);
            }
            Content::Thinking { text, signature } => {
                // A signature alone belongs to the part that follows, not to the thought before.
                if text.is_empty() {
                    self.close(deltas);
                }
                let alone = text.is_empty();
                let index = self.growing(Growing::Thinking, extra, deltas);
                grow(index, text, deltas);
                let signed = signature.is_some();
                deltas.extend(signature.map(|signature| Delta::Sign { index, signature }));
                if alone || signed {
                    self.close(deltas);
                }
            }
            Content::Call(mut call) => {
                self.close(deltas);
                if call.id.is_empty() {
                    call.id = spelling::numbered_id(self.calls);
                }
                self.calls += 1;
                let opening = Opening::Call { id: call.id, name: call.name };
                let index = self.open(opening, extra, deltas);
                grow(index, call.arguments, deltas);
                deltas.push(Delta::Close { index });
            }
            whole => {
                self.close(deltas);
                let index = self.open(Opening::Whole(whole), extra, deltas);
                deltas.push(Delta::Close { index });
            }
        }
    }

    /// The part that a text of this kind goes to: the one that is open, or a new one. Fields of its
    /// own make a part of its own.
    fn growing(&mut self, kind: Growing, extra: Extra, deltas: &mut Vec<Delta>) -> usize {
        if let Some((open, index)) = self.current
            && open == kind
            && extra.is_empty()
        {
            return index;
        }
        self.close(deltas);
        let opening = match kind {
            Growing::Text => Opening::Text,
            Growing::Thinking => Opening::Thinking,
        };
        let index = self.open(opening, extra, deltas);
        self.current = Some((kind, index));
        index
    }

    fn open(&mut self, opening: Opening, extra: Extra, deltas: &mut Vec<Delta>) -> usize {
        let index = self.opened;
        self.opened += 1;
        deltas.push(Delta::Open { index, opening, extra });
        index
    }

    fn close(&mut self, deltas: &mut Vec<Delta>) {
        deltas.extend(self.current.take().map(|(_, index)| Delta::Close { index }));
    }
}

fn grow(index: usize, text: String, deltas: &mut Vec<Delta>) {
    if !text.is_empty() {
        deltas.push(Delta::Grow { index, text, extra: Extra::none() });
    }
}

fn is_first(candidate: &Value) -> bool {
    candidate.get("index").and_then(Value::as_u64).unwrap_or(0) == 0
}

fn broken(what: &str) -> Broken {
    Broken::Malformed(Malformed(what.to_owned()))
}
