//! Deltas of a streamed answer. Stream readers produce them, stream writers consume them, and
//! [`ResponseAssembly`] assembles the complete answer.

use crate::conversation::{
    ChatResponse, FunctionCall, MessagePart, PartContent, StopReason, ThoughtSignature, TokenUsage,
};
use crate::extra::Extra;

/// One delta. The order is `Start`; for each part `Open`, any number of `Grow` and `Extra`,
/// `Close`; and `End` once. Parts are numbered from 0 without gaps, and may overlap.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponseDelta {
    Start {
        id: String,
        model: String,
        /// Seconds since 1970; 0: unknown.
        created: u64,
        extra: Extra,
    },
    Open {
        index: usize,
        opening: PartOpening,
        extra: Extra,
    },
    /// Appends to the text of the part: text, thoughts, a refusal, or the arguments of a call.
    Grow {
        index: usize,
        text: String,
        /// Fields that the dialect sent with this text, such as log probabilities.
        extra: Extra,
    },
    /// The signature of a thought.
    Sign {
        index: usize,
        signature: ThoughtSignature,
    },
    /// Fields that belong to the part as a whole, such as citations.
    Extra {
        index: usize,
        extra: Extra,
    },
    Close {
        index: usize,
    },
    End {
        stop: StopReason,
        usage: TokenUsage,
        extra: Extra,
    },
}

impl ResponseDelta {
    /// Index of the part that it belongs to.
    pub fn part(&self) -> Option<usize> {
        match self {
            Self::Open { index, .. }
            | Self::Grow { index, .. }
            | Self::Sign { index, .. }
            | Self::Extra { index, .. }
            | Self::Close { index } => Some(*index),
            Self::Start { .. } | Self::End { .. } => None,
        }
    }
}

/// Kind of a part.
#[derive(Debug, Clone, PartialEq)]
pub enum PartOpening {
    Text,
    Refusal,
    Thinking,
    Call {
        id: String,
        name: String,
    },
    /// A part that arrives in one piece.
    Whole(PartContent),
}

/// Assembles an answer from its deltas.
#[derive(Debug, Default)]
pub struct ResponseAssembly {
    id: String,
    model: String,
    created: u64,
    parts: Vec<MessagePart>,
    ended: Option<(StopReason, TokenUsage)>,
    extra: Extra,
}

impl ResponseAssembly {
    pub fn add(&mut self, delta: &ResponseDelta) {
        match delta {
            ResponseDelta::Start { id, model, created, extra } => {
                (self.id, self.model, self.created) = (id.clone(), model.clone(), *created);
                self.extra.merge(extra.clone());
            }
            ResponseDelta::Open { index, opening, extra } => {
                debug_assert_eq!(*index, self.parts.len(), "parts are numbered without gaps");
                self.parts.push(MessagePart { content: opening.content(), extra: extra.clone() });
            }
            ResponseDelta::Grow { index, text, .. } => {
                if let Some(part) = self.parts.get_mut(*index) {
                    grow(&mut part.content, text);
                }
            }
            ResponseDelta::Sign { index, signature: given } => {
                if let Some(MessagePart {
                    content: PartContent::Thinking { signature, .. }, ..
                }) = self.parts.get_mut(*index)
                {
                    *signature = Some(given.clone());
                }
            }
            ResponseDelta::Extra { index, extra } => {
                if let Some(part) = self.parts.get_mut(*index) {
                    part.extra.merge(extra.clone());
                }
            }
            ResponseDelta::Close { .. } => {}
            ResponseDelta::End { stop, usage, extra } => {
                self.ended = Some((stop.clone(), usage.clone()));
                self.extra.merge(extra.clone());
            }
        }
    }

    /// `None`: the answer has not ended.
    pub fn finish(self) -> Option<ChatResponse> {
        let (stop, usage) = self.ended?;
        let Self { id, model, created, parts, extra, .. } = self;
        Some(ChatResponse { id, model, created, parts, stop, usage, extra })
    }
}

impl PartOpening {
    fn content(&self) -> PartContent {
        match self {
            Self::Text => PartContent::Text(String::new()),
            Self::Refusal => PartContent::Refusal(String::new()),
            Self::Thinking => PartContent::Thinking { text: String::new(), signature: None },
            Self::Call { id, name } => PartContent::Call(FunctionCall {
                id: id.clone(),
                name: name.clone(),
                arguments: String::new(),
            }),
            Self::Whole(content) => content.clone(),
        }
    }
}

fn grow(content: &mut PartContent, more: &str) {
    match content {
        PartContent::Text(text)
        | PartContent::Refusal(text)
        | PartContent::Thinking { text, .. } => {
            text.push_str(more);
        }
        PartContent::Call(call) => call.arguments.push_str(more),
        PartContent::Media(_) | PartContent::Result(_) | PartContent::Opaque { .. } => {}
    }
}

/// Splits a complete answer into deltas.
pub fn steps(response: &ChatResponse) -> Vec<ResponseDelta> {
    let ChatResponse { id, model, created, parts, stop, usage, extra } = response;
    let mut steps = vec![ResponseDelta::Start {
        id: id.clone(),
        model: model.clone(),
        created: *created,
        extra: Extra::none(),
    }];
    for (index, part) in parts.iter().enumerate() {
        let SplitContent { opening, text, signature } = split_content(&part.content);
        steps.push(ResponseDelta::Open { index, opening, extra: part.extra.clone() });
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            steps.push(ResponseDelta::Grow { index, text, extra: Extra::none() });
        }
        steps.extend(signature.map(|signature| ResponseDelta::Sign { index, signature }));
        steps.push(ResponseDelta::Close { index });
    }
    let stop = stop.clone();
    let usage = usage.clone();
    steps.push(ResponseDelta::End { stop, usage, extra: extra.clone() });
    steps
}

/// A part as its stream sends it.
struct SplitContent {
    opening: PartOpening,
    text: Option<String>,
    signature: Option<ThoughtSignature>,
}

fn split_content(content: &PartContent) -> SplitContent {
    let (opening, text) = match content {
        PartContent::Text(text) => (PartOpening::Text, Some(text.clone())),
        PartContent::Refusal(text) => (PartOpening::Refusal, Some(text.clone())),
        PartContent::Thinking { text, .. } => (PartOpening::Thinking, Some(text.clone())),
        PartContent::Call(call) => {
            let opening = PartOpening::Call { id: call.id.clone(), name: call.name.clone() };
            (opening, Some(call.arguments.clone()))
        }
        whole @ (PartContent::Media(_) | PartContent::Result(_) | PartContent::Opaque { .. }) => {
            (PartOpening::Whole(whole.clone()), None)
        }
    };
    let signature = match content {
        PartContent::Thinking { signature, .. } => signature.clone(),
        _ => None,
    };
    SplitContent { opening, text, signature }
}

#[cfg(test)]
mod tests;
