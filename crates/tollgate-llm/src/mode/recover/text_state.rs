//! States of the text call reader.

use super::super::json_end::JsonEndScanner;

pub(super) const CALL_TAG_OPEN: &str = "<tool_call>";
const CALL_TAG_CLOSE: &str = "</tool_call>";
pub(super) const CODE_FENCE: &str = "```";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextCallState {
    /// In a line. Leading whitespace is held back: it does not belong to a call that follows.
    Line(LinePrefix),
    /// Possibly in an opening tag: the text so far.
    Tag(String),
    /// In the first line of a code fence: the text so far.
    Fence(String),
    /// In JSON that may be a call.
    Json(TextCallWrapper, JsonEndScanner),
    /// After that JSON: the start of the closing mark so far.
    Behind(TextCallWrapper, String),
    /// In JSON that is not a call.
    OtherJson(JsonEndScanner),
    /// In a code fence without a call: the line so far.
    OtherFence(String),
}

/// Content of the line so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinePrefix {
    Blanks,
    Text,
}

/// Wrapper of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextCallWrapper {
    Bare,
    Fence,
    Tag,
}

impl TextCallWrapper {
    /// The closing mark. A bare call ends with its line.
    pub(super) fn end(self) -> &'static str {
        match self {
            Self::Bare => "\n",
            Self::Fence => CODE_FENCE,
            Self::Tag => CALL_TAG_CLOSE,
        }
    }
}
