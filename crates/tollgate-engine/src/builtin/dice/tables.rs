//! Random tables by name: those that ship and those found in a directory. Called by the
//! `roll_table` tool and by wiring; rolls nothing itself.

use std::collections::BTreeMap;
use std::path::Path;

use super::table_file::{self, Broken};

const SHIPPED: &[(&str, &str)] = &[
    ("random_encounter", include_str!("tables/random_encounter.txt")),
    ("treasure_hoard", include_str!("tables/treasure_hoard.txt")),
    ("wild_magic", include_str!("tables/wild_magic.txt")),
];

/// All tables that can be rolled on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    by_name: BTreeMap<String, Table>,
}

impl Tables {
    pub fn shipped() -> Self {
        let read = |(name, text): &(&str, &str)| {
            let table = table_file::read_lines(text).expect("the tables that ship are sound");
            ((*name).to_owned(), table)
        };
        Self { by_name: SHIPPED.iter().map(read).collect() }
    }

    /// The shipped tables and those of a directory, which win where both have a name.
    /// A file that cannot be used is left out and reported.
    pub fn with_directory(directory: &Path) -> (Self, Vec<Broken>) {
        let mut tables = Self::shipped();
        let (found, broken) = table_file::read_directory(directory);
        tables.by_name.extend(found);
        (tables, broken)
    }

    pub fn get(&self, name: &str) -> Option<&Table> {
        self.by_name.get(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }
}

/// Invariant: at least one entry, every weight at least 1, and the weights add up to a `u32`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub weight: u32,
    pub text: String,
}

impl Table {
    /// `None` if a weight is zero, their sum too large, or there is no entry.
    pub fn new(entries: Vec<Entry>) -> Option<Self> {
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
    /// If the roll is not within 1 and [`Table::sides`].
    pub fn entry(&self, roll: u32) -> &str {
        let mut top = 0;
        let hit = self.entries.iter().find(|entry| {
            top += entry.weight;
            (1..=top).contains(&roll)
        });
        &hit.expect("a roll is between 1 and the sides").text
    }
}

#[cfg(test)]
mod tests;
