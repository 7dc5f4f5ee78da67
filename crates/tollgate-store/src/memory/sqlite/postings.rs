//! The lists of what has a word: one full-text table for each kind of thing, fed with our own words,
//! each with the shelf it stands on before it. Nothing of a query's text is syntax here.

use rusqlite::Connection;
use tollgate_core::memory::MemoryQuery;

use super::MemoryError;
use super::partitions::SqlitePartition;
use crate::memory::candidates::{MAX_CANDIDATES, NEWEST, PartitionStats, PostingLists};
use crate::number::{size, to_signed, to_unsigned};

/// What has words.
#[derive(Debug, Clone, Copy)]
pub(super) enum SqliteTextIndex {
    Entries,
    Facts,
    Entities,
}

/// Numbers from one to another, both included.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryIdSpan {
    pub(super) first: i64,
    pub(super) last: i64,
}

/// What somebody says is less than what is said of him, and leaves room for it.
const SPOKEN: usize = MAX_CANDIDATES / 2;
/// How far back what has all words of a query is looked for, where each of them is common.
const LOOKED_BACK: u64 = 200_000;

pub(super) const ALL: EntryIdSpan = EntryIdSpan { first: i64::MIN, last: i64::MAX };

impl SqliteTextIndex {
    fn table(self) -> &'static str {
        match self {
            Self::Entries => "entry_words",
            Self::Facts => "fact_words",
            Self::Entities => "entity_words",
        }
    }

    fn stock(self, shelf: &SqlitePartition) -> PartitionStats {
        match self {
            Self::Entries => shelf.entries,
            Self::Facts => shelf.facts,
            // Names are not counted.
            Self::Entities => PartitionStats { texts: 0, first: 0, last: 0 },
        }
    }

    /// Puts something into the lists of its words.
    pub(super) fn add(self, to: &Connection, number: i64, words: &str) -> Result<(), MemoryError> {
        let insert = format!("INSERT INTO {} (rowid, words) VALUES (?1, ?2)", self.table());
        to.prepare_cached(&insert)?.execute((number, words))?;
        Ok(())
    }

    pub(super) fn remove(self, from: &Connection, number: i64) -> Result<(), MemoryError> {
        let delete = format!("DELETE FROM {} WHERE rowid = ?1", self.table());
        from.prepare_cached(&delete)?.execute([number])?;
        Ok(())
    }

    /// The newest with all of these words, which are spelled as they were added.
    pub(super) fn newest(
        self,
        connection: &Connection,
        words: &[String],
        (span, most): (EntryIdSpan, usize),
    ) -> Result<Vec<u64>, MemoryError> {
        let select = format!(
            "SELECT rowid FROM {0} WHERE {0} MATCH ?1 AND rowid BETWEEN ?2 AND ?3
             ORDER BY rowid DESC LIMIT ?4",
            self.table(),
        );
        let all: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let mut query = connection.prepare_cached(&select)?;
        let numbers = query
            .query_map((all.join(" "), span.first, span.last, size(most)), |row| row.get(0))?;
        Ok(numbers.map(|number| number.map(to_unsigned)).collect::<Result<_, _>>()?)
    }

    /// The lists of each term on each shelf.
    pub(super) fn lists(
        self,
        connection: &Connection,
        shelves: &[SqlitePartition],
        query: &MemoryQuery,
    ) -> Result<PostingLists, MemoryError> {
        let mut lists = PostingLists::new(query.terms.len());
        for shelf in shelves {
            let stock = self.stock(shelf);
            lists.add_partition(stock);
            let mut cut = 0;
            for (at, term) in query.terms.iter().enumerate() {
                for (word, most) in self.spellings(shelf.id, term) {
                    let newest = self.newest(connection, &[word], (ALL, most))?;
                    cut += usize::from(newest.len() >= NEWEST);
                    lists.add(at, newest, stock);
                }
            }
            // Where the lists of one term are whole, whatever has all words is in them.
            if query.terms.len() > 1 && cut == query.terms.len() {
                let all: Vec<String> =
                    query.terms.iter().map(|term| partition_term(shelf.id, term)).collect();
                let span =
                    EntryIdSpan { first: row(stock.last.saturating_sub(LOOKED_BACK)), ..ALL };
                lists.with_all(self.newest(connection, &all, (span, MAX_CANDIDATES))?);
            }
        }
        Ok(lists)
    }

    /// The words by which a term is found, and how far the list of each is read. Who says something
    /// is another word than what is said.
    pub(super) fn spellings(self, shelf: i64, term: &str) -> Vec<(String, usize)> {
        match self {
            Self::Entries => {
                vec![(partition_term(shelf, term), NEWEST), (said_by(shelf, term), SPOKEN)]
            }
            Self::Facts | Self::Entities => vec![(partition_term(shelf, term), NEWEST)],
        }
    }
}

/// A term with its shelf: `17xdragon`. Terms are made of letters and digits only.
pub(super) fn partition_term(shelf: i64, term: &str) -> String {
    format!("{shelf}x{term}")
}

/// A term of a speaker's name. Who speaks often would otherwise hide what is said about him.
pub(super) fn said_by(shelf: i64, term: &str) -> String {
    format!("{shelf}s{term}")
}

/// The words of a text, as they are added.
pub(super) fn words(shelf: i64, terms: &[String]) -> String {
    join_words(terms.iter().map(|term| partition_term(shelf, term)))
}

pub(super) fn join_words(words: impl Iterator<Item = String>) -> String {
    words.fold(String::new(), |mut joined, word| {
        joined.push_str(&word);
        joined.push(' ');
        joined
    })
}

/// As it stands in a table.
pub(super) fn row(number: u64) -> i64 {
    to_signed(number)
}
