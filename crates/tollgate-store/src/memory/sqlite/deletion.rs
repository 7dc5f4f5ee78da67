//! Deletion in slices, so that concurrent writers do not wait long. Index terms, vectors and
//! sketches are deleted with their rows; counters are updated.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Params};
use tollgate_core::memory::{MemoryScope, milliseconds};

use super::partitions::{self, PartitionCounter};
use super::postings::{SqliteTextIndex, row as number};
use super::{MemoryError, vectors};
use crate::memory::{MemoryCounts, MemoryForgetTarget};

/// Maximum rows per slice.
pub(super) const SLICE: usize = 1_000;

/// Whether there may be more to delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SqliteDeleteRemainder {
    Nothing,
    Perhaps,
}

/// Deletes one slice.
pub(super) fn some(
    from: &Connection,
    scope: &MemoryScope,
    what: &MemoryForgetTarget,
) -> Result<(MemoryCounts, SqliteDeleteRemainder), MemoryError> {
    let mut gone = MemoryCounts::default();
    let mut room = SLICE;
    for partition in partitions::visible_partitions(from, scope)? {
        let mut slice = SqliteDeleteSlice {
            from,
            partition: partition.id,
            gone: MemoryCounts::default(),
            room,
        };
        slice.forget(what)?;
        room = slice.room;
        gone.add(&slice.gone);
    }
    Ok((
        gone,
        if room == 0 { SqliteDeleteRemainder::Perhaps } else { SqliteDeleteRemainder::Nothing },
    ))
}

/// The slice of one partition.
struct SqliteDeleteSlice<'s> {
    from: &'s Connection,
    partition: i64,
    gone: MemoryCounts,
    /// Rows that may still be deleted.
    room: usize,
}

