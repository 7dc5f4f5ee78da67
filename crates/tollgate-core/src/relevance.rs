//! Which tools have to do with what was said: their words are compared with the turn's, rare words
//! weighing more than common ones (BM25). No model is asked; the same question gives the same order.
//!
//! Called by whoever chooses tools for a model, by both searches for tools, and by the search for
//! rules, whose names and texts are compared in the same way.

use std::collections::HashMap;

use serde_json::Value;

use crate::nearest;

mod words;

use words::words;

/// What a word counts, by where it stands.
const NAME: f32 = 4.0;
const TITLE: f32 = 3.0;
const DESCRIPTION: f32 = 1.0;
const PARAMETER: f32 = 1.0;

/// How soon more of the same word counts no more, and how much long texts are discounted.
const K1: f32 = 1.2;
const B: f32 = 0.6;

/// Bytes read at either end of a text. A request stands before or behind what was pasted into it.
const END: usize = 4 * 1024;

/// Words of one question that may be taken for others; who mistypes more is not understood.
const MOST_MISTYPED: usize = 8;
/// What a word counts that was not said, but may have been meant.
const CORRECTED_WEIGHT: f32 = 0.6;

/// One tool, or whatever else has a name and a text, as far as words go.
#[derive(Debug, Clone, Copy)]
pub struct RelevanceDocument<'a> {
    pub name: &'a str,
    pub title: Option<&'a str>,
    pub description: Option<&'a str>,
    /// Its JSON Schema.
    pub parameters: Option<&'a Value>,
}

/// The words of many tools. Costly to build (some 10 microseconds for each), cheap to ask.
#[derive(Debug)]
pub struct RelevanceIndex {
    /// The tools in which a word stands, and what it counts there.
    places: HashMap<Box<str>, Vec<(u32, f32)>>,
    tools: usize,
}

/// What is looked for: words, and how much each matters.
#[derive(Debug, Clone, Default)]
pub struct RelevanceQuery {
    /// In the order in which they were said, so that sums come out the same.
    words: Vec<(Box<str>, f32)>,
    known: HashMap<Box<str>, usize>,
}

impl RelevanceIndex {
    /// A tool is known by its place among `tools`.
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
            let (with, all) = (there.len() as f32, tools as f32);
            let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
            for (place, count) in there {
                let long = 1.0 - B + B * lengths[*place as usize] / average;
                *count = rarity * *count * (K1 + 1.0) / (*count + K1 * long);
            }
        }
        Self { places, tools }
    }

    /// All tools, the most relevant first; those without a word in common keep their order, last.
    pub fn order(&self, query: &RelevanceQuery) -> Vec<usize> {
        let scores = self.scores(query);
        let mut order: Vec<usize> = (0..self.tools).collect();
        order.sort_by(|one, two| scores[*two].total_cmp(&scores[*one]));
        order
    }

    /// Those that have any word in common, the most relevant first, `limit` at most.
    pub fn best(&self, query: &RelevanceQuery, limit: usize) -> Vec<usize> {
        let scores = self.scores(query);
        let mut found: Vec<usize> = (0..self.tools).filter(|at| scores[*at] > 0.0).collect();
        found.sort_by(|one, two| scores[*two].total_cmp(&scores[*one]));
        found.truncate(limit);
        found
    }

    /// The same question in words that there are: one that stands nowhere gives way to those that
    /// are spelled most like it.
    pub fn correct_spelling(&self, query: &RelevanceQuery) -> RelevanceQuery {
        let mut corrected = RelevanceQuery::default();
        let mut mistyped = 0;
        for (word, weight) in &query.words {
            if self.places.contains_key(word) || mistyped == MOST_MISTYPED {
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
        for (word, weight) in &query.words {
            for (place, count) in self.places.get(word).into_iter().flatten() {
                scores[*place as usize] += weight * count;
            }
        }
        scores
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
    /// What a text asks for. Of a very long one only both ends are read.
    pub fn new(text: &str) -> Self {
        let mut query = Self::default();
        query.hear(text, 1.0);
        query
    }

    /// A word that is heard again matters as much as where it mattered most.
    pub fn hear(&mut self, text: &str, weight: f32) {
        let mut take = |word: &str| self.take(word, weight);
        if text.len() <= 2 * END {
            return words(text, &mut take);
        }
        words(&text[..text.floor_char_boundary(END)], &mut take);
        words(&text[text.ceil_char_boundary(text.len() - END)..], &mut take);
    }

    /// How many words a name has, if all of them were said; none otherwise.
    pub fn names(&self, name: &str) -> usize {
        let (mut said, mut all) = (0, 0);
        words(name, &mut |word| {
            all += 1;
            said += usize::from(self.known.contains_key(word));
        });
        if said == all { all } else { 0 }
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
