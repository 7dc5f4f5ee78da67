//! Decoding of SQLite rows.

use rusqlite::Row;
use rusqlite::types::Type;
use serde_json::{Map, Value};
use tollgate_core::memory::{EntityId, SessionId};

/// A column has a value that we do not write.
pub(super) fn unreadable(column: usize, found: &str) -> rusqlite::Error {
    let found = format!("unexpected value `{}`", found.escape_debug());
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, found.into())
}

pub(super) fn session_of(row: &Row<'_>, column: usize) -> rusqlite::Result<SessionId> {
    let name: String = row.get(column)?;
    SessionId::parse(&name).map_err(|_| unreadable(column, &name))
}

pub(super) fn entity_of(row: &Row<'_>, column: usize) -> rusqlite::Result<EntityId> {
    let name: String = row.get(column)?;
    EntityId::parse(&name).map_err(|_| unreadable(column, &name))
}

/// Likewise for a nullable column.
pub(super) fn read_optional<T>(
    row: &Row<'_>,
    column: usize,
    read: impl FnOnce(&Row<'_>, usize) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    match row.get_ref(column)?.data_type() {
        Type::Null => Ok(None),
        _ => read(row, column).map(Some),
    }
}

pub(super) fn attributes_of(row: &Row<'_>, column: usize) -> rusqlite::Result<Map<String, Value>> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|_| unreadable(column, &text))
}
