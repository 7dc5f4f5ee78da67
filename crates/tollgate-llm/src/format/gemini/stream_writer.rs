//! Writes the chunks of a client's stream. Texts go out as they come; a call only when it is whole,
//! since this dialect has no word for half of one.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::conversation::{Call, Content, Part, Stop, Usage};
use crate::delta::{Delta, Opening};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::failure::Failure;
use crate::format::{Frame, StreamWriter};
use crate::told::Told;

use super::answer::{drop_details, is_blocked, stop_word, usage_json};
use super::writing::{Writing, with};
use super::{compose, errors};

const OWN: Dialect = Dialect::Gemini;

#[derive(Debug)]
pub(super) struct Writer {
    id: String,
    model: String,
    writing: Writing,
    /// The parts that are not closed.
    open: BTreeMap<usize, Open>,
    ended: Option<(Stop, Usage, Extra)>,
    /// Of the whole answer.
    said: Said,
}

#[derive(Debug)]
enum Open {
    Text { extra: Extra, said: Said },
    Thinking { extra: Extra, said: Said },
    Call { call: Call, extra: Extra },
    Whole,
}

/// Whether anything of a part was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Nothing,
    Something,
}

impl Writer {
    pub(super) fn new(model: &str) -> Self {
        Self {
            id: String::new(),
            model: model.to_owned(),
            writing: Writing::for_client(),
            open: BTreeMap::new(),
            ended: None,
            said: Said::Nothing,
        }
    }
}

impl StreamWriter for Writer {
    fn write(&mut self, delta: &Delta) -> Vec<Frame> {
        let part = match delta {
            Delta::Start { id, model, .. } => {
                self.id.clone_from(id);
                if !model.is_empty() {
                    self.model.clone_from(model);
                }
                None
            }
            Delta::Open { index, opening, extra } => self.open(*index, opening, extra),
            Delta::Grow { index, text, .. } => self.grow(*index, text),
            Delta::Sign { index, signature } => {
                self.writing.keep(signature);
                // Of a thought without words it belongs to the part that comes next.
                match self.open.get(index) {
                    Some(Open::Thinking { said: Said::Something, .. }) => {
                        Some(self.writing.sign(json!({"text": "", "thought": true})))
                    }
                    _ => None,
                }
            }
            Delta::Extra { index, extra: later } => {
                if let Some(
                    Open::Text { extra, .. }
                    | Open::Thinking { extra, .. }
                    | Open::Call { extra, .. },
                ) = self.open.get_mut(index)
                {
                    extra.merge(later.clone());
                }
                None
            }
            Delta::Close { index } => self.close(*index),
            Delta::End { stop, usage, extra } => {
                self.ended = Some((stop.clone(), usage.clone(), extra.clone()));
                None
            }
        };
        part.map(|part| self.chunk(&part)).into_iter().collect()
    }

    fn end(&mut self, told: Option<&Told>) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(index) = self.open.keys().next().copied() {
            if let Some(part) = self.close(index) {
                frames.push(self.chunk(&part));
            }
        }
        let ended = self.ended.take();
        let (stop, usage, extra) =
            ended.unwrap_or_else(|| (Stop::End, Usage::default(), Extra::none()));
        let last = self.last(&stop, &usage, &extra);
        let Value::Object(mut last) = last else { return frames };
        if let Some(told) = told {
            last.insert("tollgate".to_owned(), told.json(compose::history(&told.history)));
        }
        frames.push(Frame::data(&last.into()));
        frames
    }

    fn fail(&mut self, failure: &Failure) -> Vec<Frame> {
        vec![Frame::data(&errors::write(failure))]
    }
}

impl Writer {
    fn open(&mut self, index: usize, opening: &Opening, extra: &Extra) -> Option<Value> {
        let (extra, said) = (extra.clone(), Said::Nothing);
        let (open, part) = match opening {
            Opening::Text | Opening::Refusal => (Open::Text { extra, said }, None),
            Opening::Thinking => (Open::Thinking { extra, said }, None),
            Opening::Call { id, name } => {
                let (id, name, arguments) = (id.clone(), name.clone(), String::new());
                (Open::Call { call: Call { id, name, arguments }, extra }, None)
            }
            Opening::Whole(Content::Result(_)) => (Open::Whole, None),
            Opening::Whole(content) => {
                let part = Part { content: content.clone(), extra };
                (Open::Whole, self.writing.part(&part, ""))
            }
        };
        self.open.insert(index, open);
        part
    }

    fn grow(&mut self, index: usize, text: &str) -> Option<Value> {
        let (part, extra) = match self.open.get_mut(&index)? {
            Open::Text { extra, said } => {
                *said = Said::Something;
                (json!({"text": text}), std::mem::take(extra))
            }
            Open::Thinking { extra, said } => {
                *said = Said::Something;
                (json!({"text": text, "thought": true}), std::mem::take(extra))
            }
            Open::Call { call, .. } => {
                call.arguments.push_str(text);
                return None;
            }
            Open::Whole => return None,
        };
        Some(self.writing.sign(with(part, &extra)))
    }

    /// What is left to be said of a part.
    fn close(&mut self, index: usize) -> Option<Value> {
        match self.open.remove(&index)? {
            Open::Text { extra, said: Said::Nothing } => {
                let part = Part { content: Content::Text(String::new()), extra };
                self.writing.part(&part, "")
            }
            Open::Call { call, extra } => {
                let part = Part { content: Content::Call(call), extra };
                self.writing.part(&part, "")
            }
            Open::Text { .. } | Open::Thinking { .. } | Open::Whole => None,
        }
    }

    fn chunk(&mut self, part: &Value) -> Frame {
        self.said = Said::Something;
        let content = json!({"parts": [part], "role": "model"});
        Frame::data(&json!({
            "candidates": [{"content": content, "index": 0}],
            "modelVersion": self.model,
            "responseId": self.id,
        }))
    }

    /// An empty text is no empty content: clients leave answers with such out of their history.
    fn last(&mut self, stop: &Stop, usage: &Usage, extra: &Extra) -> Value {
        let mut last = Map::new();
        let blocked = extra.get(OWN, "promptFeedback").is_some_and(is_blocked);
        if !blocked || self.said == Said::Something {
            let part = self.writing.rest().unwrap_or_else(|| json!({"text": ""}));
            let content = json!({"parts": [part], "role": "model"});
            let reason = stop_word(stop, extra);
            let candidate = json!({"content": content, "finishReason": reason, "index": 0});
            last.insert("candidates".to_owned(), json!([candidate]));
        }
        last.insert("usageMetadata".to_owned(), usage_json(usage, extra));
        last.insert("modelVersion".to_owned(), self.model.clone().into());
        last.insert("responseId".to_owned(), self.id.clone().into());
        extra.write_into(OWN, &mut last);
        drop_details(&mut last);
        last.into()
    }
}
