//! Which texts become candidates of a query, by the lists of the newest texts with each of its
//! terms; and about in how many texts a term stands. Pure, and the same for both databases.

use std::collections::{HashMap, HashSet};

/// How far a list of the texts with one term, on one shelf, is read: the newest.
pub(super) const NEWEST: usize = 1_000;
/// Texts that are ranked.
pub(super) const MAX_CANDIDATES: usize = 300;

/// The texts of one shelf: how many, and from which number to which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartitionStats {
    pub(super) texts: u64,
    pub(super) first: u64,
    pub(super) last: u64,
}

/// What is known of the terms of a query, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PostingLists {
    terms: Vec<TermPostings>,
    /// Those that are known to have all of the terms, be they among the newest of each or not.
    with_all: Vec<u64>,
    texts: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct TermPostings {
    newest: Vec<u64>,
    with: u64,
}

impl PostingLists {
    /// Of a query with so many terms.
    pub(super) fn new(terms: usize) -> Self {
        Self { terms: vec![TermPostings::default(); terms], with_all: Vec::new(), texts: 0 }
    }

    /// One shelf more that is looked through.
    pub(super) fn add_partition(&mut self, stock: PartitionStats) {
        self.texts += stock.texts;
    }

    /// The newest texts with a term on a shelf, by their numbers. A list shorter than [`NEWEST`] is
    /// all of them. A term may have several: who says something is found apart from what is said.
    pub(super) fn add(&mut self, term: usize, newest: Vec<u64>, stock: PartitionStats) {
        if let Some(term) = self.terms.get_mut(term) {
            term.with += estimate(&newest, stock);
            term.newest.extend(newest);
        }
    }

    /// Texts with all of the terms, however old they are.
    pub(super) fn with_all(&mut self, texts: Vec<u64>) {
        self.with_all.extend(texts);
    }

    pub(super) fn texts(&self) -> u64 {
        self.texts
    }

    pub(super) fn with(&self) -> Vec<u64> {
        self.terms.iter().map(|term| term.with).collect()
    }

    /// Those with the rarest terms, and with most of them; of equal ones the newest.
    pub(super) fn choose_candidates(&self) -> Vec<u64> {
        let mut worth: HashMap<u64, f64> = HashMap::new();
        for term in &self.terms {
            let rarity = self.rarity(term);
            // One that has it in two ways has it once.
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
        let (texts, with) = (number(self.texts.max(term.with)), number(term.with));
        (1.0 + (texts - with + 0.5) / (with + 0.5)).ln()
    }
}

/// As dense as in the part that was read.
fn estimate(newest: &[u64], stock: PartitionStats) -> u64 {
    let read = u64::try_from(newest.len()).unwrap_or(u64::MAX);
    let oldest = match newest.iter().min() {
        Some(oldest) if newest.len() >= NEWEST => *oldest,
        _ => return read,
    };
    let seen = stock.last.saturating_sub(oldest).saturating_add(1);
    let all = stock.last.saturating_sub(stock.first.min(oldest)).saturating_add(1);
    let estimate = u128::from(read) * u128::from(all) / u128::from(seen);
    u64::try_from(estimate).unwrap_or(u64::MAX).clamp(read, stock.texts.max(read))
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
