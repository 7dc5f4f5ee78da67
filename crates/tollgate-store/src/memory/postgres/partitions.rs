//! Partitions (table column `shelf`): one per (namespace, audience). Every row belongs to one; a
//! scope is the set of partitions it sees. Used by all reads and writes.

use tokio_postgres::Row;
use tollgate_core::id::AgentId;
use tollgate_core::memory::{
    Audience, MemoryAuthor, MemoryScope, MemoryTarget, MemoryViewer, Namespace,
};

use super::pool::PgLease;
use super::rows::{PgColumns, unreadable};
use crate::memory::candidates::PartitionStats;
use crate::memory::{MemoryCounts, MemoryError};
use crate::number::size;

/// A partition and its counters.
#[derive(Debug, Clone)]
pub(super) struct PgPartition {
    pub(super) id: i32,
    pub(super) audience: Audience,
    pub(super) entries: PartitionStats,
    pub(super) facts: PartitionStats,
    /// Total number ever inserted.
    pub(super) entries_ever: i64,
    pub(super) facts_ever: i64,
}

/// The partition and author of a write.
#[derive(Debug, Clone, Copy)]
pub(super) struct PgWriteTarget {
    pub(super) partition: i32,
    pub(super) author: i64,
    /// Total number before this write.
    pub(super) entries_ever: i64,
    pub(super) facts_ever: i64,
}

/// Row counts of a write.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ComingRows {
    pub(super) entries: usize,
    /// An upper bound: some may exist already.
    pub(super) facts: usize,
}

/// The partitions of a scope: an agent's own first, for the operator the shared one.
pub(super) async fn visible_partitions(
    lease: &PgLease,
    scope: &MemoryScope,
) -> Result<Vec<PgPartition>, MemoryError> {
    let select = "SELECT id, owner, entries, first_entry, last_entry, facts, first_fact, last_fact,
                         entries_ever, facts_ever
                  FROM shelves WHERE namespace = $1 AND ($2::text IS NULL OR owner IN ('', $2))
                  ORDER BY (owner = '') = ($2 IS NULL) DESC, owner";
    let owner = match &scope.eyes {
        MemoryViewer::Operator => None,
        MemoryViewer::Agent(agent) => Some(agent.as_str()),
    };
    let rows = lease.rows(select, &[&scope.namespace.as_str(), &owner]).await?;
    rows.iter().map(read_partition).collect()
}

pub(super) fn ids(shelves: &[PgPartition]) -> Vec<i32> {
    shelves.iter().map(|partition| partition.id).collect()
}

fn read_partition(row: &Row) -> Result<PgPartition, MemoryError> {
    let mut columns = PgColumns::of(row);
    let stats = |columns: &mut PgColumns<'_>| {
        let [texts, first, last] = [columns.number()?, columns.number()?, columns.number()?];
        Ok::<_, MemoryError>(PartitionStats { texts, first, last })
    };
    Ok(PgPartition {
        id: columns.value()?,
        audience: columns.audience()?,
        entries: stats(&mut columns)?,
        facts: stats(&mut columns)?,
        entries_ever: columns.value()?,
        facts_ever: columns.value()?,
    })
}

/// The partition and author of a target, created if missing. Locked until the transaction ends: ids
/// increase in order of visibility.
pub(super) async fn claim_write_target(
    lease: &PgLease,
    place: &MemoryTarget,
    coming: ComingRows,
) -> Result<PgWriteTarget, MemoryError> {
    let owner = place.audience.owner().map_or("", AgentId::as_str);
    let namespace = place.namespace.as_str();
    let entries = size(coming.entries);
    let facts = size(coming.facts);
    let update = "UPDATE shelves SET entries = entries + $3, entries_ever = entries_ever + $3,
                      facts_ever = facts_ever + $4
                  WHERE namespace = $1 AND owner = $2
                  RETURNING id, entries_ever - $3, facts_ever - $4";
    let insert = "INSERT INTO shelves (namespace, owner) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    loop {
        if let Some(row) = lease.row(update, &[&namespace, &owner, &entries, &facts]).await? {
            let mut columns = PgColumns::of(&row);
            let partition = columns.value()?;
            let entries_ever = columns.value()?;
            let facts_ever = columns.value()?;
            let author = author(lease, partition, &place.author).await?;
            return Ok(PgWriteTarget { partition, author, entries_ever, facts_ever });
        }
        lease.rows(insert, &[&namespace, &owner]).await?;
    }
}

/// The partition of a target; nothing is created.
pub(super) async fn of(lease: &PgLease, place: &MemoryTarget) -> Result<Option<i32>, MemoryError> {
    let owner = place.audience.owner().map_or("", AgentId::as_str);
    let find = "SELECT id FROM shelves WHERE namespace = $1 AND owner = $2 FOR UPDATE";
    let row = lease.row(find, &[&place.namespace.as_str(), &owner]).await?;
    row.map(|row| PgColumns::of(&row).value()).transpose()
}

pub(super) async fn author(
    lease: &PgLease,
    partition: i32,
    by: &MemoryAuthor,
) -> Result<i64, MemoryError> {
    let find = "SELECT id FROM authors WHERE shelf = $1 AND name = $2 AND via = $3 AND trust = $4";
    let insert = "INSERT INTO authors (shelf, name, via, trust) VALUES ($1, $2, $3, $4)
                  ON CONFLICT DO NOTHING";
    let trust = by.trust.as_str();
    loop {
        if let Some(row) = lease.row(find, &[&partition, &by.name, &by.via, &trust]).await? {
            return PgColumns::of(&row).value();
        }
        lease.rows(insert, &[&partition, &by.name, &by.via, &trust]).await?;
    }
}

pub(super) async fn namespaces(
    lease: &PgLease,
) -> Result<Vec<(Namespace, MemoryCounts)>, MemoryError> {
    let select = "SELECT namespace, sum(sessions)::bigint, sum(entries)::bigint,
                         sum(facts)::bigint, sum(entities)::bigint, sum(relations)::bigint
                  FROM shelves GROUP BY namespace ORDER BY namespace";
    let mut found = Vec::new();
    for row in lease.rows(select, &[]).await? {
        let mut columns = PgColumns::of(&row);
        let name: &str = columns.value()?;
        let counts = MemoryCounts {
            sessions: columns.number()?,
            entries: columns.number()?,
            facts: columns.number()?,
            entities: columns.number()?,
            relations: columns.number()?,
        };
        found.push((Namespace::parse(name).map_err(|_| unreadable(name))?, counts));
    }
    Ok(found)
}
