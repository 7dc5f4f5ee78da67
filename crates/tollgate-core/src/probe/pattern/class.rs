//! Character classes: their matching characters, best first.

use std::iter::Peekable;
use std::str::Chars;

use super::piece::PatternPiece;

/// Ranges, and optionally the complement of others.
#[derive(Debug, Default)]
pub(super) struct CharClass {
    pub(super) ranges: Vec<(char, char)>,
    pub(super) rest: Option<Vec<(char, char)>>,
}

/// Preferred characters: common and harmless for most tools.
const USUAL: &str = "abcdefghijklmnopqrstuvwxyz1234567890ABCDEFGHIJKLMNOPQRSTUVWXYZ-_./:@,+# ";
const DIGITS: &[(char, char)] = &[('0', '9')];
const WORDS: &[(char, char)] = &[('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')];
const BLANKS: &[(char, char)] = &[(' ', ' '), ('\t', '\r')];

impl CharClass {
    fn of(ranges: &[(char, char)]) -> Self {
        Self { ranges: ranges.to_vec(), rest: None }
    }

    /// The complement. Double negation is rare and not resolved.
    pub(super) fn but_not(self) -> Self {
        Self { ranges: Vec::new(), rest: Some(self.ranges) }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.ranges.extend(other.ranges);
        self.rest = self.rest.take().or(other.rest);
    }

    fn has(&self, it: char) -> bool {
        let within = |ranges: &[(char, char)]| ranges.iter().any(|(a, b)| (*a..=*b).contains(&it));
        within(&self.ranges) || self.rest.as_ref().is_some_and(|rest| !within(rest))
    }

    pub(super) fn into_piece(self) -> PatternPiece {
        let usual = USUAL.chars().filter(|it| self.has(*it));
        let others = self.ranges.iter().map(|(first, _)| *first).filter(|it| !USUAL.contains(*it));
        PatternPiece::OneOf(usual.chain(others).collect())
    }
}

/// An escape sequence: a class or a single character.
pub(super) fn escape(rest: &mut Peekable<Chars<'_>>) -> Option<CharClass> {
    let one = |it: char| CharClass::of(&[(it, it)]);
    Some(match rest.next()? {
        'd' => CharClass::of(DIGITS),
        'w' => CharClass::of(WORDS),
        's' => CharClass::of(BLANKS),
        'D' => CharClass::of(DIGITS).but_not(),
        'W' => CharClass::of(WORDS).but_not(),
        'S' => CharClass::of(BLANKS).but_not(),
        'n' => one('\n'),
        't' => one('\t'),
        'r' => one('\r'),
        'f' => one('\u{c}'),
        'v' => one('\u{b}'),
        'x' => one(parse_code_point(rest, 2)?),
        'u' => one(parse_code_point(rest, 4)?),
        'p' => CharClass::of(property(rest)?),
        it if it.is_ascii_alphanumeric() => return None,
        it => one(it),
    })
}

/// `\x41`, `\u0041`, `\u{41}`.
fn parse_code_point(rest: &mut Peekable<Chars<'_>>, width: usize) -> Option<char> {
    let digits: String = match rest.next_if_eq(&'{') {
        Some(_) => rest.by_ref().take_while(|it| *it != '}').collect(),
        None => (0..width).map(|_| rest.next()).collect::<Option<_>>()?,
    };
    char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
}

/// `\p{Lu}` and similar: a few characters that have the property.
fn property(rest: &mut Peekable<Chars<'_>>) -> Option<&'static [(char, char)]> {
    let name: String = match rest.next_if_eq(&'{') {
        Some(_) => rest.by_ref().take_while(|it| *it != '}').collect(),
        None => rest.next()?.to_string(),
    };
    Some(match name.as_str() {
        "L" | "Ll" | "Letter" | "Alphabetic" | "Lowercase" => &[('a', 'z')],
        "Lu" | "Uppercase" => &[('A', 'Z')],
        "N" | "Nd" | "Number" => DIGITS,
        "Z" | "Zs" => &[(' ', ' ')],
        "P" | "Pd" | "Punctuation" => &[('-', '.')],
        _ => return None,
    })
}
