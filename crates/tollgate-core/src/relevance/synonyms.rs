//! Synonyms of words that people use in requests, and that names of tools do not. A group has words
//! of one meaning for this purpose, not for a dictionary: `bill` and `invoice`, `remove` and `delete`.
//! Associations hint at a tool: who speaks of thieves may mean the alarm.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::words;

/// One group per line. A word may be in several groups.
const GROUPS: &str = include_str!("synonyms.txt");

/// Words of requests, and words of tools that are meant by them, one list per line.
const ASSOCIATIONS: &str = include_str!("associations.txt");

/// The other words of all groups of a word; words are stems, as the tokenizer makes them.
static TABLE: LazyLock<HashMap<Box<str>, Vec<Box<str>>>> = LazyLock::new(build);

/// The words of tools that a stem hints at; a direction that synonyms do not have.
static ASSOCIATION_TABLE: LazyLock<HashMap<Box<str>, Vec<Box<str>>>> =
    LazyLock::new(build_associations);

/// Synonyms of a stem.
pub(super) fn of(word: &str) -> &'static [Box<str>] {
    TABLE.get(word).map_or(&[], Vec::as_slice)
}

/// Words of tools that a stem hints at: `thief` at `alarm`.
pub(super) fn associations(word: &str) -> &'static [Box<str>] {
    ASSOCIATION_TABLE.get(word).map_or(&[], Vec::as_slice)
}

fn build_associations() -> HashMap<Box<str>, Vec<Box<str>>> {
    let mut table: HashMap<Box<str>, Vec<Box<str>>> = HashMap::new();
    for line in ASSOCIATIONS.lines().filter(|line| !line.starts_with('#')) {
        let (request_words, tool_words) =
            line.split_once(": ").expect("each line has words and their meaning");
        for word in stems(request_words) {
            let known = table.entry(word.clone()).or_default();
            for tool_word in stems(tool_words) {
                if tool_word != word && !known.contains(&tool_word) {
                    known.push(tool_word);
                }
            }
        }
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
    use super::{ASSOCIATION_TABLE, TABLE, associations, of};

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
    fn associations_go_one_way() {
        let stem = |word: &str| super::stems(word).remove(0);
        assert!(associations(&stem("thief")).contains(&stem("alarm")));
        assert!(!associations(&stem("alarm")).contains(&stem("thief")));
        assert!(associations(&stem("Rechnung")).contains(&stem("invoice")), "German requests");
        assert!(ASSOCIATION_TABLE.iter().all(|(word, tool_words)| !tool_words.contains(word)));
    }
}
