//! BM25 relevance of tools to a message, with synonyms for tools. Uses no model; the same query
//! gives the same order.
//!
//! Used by the tool selection for a model, by both tool searches, and by the search for rules,
//! whose names and texts are compared in the same way.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::nearest;

mod synonyms;
mod words;

use words::words;

/// Weight of a word, by field.
const NAME: f32 = 4.0;
const TITLE: f32 = 3.0;
const DESCRIPTION: f32 = 1.0;
const PARAMETER: f32 = 1.0;

/// BM25 parameters: term frequency saturation and length normalization.
const K1: f32 = 1.2;
const B: f32 = 0.6;

/// Bytes read at each end of a text: a request stands before or after pasted content.
const END: usize = 4 * 1024;

/// Maximum misspelled words of a query that are corrected.
const MAX_CORRECTED_WORDS: usize = 8;
/// Weight of a corrected word.
const CORRECTED_WEIGHT: f32 = 0.6;

/// Weight of a synonym of a word that was said.
const SYNONYM_WEIGHT: f32 = 0.7;

/// Whoever does not say what to do most likely wants to know something: so much counts a tool that
/// reads, if it is relevant at all.
const READING_WEIGHT: f32 = 0.2;
const READING: &str = "search";

/// The words of a tool, or of any item with a name and a text.
#[derive(Debug, Clone, Copy)]
pub struct RelevanceDocument<'a> {
    pub name: &'a str,
    pub title: Option<&'a str>,
    pub description: Option<&'a str>,
    /// Its JSON Schema.
    pub parameters: Option<&'a Value>,
}

/// Index of the words of many tools. Expensive to build (some 10 microseconds per tool), cheap to
/// query.
#[derive(Debug)]
pub struct RelevanceIndex {
    /// Postings: the tools that contain a word, and its weight there.
    places: HashMap<Box<str>, Vec<(u32, f32)>>,
    tools: usize,
}

/// A query: words with weights.
#[derive(Debug, Clone, Default)]
pub struct RelevanceQuery {
    /// In order of occurrence, so that floating point sums are reproducible.
    words: Vec<(Box<str>, f32)>,
    synonyms: SynonymUse,
    known: HashMap<Box<str>, usize>,
}

/// Whether words of the same meaning count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SynonymUse {
    #[default]
    WordsOnly,
    Synonyms,
}

impl RelevanceIndex {
    /// A tool is identified by its index in `tools`.
    pub fn new<'a>(tools: impl IntoIterator<Item = RelevanceDocument<'a>>) -> Self {
        let mut places: HashMap<Box<str>, Vec<(u32, f32)>> = HashMap::new();
        let mut lengths: Vec<f32> = Vec::new();
        for (place, subject) in (0_u32..).zip(tools) {
            let mut length = 0.0;
            subject.each_word(&mut |word, weight| {
                length += weight;
                let Some(there) = places.get_mut(word) else {
                    places.insert(word.into(), vec![(place, weight)]);
                    return;
                };
                match there.last_mut() {
                    Some((last, count)) if *last == place => *count += weight,
                    _ => there.push((place, weight)),
                }
            });
            lengths.push(length);
        }
        let tools = lengths.len();
        let average = (lengths.iter().sum::<f32>() / tools.max(1) as f32).max(1.0);
        for there in places.values_mut() {
            let with = there.len() as f32;
            let all = tools as f32;
            let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
            for (place, count) in there {
                let long = 1.0 - B + B * lengths[*place as usize] / average;
                *count = rarity * *count * (K1 + 1.0) / (*count + K1 * long);
            }
        }
        Self { places, tools }
    }

    /// All tools, most relevant first; tools without a common word come last, in their order.
    pub fn order(&self, query: &RelevanceQuery) -> Vec<usize> {
        let scores = self.scores(query);
        let mut order: Vec<usize> = (0..self.tools).collect();
        order.sort_by(|one, two| scores[*two].total_cmp(&scores[*one]));
        order
    }

    /// Tools with a common word, most relevant first, at most `limit`.
    pub fn best(&self, query: &RelevanceQuery, limit: usize) -> Vec<usize> {
        let scores = self.scores(query);
        let mut found: Vec<usize> = (0..self.tools).filter(|at| scores[*at] > 0.0).collect();
        found.sort_by(|one, two| scores[*two].total_cmp(&scores[*one]));
        found.truncate(limit);
        found
    }

    /// Replaces each word that is not in the index by the words with the closest spelling.
    pub fn correct_spelling(&self, query: &RelevanceQuery) -> RelevanceQuery {
        let mut corrected =
            RelevanceQuery { synonyms: query.synonyms, ..RelevanceQuery::default() };
        let mut mistyped = 0;
        for (word, weight) in &query.words {
            if self.places.contains_key(word) || mistyped == MAX_CORRECTED_WORDS {
                corrected.take(word, *weight);
                continue;
            }
            mistyped += 1;
            for meant in nearest::alike(word, self.places.keys().map(|known| &**known)) {
                corrected.take(meant, *weight * CORRECTED_WEIGHT);
            }
        }
        corrected
    }

    fn scores(&self, query: &RelevanceQuery) -> Vec<f32> {
        let mut scores = vec![0.0; self.tools];
        match query.synonyms {
            SynonymUse::WordsOnly => {
                for (word, weight) in &query.words {
                    self.add_word(&mut scores, word, *weight);
                }
            }
            SynonymUse::Synonyms => self.add_meanings(&mut scores, query),
        }
        scores
    }

    fn add_meanings(&self, scores: &mut [f32], query: &RelevanceQuery) {
        for (word, weight) in &query.words {
            add(scores, self.meaning(word, *weight));
        }
        let mut phrases = BTreeMap::new();
        for (at, (_, weight)) in query.words.iter().enumerate() {
            let words = query.words[at..].iter().map(|(word, _)| &**word);
            for meant in synonyms::of_phrases(words) {
                keep_highest(&mut phrases, self.meaning(meant, weight * SYNONYM_WEIGHT));
            }
        }
        add(scores, phrases);
        if !query.known.contains_key(READING) {
            let mut reading = self.meaning(READING, READING_WEIGHT);
            reading.retain(|place, _| scores[*place as usize] > 0.0);
            add(scores, reading);
        }
    }

    fn add_word(&self, scores: &mut [f32], word: &str, weight: f32) {
        for (place, count) in self.places.get(word).into_iter().flatten() {
            scores[*place as usize] += weight * count;
        }
    }

    /// The tools that have a word or one of its synonyms. A tool counts once, by the best of them.
    fn meaning(&self, word: &str, weight: f32) -> BTreeMap<u32, f32> {
        let synonyms = synonyms::of(word).iter().map(|other| (&**other, weight * SYNONYM_WEIGHT));
        let mut best: BTreeMap<u32, f32> = BTreeMap::new();
        for (word, weight) in std::iter::once((word, weight)).chain(synonyms) {
            let places = self.places.get(word).into_iter().flatten();
            keep_highest(&mut best, places.map(|(place, count)| (*place, weight * count)));
        }
        best
    }
}

