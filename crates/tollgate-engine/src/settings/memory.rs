//! Settings of the memory: its database, and the retention of transcripts.

use std::time::Duration;

use tollgate_core::secret::Secret;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemorySettings {
    pub database: MemoryDatabaseSettings,
    /// Older transcripts are deleted; `None`: never.
    pub keep: Option<Duration>,
}

/// The memory's database. Keys, the audit trail and measurements are always in the data directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum MemoryDatabaseSettings {
    /// In the data directory.
    #[default]
    Sqlite,
    /// The URL may contain a password.
    Postgres(Secret),
}
