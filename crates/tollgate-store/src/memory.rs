//! The memory: three layers in one of two databases. Called by the engine, which says in whose
//! scope; knows nothing of tools and agents' rights.

use std::time::Duration;

use tollgate_core::memory::{EntityId, Invalid};

mod database;

pub use database::{Counts, Database, Forget, MOST_AT_ONCE, Page, Stretch, Unread, Vector, Wanted};

/// Why the memory has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("there is no entity `{0}`")]
    NoEntity(EntityId),
    /// Others wait already, or it takes too long.
    #[error("the memory is busy: it had no answer within {0:?}; try again in a moment")]
    Slow(Duration),
    /// The database is not there. Nothing was kept.
    #[error("the memory cannot be reached: {0}")]
    Away(String),
    #[error("the memory failed: {0}")]
    Failed(#[from] crate::Error),
}
