//! Where in a text the reader is, as far as calls go.

use super::super::json_end::JsonEndScanner;

pub(super) const CALL_TAG_OPEN: &str = "<tool_call>";
const CALL_TAG_CLOSE: &str = "</tool_call>";
pub(super) const CODE_FENCE: &str = "```";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextCallState {
    /// In a line. Blanks before its text are held back: they do not belong to a call that follows.
    Line(LinePrefix),
    /// Perhaps at the beginning of a tag: so much of it.
    Tag(String),
    /// In the first line of a fence: what stands there.
    Fence(String),
    /// In the JSON of what may be a call.
    Json(TextCallWrapper, JsonEndScanner),
    /// Behind it: so much of what ends it.
    Behind(TextCallWrapper, String),
    /// In JSON that is no call.
    OtherJson(JsonEndScanner),
    /// In a fence that holds no call: the line so far.
    OtherFence(String),
}

/// What stands in the line already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinePrefix {
    Blanks,
    Text,
}

/// In what a call is wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextCallWrapper {
    Bare,
    Fence,
    Tag,
}

impl TextCallWrapper {
    /// What ends it. A bare one ends with its line.
    pub(super) fn end(self) -> &'static str {
        match self {
            Self::Bare => "\n",
            Self::Fence => CODE_FENCE,
            Self::Tag => CALL_TAG_CLOSE,
        }
    }
}
