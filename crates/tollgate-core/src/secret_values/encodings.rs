//! Encodings in which a secret may appear: plain, escaped for JSON, HTML or URLs, base64 and hex.
//! Encrypted, compressed or split values are not found.

use std::fmt::Write as _;

/// Longer values are searched for in the textual encodings only, not as base64 or hex.
const MAX_ENCODED_BYTES: usize = 256;
/// Shorter pieces of base64 would occur in other data by chance.
const MIN_BASE64: usize = 9;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Without duplicates, the plain value first.
pub(super) fn of(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    let mut add = |form: String| {
        if !forms.contains(&form) {
            forms.push(form);
        }
    };
    let escaped = json_escaped(value);
    // JSON inside JSON: tools return the output of other programs this way.
    add(json_escaped(&escaped));
    add(escaped.replace('/', "\\/"));
    add(escaped);
    let ascii = ascii_escaped(value);
    add(json_escaped(&ascii));
    add(ascii);
    add(html_escaped(value));
    for upper in [true, false] {
        let encoded = percent_encoded(value, upper);
        add(encoded.replace("%20", "+"));
        add(encoded);
    }
    if value.len() <= MAX_ENCODED_BYTES {
        for alphabet in [STANDARD, URL_SAFE] {
            for offset in 0..3 {
                let inside = base64_inside(value.as_bytes(), offset, alphabet);
                if inside.len() >= MIN_BASE64 {
                    add(inside);
                }
            }
        }
        add(value.bytes().map(|byte| format!("{byte:02x}")).collect());
        add(value.bytes().map(|byte| format!("{byte:02X}")).collect());
    }
    forms
}

/// The usual JSON escaping: only what is required.
fn json_escaped(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// ASCII-only escaping, as Python writes it.
fn ascii_escaped(value: &str) -> String {
    let mut out = String::new();
    for c in json_escaped(value).chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

fn html_escaped(value: &str) -> String {
    let escaped = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    escaped.replace('"', "&quot;").replace('\'', "&#39;")
}

fn percent_encoded(value: &str, upper: bool) -> String {
    let mut out = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else if upper {
            let _ = write!(out, "%{byte:02X}");
        } else {
            let _ = write!(out, "%{byte:02x}");
        }
    }
    out
}

/// The base64 characters that depend only on the value, if `offset` bytes (modulo three) precede
/// it.
fn base64_inside(value: &[u8], offset: usize, alphabet: &[u8; 64]) -> String {
    let bits = (offset + value.len()) * 8;
    let bit = |at: usize| match (at / 8).checked_sub(offset).and_then(|at| value.get(at)) {
        Some(byte) => usize::from(byte >> (7 - at % 8) & 1),
        None => 0,
    };
    let first = (offset * 8).div_ceil(6);
    let sextet = |at: usize| (0..6).fold(0, |sum, next| sum << 1 | bit(at * 6 + next));
    (first..bits / 6).map(|at| char::from(alphabet[sextet(at)])).collect()
}

#[cfg(test)]
pub(super) fn base64(bytes: &[u8]) -> String {
    let padded = [bytes, &[0; 2]].concat();
    base64_inside(&padded[..bytes.len().div_ceil(3) * 3], 0, STANDARD)
}
