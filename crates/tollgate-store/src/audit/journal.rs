//! Writer of the audit ledger: appends rows at the end, and removes old ones from the beginning
//! (retention).

use std::sync::Arc;
use std::time::SystemTime;

use rusqlite::{
    CachedStatement, Connection, OptionalExtension as _, Transaction, TransactionBehavior, params,
};

use super::AuditEntry;
use super::anchor::{AnchorFile, RowMark};
use super::chain::{self, ChainHash};
use super::reconcile::anchor_cut;
use crate::database::FilesInUse;
use crate::error::Error;
use crate::number::{micros, millis, time, to_signed, to_unsigned};

/// A writing connection. Every method may block; after it returns, the data is on disk.
#[derive(Debug)]
pub struct AuditJournal {
    connection: Connection,
    files: Arc<FilesInUse>,
    anchor: AnchorFile,
}

/// Retention limits. The oldest rows are removed first, whichever limit is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionBounds {
    pub since: SystemTime,
    /// A row after this has a wrong time, and is no reason to keep earlier ones.
    pub now: SystemTime,
    pub rows: u64,
}

/// The last row at one end of the ledger.
struct TrailEnd {
    sequence: u64,
    hash: ChainHash,
}

impl AuditJournal {
    pub(super) fn new(connection: Connection, files: Arc<FilesInUse>, anchor: AnchorFile) -> Self {
        Self { connection, files, anchor }
    }

    /// Appends all entries or none, and returns the sequence number of the last row.
    pub fn append<'e, I>(&mut self, entries: I) -> Result<u64, Error>
    where
        I: IntoIterator<Item = AuditEntry<&'e str>>,
    {
        let transaction = begin(&mut self.connection)?;
        // Read under the lock: another process may have written since.
        let mut last = end(&transaction, LAST)?;
        let mut insert = transaction.prepare_cached(INSERT)?;
        for entry in entries {
            let sequence = last.sequence.saturating_add(1);
            let hash = chain::hash(&last.hash, sequence, &entry);
            insert_row(&mut insert, sequence, &entry, &hash)?;
            last = TrailEnd { sequence, hash };
        }
        drop(insert);
        let move_end = "UPDATE audit_chain SET last_sequence = ?1, last_hash = ?2";
        transaction
            .prepare_cached(move_end)?
            .execute((to_signed(last.sequence), last.hash.as_slice()))?;
        self.files.check()?;
        transaction.commit()?;
        Ok(last.sequence)
    }

    /// Removes up to `most` of the oldest rows beyond the limits, and returns their number. The
    /// hash of the last one is kept, so that the rest can still be verified.
    pub fn cut(&mut self, keep: RetentionBounds, most: u64) -> Result<u64, Error> {
        let transaction = begin(&mut self.connection)?;
        let cut = end(&transaction, CUT)?;
        let last = end(&transaction, LAST)?;
        let by_count = last.sequence.saturating_sub(keep.rows);
        let bounds = (millis(keep.since), millis(keep.now), to_signed(most));
        let by_age: Option<i64> = transaction.query_row(SELECT_AGED, bounds, |row| row.get(0))?;
        let by_age = by_age.map_or(0, to_unsigned);
        let until = by_count.max(by_age).min(cut.sequence.saturating_add(most));
        if until <= cut.sequence {
            return Ok(0);
        }
        let hash = "SELECT hash FROM audit WHERE sequence = ?1";
        let hash: ChainHash = transaction.query_row(hash, [to_signed(until)], |row| row.get(0))?;
        transaction.execute("DELETE FROM audit WHERE sequence <= ?1", [to_signed(until)])?;
        let moved = "UPDATE audit_chain SET cut_sequence = ?1, cut_hash = ?2";
        transaction.execute(moved, (to_signed(until), hash.as_slice()))?;
        // The lock keeps others from comparing between the two steps.
        let locked = self.anchor.lock()?;
        self.files.check()?;
        anchor_cut(&locked, RowMark { sequence: until, hash })?;
        transaction.commit()?;
        Ok(until - cut.sequence)
    }

    /// When the last row was written, if there is one.
    pub fn newest(&self) -> Result<Option<SystemTime>, Error> {
        let newest = "SELECT at FROM audit ORDER BY sequence DESC LIMIT 1";
        let found = self.connection.query_row(newest, [], |row| row.get(0)).optional()?;
        Ok(found.map(time))
    }

    #[cfg(test)]
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }
}

fn begin(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

/// The last of the oldest rows that are too old. The first row to keep ends the range: no row is
/// removed from the middle.
const SELECT_AGED: &str = "
    WITH oldest AS (SELECT sequence, at FROM audit ORDER BY sequence LIMIT ?3)
    SELECT max(sequence) FROM oldest WHERE at < ?1 AND sequence < coalesce(
        (SELECT min(sequence) FROM oldest WHERE at BETWEEN ?1 AND ?2), 9223372036854775807)";
const CUT: &str = "SELECT cut_sequence, cut_hash FROM audit_chain";
const LAST: &str = "SELECT last_sequence, last_hash FROM audit_chain";

fn end(transaction: &Transaction<'_>, which: &str) -> rusqlite::Result<TrailEnd> {
    transaction
        .prepare_cached(which)?
        .query_row([], |row| Ok(TrailEnd { sequence: to_unsigned(row.get(0)?), hash: row.get(1)? }))
}

/// By position, so that a row needs no look-up of names.
const INSERT: &str = "
    INSERT INTO audit (
        sequence, at, kind, principal, agent, method, name, server, tool, arguments_hash,
        arguments, catalog_version, tier, outcome, duration_us, bytes, cached, call, detail,
        within, hash
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// The values are in the order of the columns in [`INSERT`].
fn insert_row(
    insert: &mut CachedStatement<'_>,
    sequence: u64,
    entry: &AuditEntry<&str>,
    hash: &ChainHash,
) -> rusqlite::Result<()> {
    insert.execute(params![
        to_signed(sequence),
        millis(entry.at),
        entry.kind,
        entry.principal,
        entry.agent,
        entry.method,
        entry.name,
        entry.server,
        entry.tool,
        entry.arguments_hash.as_ref().map(<[u8; 32]>::as_slice),
        entry.arguments,
        entry.catalog_version.map(to_signed),
        entry.tier,
        entry.outcome,
        entry.duration.map(micros),
        entry.bytes.map(to_signed),
        entry.cached,
        entry.call,
        entry.detail,
        entry.within,
        hash.as_slice(),
    ])?;
    Ok(())
}
