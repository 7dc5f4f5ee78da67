//! Tokenizer of the memory's full-text index: case folding, accents removed, stemming. The same for
//! stored texts and queries, and for both databases.

use std::collections::HashSet;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::stem::stem;
use crate::confusables::is_unspaced;

/// Maximum bytes of a word; longer ones are truncated.
const MAX_WORD_BYTES: usize = 48;
/// Maximum distinct words of a text. An utterance has dozens.
const MAX_WORDS_PER_TEXT: usize = 2_000;
/// Minimum letters of an indexed part of a word (`Do'Urden`).
const LEAST_PART: usize = 3;
/// English contractions after an apostrophe, which are not names.
const SHORT_FORMS: &[&str] = &["d", "ll", "m", "re", "t", "ve"];

/// The distinct index terms of a text, in order of first occurrence.
///
/// A term is 1 to 48 bytes long. It contains no space, control character, quote or colon, and of
/// ASCII only lower-case letters and digits.
pub fn terms(text: &str) -> Vec<String> {
    let mut known = HashSet::new();
    let mut terms = Vec::new();
    words(text, &mut |word| {
        if terms.len() < MAX_WORDS_PER_TEXT && !known.contains(word.stem) {
            known.insert(word.stem.to_owned());
            terms.push(word.stem.to_owned());
        }
    });
    terms
}

/// Normalized text for comparison: words folded, without accents, separated by one space. Not
/// truncated. Empty if there are no words, even if there is other content.
pub fn fold_text(text: &str) -> String {
    let mut folded = String::new();
    words(text, &mut |word| {
        if word.kind == WordKind::Whole {
            folded.push_str(if folded.is_empty() { "" } else { " " });
            folded.push_str(word.form);
        }
    });
    folded
}

/// One word of a text.
#[derive(Debug)]
pub(super) struct IndexedWord<'w> {
    /// Byte range in the text.
    pub(super) at: Range<usize>,
    /// Word position. Parts of a word share its position.
    pub(super) place: usize,
    /// Folded, without accents.
    pub(super) form: &'w str,
    /// As indexed.
    pub(super) stem: &'w str,
    pub(super) kind: WordKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordKind {
    Whole,
    /// Part of a longer word, which is emitted as well.
    Part,
}

/// First letters of the words searched for; stemming does not change them.
pub(super) struct StemInitials([bool; 128]);

impl StemInitials {
    const ANY: Self = Self([true; 128]);

    pub(super) fn of(stems: &[&str]) -> Self {
        let mut starts = Self([false; 128]);
        for first in stems.iter().filter_map(|it| it.bytes().next()) {
            if let Some(start) = starts.0.get_mut(usize::from(first)) {
                *start = true;
            }
        }
        starts
    }

    /// Whether it may be one of them: non-ASCII is unknown before folding.
    fn may_have(&self, raw: &str) -> bool {
        let first = raw.bytes().next().unwrap_or_default().to_ascii_lowercase();
        self.0.get(usize::from(first)).copied().unwrap_or(true) || !raw.is_ascii()
    }
}

/// Passes each word of a text to `take`, in order.
pub(super) fn words(text: &str, take: &mut dyn FnMut(IndexedWord<'_>)) {
    words_with(text, &StemInitials::ANY, take);
}

/// Like [`words`], but skips most words with other initials, which is much cheaper.
pub(super) fn words_with(text: &str, starts: &StemInitials, take: &mut dyn FnMut(IndexedWord<'_>)) {
    let mut cutter = WordSplitter {
        text,
        starts,
        place: 0,
        open: None,
        unspaced: Vec::new(),
        flag: None,
        form: String::new(),
        stem: String::new(),
        take,
    };
    for (at, letter) in text.char_indices() {
        cutter.letter(at, letter);
    }
    cutter.end();
}

struct WordSplitter<'t> {
    text: &'t str,
    starts: &'t StemInitials,
    place: usize,
    /// The current word, up to its last letter.
    open: Option<Range<usize>>,
    /// Consecutive letters of a script without spaces, with their ranges.
    unspaced: Vec<(Range<usize>, char)>,
    /// The first half of a flag emoji: two regional letters make one flag.
    flag: Option<(usize, char)>,
    form: String,
    stem: String,
    take: &'t mut dyn FnMut(IndexedWord<'_>),
}

