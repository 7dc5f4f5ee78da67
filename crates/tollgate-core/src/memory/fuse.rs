//! Hybrid search: merges keyword hits and semantic hits of a query into one list.
//!
//! Semantic similarity has more weight; keywords distinguish names and numbers. Scores are fused,
//! not ranks: the tenth hit of a list may be as good as the first, or irrelevant.

use std::collections::{HashMap, HashSet};

use super::rank::{identity, query_snippet};
use super::{Fact, FactId, MemoryHit, MemoryQuery};

/// Weight of keywords, against 1 for similarity. Above 0.6 they hide paraphrases, below 0.3 names
/// are lost (`tollgate-llm/tests/it/recall.rs`).
const WORDS: f32 = 0.5;
/// Minimum difference between the nearest and the farthest similarity for it to be meaningful.
const SPREAD: f32 = 0.15;

/// `worded` is the output of [`super::rank()`]; `near` has cosine similarities. Best first.
pub fn fuse(
    query: &MemoryQuery,
    worded: Vec<MemoryHit<Fact>>,
    near: Vec<(Fact, f32)>,
    most: usize,
) -> Vec<MemoryHit<Fact>> {
    let meaning = SimilarityRange::of(near.iter().map(|(_, cosine)| *cosine));
    let mut fused: Vec<MemoryHit<Fact>> = Vec::with_capacity(worded.len() + near.len());
    let mut known: HashMap<FactId, usize> = HashMap::new();
    for hit in worded {
        known.entry(hit.found.id).or_insert(fused.len());
        fused.push(MemoryHit { score: WORDS * hit.score, ..hit });
    }
    for (fact, cosine) in near {
        let worth = meaning.worth(cosine);
        match known.get(&fact.id) {
            Some(at) => fused[*at].score += worth,
            None => {
                known.insert(fact.id, fused.len());
                let snippet = query_snippet(query, &fact.text);
                fused.push(MemoryHit { found: fact, score: worth, snippet });
            }
        }
    }
    fused.sort_by(|one, two| {
        let trust = two.found.author.trust.cmp(&one.found.author.trust);
        two.score.total_cmp(&one.score).then(trust).then(two.found.at.cmp(&one.found.at))
    });
    let mut known = HashSet::new();
    fused.retain(|hit| known.insert(identity(&hit.found)));
    fused.truncate(most);
    for hit in &mut fused {
        hit.score /= 1.0 + WORDS;
    }
    fused
}

/// The range of similarities depends on the model: the farthest hit counts as barely related.
struct SimilarityRange {
    nearest: f32,
    farthest: f32,
}

impl SimilarityRange {
    fn of(cosines: impl Iterator<Item = f32>) -> Self {
        let start = Self { nearest: 0.0, farthest: 1.0 };
        cosines.filter(|it| it.is_finite()).fold(start, |it, cosine| Self {
            nearest: it.nearest.max(cosine),
            farthest: it.farthest.min(cosine),
        })
    }

    /// In 0..=1.
    fn worth(&self, cosine: f32) -> f32 {
        let apart = self.nearest - self.farthest;
        if !cosine.is_finite() || apart < 0.0 {
            return 0.0;
        }
        if apart <= f32::EPSILON {
            return cosine.clamp(0.0, 1.0);
        }
        // The farthest hit still has some value.
        let relative = 0.1 + 0.9 * (cosine - self.farthest) / apart;
        relative * (apart / SPREAD).clamp(0.3, 1.0)
    }
}

#[cfg(test)]
mod tests;
