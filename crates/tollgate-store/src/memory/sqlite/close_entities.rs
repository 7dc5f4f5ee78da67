//! Entities in SQLite whose names are close to a misspelt or misheard one.

use rusqlite::Connection;
use tollgate_core::memory::{Entity, MemoryScope};

use super::MemoryError;
use super::entities::find_by_number;
use super::partitions::{self, SqlitePartition};
use crate::memory::EntityFilter;
use crate::memory::close_names::CloseNameSearch;
use crate::number::size;

pub(super) fn find(
    connection: &Connection,
    scope: &MemoryScope,
    filter: &EntityFilter,
    most: usize,
) -> Result<Vec<Entity>, MemoryError> {
    let name = filter.name.as_deref().unwrap_or_default();
    let Some(mut search) = CloseNameSearch::new(name, most) else { return Ok(Vec::new()) };
    let shelves = partitions::visible_partitions(connection, scope)?;
    let kind = filter.kind.as_ref().map(|kind| kind.trim().to_lowercase());
    let (from, to) = search.likely_range();
    // In the order of an index, each.
    for range in ["e.folded >= ?2 AND e.folded < ?3", "e.folded < ?2", "e.folded >= ?3"] {
        for partition in &shelves {
            let values = NameRange { range, from: &from, to: &to, kind: kind.as_deref() };
            compare(connection, partition, &values, &mut search)?;
        }
    }
    let mut found = Vec::new();
    for number in search.into_closest() {
        found.extend(find_by_number(connection, number)?);
    }
    Ok(found)
}

struct NameRange<'r> {
    /// A condition on `e.folded` with the parameters `?2` and `?3`.
    range: &'r str,
    from: &'r str,
    to: &'r str,
    kind: Option<&'r str>,
}

fn compare(
    connection: &Connection,
    partition: &SqlitePartition,
    names: &NameRange<'_>,
    search: &mut CloseNameSearch,
) -> Result<(), MemoryError> {
    let kind = if names.kind.is_some() { "e.kind = ?4" } else { "?4 IS NULL" };
    let select = format!(
        "SELECT e.number, e.folded FROM entities e
         WHERE e.shelf = ?1 AND {} AND {kind}
         ORDER BY e.folded LIMIT ?5",
        names.range,
    );
    let mut query = connection.prepare_cached(&select)?;
    let values = (partition.id, names.from, names.to, names.kind, size(search.room_left()));
    let mut rows = query.query(values)?;
    while let Some(row) = rows.next()? {
        search.compare(row.get(0)?, row.get_ref(1)?.as_str().unwrap_or_default());
    }
    Ok(())
}
