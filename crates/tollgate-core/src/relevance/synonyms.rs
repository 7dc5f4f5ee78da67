//! Synonyms of words that people use in requests, and that names of tools do not. A group has words
//! of one meaning for this purpose, not for a dictionary: `bill` and `invoice`, `remove` and `delete`.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::words;

/// One group per line. A word may be in several groups.
const GROUPS: &str = include_str!("synonyms.txt");

/// The other words of all groups of a word; words are stems, as the tokenizer makes them.
static TABLE: LazyLock<HashMap<Box<str>, Vec<Box<str>>>> = LazyLock::new(build);

/// Synonyms of a stem.
pub(super) fn of(word: &str) -> &'static [Box<str>] {
    TABLE.get(word).map_or(&[], Vec::as_slice)
}

fn build() -> HashMap<Box<str>, Vec<Box<str>>> {
    let mut table: HashMap<Box<str>, Vec<Box<str>>> = HashMap::new();
    for line in GROUPS.lines().filter(|line| !line.starts_with('#')) {
        let mut group: Vec<Box<str>> = Vec::new();
        words(line, &mut |word| group.push(word.into()));
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
    use super::{TABLE, of};

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
}
