//! Decoding of PostgreSQL rows.

use serde_json::{Map, Value};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use tollgate_core::id::AgentId;
use tollgate_core::memory::{Audience, AuthorTrust, EntityId, MemoryAuthor, SessionId};

use crate::Error;
use crate::memory::MemoryError;
use crate::number::{to_signed, to_unsigned};

/// Reads columns in order.
pub(super) struct PgColumns<'r> {
    row: &'r Row,
    next: usize,
}

impl<'r> PgColumns<'r> {
    pub(super) fn of(row: &'r Row) -> Self {
        Self { row, next: 0 }
    }

    pub(super) fn value<T: FromSql<'r>>(&mut self) -> Result<T, MemoryError> {
        self.next += 1;
        Ok(self.row.try_get(self.next - 1)?)
    }

    pub(super) fn number(&mut self) -> Result<u64, MemoryError> {
        Ok(to_unsigned(self.value()?))
    }

    pub(super) fn numbers(&mut self) -> Result<Vec<u64>, MemoryError> {
        let numbers: Vec<i64> = self.value()?;
        Ok(numbers.into_iter().map(to_unsigned).collect())
    }

    pub(super) fn session(&mut self) -> Result<SessionId, MemoryError> {
        let name: &str = self.value()?;
        SessionId::parse(name).map_err(|_| unreadable(name))
    }

    pub(super) fn session_if_any(&mut self) -> Result<Option<SessionId>, MemoryError> {
        let name: Option<&str> = self.value()?;
        name.map(|name| SessionId::parse(name).map_err(|_| unreadable(name))).transpose()
    }

    pub(super) fn entity(&mut self) -> Result<EntityId, MemoryError> {
        let name: &str = self.value()?;
        EntityId::parse(name).map_err(|_| unreadable(name))
    }

    pub(super) fn entity_if_any(&mut self) -> Result<Option<EntityId>, MemoryError> {
        let name: Option<&str> = self.value()?;
        name.map(|name| EntityId::parse(name).map_err(|_| unreadable(name))).transpose()
    }

    pub(super) fn attributes(&mut self) -> Result<Map<String, Value>, MemoryError> {
        let text: &str = self.value()?;
        serde_json::from_str(text).map_err(|_| unreadable(text))
    }

    pub(super) fn audience(&mut self) -> Result<Audience, MemoryError> {
        let owner: &str = self.value()?;
        if owner.is_empty() {
            return Ok(Audience::Shared);
        }
        AgentId::parse(owner).map(Audience::Only).map_err(|_| unreadable(owner))
    }

    /// The columns `name, via, trust`.
    pub(super) fn author(&mut self) -> Result<MemoryAuthor, MemoryError> {
        let name: String = self.value()?;
        let via: String = self.value()?;
        let trust: &str = self.value()?;
        let trust = AuthorTrust::parse(trust).ok_or_else(|| unreadable(trust))?;
        Ok(MemoryAuthor { name, via, trust })
    }
}

/// A column has a value that we do not write.
pub(super) fn unreadable(found: &str) -> MemoryError {
    let found = format!("unexpected value `{}`", found.escape_debug());
    MemoryError::Failed(Error::Damaged(found))
}

pub(super) fn rows_of(numbers: &[u64]) -> Vec<i64> {
    numbers.iter().copied().map(to_signed).collect()
}
