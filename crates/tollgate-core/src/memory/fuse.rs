//! One list of two: facts that have the words of a question, and facts that are near to its
//! meaning.
//!
//! Meaning weighs more, words tell names and numbers apart; both by how well they fit, not by rank:
//! the tenth of a list may be as good as the first, or have nothing to do with anything.

use std::collections::{HashMap, HashSet};

use super::rank::{identity, query_snippet};
use super::{Fact, FactId, MemoryHit, MemoryQuery};

/// What the words count, against 1 for the meaning. With more than 0.6 they hide what was asked in
/// other words, with less than 0.3 names are lost (`tollgate-llm/tests/it/recall.rs`).
const WORDS: f32 = 0.5;
/// How far apart the nearest and the farthest have to be for the meaning to tell them apart.
const SPREAD: f32 = 0.15;

/// `worded` as [`super::rank()`] gives it, `near` with the cosine of the angle. The best first.
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

/// How near is near depends on the model: what is the farthest of what was found is hardly nearer
/// than anything.
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

    /// From 0 to 1.
    fn worth(&self, cosine: f32) -> f32 {
        let apart = self.nearest - self.farthest;
        if !cosine.is_finite() || apart < 0.0 {
            return 0.0;
        }
        if apart <= f32::EPSILON {
            return cosine.clamp(0.0, 1.0);
        }
        // The last one found is near too, only less so.
        let relative = 0.1 + 0.9 * (cosine - self.farthest) / apart;
        relative * (apart / SPREAD).clamp(0.3, 1.0)
    }
}

#[cfg(test)]
mod tests;