/// How a character relates to the word before it.
enum LetterClass {
    Plain,
    Unspaced,
    Picture,
    HalfFlag,
    /// Combining marks.
    Mark,
    /// Invisible characters: they do not separate words.
    Invisible,
    Apostrophe,
    Between,
}

impl LetterClass {
    fn of(letter: char) -> Self {
        match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' => Self::Plain,
            '\'' | '\u{2019}' | '\u{2bc}' | '\u{ff07}' => Self::Apostrophe,
            _ if letter.is_ascii() => Self::Between,
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' => {
                Self::Invisible
            }
            // Skin tones do not change the emoji.
            '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0000}'..='\u{e0fff}' => {
                Self::Invisible
            }
            '\u{1f1e6}'..='\u{1f1ff}' => Self::HalfFlag,
            '\u{ff9e}' | '\u{ff9f}' => Self::Mark,
            _ if is_picture(letter) => Self::Picture,
            _ if is_pairwise(letter) => Self::Unspaced,
            _ if letter.is_alphanumeric() => Self::Plain,
            _ if is_combining_mark(letter) => Self::Mark,
            _ => Self::Between,
        }
    }
}

impl WordSplitter<'_> {
    fn letter(&mut self, at: usize, letter: char) {
        let end = at + letter.len_utf8();
        match LetterClass::of(letter) {
            LetterClass::Plain => match &mut self.open {
                Some(open) => open.end = end,
                None => {
                    self.end();
                    self.open = Some(at..end);
                }
            },
            LetterClass::Mark => {
                if let Some(open) = &mut self.open {
                    open.end = end;
                } else if let Some((last, before)) = self.unspaced.last_mut() {
                    last.end = end;
                    let mut both = [*before, letter].into_iter().nfkc();
                    *before = both.next().unwrap_or(*before);
                }
            }
            LetterClass::Invisible => {}
            // Only inside a word: `open` ends at the next non-letter.
            LetterClass::Apostrophe if self.open.as_ref().is_some_and(|it| it.end == at) => {}
            LetterClass::Unspaced => {
                if self.unspaced.is_empty() {
                    self.end();
                }
                let plain = std::iter::once(letter).nfkc().next().unwrap_or(letter);
                self.unspaced.push((at..end, plain));
            }
            LetterClass::Picture => {
                self.end();
                self.give_form(at..end, letter.encode_utf8(&mut [0; 4]));
            }
            LetterClass::HalfFlag => match self.flag.take() {
                Some((from, first)) => {
                    self.give_form(from..end, &String::from_iter([first, letter]));
                }
                None => {
                    self.end();
                    self.flag = Some((at, letter));
                }
            },
            LetterClass::Apostrophe | LetterClass::Between => self.end(),
        }
    }

    fn end(&mut self) {
        if let Some((at, half)) = self.flag.take() {
            self.give_form(at..at + half.len_utf8(), half.encode_utf8(&mut [0; 4]));
        }
        if let Some(open) = self.open.take() {
            self.word(open);
        }
        if !self.unspaced.is_empty() {
            self.pairs();
        }
    }

    /// Emits bigrams and single letters, because word boundaries are unknown in these scripts.
    fn pairs(&mut self) {
        let run = std::mem::take(&mut self.unspaced);
        for (index, (at, letter)) in run.iter().enumerate() {
            let next = run.get(index + 1);
            let alone = run.len() == 1;
            if let Some((to, second)) = next {
                self.form.clear();
                self.form.extend([*letter, *second]);
                self.give(at.start..to.end, WordKind::Whole);
            }
            self.form.clear();
            self.form.push(*letter);
            self.give(at.clone(), if alone { WordKind::Whole } else { WordKind::Part });
            self.place += 1;
        }
    }

    /// `Elara's` is `elara`; `O'Brien` is `obrien` and also `brien`.
    fn word(&mut self, at: Range<usize>) {
        let raw = &self.text[at.clone()];
        let is_apostrophe = |it: char| matches!(LetterClass::of(it), LetterClass::Apostrophe);
        let Some((first, last)) = raw.rsplit_once(is_apostrophe) else {
            return self.give_whole(at, raw);
        };
        if last.eq_ignore_ascii_case("s") {
            return self.word(at.start..at.start + first.len());
        }
        self.form.clear();
        for part in raw.split(is_apostrophe) {
            fold(part, &mut self.form);
        }
        self.give(at.clone(), WordKind::Whole);
        if !SHORT_FORMS.contains(&&*last.to_ascii_lowercase()) {
            let mut from = at.start;
            for part in raw.split_inclusive(is_apostrophe) {
                let letters = part.trim_end_matches(is_apostrophe);
                if letters.chars().nth(LEAST_PART - 1).is_some() {
                    self.form.clear();
                    fold(letters, &mut self.form);
                    self.give(from..from + letters.len(), WordKind::Part);
                }
                from += part.len();
            }
        }
        self.place += 1;
    }

    fn give_whole(&mut self, at: Range<usize>, raw: &str) {
        if self.starts.may_have(raw) {
            self.form.clear();
            fold(raw, &mut self.form);
            self.give(at, WordKind::Whole);
        }
        self.place += 1;
    }

    fn give_form(&mut self, at: Range<usize>, form: &str) {
        self.form.clear();
        self.form.push_str(form);
        self.give(at, WordKind::Whole);
        self.place += 1;
    }

    fn give(&mut self, at: Range<usize>, kind: WordKind) {
        let end = self.form.floor_char_boundary(MAX_WORD_BYTES);
        self.form.truncate(end);
        if self.form.is_empty() {
            return;
        }
        self.stem.clone_from(&self.form);
        stem(&mut self.stem);
        let form = &*self.form;
        let stem = &*self.stem;
        (self.take)(IndexedWord { at, place: self.place, form, stem, kind });
    }
}

