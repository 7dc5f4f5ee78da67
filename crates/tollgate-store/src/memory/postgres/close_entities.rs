//! Entities in PostgreSQL whose names are close to a misspelt or misheard one.

use tollgate_core::memory::{Entity, MemoryScope};

use super::entities::find_by_number;
use super::partitions::{self, ids};
use super::pool::{PgLease, SqlParam};
use super::rows::PgColumns;
use crate::memory::close_names::CloseNameSearch;
use crate::memory::{EntityFilter, MemoryError};
use crate::number::size;

pub(super) async fn find(
    lease: &PgLease,
    scope: &MemoryScope,
    filter: &EntityFilter,
    most: usize,
) -> Result<Vec<Entity>, MemoryError> {
    let name = filter.name.as_deref().unwrap_or_default();
    let Some(mut search) = CloseNameSearch::new(name, most) else { return Ok(Vec::new()) };
    let shelves = ids(&partitions::visible_partitions(lease, scope).await?);
    let kind = filter.kind.as_ref().map(|kind| kind.trim().to_lowercase());
    let (from, to) = search.likely_range();
    // The order must be that of an index, or the whole partition is sorted.
    let (of_kind, order) = match kind {
        None => ("$4::text IS NULL", "folded, number"),
        Some(_) => ("kind = $4", "kind, folded, number"),
    };
    for range in ["folded >= $2 AND folded < $3", "(folded < $2 OR folded >= $3)"] {
        let select = format!(
            "SELECT number, folded FROM entities WHERE shelf = $1 AND {range} AND {of_kind}
             ORDER BY {order} LIMIT $5",
        );
        for partition in &shelves {
            let left = size(search.room_left());
            let values: [SqlParam<'_>; 5] = [partition, &from, &to, &kind, &left];
            let rows = lease.rows(&select, &values).await?;
            // A microsecond each; others have their turn between partitions.
            for row in &rows {
                let mut columns = PgColumns::of(row);
                search.compare(columns.value()?, columns.value()?);
            }
        }
    }
    find_by_number(lease, &shelves, &search.into_closest()).await
}
