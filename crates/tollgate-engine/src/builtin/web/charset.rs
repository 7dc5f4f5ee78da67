//! Charset detection and decoding of a page: by byte order mark, header, `<meta>`, or heuristics.
//! Pure.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// A charset declaration is searched for in this many bytes.
const PRESCAN: usize = 1_024;

/// `None`: it is not text. Invalid sequences become `�`.
pub(super) fn text(bytes: &[u8], header: Option<&str>) -> Option<String> {
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let named = || header.and_then(|name| Encoding::for_label(name.as_bytes()));
    let guessed = || match std::str::from_utf8(bytes) {
        Ok(_) => UTF_8,
        // Truncated in the middle of the last character.
        Err(error) if error.error_len().is_none() => UTF_8,
        Err(_) => WINDOWS_1252,
    };
    let encoding = marked.or_else(named).or_else(|| meta(bytes)).unwrap_or_else(guessed);
    let wide = encoding == UTF_16LE || encoding == UTF_16BE;
    if !wide && bytes.iter().take(PRESCAN).any(|byte| *byte == 0) {
        return None;
    }
    let (text, _, _) = encoding.decode(bytes);
    Some(text.into_owned())
}

/// `<meta charset="…">`, or the same in `content`, or an XML declaration.
fn meta(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = &bytes[..bytes.len().min(PRESCAN)];
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let named = start.split("charset").skip(1).find_map(label);
    let named = named.or_else(|| {
        let declaration = start.strip_prefix("<?xml")?.split("?>").next()?;
        declaration.split("encoding").nth(1).and_then(label)
    });
    match Encoding::for_label(named?.as_bytes())? {
        // A UTF-16 page could not contain this ASCII declaration (as in the HTML standard).
        wide if wide == UTF_16LE || wide == UTF_16BE => Some(UTF_8),
        encoding => Some(encoding),
    }
}

/// The value after the `=`, quoted or not.
fn label(rest: &str) -> Option<&str> {
    let value = rest.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let end =
        value.find(|letter: char| !(letter.is_ascii_alphanumeric() || "-_:.".contains(letter)));
    Some(&value[..end.unwrap_or(value.len())]).filter(|label| !label.is_empty())
}

#[cfg(test)]
mod tests;
