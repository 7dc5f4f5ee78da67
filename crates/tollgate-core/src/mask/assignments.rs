//! Masks assigned secrets in text: `password=…`, `"api_key": "…"`, `Cookie: …`. Prose and code that
//! only mention passwords or tokens are left unchanged.

use std::ops::Range;

use super::names::{SecretFamily, SecretNames};
use super::{MARK, SecretMatch};

/// Maximum bytes examined of a name, a run of blanks, and a value.
const NAME: usize = 64;
const BLANKS: usize = 8;
const VALUE: usize = 4_096;
/// A tighter limit where text is examined more often.
const LINE: usize = 256;

/// The value assigned to a name that has a known part at `hit`.
pub(super) fn find(
    text: &str,
    hit: Range<usize>,
    names: &SecretNames,
) -> Option<SecretMatch<'static>> {
    let bytes = text.as_bytes();
    let before = bytes[..hit.start].iter().rev().take(NAME).take_while(|it| in_name(**it)).count();
    let begin = hit.start - before;
    let end = hit.end + run(&bytes[hit.end..], NAME, in_name);
    let name = text.get(begin..end)?;
    let kind = names.family(name)?;
    let mut at = end + usize::from(bytes.get(end) == Some(&b'\\'));
    at += usize::from(matches!(bytes.get(at), Some(b'"' | b'\'')));
    let gap = run(&bytes[at..], BLANKS, is_blank);
    at += gap;
    let sign = *bytes.get(at).filter(|byte| matches!(byte, b'=' | b':'))?;
    at += 1;
    if sign == b':' && bytes.get(at) == Some(&b'=') {
        at += 1;
    } else if bytes.get(at) == Some(&b'=') {
        return None;
    }
    let spaces = run(&bytes[at..], BLANKS, is_blank);
    let place = AssignedValue { text, kind, at: at + spaces };
    let range = place.find_quoted().or_else(|| match (sign, gap + spaces) {
        (b'=', 0) => {
            let in_query = begin.checked_sub(1).is_some_and(|at| b"?&".contains(&bytes[at]));
            let is_variable = !name.bytes().any(|byte| byte.is_ascii_lowercase());
            place.bare(if in_query || is_variable {
                ValueCertainty::Surely
            } else {
                ValueCertainty::Perhaps
            })
        }
        (b':', _) => match kind {
            "authorization" => place.credentials(),
            "cookie" => place.cookies(),
            _ => place.line(),
        },
        _ => None,
    })?;
    Some(SecretMatch { range, kind })
}

/// The start of a value.
struct AssignedValue<'t> {
    text: &'t str,
    kind: SecretFamily,
    at: usize,
}

/// Whether the following text is certainly a value, or may be an identifier of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueCertainty {
    Surely,
    Perhaps,
}

