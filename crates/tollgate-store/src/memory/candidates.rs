//! Candidate selection for a query, from the posting lists of the newest texts with each term, and
//! document frequency estimates. Pure, and the same for both databases.

use std::collections::{HashMap, HashSet};

/// Maximum length read of a posting list of one term in one partition: the newest.
pub(super) const NEWEST: usize = 1_000;
/// Maximum texts that are ranked.
pub(super) const MAX_CANDIDATES: usize = 300;

/// The texts of one partition: count, and range of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartitionStats {
    pub(super) texts: u64,
    pub(super) first: u64,
    pub(super) last: u64,
}

/// The posting lists of a query, in the order of its terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PostingLists {
    terms: Vec<TermPostings>,
    /// Texts known to have all terms, whether among the newest of each or not.
    with_all: Vec<u64>,
    texts: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct TermPostings {
    newest: Vec<u64>,
    with: u64,
}

impl PostingLists {
    /// For a query with this many terms.
    pub(super) fn new(terms: usize) -> Self {
        Self { terms: vec![TermPostings::default(); terms], with_all: Vec::new(), texts: 0 }
    }

    /// Adds a partition to be searched.
    pub(super) fn add_partition(&mut self, stats: PartitionStats) {
        self.texts += stats.texts;
    }

    /// Adds the ids of the newest texts with a term in a partition. A list shorter than [`NEWEST`]
    /// is complete. A term may have several lists: speakers are indexed separately from text.
    pub(super) fn add(&mut self, term: usize, newest: Vec<u64>, stats: PartitionStats) {
        if let Some(term) = self.terms.get_mut(term) {
            term.with += estimate(&newest, stats);
            term.newest.extend(newest);
        }
    }

    /// Adds texts with all terms, whatever their age.
    pub(super) fn with_all(&mut self, texts: Vec<u64>) {
        self.with_all.extend(texts);
    }

    pub(super) fn texts(&self) -> u64 {
        self.texts
    }

    pub(super) fn with(&self) -> Vec<u64> {
        self.terms.iter().map(|term| term.with).collect()
    }

    /// Those with the rarest terms, and with most of them; on a tie the newest.
    pub(super) fn choose_candidates(&self) -> Vec<u64> {
        let mut worth: HashMap<u64, f64> = HashMap::new();
        for term in &self.terms {
            let rarity = self.rarity(term);
            // A text in two lists of a term counts once.
            let having: HashSet<u64> = term.newest.iter().copied().collect();
            for number in having {
                *worth.entry(number).or_default() += rarity;
            }
        }
        let most = self.terms.iter().map(|term| self.rarity(term)).sum();
        worth.extend(self.with_all.iter().map(|number| (*number, most)));
        let mut order: Vec<(f64, u64)> = worth.into_iter().map(|(text, it)| (it, text)).collect();
        order.sort_unstable_by(|one, two| two.0.total_cmp(&one.0).then(two.1.cmp(&one.1)));
        order.truncate(MAX_CANDIDATES);
        order.into_iter().map(|(_, text)| text).collect()
    }

    fn rarity(&self, term: &TermPostings) -> f64 {
        let texts = number(self.texts.max(term.with));
        let with = number(term.with);
        (1.0 + (texts - with + 0.5) / (with + 0.5)).ln()
    }
}

/// Extrapolates the density of the part that was read.
fn estimate(newest: &[u64], stats: PartitionStats) -> u64 {
    let read = u64::try_from(newest.len()).unwrap_or(u64::MAX);
    let oldest = match newest.iter().min() {
        Some(oldest) if newest.len() >= NEWEST => *oldest,
        _ => return read,
    };
    let seen = stats.last.saturating_sub(oldest).saturating_add(1);
    let all = stats.last.saturating_sub(stats.first.min(oldest)).saturating_add(1);
    let estimate = u128::from(read) * u128::from(all) / u128::from(seen);
    u64::try_from(estimate).unwrap_or(u64::MAX).clamp(read, stats.texts.max(read))
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
