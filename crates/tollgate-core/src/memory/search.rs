//! Keyword search of the memory: parsed queries, and the candidates that a database returns. A
//! query is only a list of words, so that no database query syntax passes through (no injection).

use super::MemoryInputError;
use super::words::{WordKind, words};

/// A query as words in the form in which texts are indexed. Created only by [`MemoryQuery::parse`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryQuery {
    /// In order of occurrence, without duplicates; few enough to be looked up one by one.
    pub terms: Vec<String>,
    /// The terms as written: an exact match ranks higher.
    pub(super) forms: Vec<String>,
    /// Quoted phrases: words that must be adjacent.
    pub(super) phrases: Vec<Vec<String>>,
}

/// Candidates for a query: unranked, and few enough to be ranked quickly.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchCandidates<T> {
    pub found: Vec<T>,
    /// Approximate number of texts searched.
    pub texts: u64,
    /// Approximate document frequency of each term of the query, in the order of the terms.
    pub with: Vec<u64>,
}

/// Maximum words that are looked up.
const MAX_TERMS: usize = 16;
/// Maximum phrases, and words per phrase.
const MAX_PHRASES: usize = 4;
const MAX_PHRASE_WORDS: usize = 12;
/// Bytes read at each end of the text: a question stands before or after pasted content.
const END: usize = 4 * 1024;

/// Stop words: they occur in questions and in every text.
const EMPTY: &[&str] = &[
    "a", "about", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "been", "before", "but", "by", "can", "could", "das", "dem", "den", "der", "did", "die", "do",
    "does", "done", "dont", "ein", "eine", "einen", "for", "from", "fur", "had", "has", "have",
    "he", "hello", "her", "hers", "hi", "him", "his", "how", "i", "ich", "if", "im", "in", "into",
    "is", "ist", "it", "its", "ive", "just", "know", "let", "me", "mir", "mit", "more", "my", "no",
    "not", "now", "of", "on", "or", "our", "please", "remember", "said", "say", "she", "should",
    "so", "some", "tell", "than", "that", "thats", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "to", "told", "und", "us", "very", "was", "we", "were",
    "what", "whats", "when", "where", "which", "who", "whom", "whose", "why", "will", "with",
    "would", "you", "your", "zu",
];

impl MemoryQuery {
    /// Of a very long text only both ends are read, and of many words the most significant.
    pub fn parse(text: &str) -> Result<Self, MemoryInputError> {
        let mut parser = QueryParser::default();
        if text.len() <= 2 * END {
            parser.read(text);
        } else {
            parser.read(&text[..text.floor_char_boundary(END)]);
            parser.read(&text[text.ceil_char_boundary(text.len() - END)..]);
        }
        let chosen = parser.choose_words();
        if chosen.is_empty() {
            return Err(MemoryInputError::Empty { field: "query" });
        }
        let (terms, forms) = chosen.into_iter().map(|it| (it.stem, it.form)).unzip();
        Ok(Self { terms, forms, phrases: parser.phrases })
    }
}

/// `form` is folded but not stemmed.
pub(super) fn is_empty_word(form: &str) -> bool {
    EMPTY.binary_search(&form).is_ok()
}

#[derive(Default)]
struct QueryParser {
    /// Without duplicates.
    words: Vec<QueryWord>,
    phrases: Vec<Vec<String>>,
}

#[derive(Debug, Clone)]
struct QueryWord {
    stem: String,
    form: String,
    weight: QueryWordWeight,
}

/// Significance of a word, before its frequency is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum QueryWordWeight {
    Empty,
    Plain,
    /// Contains a capital or a digit.
    Name,
    Quoted,
}

impl QueryParser {
    /// Every second part is quoted, if the last quote is closed.
    fn read(&mut self, text: &str) {
        let is_quote = |it: char| matches!(it, '"' | '“' | '”' | '„' | '«' | '»');
        let parts: Vec<&str> = text.split(is_quote).collect();
        for (index, part) in parts.iter().enumerate() {
            if index % 2 == 1 && index + 1 < parts.len() {
                self.phrase(part);
            } else {
                self.add_words(part);
            }
        }
    }

    fn add_words(&mut self, text: &str) {
        words(text, &mut |word| {
            if word.kind == WordKind::Whole {
                let raw = &text[word.at];
                let is_name = raw.chars().any(|it| it.is_uppercase() || it.is_ascii_digit());
                let weight = if is_name { QueryWordWeight::Name } else { QueryWordWeight::Plain };
                self.hear(word.stem, word.form, weight);
            }
        });
    }

    fn phrase(&mut self, text: &str) {
        let mut phrase = Vec::new();
        words(text, &mut |word| {
            if word.kind == WordKind::Whole {
                phrase.push(word.stem.to_owned());
                self.hear(word.stem, word.form, QueryWordWeight::Quoted);
            }
        });
        phrase.truncate(MAX_PHRASE_WORDS);
        if phrase.len() > 1 && self.phrases.len() < MAX_PHRASES && !self.phrases.contains(&phrase) {
            self.phrases.push(phrase);
        }
    }

    fn hear(&mut self, stem: &str, form: &str, weight: QueryWordWeight) {
        let weight = if is_empty_word(form) { QueryWordWeight::Empty } else { weight };
        match self.words.iter_mut().find(|it| it.stem == stem) {
            Some(known) => known.weight = known.weight.max(weight),
            None => {
                let stem = stem.to_owned();
                let form = form.to_owned();
                self.words.push(QueryWord { stem, form, weight });
            }
        }
    }

    /// The most significant words, on a tie those nearer to an end; in order.
    fn choose_words(&self) -> Vec<QueryWord> {
        let heaviest = self.words.iter().map(|it| it.weight).max();
        let least = heaviest.map_or(QueryWordWeight::Empty, |it| it.min(QueryWordWeight::Plain));
        let lines: Vec<&QueryWord> = self.words.iter().filter(|it| it.weight >= least).collect();
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by_key(|at| {
            (std::cmp::Reverse(lines[*at].weight), (*at).min(lines.len() - 1 - at))
        });
        order.truncate(MAX_TERMS);
        order.sort_unstable();
        order.into_iter().map(|at| lines[at].clone()).collect()
    }
}

#[cfg(test)]
mod tests;