/// Appends the folded text to `form`.
fn fold(raw: &str, form: &mut String) {
    // The rest would be truncated anyway: no letter takes more than four bytes.
    let raw = &raw[..raw.floor_char_boundary(4 * MAX_WORD_BYTES)];
    if raw.is_ascii() {
        form.extend(raw.chars().map(|it| it.to_ascii_lowercase()));
        return;
    }
    let folded = raw.nfkd().flat_map(char::to_lowercase).flat_map(strip_stroke);
    let is_retained = |it: &char| it.is_alphanumeric() || is_combining_mark(*it);
    form.extend(folded.filter(|it| !is_accent(*it) && is_retained(it)).nfc());
}

/// Letters without a decomposition that are also written without their stroke.
fn strip_stroke(letter: char) -> impl Iterator<Item = char> {
    let (first, second) = match letter {
        'ß' => ('s', Some('s')),
        'æ' => ('a', Some('e')),
        'œ' => ('o', Some('e')),
        'þ' => ('t', Some('h')),
        'ø' => ('o', None),
        'ł' => ('l', None),
        'đ' | 'ð' => ('d', None),
        'ħ' => ('h', None),
        'ı' => ('i', None),
        'ς' => ('σ', None),
        other => (other, None),
    };
    std::iter::once(first).chain(second)
}

/// Marks that are omitted in quick writing; vowel signs of Indic scripts are not among them.
fn is_accent(mark: char) -> bool {
    matches!(mark,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5c7}'
        | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6ed}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}')
}

/// Korean has spaces, but they do not separate single words.
fn is_pairwise(letter: char) -> bool {
    is_unspaced(letter) && letter.is_alphanumeric()
        || matches!(letter, '\u{ac00}'..='\u{d7a3}' | '\u{ff66}'..='\u{ff9d}')
}

fn is_picture(letter: char) -> bool {
    matches!(letter,
        '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}'
        | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1f0ff}' | '\u{1f300}'..='\u{1faff}')
}

#[cfg(test)]
mod tests;
