//! Names that were misspelt or misheard: two names are close if they sound alike but for a few
//! letters.

use rapidfuzz::distance::osa;

use super::fold_text;

/// Characters of a name that is compared; a longer one is not a name.
const MAX_COMPARED_LEN: usize = 64;
/// Words of a known name that are compared.
const MAX_WORDS: usize = 16;

/// A name that nobody has, to be compared with those that somebody has.
pub struct CloseName {
    words: usize,
    initial: char,
    /// How many letters of the sound may differ.
    limit: osa::Args<usize, rapidfuzz::common::WithScoreCutoff<usize>>,
    sound: osa::BatchComparator<char>,
    spelling: osa::BatchComparator<char>,
}

/// How far a known name is; the smallest is the closest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameDistance {
    sound: usize,
    /// Only some words of the known name are close.
    is_part: bool,
    spelling: usize,
}

impl CloseName {
    /// `None`: nothing is close to such a name.
    pub fn new(name: &str) -> Option<Self> {
        let folded = fold_text(name);
        (1..=MAX_COMPARED_LEN).contains(&folded.chars().count()).then_some(())?;
        let key = SoundKey::of(&folded);
        let limit = match key.sound.chars().count() {
            0..=3 => 0,
            4..=7 => 1,
            8..=12 => 2,
            _ => 3,
        };
        Some(Self {
            words: key.starts.len(),
            initial: folded.chars().next()?,
            limit: osa::Args::default().score_cutoff(limit),
            sound: osa::BatchComparator::new(key.sound.chars()),
            spelling: osa::BatchComparator::new(folded.chars()),
        })
    }

    /// The first letter, folded: most that are close begin with it.
    pub fn initial(&self) -> char {
        self.initial
    }

    /// The distance of a known name, given as [`fold_text`] returns it. `None`: it is not close.
    pub fn distance(&self, folded: &str) -> Option<NameDistance> {
        let key = SoundKey::of(folded);
        let far = |sound: &str| self.sound.distance_with_args(sound.chars(), &self.limit);
        let whole = far(&key.sound).map(|sound| (sound, false));
        let part = || key.windows(self.words).filter_map(far).min().map(|sound| (sound, true));
        let (sound, is_part) = whole.or_else(part)?;
        let spelling = self.spelling.distance(folded.chars());
        Some(NameDistance { sound, is_part, spelling })
    }
}

/// How a name sounds, roughly, without the spaces between its words.
struct SoundKey {
    sound: String,
    /// Where each word begins.
    starts: Vec<usize>,
}

impl SoundKey {
    fn of(folded: &str) -> Self {
        let mut key = Self { sound: String::with_capacity(folded.len()), starts: Vec::new() };
        for word in folded.split(' ').filter(|word| !word.is_empty()).take(MAX_WORDS) {
            key.starts.push(key.sound.len());
            push_sound(&mut key.sound, word);
        }
        key
    }

    /// All runs of that many words, if there are more words than that.
    fn windows(&self, words: usize) -> impl Iterator<Item = &str> {
        let runs = self.starts.len().saturating_sub(words);
        let is_shorter = runs > 0 && words > 0;
        (0..=runs).filter(move |_| is_shorter).map(move |at| {
            let end = self.starts.get(at + words).copied().unwrap_or(self.sound.len());
            &self.sound[self.starts[at]..end]
        })
    }
}

/// Appends the sound of a word: letters that sound alike become one, doubled and silent ones go.
fn push_sound(sound: &mut String, word: &str) {
    let begin = sound.len();
    let mut letters = word.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        let is_first = sound.len() == begin;
        let (heard, is_pair) = match (letter, next) {
            ('p', Some('h')) => ('f', true),
            ('t', Some('h')) => ('t', true),
            ('s', Some('h')) | ('z', Some('h')) => ('s', true),
            ('c', Some('h' | 'k')) => ('k', true),
            ('e', Some('e' | 'a')) => ('i', true),
            ('o', Some('o' | 'u')) => ('u', true),
            ('c', Some('e' | 'i' | 'y')) | ('z', _) => ('s', false),
            ('c' | 'q', _) => ('k', false),
            ('w', _) => ('v', false),
            ('y', _) => ('i', false),
            ('h', _) if !is_first => continue,
            ('e', None) if !is_first => continue,
            ('x', _) => {
                sound.push('k');
                ('s', false)
            }
            _ => (letter, false),
        };
        if is_pair {
            letters.next();
        }
        if is_first || !sound.ends_with(heard) {
            sound.push(heard);
        }
    }
}

#[cfg(test)]
mod tests;