impl AssignedValue<'_> {
    fn rest(&self) -> &[u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// Whole characters only, and no placeholder.
    fn validate_value(&self, length: usize) -> Option<Range<usize>> {
        let range = self.at..self.text.floor_char_boundary(self.at + length);
        let value = self.text.get(range.clone())?;
        let is_path = self.kind == "password" && value.starts_with('/');
        (!value.is_empty() && !is_path && !is_placeholder(value)).then_some(range)
    }

    fn find_quoted(&self) -> Option<Range<usize>> {
        let rest = self.rest();
        let escape = usize::from(rest.first() == Some(&b'\\'));
        let quote = *rest.get(escape).filter(|byte| matches!(byte, b'"' | b'\''))?;
        let inside = AssignedValue { at: self.at + escape + 1, ..*self };
        let mut bytes = inside.rest().iter().take(VALUE).enumerate();
        let mut length = 0;
        while let Some((at, byte)) = bytes.next() {
            match *byte {
                byte if byte == quote => return inside.validate_value(at),
                b'\n' => return None,
                b'\\' if escape > 0 => return inside.validate_value(at),
                b'\\' => drop(bytes.next()),
                _ => {}
            }
            length = at + 1;
        }
        // Truncated, or longer than any secret.
        inside.validate_value(length)
    }

    fn bare(&self, meant: ValueCertainty) -> Option<Range<usize>> {
        let rest = self.rest();
        let ends = |byte: u8| byte.is_ascii_whitespace() || b"&;,\"'`()<>[]{}\\".contains(&byte);
        let length = run(rest, VALUE, |byte| !ends(byte));
        let value = &rest[..length];
        let is_word = !value.iter().any(u8::is_ascii_digit)
            && value.iter().all(|byte| byte.is_ascii_alphabetic() || b"_.:-".contains(byte));
        let is_call = matches!(rest.get(length), Some(b'(' | b'[' | b'{'));
        let fits = match meant {
            ValueCertainty::Surely => length >= 4,
            ValueCertainty::Perhaps => length >= 6 && !is_word && !is_call,
        };
        fits.then(|| self.validate_value(length)).flatten()
    }

    /// A line of a settings file: a single word that is not natural language.
    fn line(&self) -> Option<Range<usize>> {
        let rest = self.rest();
        let length = run(rest, LINE, |byte| !byte.is_ascii_whitespace() && !b",}".contains(&byte));
        let ends_there = matches!(rest.get(length), None | Some(b'\n' | b'\r' | b',' | b'}'));
        let has_digit = rest[..length].iter().any(u8::is_ascii_digit);
        let is_structure = matches!(rest.first(), Some(b'{' | b'[' | b'('));
        let fits = length >= 6 && ends_there && has_digit && !is_structure;
        fits.then(|| self.validate_value(length)).flatten()
    }

    /// `Basic dXNlcjpwYXNz`, or one long word with digits in it.
    fn credentials(&self) -> Option<Range<usize>> {
        const SCHEMES: [&str; 6] = ["basic", "bearer", "digest", "token", "apikey", "negotiate"];
        let rest = self.rest();
        let first = run(rest, LINE, in_word);
        let scheme = self.text.get(self.at..self.at + first)?;
        if !SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            let has_digit = scheme.bytes().any(|byte| byte.is_ascii_digit());
            let fits = first >= 8 && has_digit && ends_line(&rest[first..]);
            return fits.then(|| self.validate_value(first)).flatten();
        }
        let gap = run(&rest[first..], BLANKS, is_blank);
        let second = run(&rest[first + gap..], VALUE, in_word);
        let token = AssignedValue { at: self.at + first + gap, ..*self };
        let fits = second >= 8 && ends_line(&token.rest()[second..]);
        let token = fits.then(|| token.validate_value(second)).flatten()?;
        Some(self.at..token.end)
    }

    /// `session=abc; theme=dark`, to the end of the line.
    fn cookies(&self) -> Option<Range<usize>> {
        let rest = self.rest();
        let name = run(rest, NAME, |byte| in_word(byte) && byte != b'=');
        if name == 0 || rest.get(name) != Some(&b'=') {
            return None;
        }
        self.validate_value(run(rest, VALUE, |byte| !b"\r\n\"'".contains(&byte)))
    }
}

fn ends_line(rest: &[u8]) -> bool {
    matches!(rest.first(), None | Some(b'\r' | b'\n' | b'"' | b'\'' | b'`' | b','))
}

fn in_word(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !b"\"'`,".contains(&byte)
}

/// A placeholder that is filled in elsewhere, or an already masked value.
fn is_placeholder(value: &str) -> bool {
    let first = value.as_bytes().first();
    let same = || value.bytes().all(|byte| Some(&byte) == first);
    value.starts_with(MARK)
        || ["${", "$(", "{{", "<", "%", "[", "***"].iter().any(|mark| value.starts_with(mark))
        || same()
}

fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn run(bytes: &[u8], most: usize, is: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take(most).take_while(|byte| is(**byte)).count()
}