impl SqliteDeleteSlice<'_> {
    fn forget(&mut self, what: &MemoryForgetTarget) -> Result<(), MemoryError> {
        let partition = self.partition;
        match what {
            MemoryForgetTarget::Author(name) => {
                let authors = "SELECT id FROM authors WHERE shelf = ?1 AND name = ?2";
                for author in self.numbers(authors, (partition, name))? {
                    self.author(author)?;
                }
                Ok(())
            }
            MemoryForgetTarget::Session(session) => {
                let passages = "SELECT id FROM facts
                                WHERE shelf = ?1 AND session = ?2 AND first IS NOT NULL";
                self.facts(passages, (partition, session.as_str()))?;
                let entries = "SELECT id FROM entries WHERE session = (
                                   SELECT id FROM sessions WHERE shelf = ?1 AND name = ?2)";
                self.entries(entries, (partition, session.as_str()))
            }
            MemoryForgetTarget::Fact(fact) => {
                let one = "SELECT id FROM facts WHERE shelf = ?1 AND id = ?2";
                self.facts(one, (partition, number(fact.0)))
            }
            MemoryForgetTarget::Entity(id) => {
                let one = "SELECT number FROM entities WHERE shelf = ?1 AND id = ?2";
                self.entities(one, (partition, id.as_str()))?;
                // The entity may be in another partition.
                self.relations_with(id.as_str())
            }
            MemoryForgetTarget::Relation { source, kind, target } => {
                let one = "SELECT number FROM relations
                           WHERE shelf = ?1 AND source = ?2 AND kind = ?3 AND target = ?4";
                self.relations(one, (partition, source.as_str(), kind, target.as_str()))
            }
            MemoryForgetTarget::Before(moment) => self.before(milliseconds(*moment)),
            MemoryForgetTarget::Everything => self.everything(),
        }
    }

    fn author(&mut self, author: i64) -> Result<(), MemoryError> {
        self.entries("SELECT id FROM entries WHERE author = ?1", [author])?;
        self.facts("SELECT id FROM facts WHERE author = ?1", [author])?;
        self.relations("SELECT number FROM relations WHERE author = ?1", [author])?;
        self.entities("SELECT number FROM entities WHERE author = ?1", [author])?;
        let summaries = "UPDATE sessions SET summary = NULL, summary_author = NULL
                         WHERE summary_author = ?1";
        self.from.prepare_cached(summaries)?.execute([author])?;
        Ok(())
    }

    fn before(&mut self, moment: i64) -> Result<(), MemoryError> {
        let passages = "SELECT id FROM facts WHERE shelf = ?1 AND at < ?2 AND first IS NOT NULL";
        self.facts(passages, (self.partition, moment))?;
        let sessions = "SELECT id FROM sessions WHERE shelf = ?1 AND began < ?2";
        for session in self.numbers(sessions, (self.partition, moment))? {
            let old = "SELECT id FROM entries WHERE session = ?1 AND at < ?2";
            self.entries(old, (session, moment))?;
        }
        Ok(())
    }

    fn everything(&mut self) -> Result<(), MemoryError> {
        let partition = self.partition;
        for session in self.numbers("SELECT id FROM sessions WHERE shelf = ?1", [partition])? {
            self.entries("SELECT id FROM entries WHERE session = ?1", [session])?;
        }
        self.facts("SELECT id FROM facts WHERE shelf = ?1", [partition])?;
        self.relations("SELECT number FROM relations WHERE shelf = ?1", [partition])?;
        self.entities("SELECT number FROM entities WHERE shelf = ?1", [partition])?;
        if self.room > 0 {
            self.from
                .prepare_cached("DELETE FROM authors WHERE shelf = ?1")?
                .execute([partition])?;
            self.from.prepare_cached("DELETE FROM shelves WHERE id = ?1")?.execute([partition])?;
        }
        Ok(())
    }

    /// The ids that a query finds, up to the remaining room.
    fn numbers(&self, select: &str, values: impl Params) -> Result<Vec<i64>, MemoryError> {
        let limited = format!("{select} LIMIT {}", self.room);
        let mut query = self.from.prepare(&limited)?;
        let numbers = query.query_map(values, |row| row.get(0))?;
        Ok(numbers.collect::<Result<_, _>>()?)
    }

    fn entries(&mut self, select: &str, values: impl Params) -> Result<(), MemoryError> {
        let mut sessions: BTreeMap<i64, i64> = BTreeMap::new();
        for entry in self.numbers(select, values)? {
            let delete = "DELETE FROM entries WHERE id = ?1 RETURNING session";
            let session = self.from.prepare_cached(delete)?.query_row([entry], |row| row.get(0))?;
            *sessions.entry(session).or_default() += 1;
            SqliteTextIndex::Entries.remove(self.from, entry)?;
            self.gone.entries += 1;
            self.count(PartitionCounter::Entries)?;
        }
        for (session, fewer) in &sessions {
            self.settle(*session, *fewer)?;
        }
        if !sessions.is_empty() {
            let first = "UPDATE shelves SET first_entry = coalesce(
                             (SELECT min(first_entry) FROM sessions WHERE shelf = ?1), 0)
                         WHERE id = ?1";
            self.from.prepare_cached(first)?.execute([self.partition])?;
        }
        Ok(())
    }

    /// Updates a session after some of its entries were deleted; without any left, deletes it.
    fn settle(&mut self, session: i64, fewer: i64) -> Result<(), MemoryError> {
        let left = "UPDATE sessions SET entries = entries - ?2 WHERE id = ?1 RETURNING entries";
        let left: i64 =
            self.from.prepare_cached(left)?.query_row((session, fewer), |row| row.get(0))?;
        if left <= 0 {
            self.from.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([session])?;
            self.gone.sessions += 1;
            return partitions::count(self.from, self.partition, PartitionCounter::Sessions, -1);
        }
        let settle = "UPDATE sessions SET (began, last, first_entry, last_entry, unread) = (
                          SELECT min(at), max(at), min(id), max(id), count(*) FILTER (
                              WHERE id > sessions.read_to)
                          FROM entries WHERE session = ?1)
                      WHERE id = ?1";
        self.from.prepare_cached(settle)?.execute([session])?;
        Ok(())
    }

    fn facts(&mut self, select: &str, values: impl Params) -> Result<(), MemoryError> {
        for fact in self.numbers(select, values)? {
            self.from.prepare_cached("DELETE FROM facts WHERE id = ?1")?.execute([fact])?;
            SqliteTextIndex::Facts.remove(self.from, fact)?;
            vectors::forget(self.from, fact)?;
            self.gone.facts += 1;
            self.count(PartitionCounter::Facts)?;
        }
        Ok(())
    }

    /// Deletes the relations of this partition first; the entity stays if they use up the room.
    fn entities(&mut self, select: &str, values: impl Params) -> Result<(), MemoryError> {
        for entity in self.numbers(select, values)? {
            let find = "SELECT id FROM entities WHERE number = ?1";
            let id: Option<String> =
                self.from.prepare_cached(find)?.query_row([entity], |row| row.get(0)).optional()?;
            self.relations_with(&id.unwrap_or_default())?;
            if self.room == 0 {
                return Ok(());
            }
            let delete = "DELETE FROM entities WHERE number = ?1";
            self.from.prepare_cached(delete)?.execute([entity])?;
            SqliteTextIndex::Entities.remove(self.from, entity)?;
            self.gone.entities += 1;
            self.count(PartitionCounter::Entities)?;
        }
        Ok(())
    }

    fn relations_with(&mut self, entity: &str) -> Result<(), MemoryError> {
        for end in ["source", "target"] {
            let select = format!("SELECT number FROM relations WHERE shelf = ?1 AND {end} = ?2");
            self.relations(&select, (self.partition, entity))?;
        }
        Ok(())
    }

    fn relations(&mut self, select: &str, values: impl Params) -> Result<(), MemoryError> {
        for relation in self.numbers(select, values)? {
            let delete = "DELETE FROM relations WHERE number = ?1";
            self.from.prepare_cached(delete)?.execute([relation])?;
            self.gone.relations += 1;
            self.count(PartitionCounter::Relations)?;
        }
        Ok(())
    }

    /// Decrements a counter.
    fn count(&mut self, counter: PartitionCounter) -> Result<(), MemoryError> {
        self.room = self.room.saturating_sub(1);
        partitions::count(self.from, self.partition, counter, -1)
    }
}
