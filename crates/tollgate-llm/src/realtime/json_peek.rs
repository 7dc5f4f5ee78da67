//! Peeks into a JSON message without parsing it: its top-level keys, and the `type` among them.
//! Most messages are audio, and are forwarded after this check.

/// Result of a lookup in a JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonPeek<'a> {
    /// The only value of the key, as it is in the text: a string without escapes, unquoted.
    Is(&'a str),
    /// The object has no such key.
    Missing,
    /// Not an object, a duplicate key, or a value that is not a plain string: parsers may disagree
    /// about its meaning.
    Unclear,
}

/// The string value of a top-level key. The rest is skipped, not parsed: invalid JSON further
/// inside is left to others to reject.
pub fn peek_string<'a>(text: &'a str, key: &str) -> JsonPeek<'a> {
    let mut found = JsonPeek::Missing;
    let walked = for_each_field(text, |name, value| {
        if name != key {
            return true;
        }
        if found != JsonPeek::Missing {
            found = JsonPeek::Unclear;
            return false;
        }
        let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        found = match inner.filter(|inner| !inner.contains('\\')) {
            Some(inner) => JsonPeek::Is(inner),
            None => JsonPeek::Unclear,
        };
        true
    });
    if walked { found } else { JsonPeek::Unclear }
}

/// Calls `found` with each top-level key and the text of its value, until it returns `false`.
///
/// Returns `false` if this is not an object. Keys with escapes are not decoded. An escaped `"type"`
/// is never reported as `type`, so such an object counts as invalid.
pub fn for_each_field<'a>(text: &'a str, mut found: impl FnMut(&'a str, &'a str) -> bool) -> bool {
    let bytes = text.as_bytes();
    let Some(mut at) = after(bytes, skip_space(bytes, 0), b'{') else { return false };
    at = skip_space(bytes, at);
    if bytes.get(at) == Some(&b'}') {
        return true;
    }
    loop {
        let Some(end) = string_end(bytes, at) else { return false };
        let key = &text[at + 1..end - 1];
        if key.contains('\\') {
            return false;
        }
        let Some(start) = after(bytes, skip_space(bytes, end), b':') else { return false };
        let start = skip_space(bytes, start);
        let Some(end) = value_end(bytes, start) else { return false };
        if !found(key, &text[start..end]) {
            return true;
        }
        at = skip_space(bytes, end);
        match bytes.get(at) {
            Some(b',') => at = skip_space(bytes, at + 1),
            Some(b'}') => return skip_space(bytes, at + 1) == bytes.len(),
            _ => return false,
        }
    }
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

fn after(bytes: &[u8], at: usize, sign: u8) -> Option<usize> {
    (bytes.get(at) == Some(&sign)).then_some(at + 1)
}

/// The position after the closing quote of the string that begins at `at`.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = after(bytes, at, b'"')?;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        match bytes[at] {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => string_end(bytes, at),
        b'{' | b'[' => nested_end(bytes, at),
        _ => {
            let end = bytes[at..].iter().position(|byte| b",}] \t\r\n".contains(byte))?;
            (end > 0).then_some(at + end)
        }
    }
}

fn nested_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match bytes.get(at)? {
            b'"' => at = string_end(bytes, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth -= 1;
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{JsonPeek, peek_string};

    #[test]
    fn the_type_is_seen_wherever_it_stands_and_only_at_the_top() {
        for (text, expected) in [
            (r#"{"type":"a.b"}"#, JsonPeek::Is("a.b")),
            (r#" { "x" : {"type":"no"} , "type" : "yes" } "#, JsonPeek::Is("yes")),
            (r#"{"audio":"AAAA\"type\":\"x\"","type":"t"}"#, JsonPeek::Is("t")),
            (r#"{"list":[{"type":"no"},"]"],"n":-1.5e3,"type":"t"}"#, JsonPeek::Is("t")),
            (r#"{}"#, JsonPeek::Missing),
            (r#"{"x":1}"#, JsonPeek::Missing),
            (r#"{"type":"a","type":"b"}"#, JsonPeek::Unclear),
            (r#"{"type":"a","\u0074ype":"b"}"#, JsonPeek::Unclear),
            (r#"{"type":"\u0061"}"#, JsonPeek::Unclear),
            (r#"{"type":7}"#, JsonPeek::Unclear),
            (r#"[]"#, JsonPeek::Unclear),
            (r#"{"type":"a""#, JsonPeek::Unclear),
            (r#"{"type":"a"} x"#, JsonPeek::Unclear),
            (r#"{"type""#, JsonPeek::Unclear),
            (r#"{"a":"\"#, JsonPeek::Unclear),
            ("", JsonPeek::Unclear),
        ] {
            assert_eq!(peek_string(text, "type"), expected, "{text}");
        }
    }
}
