//! Partitions (table column `shelf`): one per (namespace, audience). Every row belongs to one; a
//! scope is the set of partitions it sees. Used by all reads and writes of the memory's file.

use rusqlite::{Connection, OptionalExtension, Row};
use tollgate_core::id::AgentId;
use tollgate_core::memory::{
    Audience, AuthorTrust, MemoryAuthor, MemoryScope, MemoryTarget, MemoryViewer, Namespace,
};

use super::MemoryError;
use super::rows::unreadable;
use crate::memory::MemoryCounts;
use crate::memory::candidates::PartitionStats;
use crate::number::to_unsigned;

/// A partition and its counters.
#[derive(Debug, Clone)]
pub(super) struct SqlitePartition {
    pub(super) id: i64,
    pub(super) audience: Audience,
    pub(super) entries: PartitionStats,
    pub(super) facts: PartitionStats,
}

/// The partition and author of a write.
#[derive(Debug, Clone, Copy)]
pub(super) struct SqliteWriteTarget {
    pub(super) partition: i64,
    pub(super) author: i64,
}

/// The counters of a partition.
#[derive(Debug, Clone, Copy)]
pub(super) enum PartitionCounter {
    Sessions,
    Entries,
    Facts,
    Entities,
    Relations,
}

/// The partitions of a scope: an agent's own first, for the operator the shared one.
pub(super) fn visible_partitions(
    connection: &Connection,
    scope: &MemoryScope,
) -> Result<Vec<SqlitePartition>, MemoryError> {
    const COLUMNS: &str = "SELECT id, owner, entries, first_entry, last_entry,
                                  facts, first_fact, last_fact FROM shelves";
    let (requested, owner) = match &scope.eyes {
        MemoryViewer::Operator => ("namespace = ?1 AND owner >= ?2 ORDER BY owner", ""),
        MemoryViewer::Agent(agent) => {
            ("namespace = ?1 AND owner IN ('', ?2) ORDER BY owner DESC", agent.as_str())
        }
    };
    let mut query = connection.prepare_cached(&format!("{COLUMNS} WHERE {requested}"))?;
    let shelves = query.query_map((scope.namespace.as_str(), owner), read_partition)?;
    Ok(shelves.collect::<Result<_, _>>()?)
}

/// The partition and author of a target, created if missing.
pub(super) fn claim_write_target(
    connection: &Connection,
    place: &MemoryTarget,
) -> Result<SqliteWriteTarget, MemoryError> {
    let owner = place.audience.owner().map_or("", AgentId::as_str);
    let namespace = place.namespace.as_str();
    let insert = "INSERT INTO shelves (namespace, owner) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    connection.prepare_cached(insert)?.execute((namespace, owner))?;
    let find = "SELECT id FROM shelves WHERE namespace = ?1 AND owner = ?2";
    let partition = connection
        .prepare_cached(find)?
        .query_row((namespace, owner), |row| row.get::<_, i64>(0))?;
    let author = author(connection, partition, &place.author)?;
    Ok(SqliteWriteTarget { partition, author })
}

/// The partition of a target; nothing is created.
pub(super) fn of(
    connection: &Connection,
    place: &MemoryTarget,
) -> Result<Option<i64>, MemoryError> {
    let owner = place.audience.owner().map_or("", AgentId::as_str);
    let mut find =
        connection.prepare_cached("SELECT id FROM shelves WHERE namespace = ?1 AND owner = ?2")?;
    Ok(find.query_row((place.namespace.as_str(), owner), |row| row.get(0)).optional()?)
}

pub(super) fn author(
    connection: &Connection,
    partition: i64,
    by: &MemoryAuthor,
) -> Result<i64, MemoryError> {
    let values = (partition, &*by.name, &*by.via, by.trust.as_str());
    let insert = "INSERT INTO authors (shelf, name, via, trust) VALUES (?1, ?2, ?3, ?4)
                  ON CONFLICT DO NOTHING";
    connection.prepare_cached(insert)?.execute(values)?;
    let find = "SELECT id FROM authors WHERE shelf = ?1 AND name = ?2 AND via = ?3 AND trust = ?4";
    Ok(connection.prepare_cached(find)?.query_row(values, |row| row.get(0))?)
}

/// Adds to a counter, or subtracts from it.
pub(super) fn count(
    connection: &Connection,
    partition: i64,
    counter: PartitionCounter,
    more: i64,
) -> Result<(), MemoryError> {
    if more != 0 {
        let column = counter.column();
        let update = format!("UPDATE shelves SET {column} = max({column} + ?2, 0) WHERE id = ?1");
        connection.prepare_cached(&update)?.execute((partition, more))?;
    }
    Ok(())
}

/// The columns `name, via, trust`, from this column on.
pub(super) fn author_of(row: &Row<'_>, from: usize) -> rusqlite::Result<MemoryAuthor> {
    let trust: String = row.get(from + 2)?;
    let trust = AuthorTrust::parse(&trust).ok_or_else(|| unreadable(from + 2, &trust))?;
    Ok(MemoryAuthor { name: row.get(from)?, via: row.get(from + 1)?, trust })
}

pub(super) fn audience_of(row: &Row<'_>, column: usize) -> rusqlite::Result<Audience> {
    let owner: String = row.get(column)?;
    if owner.is_empty() {
        return Ok(Audience::Shared);
    }
    AgentId::parse(&owner).map(Audience::Only).map_err(|_| unreadable(column, &owner))
}

fn read_partition(row: &Row<'_>) -> rusqlite::Result<SqlitePartition> {
    let number = |column: usize| row.get(column).map(to_unsigned);
    Ok(SqlitePartition {
        id: row.get(0)?,
        audience: audience_of(row, 1)?,
        entries: PartitionStats { texts: number(2)?, first: number(3)?, last: number(4)? },
        facts: PartitionStats { texts: number(5)?, first: number(6)?, last: number(7)? },
    })
}

impl PartitionCounter {
    fn column(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Entries => "entries",
            Self::Facts => "facts",
            Self::Entities => "entities",
            Self::Relations => "relations",
        }
    }
}

pub(super) fn namespaces(
    connection: &Connection,
) -> Result<Vec<(Namespace, MemoryCounts)>, MemoryError> {
    let select = "SELECT namespace, sum(sessions), sum(entries), sum(facts), sum(entities),
                      sum(relations)
                  FROM shelves GROUP BY namespace ORDER BY namespace";
    let mut query = connection.prepare_cached(select)?;
    let rows = query.query_map([], |row| {
        let name: String = row.get(0)?;
        let count = |column: usize| row.get(column).map(to_unsigned);
        let counts = MemoryCounts {
            sessions: count(1)?,
            entries: count(2)?,
            facts: count(3)?,
            entities: count(4)?,
            relations: count(5)?,
        };
        Ok((Namespace::parse(&name).map_err(|_| unreadable(0, &name))?, counts))
    })?;
    let all: Vec<(Namespace, MemoryCounts)> = rows.collect::<Result<_, _>>()?;
    Ok(all.into_iter().filter(|(_, counts)| *counts != MemoryCounts::default()).collect())
}
