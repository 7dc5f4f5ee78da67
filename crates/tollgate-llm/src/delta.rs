//! An answer as it grows. Readers of streams give these, writers of streams take them, and
//! [`Assembly`] puts them together.

use crate::conversation::{Call, Content, Part, Response, Signature, Stop, Usage};
use crate::extra::Extra;

/// One step. They come as `Start`, then for each part `Open`, any number of `Grow` and `Extra`,
/// `Close`, and `End` once. Parts are numbered from 0 without gaps, and may overlap.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    Start {
        id: String,
        model: String,
        /// Seconds since 1970; 0: unknown.
        created: u64,
        extra: Extra,
    },
    Open {
        index: usize,
        opening: Opening,
        extra: Extra,
    },
    /// More of the text of the part: words, thoughts, a refusal, or the arguments of a call.
    Grow {
        index: usize,
        text: String,
        /// What the dialect said beside it in the same breath, such as log probabilities.
        extra: Extra,
    },
    /// The signature of a thought.
    Sign {
        index: usize,
        signature: Signature,
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
        stop: Stop,
        usage: Usage,
        extra: Extra,
    },
}

/// What kind of part begins.
#[derive(Debug, Clone, PartialEq)]
pub enum Opening {
    Text,
    Refusal,
    Thinking,
    Call {
        id: String,
        name: String,
    },
    /// A part that comes in one piece.
    Whole(Content),
}

/// Puts an answer together from its steps.
#[derive(Debug, Default)]
pub struct Assembly {
    id: String,
    model: String,
    created: u64,
    parts: Vec<Part>,
    ended: Option<(Stop, Usage)>,
    extra: Extra,
}

impl Assembly {
    pub fn add(&mut self, delta: &Delta) {
        match delta {
            Delta::Start { id, model, created, extra } => {
                (self.id, self.model, self.created) = (id.clone(), model.clone(), *created);
                self.extra.merge(extra.clone());
            }
            Delta::Open { index, opening, extra } => {
                debug_assert_eq!(*index, self.parts.len(), "parts are numbered without gaps");
                self.parts.push(Part { content: opening.content(), extra: extra.clone() });
            }
            Delta::Grow { index, text, .. } => {
                if let Some(part) = self.parts.get_mut(*index) {
                    grow(&mut part.content, text);
                }
            }
            Delta::Sign { index, signature: given } => {
                if let Some(Part { content: Content::Thinking { signature, .. }, .. }) =
                    self.parts.get_mut(*index)
                {
                    *signature = Some(given.clone());
                }
            }
            Delta::Extra { index, extra } => {
                if let Some(part) = self.parts.get_mut(*index) {
                    part.extra.merge(extra.clone());
                }
            }
            Delta::Close { .. } => {}
            Delta::End { stop, usage, extra } => {
                self.ended = Some((stop.clone(), usage.clone()));
                self.extra.merge(extra.clone());
            }
        }
    }

    /// `None`: it has not ended.
    pub fn finish(self) -> Option<Response> {
        let (stop, usage) = self.ended?;
        let Self { id, model, created, parts, extra, .. } = self;
        Some(Response { id, model, created, parts, stop, usage, extra })
    }
}

impl Opening {
    fn content(&self) -> Content {
        match self {
            Self::Text => Content::Text(String::new()),
            Self::Refusal => Content::Refusal(String::new()),
            Self::Thinking => Content::Thinking { text: String::new(), signature: None },
            Self::Call { id, name } => {
                Content::Call(Call { id: id.clone(), name: name.clone(), arguments: String::new() })
            }
            Self::Whole(content) => content.clone(),
        }
    }
}

fn grow(content: &mut Content, more: &str) {
    match content {
        Content::Text(text) | Content::Refusal(text) | Content::Thinking { text, .. } => {
            text.push_str(more);
        }
        Content::Call(call) => call.arguments.push_str(more),
        Content::Media(_) | Content::Result(_) | Content::Opaque { .. } => {}
    }
}

/// The steps by which a whole answer could have come.
pub fn steps(response: &Response) -> Vec<Delta> {
    let Response { id, model, created, parts, stop, usage, extra } = response;
    let mut steps = vec![Delta::Start {
        id: id.clone(),
        model: model.clone(),
        created: *created,
        extra: Extra::none(),
    }];
    for (index, part) in parts.iter().enumerate() {
        let (opening, text, signature) = taken_apart(&part.content);
        steps.push(Delta::Open { index, opening, extra: part.extra.clone() });
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            steps.push(Delta::Grow { index, text, extra: Extra::none() });
        }
        steps.extend(signature.map(|signature| Delta::Sign { index, signature }));
        steps.push(Delta::Close { index });
    }
    let (stop, usage) = (stop.clone(), usage.clone());
    steps.push(Delta::End { stop, usage, extra: extra.clone() });
    steps
}

fn taken_apart(content: &Content) -> (Opening, Option<String>, Option<Signature>) {
    match content {
        Content::Text(text) => (Opening::Text, Some(text.clone()), None),
        Content::Refusal(text) => (Opening::Refusal, Some(text.clone()), None),
        Content::Thinking { text, signature } => {
            (Opening::Thinking, Some(text.clone()), signature.clone())
        }
        Content::Call(call) => {
            let opening = Opening::Call { id: call.id.clone(), name: call.name.clone() };
            (opening, Some(call.arguments.clone()), None)
        }
        whole @ (Content::Media(_) | Content::Result(_) | Content::Opaque { .. }) => {
            (Opening::Whole(whole.clone()), None, None)
        }
    }
}

#[cfg(test)]
mod tests;
