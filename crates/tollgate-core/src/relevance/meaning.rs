//! Vectors of tools and of their words, by which an index compares meanings. Computed once for an
//! index, at the first query by meaning: some 100 bytes for each tool and each distinct word.

use std::collections::HashMap;

use super::RelevanceQuery;
use super::word_vectors::{self, MeaningVector, VectorSum};

/// Cosine similarity at which a word begins to count for another one.
const MIN_WORD_NEARNESS: f32 = 0.35;
/// Weight of a word that is as near as can be, compared with the word itself.
const NEAR_WORD_WEIGHT: f32 = 0.5;
/// Words of a query that are compared with all words of the index.
pub(super) const MAX_COMPARED_WORDS: usize = 32;

#[derive(Debug)]
pub(super) struct MeaningIndex {
    words: Vec<KnownWord>,
    /// `None`: no word of the tool has a vector.
    tools: Vec<Option<MeaningVector>>,
}

#[derive(Debug)]
struct KnownWord {
    word: Box<str>,
    vector: MeaningVector,
}

/// A word of the index that is similar to one of the query.
pub(super) struct NearWord<'i> {
    pub(super) word: &'i str,
    /// Between 0 and 1.
    pub(super) weight: f32,
}

impl MeaningIndex {
    /// The direction of a tool is that of its words, each with its weight in that tool.
    pub(super) fn new(places: &HashMap<Box<str>, Vec<(u32, f32)>>, tools: usize) -> Self {
        let mut sums = vec![VectorSum::zero(); tools];
        let mut words = Vec::new();
        for (word, there) in places {
            let Some(found) = word_vectors::find(word) else { continue };
            for (place, weight) in there {
                sums[*place as usize].add(&found.vector, *weight);
            }
            words.push(KnownWord { word: word.clone(), vector: found.vector });
        }
        Self { words, tools: sums.iter().map(VectorSum::direction).collect() }
    }

    /// Cosine similarity of each tool with the whole query; zero where there is none.
    pub(super) fn nearness(&self, query: &RelevanceQuery) -> Vec<f32> {
        let mut sum = VectorSum::zero();
        for (word, weight) in &query.words {
            if let Some(found) = word_vectors::find(word) {
                sum.add(&found.vector, weight * found.importance());
            }
        }
        let direction = sum.direction();
        let nearness = |tool: &Option<MeaningVector>| match (tool, &direction) {
            (Some(tool), Some(direction)) => tool.nearness(direction).max(0.0),
            _ => 0.0,
        };
        self.tools.iter().map(nearness).collect()
    }

    /// Words of the index of a similar meaning, in no particular order.
    pub(super) fn near_words(&self, wanted: &MeaningVector) -> impl Iterator<Item = NearWord<'_>> {
        let near = |known: &KnownWord| {
            let nearness = wanted.nearness(&known.vector);
            NEAR_WORD_WEIGHT * (nearness - MIN_WORD_NEARNESS) / (1.0 - MIN_WORD_NEARNESS)
        };
        let found =
            self.words.iter().map(move |known| NearWord { word: &known.word, weight: near(known) });
        found.filter(|found| found.weight > 0.0)
    }
}
