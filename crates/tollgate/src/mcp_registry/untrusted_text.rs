//! Texts of the registry, for display: anybody may publish an entry.

use tollgate_core::text::truncate_chars;

const MAX_TEXT_CHARS: usize = 400;

/// Untrusted text: truncated, and without control characters.
pub(super) fn sanitize_text(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    truncate_chars(plain.trim(), MAX_TEXT_CHARS)
}
