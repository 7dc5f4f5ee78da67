//! Text normalization for keyword matching: words in one case and spelling, each between two
//! spaces.
//!
//! Keywords and utterances are normalized alike, so a keyword matches whole words exactly where its
//! normalized form occurs.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Bytes read at each end of a text: a request stands before or after pasted content.
pub(super) const END: usize = 4 * 1024;

/// Whether the transcript is final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptStage {
    /// A growing transcript: the word at its end does not count yet.
    Partial,
    Final,
}

/// ` words like these `: letters and digits form words, everything else separates them, including
/// hyphens, underscores and apostrophes. In a partial text the last word has no space after it.
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

/// Position in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FoldPosition {
    /// After the space that ended the last word.
    Between,
    Word,
    /// After a letter of a script without spaces; each such letter is a word.
    Unspaced,
    /// Inside a word whose beginning was not read.
    Cut,
}

impl FoldedWords {
    fn with_capacity(capacity: usize) -> Self {
        let mut folded = String::with_capacity(capacity);
        folded.push(' ');
        Self { folded, place: FoldPosition::Between }
    }

    /// ASCII runs need no tables. The rest is normalized piecewise, which equals normalization of
    /// the whole: no ASCII character combines with the character before it.
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
        // Letters of these scripts have no case.
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

    /// Applies to the letter before it; ignored without one.
    fn mark(&mut self, mark: char) {
        if let FoldPosition::Between | FoldPosition::Cut = self.place {
            return;
        }
        match (self.folded.chars().next_back(), mark) {
            // The rest of a decomposed `İ`, which has to equal `i`.
            (Some('i'), '\u{307}') => {}
            // `ü` equals `ue`, as Germans type it.
            (Some('a' | 'o' | 'u'), '\u{308}') => self.folded.push('e'),
            _ => self.folded.push(mark),
        }
    }

    /// Nothing matches across the gap, and the two truncated words do not count.
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

/// Invisible inside a word: soft hyphens, joiners, direction marks and variation selectors.
fn is_ignorable(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200c}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Shares its upper case with another letter (`ß` and `ss`, `ς` and `σ`, `ı` and `i`), or is such
/// an upper case (`ẞ`). Compatibility decomposition handles the others.
fn is_stray(letter: char) -> bool {
    matches!(letter, 'ß' | 'ẞ' | 'ς' | 'ı' | '\u{345}' | '\u{1c80}'..='\u{1c88}')
}

/// Those that Unicode classifies as letters; all others are punctuation anyway.
fn is_apostrophe(letter: char) -> bool {
    matches!(letter, '\u{2b9}'..='\u{2bd}')
}

/// Thai, Lao, Burmese, Khmer, Hiragana and Han, without their marks and punctuation. (Katakana
/// words stand out among the latter two.)
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
