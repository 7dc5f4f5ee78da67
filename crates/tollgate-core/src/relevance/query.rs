//! What is searched for: weighted words, and the verbs that the request stands for.

use std::collections::{BTreeMap, HashMap};

use super::phrases::{self, PhraseMeaning};
use super::shapes;
use super::words::words;

/// Bytes read at each end of a text: a request stands before or after pasted content.
const END: usize = 4 * 1024;

/// A query: words with weights.
#[derive(Debug, Clone, Default)]
pub struct RelevanceQuery {
    /// In order of occurrence, so that floating point sums are reproducible.
    pub(super) words: Vec<(Box<str>, f32)>,
    /// Verbs that its phrases stand for.
    pub(super) verbs: BTreeMap<&'static str, f32>,
    /// What it is about, by its phrases and by the shape of its words.
    pub(super) subjects: BTreeMap<&'static str, f32>,
    pub(super) matching: WordMatching,
    known: HashMap<Box<str>, usize>,
}

/// Whether words of similar meaning count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum WordMatching {
    #[default]
    SameWord,
    Meaning,
}

impl RelevanceQuery {
    /// The query of a text. Of a very long one only both ends are read.
    pub fn new(text: &str) -> Self {
        let mut query = Self::default();
        query.hear(text, 1.0);
        query
    }

    /// The same query, by which tools are found that are described in other words as well.
    #[must_use]
    pub fn by_meaning(self) -> Self {
        Self { matching: WordMatching::Meaning, ..self }
    }

    /// Adds a text. A repeated word keeps its highest weight.
    pub fn hear(&mut self, text: &str, weight: f32) {
        if text.len() <= 2 * END {
            return self.hear_whole(text, weight);
        }
        self.hear_whole(&text[..text.floor_char_boundary(END)], weight);
        self.hear_whole(&text[text.ceil_char_boundary(text.len() - END)..], weight);
    }

    fn hear_whole(&mut self, text: &str, weight: f32) {
        words(text, &mut |word| self.take(word, weight));
        let raise = |found: &mut BTreeMap<_, f32>, word, certainty: f32| {
            let known = found.entry(word).or_default();
            *known = known.max(weight * certainty);
        };
        phrases::meanings(text, &mut |found, certainty| match found {
            PhraseMeaning::Verb(verb) => raise(&mut self.verbs, verb, certainty),
            PhraseMeaning::Subject(subject) => raise(&mut self.subjects, subject, certainty),
        });
        shapes::meanings(text, &mut |subject, certainty| {
            raise(&mut self.subjects, subject, certainty);
        });
    }

    /// The number of words of a name, if the query contains all of them; else zero.
    pub fn names(&self, name: &str) -> usize {
        let mut stated = 0;
        let mut all = 0;
        words(name, &mut |word| {
            all += 1;
            stated += usize::from(self.has(word));
        });
        if stated == all { all } else { 0 }
    }

    /// The same query, to which other words are to be added.
    pub(super) fn without_words(&self) -> Self {
        Self {
            verbs: self.verbs.clone(),
            subjects: self.subjects.clone(),
            matching: self.matching,
            ..Self::default()
        }
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.known.contains_key(word)
    }

    pub(super) fn take(&mut self, word: &str, weight: f32) {
        match self.known.get(word) {
            Some(at) => self.words[*at].1 = self.words[*at].1.max(weight),
            None => {
                self.known.insert(word.into(), self.words.len());
                self.words.push((word.into(), weight));
            }
        }
    }
}
