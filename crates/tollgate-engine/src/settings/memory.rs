//! Where the memory is, and how long transcripts stay.

use std::time::Duration;

use tollgate_core::secret::Secret;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemorySettings {
    pub database: MemoryDatabaseSettings,
    /// Transcripts that are older are forgotten; `None`: never.
    pub keep: Option<Duration>,
}

/// Where the memory is. Keys, the audit trail and measurements are in the data directory in any case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum MemoryDatabaseSettings {
    /// In the data directory.
    #[default]
    Sqlite,
    /// The URL may hold a password.
    Postgres(Secret),
}
