//! A part of an answer that is being written, and where it stands.

use serde_json::{Value, json};

use super::super::{last_seen_value, part};
use crate::conversation::ThoughtSignature;
use crate::extra::Extra;

/// Where a part stands.
#[derive(Debug)]
pub(super) struct ResponsesPartPosition {
    pub(super) kind: ResponsesPartKind,
    pub(super) item: usize,
    /// The number of its content in a message, or of the summary in thoughts.
    pub(super) content: usize,
    /// All of it; of thoughts, the part of the summary.
    pub(super) text: String,
    pub(super) signature: Option<ThoughtSignature>,
    pub(super) extra: Extra,
    /// Of content of an unknown kind, as it began.
    pub(super) value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponsesPartKind {
    Text,
    Refusal,
    Summary,
    /// Thoughts as they were thought.
    Thoughts,
    Call,
    /// An item in one piece.
    Whole,
    /// A part of content of an unknown kind, in one piece.
    Content,
    /// Has no words here.
    Nothing,
}

impl ResponsesPartPosition {
    /// Leaves nothing behind; whoever takes it puts it back.
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

    /// The content as it is now.
    pub(super) fn part(&self) -> Value {
        match self.kind {
            ResponsesPartKind::Refusal => part::refusal(&self.text, &self.extra),
            ResponsesPartKind::Content => last_seen_value(&self.value, &self.extra).clone(),
            _ => {
                let mut part = part::output_text(&self.text, &self.extra);
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
            Self::Whole | Self::Content | Self::Nothing => None,
        }
    }
}
