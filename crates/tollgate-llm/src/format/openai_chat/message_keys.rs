//! Field names of messages, and how a part keeps the name that it was read from.

use super::DIALECT;
use crate::extra::Extra;

/// Field names for thoughts: two spellings are common, neither is OpenAI's.
pub(super) const THOUGHTS_KEYS: [&str; 2] = ["reasoning_content", "reasoning"];
/// Note that the thoughts were in the content; no request field lets a server recognize them.
pub(super) const CONTENT_KEY: &str = "content";
/// Field in which earlier versions gave clients the signature of a single thought.
pub(super) const THOUGHTS_SIGNATURE_KEY: &str = "reasoning_signature";
/// Fields beside the content that have parts of their own.
pub(super) const CALLS_KEY: &str = "tool_calls";
pub(super) const IMAGES_KEY: &str = "images";
/// Field that notes which spelling was used, or for an unknown part, in which field it was.
pub(super) const SPELLING_KEY: &str = "said_as";

pub(super) fn with_spelling(key: &str) -> Extra {
    Extra::new(DIALECT, [(SPELLING_KEY.to_owned(), key.into())].into_iter().collect())
}
