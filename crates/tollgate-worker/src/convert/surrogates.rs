//! Unpaired surrogates in JSON text: they represent no character, so they are replaced by the
//! replacement character instead of failing the whole text.

use std::borrow::Cow;

const REPLACEMENT: &str = "\\ufffd";

pub(super) fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = match (half(rest), rest.get(6..).and_then(half)) {
            (Some(SurrogateHalf::High), Some(SurrogateHalf::Low)) => 12,
            (Some(_), _) => {
                out.push_str(REPLACEMENT);
                rest = &rest[6..];
                continue;
            }
            // An escape has at least two characters: a second backslash does not begin another one.
            (None, _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

enum SurrogateHalf {
    High,
    Low,
}

fn half(text: &str) -> Option<SurrogateHalf> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xD800..=0xDBFF => Some(SurrogateHalf::High),
        0xDC00..=0xDFFF => Some(SurrogateHalf::Low),
        _ => None,
    }
}
