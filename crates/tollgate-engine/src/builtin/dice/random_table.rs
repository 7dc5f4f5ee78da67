//! A random table: entries with weights, and the entry that a roll hits.

use super::entry::TableEntry;

/// Invariant: at least one entry, every weight is at least 1, and their sum fits a `u32`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RandomTable {
    pub(super) entries: Vec<TableEntry>,
}

impl RandomTable {
    /// `None` if a weight is zero, their sum too large, or there is no entry.
    pub fn new(entries: Vec<TableEntry>) -> Option<Self> {
        let sum = entries.iter().try_fold(0_u32, |sum, entry| {
            sum.checked_add(entry.weight).filter(|_| entry.weight > 0)
        })?;
        (sum > 0).then_some(Self { entries })
    }

    /// Rolls go from 1 to this.
    pub fn sides(&self) -> u32 {
        self.entries.iter().map(|entry| entry.weight).sum()
    }

    /// The entry that a roll hits.
    ///
    /// # Panics
    /// If the roll is not within 1 and [`RandomTable::sides`].
    pub fn entry(&self, roll: u32) -> &TableEntry {
        let mut top = 0;
        let hit = self.entries.iter().find(|entry| {
            top += entry.weight;
            (1..=top).contains(&roll)
        });
        hit.expect("a roll is between 1 and the sides")
    }
}
