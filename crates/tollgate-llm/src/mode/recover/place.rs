//! Where in a text the reader is, as far as calls go.

use super::super::balance::Balance;

pub(super) const OPENING: &str = "<tool_call>";
const CLOSING: &str = "</tool_call>";
pub(super) const FENCE: &str = "```";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// In a line. Blanks before its text are held back: they do not belong to a call that follows.
    Line(Before),
    /// Perhaps at the beginning of a tag: so much of it.
    Tag(String),
    /// In the first line of a fence: what stands there.
    Fence(String),
    /// In the JSON of what may be a call.
    Json(Wrap, Balance),
    /// Behind it: so much of what ends it.
    Behind(Wrap, String),
    /// In JSON that is no call.
    OtherJson(Balance),
    /// In a fence that holds no call: the line so far.
    OtherFence(String),
}

/// What stands in the line already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    Blanks,
    Text,
}

/// In what a call is wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrap {
    Bare,
    Fence,
    Tag,
}

impl Wrap {
    /// What ends it. A bare one ends with its line.
    pub(super) fn end(self) -> &'static str {
        match self {
            Self::Bare => "\n",
            Self::Fence => FENCE,
            Self::Tag => CLOSING,
        }
    }
}
