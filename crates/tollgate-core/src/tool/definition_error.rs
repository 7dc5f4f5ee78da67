//! Why the definition of a tool is rejected.

use crate::json::MalformedJsonError;
use crate::text::truncate_chars;

/// Characters of a tool name.
pub(super) const MAX_TOOL_NAME: usize = 128;

/// Why a definition is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    #[error("invalid definition: {0}")]
    Malformed(#[from] MalformedJsonError),
    #[error("a key imitates `{0}` with look-alike characters")]
    Twin(&'static str),
    #[error("key `{}` is duplicated after removal of hidden text", truncate_chars(.0, 80))]
    HiddenTwin(String),
    #[error("it has no `{0}`")]
    Missing(&'static str),
    #[error("`{field}` must be {expected}")]
    Type { field: &'static str, expected: &'static str },
    #[error("its name has {0} characters; 1 to {limit} are allowed", limit = MAX_TOOL_NAME)]
    NameLength(usize),
    #[error("`{field}` has {size} bytes; the limit is {limit}")]
    TooLong { field: &'static str, size: usize, limit: usize },
    #[error("`inputSchema` must have `type: \"object\"` at its root")]
    NotAnObject,
    #[error("the header of `{pointer}` cannot be used: {reason}")]
    Header { pointer: String, reason: &'static str },
}
