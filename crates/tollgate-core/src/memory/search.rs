//! Looking for something by its words: what is asked for, and what a database found that may fit.
//! What is asked is never more than words: nothing of a database's own syntax gets through here.

use super::MemoryInputError;
use super::words::{WordKind, words};

/// What is looked for, as words in the form in which texts are indexed. Only [`MemoryQuery::parse`] makes
/// one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryQuery {
    /// In the order in which they were said, each once; few enough to be looked up one by one.
    pub terms: Vec<String>,
    /// The terms as they were said: where a text has just that, it fits better.
    pub(super) forms: Vec<String>,
    /// What stood between quotes: words that follow each other.
    pub(super) phrases: Vec<Vec<String>>,
}

/// What may fit a query: not ranked yet, and no more than can be ranked in a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchCandidates<T> {
    pub found: Vec<T>,
    /// How many texts there are to look through, about.
    pub texts: u64,
    /// In how many of those each term of the query stands, about; in the order of its terms.
    pub with: Vec<u64>,
}

/// Words that are looked up.
const MOST_TERMS: usize = 16;
/// Phrases, and words of one.
const MOST_PHRASES: usize = 4;
const LONGEST_PHRASE: usize = 12;
/// Bytes read at either end of a question. It stands before or behind what was pasted into it.
const END: usize = 4 * 1024;

/// Words in which questions are put, and which stand in every text.
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
    /// Of a very long text only both ends are read, and of many words those that say most.
    pub fn parse(text: &str) -> Result<Self, MemoryInputError> {
        let mut asked = QueryParser::default();
        if text.len() <= 2 * END {
            asked.read(text);
        } else {
            asked.read(&text[..text.floor_char_boundary(END)]);
            asked.read(&text[text.ceil_char_boundary(text.len() - END)..]);
        }
        let chosen = asked.choose_words();
        if chosen.is_empty() {
            return Err(MemoryInputError::Empty { field: "query" });
        }
        let (terms, forms) = chosen.into_iter().map(|it| (it.stem, it.form)).unzip();
        Ok(Self { terms, forms, phrases: asked.phrases })
    }
}

/// `form` is folded, with its ending.
pub(super) fn is_empty_word(form: &str) -> bool {
    EMPTY.binary_search(&form).is_ok()
}

#[derive(Default)]
struct QueryParser {
    /// Each once.
    words: Vec<QueryWord>,
    phrases: Vec<Vec<String>>,
}

#[derive(Debug, Clone)]
struct QueryWord {
    stem: String,
    form: String,
    weight: QueryWordWeight,
}

/// How much a word says, before it is known how rare it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum QueryWordWeight {
    Empty,
    Plain,
    /// With a capital or a digit.
    Name,
    Quoted,
}

impl QueryParser {
    /// Every other part stands between quotes, if the last is closed.
    fn read(&mut self, text: &str) {
        let is_quote = |it: char| matches!(it, '"' | '“' | '”' | '„' | '«' | '»');
        let parts: Vec<&str> = text.split(is_quote).collect();
        for (index, part) in parts.iter().enumerate() {
            if index % 2 == 1 && index + 1 < parts.len() {
                self.phrase(part);
            } else {
                self.plain(part);
            }
        }
    }

    fn plain(&mut self, text: &str) {
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
        phrase.truncate(LONGEST_PHRASE);
        if phrase.len() > 1 && self.phrases.len() < MOST_PHRASES && !self.phrases.contains(&phrase)
        {
            self.phrases.push(phrase);
        }
    }

    fn hear(&mut self, stem: &str, form: &str, weight: QueryWordWeight) {
        let weight = if is_empty_word(form) { QueryWordWeight::Empty } else { weight };
        match self.words.iter_mut().find(|it| it.stem == stem) {
            Some(known) => known.weight = known.weight.max(weight),
            None => {
                let (stem, form) = (stem.to_owned(), form.to_owned());
                self.words.push(QueryWord { stem, form, weight });
            }
        }
    }

    /// The weightiest, of the same weight those nearer to one of the ends; in their order.
    fn choose_words(&self) -> Vec<QueryWord> {
        let heaviest = self.words.iter().map(|it| it.weight).max();
        let least = heaviest.map_or(QueryWordWeight::Empty, |it| it.min(QueryWordWeight::Plain));
        let told: Vec<&QueryWord> = self.words.iter().filter(|it| it.weight >= least).collect();
        let mut order: Vec<usize> = (0..told.len()).collect();
        order.sort_by_key(|at| {
            (std::cmp::Reverse(told[*at].weight), (*at).min(told.len() - 1 - at))
        });
        order.truncate(MOST_TERMS);
        order.sort_unstable();
        order.into_iter().map(|at| told[at].clone()).collect()
    }
}

#[cfg(test)]
mod tests;
