//! Tokenizer for tool relevance: case folding, accents removed, stemming. All spellings of a name
//! (`getUser`, `get_user`, `get-user`) give the same words.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::confusables::is_unspaced;

/// Maximum bytes of a word; longer ones are data.
const MAX_WORD_BYTES: usize = 48;

/// Stop words. Rarely used ones need no entry: they are rare in a catalogue too, and have little
/// weight.
const EMPTY: &[&str] = &[
    "a", "about", "all", "also", "an", "and", "any", "are", "as", "at", "be", "but", "by", "can",
    "could", "das", "dem", "den", "der", "die", "do", "does", "ein", "eine", "einen", "for",
    "from", "fur", "has", "have", "hello", "hi", "how", "i", "ich", "if", "im", "in", "into", "is",
    "ist", "it", "its", "just", "let", "me", "mir", "mit", "my", "need", "not", "now", "of", "on",
    "or", "please", "should", "so", "some", "that", "the", "then", "there", "these", "this", "to",
    "tool", "und", "us", "use", "used", "want", "was", "we", "what", "when", "where", "which",
    "who", "will", "with", "would", "you", "your", "zu",
];

/// Passes each word of a text to `take`, in order, without stop words.
pub(super) fn words(text: &str, take: &mut dyn FnMut(&str)) {
    cut(text, StopWordUse::Skipped, take);
}

/// Like [`words`], with stop words.
pub(super) fn all_words(text: &str, take: &mut dyn FnMut(&str)) {
    cut(text, StopWordUse::Passed, take);
}

fn cut(text: &str, stop_words: StopWordUse, take: &mut dyn FnMut(&str)) {
    let mut cutter =
        RelevanceTokenizer { word: String::new(), before: LetterKind::Between, stop_words, take };
    for letter in text.nfkd() {
        cutter.letter(letter);
    }
    cutter.end();
}

struct RelevanceTokenizer<'t> {
    word: String,
    before: LetterKind,
    stop_words: StopWordUse,
    take: &'t mut dyn FnMut(&str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StopWordUse {
    Skipped,
    Passed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LetterKind {
    Between,
    Capital,
    Small,
    /// Of a script without spaces between words.
    Unspaced(char),
}

impl RelevanceTokenizer<'_> {
    fn letter(&mut self, letter: char) {
        if is_combining_mark(letter) {
            return;
        }
        if !letter.is_alphanumeric() {
            self.end();
            return;
        }
        if is_unspaced(letter) {
            return self.push_unspaced(letter);
        }
        let is_capital = letter.is_uppercase();
        let begins = match self.before {
            LetterKind::Unspaced(_) => true,
            LetterKind::Small => is_capital,
            LetterKind::Between | LetterKind::Capital => false,
        };
        if begins {
            self.end();
        }
        // `HTTPServer`: the last capital belongs to the next word; not so in `URLs`.
        if self.before == LetterKind::Capital
            && letter.is_lowercase()
            && letter != 's'
            && let Some((last, _)) = self.word.char_indices().next_back().filter(|(at, _)| *at > 0)
        {
            let last = self.word.split_off(last);
            self.end();
            self.word = last;
        }
        self.word.extend(letter.to_lowercase());
        self.before = if is_capital { LetterKind::Capital } else { LetterKind::Small };
    }

    /// Emits bigrams and single letters, because word boundaries are unknown in these scripts.
    fn push_unspaced(&mut self, letter: char) {
        let before = self.before;
        if !matches!(before, LetterKind::Unspaced(_)) {
            self.end();
        }
        let mut text = [0; 8];
        (self.take)(letter.encode_utf8(&mut text));
        if let LetterKind::Unspaced(before) = before {
            (self.take)(&String::from_iter([before, letter]));
        }
        self.before = LetterKind::Unspaced(letter);
    }

    fn end(&mut self) {
        self.before = LetterKind::Between;
        let is_skipped =
            self.stop_words == StopWordUse::Skipped && EMPTY.binary_search(&&*self.word).is_ok();
        if (1..=MAX_WORD_BYTES).contains(&self.word.len()) && !is_skipped {
            (self.take)(stem(&mut self.word));
        }
        self.word.clear();
    }
}

/// Strips common English endings, so that `searches`, `searching` and `search` are equal. It only
/// has to be consistent for the forms of a word, not correct.
fn stem(word: &mut String) -> &str {
    if !word.is_ascii() {
        return word;
    }
    plural(word);
    let ending = ["ing", "ed"].into_iter().find(|it| ends(word, it, 3));
    if let Some(ending) = ending {
        word.truncate(word.len() - ending.len());
        let bytes = word.as_bytes();
        let twice = bytes.len() > 3 && bytes[bytes.len() - 1] == bytes[bytes.len() - 2];
        if twice && !matches!(bytes[bytes.len() - 1], b'l' | b's' | b'z') {
            word.pop();
        }
    } else if ends(word, "tion", 3) {
        word.truncate(word.len() - 3);
    }
    if ends(word, "e", 3) {
        word.pop();
    }
    word
}

fn plural(word: &mut String) {
    if ends(word, "ies", 2) {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if ["ches", "shes", "sses", "xes", "zes"].iter().any(|it| ends(word, it, 1)) {
        word.truncate(word.len() - 2);
    } else if ends(word, "s", 2) && !["ss", "us", "is"].iter().any(|it| word.ends_with(it)) {
        word.pop();
    }
}

/// Whether it has this ending with at least `before` letters in front.
fn ends(word: &str, ending: &str, before: usize) -> bool {
    word.len() >= ending.len() + before && word.ends_with(ending)
}
