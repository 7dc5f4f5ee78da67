//! Sanitizes server output for models (hidden text, a vector of prompt injection) and for
//! terminals.
//!
//! Removes escape sequences, control characters, bidirectional overrides, invisible alphabets and
//! floods of combining marks. The characters are defined once, in [`crate::tool::hidden_text`]; the
//! meaning of sentences is not judged. Linear in the text: plain text costs one scan, and nothing
//! is allocated unless something is removed.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memchr2_iter};

use crate::json::{self, Object};
use crate::tool::FindingKind;
use crate::tool::hidden_text::{self, EscapeSequencePolicy, RemovedCounts};

/// A text from which something was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SanitizedText {
    pub text: String,
    pub removed: RemovedCounts,
}

/// `None`: nothing to remove.
pub fn text(text: &str) -> Option<SanitizedText> {
    let mut removed = RemovedCounts::default();
    let text = strip(text, &mut removed)?;
    Some(SanitizedText { text, removed })
}

/// Sanitizes every string and key of a JSON document; everything else stays byte for byte. `None`:
/// nothing to remove.
pub fn json(text: &str) -> Option<SanitizedText> {
    if is_plain(text) {
        return None;
    }
    let bytes = text.as_bytes();
    let mut removed = RemovedCounts::default();
    let mut out = String::new();
    let mut at = 0;
    let mut copied = 0;
    while let Some(quote) = memchr(b'"', &bytes[at..]).map(|offset| at + offset) {
        let end = end_of_string(bytes, quote + 1);
        let body = &text[quote + 1..end];
        if let Some(clean) = string(body, &mut removed) {
            out.push_str(&text[copied..quote]);
            json::push_string(&mut out, &clean);
            copied = (end + 1).min(bytes.len());
        }
        at = (end + 1).min(bytes.len());
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&text[copied..]);
    Some(SanitizedText { text: out, removed })
}

/// Like [`json()`], for an object that is already parsed.
pub fn object(object: &mut Object<'static>) -> RemovedCounts {
    let Some(SanitizedText { text, removed }) = json(&object.to_text()) else {
        return RemovedCounts::default();
    };
    // Keys that became equal are ambiguous, so the object is emptied.
    *object = Object::parse(&text).map_or_else(|_| Object::new(), Object::into_owned);
    removed
}

/// Whether strings need no closer look: ASCII without escapes of other characters.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_harmless = |at: usize| match bytes[at] {
        b'\\' => !matches!(bytes.get(at + 1), Some(b'u' | b'b' | b'f')),
        _ => false,
    };
    text.is_ascii() && memchr2_iter(b'\\', 0x7f, bytes).all(is_harmless)
}

/// The end of the string whose first character is at `from`.
fn end_of_string(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(found) = memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        if bytes[at + found] == b'"' {
            return at + found;
        }
        at += found + 2;
    }
    bytes.len()
}

/// The decoded string after sanitizing; `None` if it was clean.
fn string(body: &str, removed: &mut RemovedCounts) -> Option<String> {
    let is_escaped = memchr(b'\\', body.as_bytes()).is_some();
    if !is_escaped {
        return strip(body, removed);
    }
    let before = *removed;
    let decoded = decode(body, removed);
    match strip(&decoded, removed) {
        Some(clean) => Some(clean),
        // An unpaired surrogate was replaced.
        None if *removed != before => Some(decoded.into_owned()),
        None => None,
    }
}

fn strip(text: &str, removed: &mut RemovedCounts) -> Option<String> {
    // Keep a byte order mark at the beginning of the text.
    const MARK: &str = "\u{feff}";
    match text.strip_prefix(MARK) {
        None => hidden_text::strip(text, EscapeSequencePolicy::Removed, removed),
        Some(rest) => {
            let clean = hidden_text::strip(rest, EscapeSequencePolicy::Removed, removed)?;
            Some(format!("{MARK}{clean}"))
        }
    }
}

/// Decodes a JSON string. Unpaired surrogates, which raw JSON can carry and most parsers reject,
/// become U+FFFD.
fn decode<'b>(body: &'b str, removed: &mut RemovedCounts) -> Cow<'b, str> {
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let (c, length) = escape(&rest[at + 1..]);
        match c {
            Some(c) => out.push(c),
            None => {
                removed.count(FindingKind::Surrogate);
                out.push(char::REPLACEMENT_CHARACTER);
            }
        }
        rest = rest.get(at + 1 + length..).unwrap_or_default();
    }
    if out.is_empty() && rest.len() == body.len() {
        return Cow::Borrowed(body);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The character of an escape, and the length of the escape after the backslash.
fn escape(rest: &str) -> (Option<char>, usize) {
    let Some(letter) = rest.chars().next() else { return (Some('\\'), 0) };
    let plain = match letter {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode_escape(rest),
        other => other,
    };
    (Some(plain), letter.len_utf8())
}

fn unicode_escape(rest: &str) -> (Option<char>, usize) {
    const LENGTH: usize = 5;
    let unit = |rest: &str| u32::from_str_radix(rest.get(1..LENGTH)?, 16).ok();
    let Some(first) = unit(rest) else { return (None, LENGTH.min(rest.len())) };
    if let Some(c) = char::from_u32(first) {
        return (Some(c), LENGTH);
    }
    let low = rest[LENGTH..].strip_prefix('\\').filter(|rest| rest.starts_with('u')).and_then(unit);
    match (first, low) {
        (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
            let c = char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00));
            (c, 2 * LENGTH + 1)
        }
        _ => (None, LENGTH),
    }
}

#[cfg(test)]
mod tests;
