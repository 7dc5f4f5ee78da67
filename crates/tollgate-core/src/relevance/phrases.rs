//! What a request wants to be done, by phrases of several words ("throw away") and by its form
//! ("who …", "… is wrong"), and what it is about ("where do we stand": a project). Stop words count here: they make the phrase.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::{all_words, words};

/// One phrase per line, with the verbs of tools that it stands for.
const PHRASES: &str = include_str!("phrases.txt");
const PHRASE_WEIGHT: f32 = 0.6;
/// In the same form, but less certain.
const HINTS: &str = include_str!("hints.txt");
const HINT_WEIGHT: f32 = 0.3;
/// In the same form, with nouns: what the request is about.
const TOPICS: &str = include_str!("topics.txt");
const TOPIC_WEIGHT: f32 = 0.7;

/// Maximum words that a gap stands for.
const MAX_GAP_WORDS: usize = 4;

/// A phrase, without its first word.
struct Phrase {
    rest: Vec<PhrasePart>,
    meanings: Vec<Box<str>>,
    table: PhraseTable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PhraseTable {
    Verbs,
    Hints,
    Topics,
}

/// What a phrase stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PhraseMeaning {
    Verb(&'static str),
    Subject(&'static str),
}

impl PhraseTable {
    fn weight(self) -> f32 {
        match self {
            Self::Verbs => PHRASE_WEIGHT,
            Self::Hints => HINT_WEIGHT,
            Self::Topics => TOPIC_WEIGHT,
        }
    }

    fn meaning(self, stem: &'static str) -> PhraseMeaning {
        match self {
            Self::Verbs | Self::Hints => PhraseMeaning::Verb(stem),
            Self::Topics => PhraseMeaning::Subject(stem),
        }
    }
}

#[derive(PartialEq)]
enum PhrasePart {
    Word(Box<str>),
    /// Some words in between.
    Gap,
}

/// By their first words.
static TABLE: LazyLock<HashMap<Box<str>, Vec<Phrase>>> = LazyLock::new(build);

/// Passes the verbs and subjects that a text stands for to `take`, each with its weight. One may be
/// passed more than once.
pub(super) fn meanings(text: &str, take: &mut dyn FnMut(PhraseMeaning, f32)) {
    let stems = all_stems(text);
    for (at, first) in stems.iter().enumerate() {
        for phrase in TABLE.get(first).into_iter().flatten() {
            if stands_at(&phrase.rest, &stems[at + 1..]) {
                let table = phrase.table;
                phrase.meanings.iter().for_each(|it| take(table.meaning(it), table.weight()));
            }
        }
    }
}

fn stands_at(parts: &[PhrasePart], stems: &[Box<str>]) -> bool {
    match parts {
        [] => true,
        [PhrasePart::Word(word), rest @ ..] => stems
            .split_first()
            .is_some_and(|(first, after)| first == word && stands_at(rest, after)),
        [PhrasePart::Gap, rest @ ..] => {
            let longest = MAX_GAP_WORDS.min(stems.len());
            (1..=longest).any(|gap| stands_at(rest, &stems[gap..]))
        }
    }
}

fn build() -> HashMap<Box<str>, Vec<Phrase>> {
    let mut table: HashMap<Box<str>, Vec<Phrase>> = HashMap::new();
    let tables =
        [(PHRASES, PhraseTable::Verbs), (HINTS, PhraseTable::Hints), (TOPICS, PhraseTable::Topics)];
    for (lines, written_in) in tables {
        for line in lines.lines().filter(|line| !line.starts_with('#')) {
            let (text, verbs) =
                line.split_once(": ").expect("each line has a phrase and its meaning");
            let mut parts = text.split(' ').flat_map(parts).collect::<Vec<_>>().into_iter();
            let Some(PhrasePart::Word(first)) = parts.next() else { continue };
            let mut meanings = Vec::new();
            words(verbs, &mut |word| meanings.push(word.into()));
            let phrase = Phrase { rest: parts.collect(), meanings, table: written_in };
            table.entry(first).or_default().push(phrase);
        }
    }
    table
}

fn parts(written: &str) -> Vec<PhrasePart> {
    match written {
        "*" => vec![PhrasePart::Gap],
        word => all_stems(word).into_iter().map(PhrasePart::Word).collect(),
    }
}

fn all_stems(text: &str) -> Vec<Box<str>> {
    let mut stems = Vec::new();
    all_words(text, &mut |word| stems.push(word.into()));
    stems
}

#[cfg(test)]
mod tests {
    use super::{HINTS, PHRASES, PhraseMeaning, TABLE, TOPICS, meanings};

    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        meanings(text, &mut |meaning, _| match meaning {
            PhraseMeaning::Verb(stem) | PhraseMeaning::Subject(stem) => found.push(stem),
        });
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_phrase_is_found_with_words_in_between() {
        check("Turn the music off!", &["disabl", "stop"]);
        check("turn off", &["disabl", "stop"]);
        check("turn all the very loud music off", &[]);
        check("off turn", &[]);
        check("", &[]);
    }

    #[test]
    fn every_line_has_a_phrase_and_a_meaning() {
        let tables = [PHRASES, HINTS, TOPICS];
        let lines = tables.into_iter().flat_map(str::lines);
        let lines = lines.filter(|line| !line.starts_with('#'));
        let phrases: usize = TABLE.values().map(Vec::len).sum();
        assert_eq!(phrases, lines.count());
        assert!(TABLE.values().flatten().all(|phrase| !phrase.meanings.is_empty()));
    }

    /// As many gaps as a text can have do not multiply.
    #[test]
    fn a_text_of_first_words_only_is_read_at_once() {
        check(&"throw ".repeat(100_000), &[]);
    }
}
