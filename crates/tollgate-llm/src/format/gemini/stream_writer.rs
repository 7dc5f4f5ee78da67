//! Encodes the chunks of a client's stream. Text is sent as it arrives, a call only when it is
//! complete: this dialect has no partial calls.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::conversation::{FunctionCall, MessagePart, PartContent, StopReason, TokenUsage};
use crate::delta::{PartOpening, ResponseDelta};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::{ChatSseEvent, StreamWriter};
use crate::gateway_report::GatewayReport;

use super::part_writer::{GeminiPartWriter, with};
use super::response::{drop_details, is_blocked, stop_word, usage_json};
use super::{errors, history};

const OWN: Dialect = Dialect::Gemini;

#[derive(Debug)]
pub(super) struct GeminiStreamWriter {
    id: String,
    model: String,
    writing: GeminiPartWriter,
    /// Parts that are not closed.
    open: BTreeMap<usize, GeminiOpenPart>,
    ended: Option<(StopReason, TokenUsage, Extra)>,
    /// Progress of the whole answer.
    progress: GeminiPartProgress,
}

#[derive(Debug)]
enum GeminiOpenPart {
    Text { extra: Extra, progress: GeminiPartProgress },
    Thinking { extra: Extra, progress: GeminiPartProgress },
    Call { call: FunctionCall, extra: Extra },
    Whole,
}

/// Whether any content of a part was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GeminiPartProgress {
    Nothing,
    Something,
}

impl GeminiStreamWriter {
    pub(super) fn new(model: &str) -> Self {
        Self {
            id: String::new(),
            model: model.to_owned(),
            writing: GeminiPartWriter::for_client(),
            open: BTreeMap::new(),
            ended: None,
            progress: GeminiPartProgress::Nothing,
        }
    }
}

impl StreamWriter for GeminiStreamWriter {
    fn write(&mut self, delta: &ResponseDelta) -> Vec<ChatSseEvent> {
        let part = match delta {
            ResponseDelta::Start { id, model, .. } => {
                self.id.clone_from(id);
                if !model.is_empty() {
                    self.model.clone_from(model);
                }
                None
            }
            ResponseDelta::Open { index, opening, extra } => self.open(*index, opening, extra),
            ResponseDelta::Grow { index, text, .. } => self.grow(*index, text),
            ResponseDelta::Sign { index, signature } => {
                self.writing.keep(signature);
                // The signature of a thought without text goes onto the next part.
                match self.open.get(index) {
                    Some(GeminiOpenPart::Thinking {
                        progress: GeminiPartProgress::Something,
                        ..
                    }) => Some(self.writing.sign(json!({"text": "", "thought": true}))),
                    _ => None,
                }
            }
            ResponseDelta::Extra { index, extra: later } => {
                if let Some(
                    GeminiOpenPart::Text { extra, .. }
                    | GeminiOpenPart::Thinking { extra, .. }
                    | GeminiOpenPart::Call { extra, .. },
                ) = self.open.get_mut(index)
                {
                    extra.merge(later.clone());
                }
                None
            }
            ResponseDelta::Close { index } => self.close(*index),
            ResponseDelta::End { stop, usage, extra } => {
                self.ended = Some((stop.clone(), usage.clone(), extra.clone()));
                None
            }
        };
        part.map(|part| self.chunk(&part)).into_iter().collect()
    }

    fn end(&mut self, report: Option<&GatewayReport>) -> Vec<ChatSseEvent> {
        let mut frames = Vec::new();
        while let Some(index) = self.open.keys().next().copied() {
            if let Some(part) = self.close(index) {
                frames.push(self.chunk(&part));
            }
        }
        let ended = self.ended.take();
        let (stop, usage, extra) =
            ended.unwrap_or_else(|| (StopReason::End, TokenUsage::default(), Extra::none()));
        let last = self.last(&stop, &usage, &extra);
        let Value::Object(mut last) = last else { return frames };
        if let Some(report) = report {
            last.insert("tollgate".to_owned(), report.json(history::history(&report.history)));
        }
        frames.push(ChatSseEvent::data(&last.into()));
        frames
    }

    fn fail(&mut self, failure: &LlmError) -> Vec<ChatSseEvent> {
        vec![ChatSseEvent::data(&errors::write(failure))]
    }
}

impl GeminiStreamWriter {
    fn open(&mut self, index: usize, opening: &PartOpening, extra: &Extra) -> Option<Value> {
        let extra = extra.clone();
        let progress = GeminiPartProgress::Nothing;
        let (open, part) = match opening {
            PartOpening::Text | PartOpening::Refusal => {
                (GeminiOpenPart::Text { extra, progress }, None)
            }
            PartOpening::Thinking => (GeminiOpenPart::Thinking { extra, progress }, None),
            PartOpening::Call { id, name } => {
                let id = id.clone();
                let name = name.clone();
                let arguments = String::new();
                (GeminiOpenPart::Call { call: FunctionCall { id, name, arguments }, extra }, None)
            }
            PartOpening::Whole(PartContent::Result(_)) => (GeminiOpenPart::Whole, None),
            PartOpening::Whole(content) => {
                let part = MessagePart { content: content.clone(), extra };
                (GeminiOpenPart::Whole, self.writing.part(&part, ""))
            }
        };
        self.open.insert(index, open);
        part
    }

    fn grow(&mut self, index: usize, text: &str) -> Option<Value> {
        let (part, extra) = match self.open.get_mut(&index)? {
            GeminiOpenPart::Text { extra, progress: said } => {
                *said = GeminiPartProgress::Something;
                (json!({"text": text}), std::mem::take(extra))
            }
            GeminiOpenPart::Thinking { extra, progress: said } => {
                *said = GeminiPartProgress::Something;
                (json!({"text": text, "thought": true}), std::mem::take(extra))
            }
            GeminiOpenPart::Call { call, .. } => {
                call.arguments.push_str(text);
                return None;
            }
            GeminiOpenPart::Whole => return None,
        };
        Some(self.writing.sign(with(part, &extra)))
    }

    /// The remaining content of a part.
    fn close(&mut self, index: usize) -> Option<Value> {
        match self.open.remove(&index)? {
            GeminiOpenPart::Text { extra, progress: GeminiPartProgress::Nothing } => {
                let part = MessagePart { content: PartContent::Text(String::new()), extra };
                self.writing.part(&part, "")
            }
            GeminiOpenPart::Call { call, extra } => {
                let part = MessagePart { content: PartContent::Call(call), extra };
                self.writing.part(&part, "")
            }
            GeminiOpenPart::Text { .. }
            | GeminiOpenPart::Thinking { .. }
            | GeminiOpenPart::Whole => None,
        }
    }

    fn chunk(&mut self, part: &Value) -> ChatSseEvent {
        self.progress = GeminiPartProgress::Something;
        let content = json!({"parts": [part], "role": "model"});
        ChatSseEvent::data(&json!({
            "candidates": [{"content": content, "index": 0}],
            "modelVersion": self.model,
            "responseId": self.id,
        }))
    }

    /// An empty text instead of empty content: clients drop answers with empty content from their
    /// history.
    fn last(&mut self, stop: &StopReason, usage: &TokenUsage, extra: &Extra) -> Value {
        let mut last = Map::new();
        let blocked = extra.get(OWN, "promptFeedback").is_some_and(is_blocked);
        if !blocked || self.progress == GeminiPartProgress::Something {
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
