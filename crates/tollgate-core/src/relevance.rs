//! Relevance of tools to a message: BM25 on words, synonyms and phrases, fused with the similarity
//! of static word embeddings. The same query gives the same order.
//!
//! Used by the tool selection for a model, by both tool searches, and by the search for rules,
//! whose names and texts are compared in the same way.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::Value;

use crate::nearest;

mod meaning;
mod phrases;
mod query;
mod shapes;
mod synonyms;
mod word_vectors;
mod words;

use meaning::{MAX_COMPARED_WORDS, MeaningIndex};
pub use query::RelevanceQuery;
use query::WordMatching;
use word_vectors::WordVector;
use words::words;

/// Weight of a word, by field.
const NAME: f32 = 4.0;
const TITLE: f32 = 3.0;
const DESCRIPTION: f32 = 1.0;
const PARAMETER: f32 = 1.0;

/// BM25 parameters: term frequency saturation and length normalization.
const K1: f32 = 1.5;
const B: f32 = 0.6;

/// Maximum misspelled words of a query that are corrected.
const MAX_CORRECTED_WORDS: usize = 8;
/// Weight of a corrected word.
const CORRECTED_WEIGHT: f32 = 0.6;

/// Weight of a synonym of a word that was said.
const SYNONYM_WEIGHT: f32 = 0.7;
/// Weight of a word that the one that was said hints at.
const ASSOCIATION_WEIGHT: f32 = 0.5;

/// Weight of the similarity of vectors, compared with the best score by words.
const NEARNESS_WEIGHT: f32 = 0.8;
/// A tool without any word of the query is found from this cosine similarity on.
const MIN_NEARNESS: f32 = 0.4;
/// Scores by words are divided by the best one, or by this if the best is a chance hit.
const MIN_BEST_SCORE: f32 = 4.0;

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
    /// Vectors, from the first query by meaning on.
    meaning: OnceLock<MeaningIndex>,
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
        Self { places, tools, meaning: OnceLock::new() }
    }

    /// All tools, most relevant first; tools that have nothing in common with the query come last, in
    /// their order.
    pub fn order(&self, query: &RelevanceQuery) -> Vec<usize> {
        let scores = self.scores(query);
        let mut order: Vec<usize> = (0..self.tools).collect();
        order.sort_by(|one, two| scores[*two].total_cmp(&scores[*one]));
        order
    }

    /// Tools that have something in common with the query, most relevant first, at most `limit`.
    pub fn best(&self, query: &RelevanceQuery, limit: usize) -> Vec<usize> {
        let scores = self.scores(query);
        let mut found: Vec<usize> = (0..self.tools).filter(|at| scores[*at] > 0.0).collect();
        found.sort_by(|one, two| scores[*two].total_cmp(&scores[*one]));
        found.truncate(limit);
        found
    }

    /// Replaces each word that is not in the index by the words with the closest spelling.
    pub fn correct_spelling(&self, query: &RelevanceQuery) -> RelevanceQuery {
        let mut corrected = query.without_words();
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
        match query.matching {
            WordMatching::SameWord => {
                for (word, weight) in &query.words {
                    self.add_word(&mut scores, word, *weight);
                }
            }
            WordMatching::Meaning => {
                self.add_meanings(&mut scores, query);
                fuse(&mut scores, &self.meaning().nearness(query));
            }
        }
        scores
    }

    fn meaning(&self) -> &MeaningIndex {
        self.meaning.get_or_init(|| MeaningIndex::new(&self.places, self.tools))
    }

    /// Scores by words, synonyms and phrases. For each word a tool counts once, by the best match.
    fn add_meanings(&self, scores: &mut [f32], query: &RelevanceQuery) {
        let mut best = vec![0.0; self.tools];
        for (at, (word, weight)) in query.words.iter().enumerate() {
            let found = word_vectors::find(word);
            let importance = found.as_ref().map_or(1.0, WordVector::importance);
            self.keep_word(&mut best, word, *weight);
            self.keep_synonyms(&mut best, word, weight * importance);
            for meant in synonyms::associations(word) {
                self.keep_word(&mut best, meant, weight * importance * ASSOCIATION_WEIGHT);
            }
            if let Some(found) = found.filter(|_| at < MAX_COMPARED_WORDS) {
                for near in self.meaning().near_words(&found.vector) {
                    self.keep_word(&mut best, near.word, weight * importance * near.weight);
                }
            }
            move_sums(scores, &mut best);
        }
        for meant in [&query.verbs, &query.subjects] {
            for (word, weight) in meant {
                self.keep_word(&mut best, word, *weight);
                self.keep_synonyms(&mut best, word, *weight);
            }
            move_sums(scores, &mut best);
        }
        if !query.has(READING) {
            self.keep_word(&mut best, READING, READING_WEIGHT);
            self.keep_synonyms(&mut best, READING, READING_WEIGHT);
            for (best, score) in best.iter_mut().zip(&*scores) {
                *best = if *score > 0.0 { *best } else { 0.0 };
            }
            move_sums(scores, &mut best);
        }
    }

    fn add_word(&self, scores: &mut [f32], word: &str, weight: f32) {
        for (place, count) in self.places.get(word).into_iter().flatten() {
            scores[*place as usize] += weight * count;
        }
    }

    fn keep_synonyms(&self, best: &mut [f32], word: &str, weight: f32) {
        for other in synonyms::of(word) {
            self.keep_word(best, other, weight * SYNONYM_WEIGHT);
        }
    }

    /// Raises the best score of each tool that has the word.
    fn keep_word(&self, best: &mut [f32], word: &str, weight: f32) {
        for (place, count) in self.places.get(word).into_iter().flatten() {
            let known = &mut best[*place as usize];
            *known = known.max(weight * count);
        }
    }
}

/// Weighted sum of the scores by words, of which the best counts 1, and the similarity of vectors.
fn fuse(scores: &mut [f32], nearness: &[f32]) {
    let best = scores.iter().copied().fold(MIN_BEST_SCORE, f32::max);
    for (score, nearness) in scores.iter_mut().zip(nearness) {
        let is_found = *score > 0.0 || *nearness >= MIN_NEARNESS;
        *score = if is_found { *score / best + NEARNESS_WEIGHT * nearness } else { 0.0 };
    }
}

/// Adds what was found for a word, and clears it for the next one.
fn move_sums(scores: &mut [f32], found: &mut [f32]) {
    for (score, found) in scores.iter_mut().zip(found) {
        *score += std::mem::take(found);
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

#[cfg(test)]
mod tests;
