//! Random tables by name: the shipped ones and those of a directory. Called by the `roll_table`
//! tool and by the wiring. Randomness is an argument.

use std::collections::BTreeMap;
use std::path::Path;

use super::entry::TableEntryPiece;
use super::{roll, table_file};
use crate::builtin::document::{DocumentError, DocumentLineError};

pub use super::entry::TableEntry;
pub use super::random_table::RandomTable;

const BUILTIN_TABLES: &[(&str, &str)] = &[
    ("random_encounter", include_str!("tables/random_encounter.txt")),
    ("treasure_hoard", include_str!("tables/treasure_hoard.txt")),
    ("wild_magic", include_str!("tables/wild_magic.txt")),
];

/// Nesting depth of tables, and dice and tables per roll: a table may refer to itself.
const MAX_TABLE_DEPTH: usize = 5;
const MAX_INNER_ROLLS: usize = 50;
const MAX_RESULT_BYTES: usize = 16 * 1024;

/// All tables that can be rolled on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RandomTables {
    by_name: BTreeMap<String, RandomTable>,
}

/// The result of a roll on a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableRoll {
    pub roll: u32,
    /// With all its dice rolled.
    pub result: String,
    /// The dice as written in the entry, and their totals.
    pub dice: Vec<(String, i64)>,
}

impl RandomTables {
    pub fn builtin() -> Self {
        let read = |(name, text): &(&str, &str)| {
            let read = table_file::read_lines(text);
            let (table, _) = read.expect("the tables that ship are sound");
            ((*name).to_owned(), table)
        };
        Self { by_name: BUILTIN_TABLES.iter().map(read).collect() }
    }

    /// The shipped tables and those of a directory, which take precedence. Invalid tables and
    /// entries are skipped and reported.
    pub fn with_directory(directory: &Path) -> (Self, Vec<DocumentError>) {
        let mut tables = Self::builtin();
        let (found, mut flaws) = table_file::read_directory(directory);
        for (name, read) in &found {
            tables.by_name.insert(name.clone(), read.table.clone());
        }
        for read in found.values() {
            for (entry, line) in read.table.entries.iter().zip(&read.lines) {
                let unknown = entry.pieces().iter().filter_map(|piece| tables.unknown(piece));
                flaws.extend(
                    unknown.map(|problem| DocumentLineError::at(*line, problem).of(&read.path)),
                );
            }
        }
        (tables, flaws)
    }

    /// A single table, named `it`.
    #[cfg(test)]
    pub(super) fn of(table: RandomTable) -> Self {
        Self { by_name: [("it".to_owned(), table)].into() }
    }

    /// The error in a part of an entry, if it has one.
    fn unknown(&self, piece: &TableEntryPiece) -> Option<String> {
        let text = match piece {
            TableEntryPiece::Table(name) if self.by_name.contains_key(name) => return None,
            TableEntryPiece::Table(text) | TableEntryPiece::Neither(text) => text,
            TableEntryPiece::Text(_) | TableEntryPiece::Dice { .. } => return None,
        };
        Some(format!("`{{{text}}}` is neither dice nor a table; it is used literally"))
    }

    pub fn get(&self, name: &str) -> Option<&RandomTable> {
        self.by_name.get(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Rolls on a table, and everything that its entry refers to. `None`: no such table.
    pub fn roll(&self, name: &str, random: &mut dyn FnMut(u32) -> u32) -> Option<TableRoll> {
        let table = self.get(name)?;
        let roll = random(table.sides());
        let mut rolling =
            TableRoller { tables: self, random, left: MAX_INNER_ROLLS, dice: Vec::new() };
        let mut result = String::new();
        rolling.say(table.entry(roll), 0, &mut result);
        Some(TableRoll { roll, result, dice: rolling.dice })
    }
}

struct TableRoller<'t> {
    tables: &'t RandomTables,
    random: &'t mut dyn FnMut(u32) -> u32,
    /// Remaining allowance of dice and tables.
    left: usize,
    dice: Vec<(String, i64)>,
}

impl TableRoller<'_> {
    fn say(&mut self, entry: &TableEntry, depth: usize, out: &mut String) {
        for piece in entry.pieces() {
            match piece {
                TableEntryPiece::Text(text) => out.push_str(text),
                TableEntryPiece::Neither(message) => out.push_str(&format!("{{{message}}}")),
                TableEntryPiece::Dice { notation: message, expression } if self.left > 0 => {
                    self.left -= 1;
                    let total = roll::roll(expression, self.random).total;
                    out.push_str(&total.to_string());
                    self.dice.push((message.clone(), total));
                }
                TableEntryPiece::Dice { notation: message, .. } => out.push_str(message),
                TableEntryPiece::Table(name) => match self.tables.get(name) {
                    Some(_) if self.is_over(depth, out) => out.push('…'),
                    Some(table) => {
                        self.left -= 1;
                        let roll = (self.random)(table.sides());
                        self.say(table.entry(roll), depth + 1, out);
                    }
                    None => out.push_str(&format!("{{{name}}}")),
                },
            }
        }
    }

    fn is_over(&self, depth: usize, out: &str) -> bool {
        self.left == 0 || depth == MAX_TABLE_DEPTH || out.len() > MAX_RESULT_BYTES
    }
}

#[cfg(test)]
mod tests;
