//! Synonyms of words that people use in requests, and that names of tools do not. A group has words
//! of one meaning for this purpose, not for a dictionary: `bill` and `invoice`, `remove` and `delete`.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::words;

/// One group per line. A word may be in several groups.
const GROUPS: &str = include_str!("synonyms.txt");

/// One verb of two words per line.
const PHRASES: &str = include_str!("phrases.txt");
/// How far apart its words may be.
const MAX_PHRASE_DISTANCE: usize = 3;

/// A verb of two words, by its first one.
struct Phrase {
    second: Box<str>,
    meanings: Vec<Box<str>>,
}

static PHRASE_TABLE: LazyLock<HashMap<Box<str>, Vec<Phrase>>> = LazyLock::new(build_phrases);

/// The other words of all groups of a word; words are stems, as the tokenizer makes them.
static TABLE: LazyLock<HashMap<Box<str>, Vec<Box<str>>>> = LazyLock::new(build);

/// Synonyms of a stem.
pub(super) fn of(word: &str) -> &'static [Box<str>] {
    TABLE.get(word).map_or(&[], Vec::as_slice)
}

/// What the verbs of two words mean that begin at the first of these words.
pub(super) fn of_phrases<'q>(
    words: impl Iterator<Item = &'q str> + Clone,
) -> impl Iterator<Item = &'static str> {
    let mut words = words;
    let phrases = words.next().and_then(|first| PHRASE_TABLE.get(first));
    let after = words.take(MAX_PHRASE_DISTANCE);
    let is_said = move |phrase: &&Phrase| after.clone().any(|word| word == &*phrase.second);
    let said = phrases.into_iter().flatten().filter(is_said);
    said.collect::<Vec<_>>().into_iter().flat_map(|phrase| phrase.meanings.iter().map(|it| &**it))
}

fn build_phrases() -> HashMap<Box<str>, Vec<Phrase>> {
    let mut table: HashMap<Box<str>, Vec<Phrase>> = HashMap::new();
    for line in PHRASES.lines().filter(|line| !line.starts_with('#')) {
        let (said, meant) = line.split_once(':').expect("each line has a phrase and its meaning");
        let [first, second] =
            <[Box<str>; 2]>::try_from(stems(said)).expect("a phrase has two words");
        let phrase = Phrase { second, meanings: stems(meant) };
        table.entry(first).or_default().push(phrase);
    }
    table
}

fn stems(text: &str) -> Vec<Box<str>> {
    let mut stems = Vec::new();
    words(text, &mut |word| stems.push(word.into()));
    stems
}

fn build() -> HashMap<Box<str>, Vec<Box<str>>> {
    let mut table: HashMap<Box<str>, Vec<Box<str>>> = HashMap::new();
    for line in GROUPS.lines().filter(|line| !line.starts_with('#')) {
        let group = stems(line);
        for word in &group {
            let known = table.entry(word.clone()).or_default();
            for other in &group {
                if other != word && !known.contains(other) {
                    known.push(other.clone());
                }
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{PHRASE_TABLE, TABLE, of, of_phrases};

    #[test]
    fn synonyms_go_both_ways_and_no_word_is_its_own() {
        for (word, others) in &*TABLE {
            assert!(!others.contains(word), "{word}");
            for other in others {
                assert!(of(other).contains(word), "{other} has no {word}");
            }
        }
    }

    #[test]
    fn forms_of_a_word_share_their_synonyms() {
        assert!(of("bill").iter().any(|it| &**it == "invoic"), "stems, not words");
        assert!(of("no such word").is_empty());
    }

    #[test]
    fn a_verb_of_two_words_is_found_with_words_in_between() {
        let meant = |words: &[&str]| of_phrases(words.iter().copied()).collect::<Vec<_>>();
        assert_eq!(meant(&["turn", "music", "off"]), ["disabl"]);
        assert_eq!(meant(&["turn", "a", "b", "c", "off"]), [""; 0], "too far");
        assert_eq!(meant(&["off", "turn"]), [""; 0]);
        assert!(PHRASE_TABLE.values().flatten().all(|phrase| !phrase.meanings.is_empty()));
    }
}
