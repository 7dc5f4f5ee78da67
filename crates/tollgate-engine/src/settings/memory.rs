//! Where the memory is, what finds things in it by their meaning, and how long transcripts stay.

use std::path::PathBuf;
use std::time::Duration;

use tollgate_core::secret::Secret;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    pub database: Database,
    /// Without it things are found by their words alone.
    pub embedding: Option<Embedding>,
    /// Transcripts that are older are forgotten; `None`: never.
    pub keep: Option<Duration>,
}

/// Where the memory is. Keys, the audit trail and measurements are in the data directory in any case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Database {
    /// In the data directory.
    #[default]
    Sqlite,
    /// The URL may hold a password.
    Postgres(Secret),
}

/// What makes numbers of a text that say what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Embedding {
    Provider {
        /// One of the providers of the config.
        provider: String,
        model: String,
        /// `None`: as many as the model makes.
        dimensions: Option<u32>,
    },
    /// A model in a directory or a file on this machine.
    Local(PathBuf),
}
