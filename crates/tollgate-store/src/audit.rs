//! The audit trail: rows that are only ever added, in one order, each bound to the one before it by
//! a hash. Several processes may write one trail. Which rows there are, and when, is not known here.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::Connection;

use crate::database::{self, Store};
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
pub use query::{AuditDirection, AuditQuery, AuditReader, Page};
pub use verify::{ChainBreakError, RowDamageError, VerifiedTrail};

/// One row, before it has a number. `T` is some kind of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry<T> {
    pub at: SystemTime,
    /// `call`, or what kind of decision it is.
    pub kind: T,
    pub principal: T,
    pub agent: Option<T>,
    pub method: Option<T>,
    /// The name that was asked for.
    pub name: Option<T>,
    pub server: Option<T>,
    /// As its server says it.
    pub tool: Option<T>,
    /// SHA-256 over the arguments as they were sent.
    pub arguments_hash: Option<[u8; 32]>,
    /// JSON, without what must not be seen.
    pub arguments: Option<T>,
    pub catalog_version: Option<u64>,
    pub tier: Option<T>,
    pub outcome: T,
    pub duration: Option<Duration>,
    /// Of the result.
    pub bytes: Option<u64>,
    pub cached: Option<bool>,
    /// Names the call in logs as well.
    pub call: Option<T>,
    /// The call in whose program this one was made.
    pub within: Option<T>,
    pub detail: Option<T>,
}

impl<T> AuditEntry<T> {
    /// With nothing but what every row has.
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

/// A row as it stands in the trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    pub sequence: u64,
    pub entry: AuditEntry<String>,
    pub hash: [u8; 32],
}

/// The trail of a store. Its connections are its own: what is measured does not wait for it.
#[derive(Debug, Clone)]
pub struct Audit {
    file: PathBuf,
    anchor: AnchorFile,
}

impl Store {
    /// `None` for a database in memory, which only one connection sees.
    pub fn audit(&self) -> Option<Audit> {
        let file = self.file()?.to_owned();
        Some(Audit { anchor: AnchorFile::of(&file), file })
    }

    /// A trail that begins here is not the first one: whoever compares it with its anchor, which is
    /// not there, says so.
    pub(crate) fn expect_anchor(&self) -> Result<(), Error> {
        self.write(|transaction| transaction.execute("UPDATE audit_chain SET anchored = 1", []))?;
        Ok(())
    }
}

impl Audit {
    /// The way in. What it has written is on the disk, not only on its way there.
    pub fn journal(&self) -> Result<AuditJournal, Error> {
        let connection = self.connect()?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        Ok(AuditJournal::new(connection, self.anchor.clone()))
    }

    pub fn reader(&self) -> Result<AuditReader, Error> {
        let connection = self.connect()?;
        connection.pragma_update(None, "query_only", "ON")?;
        Ok(AuditReader::new(connection, self.anchor.clone()))
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    fn connect(&self) -> Result<Connection, Error> {
        let connection = database::connect(&self.file)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(connection)
    }
}

/// Someone waits for what is written here: another process that takes longer is trouble.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests;
