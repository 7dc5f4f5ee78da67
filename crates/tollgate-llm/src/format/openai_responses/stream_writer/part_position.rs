//! Position of a part in the response being written, and its state.

use serde_json::{Value, json};

use super::super::{DIALECT, last_seen_value, part_writer};
use crate::conversation::ThoughtSignature;
use crate::extra::Extra;
use crate::format::openai_common::logprobs;

/// Position and state of a part.
#[derive(Debug)]
pub(super) struct ResponsesPartPosition {
    pub(super) kind: ResponsesPartKind,
    pub(super) item: usize,
    /// Index of the content in a message, or of the summary in thoughts.
    pub(super) content: usize,
    /// The whole text; for thoughts, the current part of the summary.
    pub(super) text: String,
    pub(super) signature: Option<ThoughtSignature>,
    pub(super) extra: Extra,
    /// First version of content of an unknown type.
    pub(super) value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponsesPartKind {
    Text,
    Refusal,
    Summary,
    /// A thought without text so far, whose item is not begun.
    Signature,
    /// Full reasoning text.
    Thoughts,
    Call,
    /// An item in one piece.
    Whole,
    /// A part of content of an unknown kind, in one piece.
    Content,
    /// This dialect cannot express the part.
    Nothing,
}

impl ResponsesPartPosition {
    /// Moves the value out; the caller puts it back.
    pub(super) fn take(&mut self) -> Self {
        let empty = Self {
            kind: self.kind,
            item: self.item,
            content: self.content,
            text: String::new(),
            signature: None,
            extra: Extra::none(),
            value: Value::Null,
        };
        std::mem::replace(self, empty)
    }

    /// Appends those of a chunk of Chat Completions, for the end of the text.
    pub(super) fn add_logprobs(&mut self, tokens: &Value) {
        let known = self.extra.take(DIALECT, "logprobs");
        let known = known.and_then(|it| it.as_array().cloned()).unwrap_or_default();
        let new = tokens.as_array().into_iter().flatten().cloned();
        let all: Vec<Value> = known.into_iter().chain(new).collect();
        self.extra.merge(logprobs::in_text(all.into()));
    }

    /// The content in its current state.
    pub(super) fn part(&self) -> Value {
        match self.kind {
            ResponsesPartKind::Refusal => part_writer::refusal(&self.text, &self.extra),
            ResponsesPartKind::Content => last_seen_value(&self.value, &self.extra).clone(),
            _ => {
                let mut part = part_writer::output_text(&self.text, &self.extra);
                part["logprobs"] = match part.get("logprobs") {
                    Some(logprobs) if !self.text.is_empty() => logprobs.clone(),
                    _ => json!([]),
                };
                part
            }
        }
    }
}

impl ResponsesPartKind {
    pub(super) fn delta(self) -> Option<&'static str> {
        match self {
            Self::Text => Some("response.output_text.delta"),
            Self::Refusal => Some("response.refusal.delta"),
            Self::Summary => Some("response.reasoning_summary_text.delta"),
            Self::Thoughts => Some("response.reasoning_text.delta"),
            Self::Call => Some("response.function_call_arguments.delta"),
            Self::Signature | Self::Whole | Self::Content | Self::Nothing => None,
        }
    }
}
