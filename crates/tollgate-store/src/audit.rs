//! The audit ledger: an append-only, hash-chained log of rows in a total order. Several processes
//! may write to one ledger. Which rows are written, and when, is decided elsewhere.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use rusqlite::Connection;

use crate::database::{self, FilesInUse, Store};
use crate::error::Error;

mod anchor;
mod chain;
mod journal;
mod query;
mod reconcile;
mod verify;

pub(crate) use anchor::AnchorFile;
pub use anchor::{AuditLoss, AuditLossKind, RowMark};
pub use journal::{AuditJournal, RetentionBounds};
pub use query::{AuditDirection, AuditPage, AuditQuery, AuditReader};
pub use verify::{ChainBreakError, RowDamageError, VerifiedTrail};

/// One row without its sequence number. `T` is a string type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry<T> {
    pub at: SystemTime,
    /// `call`, or the kind of decision.
    pub kind: T,
    pub principal: T,
    pub agent: Option<T>,
    pub method: Option<T>,
    /// The requested name.
    pub name: Option<T>,
    pub server: Option<T>,
    /// The server's own name for the tool.
    pub tool: Option<T>,
    /// SHA-256 of the arguments as sent.
    pub arguments_hash: Option<[u8; 32]>,
    /// JSON, with secrets masked.
    pub arguments: Option<T>,
    pub catalog_version: Option<u64>,
    pub tier: Option<T>,
    pub outcome: T,
    pub duration: Option<Duration>,
    /// Size of the result.
    pub bytes: Option<u64>,
    pub cached: Option<bool>,
    /// The call id, as in logs.
    pub call: Option<T>,
    /// The call whose program made this one.
    pub within: Option<T>,
    pub detail: Option<T>,
}

impl<T> AuditEntry<T> {
    /// A row with the mandatory fields only.
    pub fn new(at: SystemTime, kind: T, principal: T, outcome: T) -> Self {
        Self {
            at,
            kind,
            principal,
            agent: None,
            method: None,
            name: None,
            server: None,
            tool: None,
            arguments_hash: None,
            arguments: None,
            catalog_version: None,
            tier: None,
            outcome,
            duration: None,
            bytes: None,
            cached: None,
            call: None,
            within: None,
            detail: None,
        }
    }
}

/// A row of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    pub sequence: u64,
    pub entry: AuditEntry<String>,
    pub hash: [u8; 32],
}

/// The ledger of a store. It has its own connections, so that measurements do not wait for it.
#[derive(Debug, Clone)]
pub struct Audit {
    files: Arc<FilesInUse>,
    /// SQLite removes the `-wal` and `-shm` files with the last connection, so that they would not be
    /// the same when the ledger is opened again.
    _first: Arc<Mutex<Connection>>,
    anchor: AnchorFile,
}

impl Store {
    /// `None` for an in-memory database, which is visible to a single connection only.
    pub fn audit(&self) -> Option<Audit> {
        let files = Arc::clone(self.files()?);
        let anchor = AnchorFile::of(files.database());
        Some(Audit { files, _first: self.first_connection(), anchor })
    }

    /// Marks a new ledger as not the first one of its data directory, so that the comparison with
    /// the missing anchor reports the loss.
    pub(crate) fn expect_anchor(&self) -> Result<(), Error> {
        self.write(|transaction| transaction.execute("UPDATE audit_chain SET anchored = 1", []))?;
        Ok(())
    }
}

impl Audit {
    /// Opens the ledger for writing. Written rows are flushed to disk (fsync).
    pub fn journal(&self) -> Result<AuditJournal, Error> {
        let connection = self.connect()?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        Ok(AuditJournal::new(connection, Arc::clone(&self.files), self.anchor.clone()))
    }

    pub fn reader(&self) -> Result<AuditReader, Error> {
        let connection = self.connect()?;
        connection.pragma_update(None, "query_only", "ON")?;
        Ok(AuditReader::new(connection, self.anchor.clone()))
    }

    pub fn file(&self) -> &Path {
        self.files.database()
    }

    /// Fails if rows that are written now would not be found later: the files of the open database
    /// were removed or replaced.
    pub fn check_files(&self) -> Result<(), Error> {
        self.files.check()
    }

    fn connect(&self) -> Result<Connection, Error> {
        let connection = database::connect_again(&self.files)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(connection)
    }
}

/// Callers wait for these writes: a longer lock by another process is an error.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests;
