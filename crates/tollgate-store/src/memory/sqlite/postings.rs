//! The lists of what has a word: one full-text table for each kind of thing, fed with our own words,
//! each with the shelf it stands on before it. Nothing of a query's text is syntax here.

use rusqlite::Connection;
use tollgate_core::memory::Query;

use super::Trouble;
use super::shelves::Shelf;
use crate::memory::candidates::{Lists, NEWEST, Stock};
use crate::number::{signed, size, unsigned};

/// What has words.
#[derive(Debug, Clone, Copy)]
pub(super) enum Index {
    Entries,
    Facts,
    Entities,
}

/// Numbers from one to another, both included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) first: i64,
    pub(super) last: i64,
}

pub(super) const ALL: Span = Span { first: i64::MIN, last: i64::MAX };

impl Index {
    fn table(self) -> &'static str {
        match self {
            Self::Entries => "entry_words",
            Self::Facts => "fact_words",
            Self::Entities => "entity_words",
        }
    }

    fn stock(self, shelf: &Shelf) -> Stock {
        match self {
            Self::Facts => shelf.facts,
            Self::Entries | Self::Entities => shelf.entries,
        }
    }

    /// Puts something into the lists of its words.
    pub(super) fn add(self, to: &Connection, number: i64, words: &str) -> Result<(), Trouble> {
        let insert = format!("INSERT INTO {} (rowid, words) VALUES (?1, ?2)", self.table());
        to.prepare_cached(&insert)?.execute((number, words))?;
        Ok(())
    }

    pub(super) fn remove(self, from: &Connection, number: i64) -> Result<(), Trouble> {
        let delete = format!("DELETE FROM {} WHERE rowid = ?1", self.table());
        from.prepare_cached(&delete)?.execute([number])?;
        Ok(())
    }

    /// The newest with all of these words, which are spelled as they were added.
    pub(super) fn newest(
        self,
        connection: &Connection,
        words: &[String],
        (span, most): (Span, usize),
    ) -> Result<Vec<u64>, Trouble> {
        let select = format!(
            "SELECT rowid FROM {0} WHERE {0} MATCH ?1 AND rowid BETWEEN ?2 AND ?3
             ORDER BY rowid DESC LIMIT ?4",
            self.table(),
        );
        let all: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let mut query = connection.prepare_cached(&select)?;
        let numbers = query
            .query_map((all.join(" "), span.first, span.last, size(most)), |row| row.get(0))?;
        Ok(numbers.map(|number| number.map(unsigned)).collect::<Result<_, _>>()?)
    }

    /// The lists of each term on each shelf.
    pub(super) fn lists(
        self,
        connection: &Connection,
        shelves: &[Shelf],
        query: &Query,
    ) -> Result<Lists, Trouble> {
        let mut lists = Lists::new(query.terms.len());
        for shelf in shelves {
            let stock = self.stock(shelf);
            lists.shelf(stock);
            for (at, term) in query.terms.iter().enumerate() {
                let word = [spelled(shelf.id, term)];
                lists.add(at, self.newest(connection, &word, (ALL, NEWEST))?, stock);
            }
        }
        Ok(lists)
    }
}

/// A term with its shelf: `17xdragon`. Terms are made of letters and digits only.
pub(super) fn spelled(shelf: i64, term: &str) -> String {
    format!("{shelf}x{term}")
}

/// The words of a text, as they are added.
pub(super) fn words(shelf: i64, terms: &[String]) -> String {
    let mut words = String::new();
    for term in terms {
        words.push_str(&spelled(shelf, term));
        words.push(' ');
    }
    words
}

/// As it stands in a table.
pub(super) fn row(number: u64) -> i64 {
    signed(number)
}
