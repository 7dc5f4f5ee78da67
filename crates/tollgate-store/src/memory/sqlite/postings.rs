//! Inverted index (posting lists) of the memory in SQLite: one full-text table per kind of row,
//! filled with our own terms, each prefixed with its partition. No query text is interpreted as
//! syntax.

use rusqlite::Connection;
use tollgate_core::memory::MemoryQuery;

use super::MemoryError;
use super::partitions::SqlitePartition;
use crate::memory::candidates::{MAX_CANDIDATES, NEWEST, PartitionStats, PostingLists};
use crate::number::{size, to_signed, to_unsigned};

/// An indexed kind of row.
#[derive(Debug, Clone, Copy)]
pub(super) enum SqliteTextIndex {
    Entries,
    Facts,
    Entities,
}

/// A range of ids, inclusive.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryIdSpan {
    pub(super) first: i64,
    pub(super) last: i64,
}

/// Maximum length read of a speaker's list, which leaves room for texts about the speaker.
const SPOKEN: usize = MAX_CANDIDATES / 2;
/// How far back rows with all words of a query are searched for, if each word is common.
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

    fn stats(self, partition: &SqlitePartition) -> PartitionStats {
        match self {
            Self::Entries => partition.entries,
            Self::Facts => partition.facts,
            // Names are not counted.
            Self::Entities => PartitionStats { texts: 0, first: 0, last: 0 },
        }
    }

    /// Adds a row to the lists of its words.
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

    /// The newest rows with all of these words, spelled as they were added.
    pub(super) fn newest(
        self,
        connection: &Connection,
        words: &[String],
        span: EntryIdSpan,
        most: usize,
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

    /// The lists of each term in each partition.
    pub(super) fn lists(
        self,
        connection: &Connection,
        shelves: &[SqlitePartition],
        query: &MemoryQuery,
    ) -> Result<PostingLists, MemoryError> {
        let mut lists = PostingLists::new(query.terms.len());
        for partition in shelves {
            let stats = self.stats(partition);
            lists.add_partition(stats);
            let mut cut = 0;
            for (at, term) in query.terms.iter().enumerate() {
                for (word, most) in self.spellings(partition.id, term) {
                    let newest = self.newest(connection, &[word], ALL, most)?;
                    cut += usize::from(newest.len() >= NEWEST);
                    lists.add(at, newest, stats);
                }
            }
            // If the lists of one term are complete, they contain every row with all words.
            if query.terms.len() > 1 && cut == query.terms.len() {
                let all: Vec<String> =
                    query.terms.iter().map(|term| partition_term(partition.id, term)).collect();
                let span =
                    EntryIdSpan { first: row(stats.last.saturating_sub(LOOKED_BACK)), ..ALL };
                lists.with_all(self.newest(connection, &all, span, MAX_CANDIDATES)?);
            }
        }
        Ok(lists)
    }

    /// The index words of a term, and how far the list of each is read. Speakers have their own
    /// words.
    pub(super) fn spellings(self, partition: i64, term: &str) -> Vec<(String, usize)> {
        match self {
            Self::Entries => {
                vec![
                    (partition_term(partition, term), NEWEST),
                    (speaker_term(partition, term), SPOKEN),
                ]
            }
            Self::Facts | Self::Entities => vec![(partition_term(partition, term), NEWEST)],
        }
    }
}

/// A term with its partition: `17xdragon`. Terms consist of letters and digits only.
pub(super) fn partition_term(partition: i64, term: &str) -> String {
    format!("{partition}x{term}")
}

/// A term of a speaker's name. A frequent speaker would otherwise hide texts about them.
pub(super) fn speaker_term(partition: i64, term: &str) -> String {
    format!("{partition}s{term}")
}

/// The index words of a text.
pub(super) fn words(partition: i64, terms: &[String]) -> String {
    join_words(terms.iter().map(|term| partition_term(partition, term)))
}

pub(super) fn join_words(words: impl Iterator<Item = String>) -> String {
    words.fold(String::new(), |mut joined, word| {
        joined.push_str(&word);
        joined.push(' ');
        joined
    })
}

/// As a column value.
pub(super) fn row(number: u64) -> i64 {
    to_signed(number)
}
