//! Text normalization for phrase matching: lower case, no diacritics, Latin look-alikes as Latin,
//! single blanks. Phrases and texts are normalized alike.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::confusables;

pub(super) fn fold(text: &str) -> String {
    let mut folded = PhraseFolder { text: String::with_capacity(text.len()) };
    // ASCII runs need no tables: no ASCII character combines with the character before it.
    let mut rest = text;
    while let Some(first) = rest.bytes().next() {
        let is_ascii = first.is_ascii();
        let length = rest.bytes().position(|byte| byte.is_ascii() != is_ascii);
        let (piece, after) = rest.split_at(length.unwrap_or(rest.len()));
        if is_ascii {
            piece.bytes().for_each(|byte| folded.push(char::from(byte.to_ascii_lowercase())));
        } else {
            piece.nfkd().flat_map(char::to_lowercase).for_each(|c| folded.letter(c));
        }
        rest = after;
    }
    folded.text
}

struct PhraseFolder {
    text: String,
}

impl PhraseFolder {
    fn letter(&mut self, c: char) {
        match c {
            '‘' | '’' | 'ʼ' | '´' => self.push('\''),
            '‐'..='―' => self.push('-'),
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => {}
            c if is_combining_mark(c) => {}
            c => self.push(confusables::latin(c).unwrap_or(c)),
        }
    }

    fn push(&mut self, c: char) {
        if !c.is_whitespace() && !c.is_control() {
            self.text.push(c);
        } else if !self.text.ends_with(' ') {
            self.text.push(' ');
        }
    }
}
