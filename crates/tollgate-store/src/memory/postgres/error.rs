//! Maps PostgreSQL errors to those of the memory. Only the message is repeated: details may contain
//! stored data.

use std::error::Error as _;

use tokio_postgres::Error as Complaint;
use tokio_postgres::error::SqlState;

use super::pool::ANSWER;
use crate::Error;
use crate::memory::MemoryError;

impl From<Complaint> for MemoryError {
    fn from(complaint: Complaint) -> Self {
        let Some(error) = complaint.as_db_error() else { return without_an_answer(&complaint) };
        let text = error.message().to_owned();
        let code = error.code();
        // The first two characters of an SQLSTATE code are its class.
        match (code.code().get(..2).unwrap_or_default(), code) {
            (_, &SqlState::QUERY_CANCELED | &SqlState::LOCK_NOT_AVAILABLE) => Self::Slow(ANSWER),
            // Deadlocks and other retryable errors.
            ("40", _) => Self::Slow(ANSWER),
            (_, &SqlState::DISK_FULL) => Self::Failed(Error::Full),
            // Shutting down, starting, out of resources, or our credentials are rejected.
            ("08" | "28" | "3D" | "53" | "57", _) => Self::Away(text),
            (_, &SqlState::READ_ONLY_SQL_TRANSACTION | &SqlState::INSUFFICIENT_PRIVILEGE) => {
                Self::Failed(Error::Denied(text))
            }
            ("XX", &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED) => {
                Self::Failed(Error::Damaged(text))
            }
            _ => Self::Failed(Error::Failed(text)),
        }
    }
}

/// What could not even be sent is a bug of ours; everything else is a connection failure.
fn without_an_answer(complaint: &Complaint) -> MemoryError {
    let text = match complaint.source() {
        Some(cause) => format!("{complaint}: {cause}"),
        None => complaint.to_string(),
    };
    // Some driver versions include the cause in their message.
    let text = match complaint.source().map(ToString::to_string) {
        Some(cause) if complaint.to_string().ends_with(&cause) => complaint.to_string(),
        _ => text,
    };
    let is_io = complaint.source().is_some_and(|cause| cause.is::<std::io::Error>());
    if complaint.is_closed() || is_io || text.starts_with("error connecting") {
        return MemoryError::Away(text);
    }
    MemoryError::Failed(Error::Failed(text))
}