fn add(scores: &mut [f32], found: BTreeMap<u32, f32>) {
    for (place, score) in found {
        scores[place as usize] += score;
    }
}

fn keep_highest(best: &mut BTreeMap<u32, f32>, found: impl IntoIterator<Item = (u32, f32)>) {
    for (place, score) in found {
        let known = best.entry(place).or_default();
        *known = known.max(score);
    }
}

impl RelevanceDocument<'_> {
    fn each_word(&self, take: &mut dyn FnMut(&str, f32)) {
        words(self.name, &mut |word| take(word, NAME));
        words(self.title.unwrap_or_default(), &mut |word| take(word, TITLE));
        words(self.description.unwrap_or_default(), &mut |word| take(word, DESCRIPTION));
        let properties = self.parameters.and_then(|schema| schema.get("properties"));
        for name in properties.and_then(Value::as_object).into_iter().flat_map(|all| all.keys()) {
            words(name, &mut |word| take(word, PARAMETER));
        }
    }
}

impl RelevanceQuery {
    /// The query of a text. Of a very long one only both ends are read.
    pub fn new(text: &str) -> Self {
        let mut query = Self::default();
        query.hear(text, 1.0);
        query
    }

    /// The same query, in which words of the same meaning count as well.
    #[must_use]
    pub fn with_synonyms(self) -> Self {
        Self { synonyms: SynonymUse::Synonyms, ..self }
    }

    /// Adds a text. A repeated word keeps its highest weight.
    pub fn hear(&mut self, text: &str, weight: f32) {
        let mut take = |word: &str| self.take(word, weight);
        if text.len() <= 2 * END {
            return words(text, &mut take);
        }
        words(&text[..text.floor_char_boundary(END)], &mut take);
        words(&text[text.ceil_char_boundary(text.len() - END)..], &mut take);
    }

    /// The number of words of a name, if the query contains all of them; else zero.
    pub fn names(&self, name: &str) -> usize {
        let mut stated = 0;
        let mut all = 0;
        words(name, &mut |word| {
            all += 1;
            stated += usize::from(self.known.contains_key(word));
        });
        if stated == all { all } else { 0 }
    }

    fn take(&mut self, word: &str, weight: f32) {
        match self.known.get(word) {
            Some(at) => self.words[*at].1 = self.words[*at].1.max(weight),
            None => {
                self.known.insert(word.into(), self.words.len());
                self.words.push((word.into(), weight));
            }
        }
    }
}

#[cfg(test)]
mod tests;
