//! Brings texts into the form in which they are compared: words in one case and one spelling, each
//! between two spaces.
//!
//! Keywords and utterances go the same way, so a keyword matches whole words exactly where its
//! folded form occurs.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Bytes read at either end of a text. A request stands before or behind what was pasted into it.
pub(super) const END: usize = 4 * 1024;

/// Whether more may follow what was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptStage {
    /// A transcript that still grows: the word that touches its end does not count yet.
    Partial,
    Final,
}

/// ` words like these `: letters and digits make words, all else separates them, hyphens,
/// underscores and apostrophes included. In a partial text the last word has no space behind it.
pub(super) fn fold(text: &str, form: TranscriptStage) -> String {
    let mut words = FoldedWords::with_capacity(text.len().min(2 * END) + 2);
    if text.len() <= 2 * END {
        words.read(text);
    } else {
        words.read(&text[..text.floor_char_boundary(END)]);
        words.cut();
        words.read(&text[text.ceil_char_boundary(text.len() - END)..]);
    }
    words.finish(form)
}

struct FoldedWords {
    folded: String,
    place: FoldPosition,
}

/// Where in the text we are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FoldPosition {
    /// Behind the space that ended the last word.
    Between,
    Word,
    /// Behind a letter of a script that puts no spaces between words; each is a word of its own.
    Unspaced,
    /// In a word whose beginning was not read.
    Cut,
}

impl FoldedWords {
    fn with_capacity(capacity: usize) -> Self {
        let mut folded = String::with_capacity(capacity);
        folded.push(' ');
        Self { folded, place: FoldPosition::Between }
    }

    /// Stretches of ASCII need no tables. Normal forms are made of the rest piece by piece, which
    /// is the same as of the whole: no ASCII character combines with what stands before it.
    fn read(&mut self, text: &str) {
        let mut rest = text;
        while let Some(first) = rest.bytes().next() {
            let is_ascii = first.is_ascii();
            let length = rest.bytes().position(|byte| byte.is_ascii() != is_ascii);
            let (piece, after) = rest.split_at(length.unwrap_or(rest.len()));
            if is_ascii {
                piece.bytes().for_each(|byte| self.ascii(byte));
            } else {
                piece.nfkd().for_each(|letter| self.letter(letter));
            }
            rest = after;
        }
    }

    fn ascii(&mut self, byte: u8) {
        if byte.is_ascii_alphanumeric() {
            self.push_spaced(char::from(byte.to_ascii_lowercase()));
        } else {
            self.separator();
        }
    }

    fn letter(&mut self, letter: char) {
        if is_ignorable(letter) {
            return;
        }
        // They have no case.
        if is_unspaced(letter) {
            return self.push_unspaced(letter);
        }
        let lower = letter.to_lowercase();
        if is_stray(letter) {
            let there_and_back = lower.flat_map(char::to_uppercase).flat_map(char::to_lowercase);
            there_and_back.for_each(|letter| self.lower(letter));
        } else {
            lower.for_each(|letter| self.lower(letter));
        }
    }

    fn lower(&mut self, letter: char) {
        if is_combining_mark(letter) {
            self.mark(letter);
        } else if letter.is_alphanumeric() && !is_apostrophe(letter) {
            self.push_spaced(letter);
        } else {
            self.separator();
        }
    }

    fn push_spaced(&mut self, letter: char) {
        match self.place {
            FoldPosition::Cut => return,
            FoldPosition::Unspaced => self.folded.push(' '),
            FoldPosition::Between | FoldPosition::Word => {}
        }
        self.folded.push(letter);
        self.place = FoldPosition::Word;
    }

    fn push_unspaced(&mut self, letter: char) {
        if self.place != FoldPosition::Between {
            self.folded.push(' ');
        }
        self.folded.push(letter);
        self.place = FoldPosition::Unspaced;
    }

    fn separator(&mut self) {
        if self.place != FoldPosition::Between {
            self.folded.push(' ');
            self.place = FoldPosition::Between;
        }
    }

    /// Belongs to the letter before it, and without one to nothing.
    fn mark(&mut self, mark: char) {
        if let FoldPosition::Between | FoldPosition::Cut = self.place {
            return;
        }
        match (self.folded.chars().next_back(), mark) {
            // What is left of `İ`, which has to equal `i`.
            (Some('i'), '\u{307}') => {}
            // `ü` and `ue` are one, as Germans type.
            (Some('a' | 'o' | 'u'), '\u{308}') => self.folded.push('e'),
            _ => self.folded.push(mark),
        }
    }

    /// Nothing matches across the gap, and neither of the words that it cuts counts.
    fn cut(&mut self) {
        self.folded.push('\n');
        self.place = FoldPosition::Cut;
    }

    fn finish(mut self, form: TranscriptStage) -> String {
        if form == TranscriptStage::Final {
            self.separator();
        }
        self.folded
    }
}

/// Invisible inside a word: soft hyphens, joiners, marks of direction and of variants.
fn is_ignorable(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200c}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Shares its capital with another letter (`ß` and `ss`, `ς` and `σ`, `ı` and `i`), or is that of
/// one (`ẞ`). Compatible decomposition has taken care of the others.
fn is_stray(letter: char) -> bool {
    matches!(letter, 'ß' | 'ẞ' | 'ς' | 'ı' | '\u{345}' | '\u{1c80}'..='\u{1c88}')
}

/// Those that Unicode counts among the letters; all others are punctuation anyway.
fn is_apostrophe(letter: char) -> bool {
    matches!(letter, '\u{2b9}'..='\u{2bd}')
}

/// Of Thai, Lao, Burmese, Khmer, Hiragana and Han, without their marks and punctuation.
/// (Words in Katakana stand out among the latter two.)
fn is_unspaced(letter: char) -> bool {
    match letter {
        '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{309f}' => true,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}' => true,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => {
            letter.is_alphanumeric() && !is_combining_mark(letter)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
