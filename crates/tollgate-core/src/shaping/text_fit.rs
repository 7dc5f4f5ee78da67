//! How much of a text fits into a budget of bytes.

use super::prune::EscapeContext;

/// How much of `text` fits, in whole characters: into `room` encoded as JSON, and into `bytes`
/// decoded.
pub(super) fn fitting(text: &str, room: usize, bytes: usize) -> usize {
    let mut spent = 0_usize;
    for (at, c) in text.char_indices() {
        spent = spent.saturating_add(EscapeContext::InString.of(c));
        if spent > room || at + c.len_utf8() > bytes {
            return at;
        }
    }
    text.len()
}
