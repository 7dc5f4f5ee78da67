//! Verification of the audit ledger: recomputes every hash.

use rusqlite::TransactionBehavior;

use super::anchor::AuditLoss;
use super::chain;
use super::query::{self, AuditReader};
use super::reconcile::{self, TrailEnds};
use crate::error::Error;

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedTrail {
    /// Number of valid rows.
    pub rows: u64,
    /// The last row removed by retention; zero if none was.
    pub cut: u64,
    /// The last expected row, and its hash. Noted elsewhere, they show whether the whole ledger was
    /// replaced.
    pub last: u64,
    pub head: [u8; 32],
    /// The first row that differs from what was written.
    pub broken: Option<ChainBreakError>,
    /// Losses that the rows cannot show: rows missing at the end or the beginning.
    pub losses: Vec<AuditLoss>,
}

impl VerifiedTrail {
    pub fn is_whole(&self) -> bool {
        self.broken.is_none() && self.losses.is_empty()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("row {sequence} {damage}")]
pub struct ChainBreakError {
    pub sequence: u64,
    pub damage: RowDamageError,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RowDamageError {
    #[error("is missing")]
    Missing,
    #[error("was modified or moved")]
    Changed,
    #[error("cannot be read")]
    Unreadable,
    #[error("was added after the end of the trail")]
    Added,
}

impl AuditReader {
    /// Takes a few seconds per million rows; writers are not blocked.
    pub fn verify(&mut self) -> Result<VerifiedTrail, Error> {
        let anchor = self.anchor().clone();
        let locked = anchor.lock()?;
        let found = locked.read()?;
        // A snapshot: concurrent changes are not seen.
        let moment = self.connection().transaction_with_behavior(TransactionBehavior::Deferred)?;
        let ends = TrailEnds::read(&moment)?;
        drop(locked);
        let losses = reconcile::losses(&moment, &found, &ends)?;
        let cut = ends.cut.sequence;
        let last = ends.last.sequence;
        let head = ends.last.hash;
        let mut before = ends.cut.hash;
        let mut rows = 0;
        let verdict = |rows, broken| VerifiedTrail { rows, cut, last, head, broken, losses };
        let mut all = moment.prepare("SELECT * FROM audit ORDER BY sequence")?;
        let mut all = all.query([])?;
        while let Some(found) = all.next()? {
            let expected = cut + rows + 1;
            let damage = match query::read(found) {
                Err(error) if error.sqlite_error_code().is_some() => return Err(error.into()),
                Err(_) => RowDamageError::Unreadable,
                Ok(row) if row.sequence > last => RowDamageError::Added,
                Ok(row) if row.sequence != expected => RowDamageError::Missing,
                Ok(row) if chain::hash(&before, row.sequence, &row.entry) != row.hash => {
                    RowDamageError::Changed
                }
                Ok(row) => {
                    before = row.hash;
                    rows += 1;
                    continue;
                }
            };
            return Ok(verdict(rows, Some(ChainBreakError { sequence: expected, damage })));
        }
        let damage = match cut + rows {
            end if end < last => Some((end + 1, RowDamageError::Missing)),
            _ if before != head => Some((last, RowDamageError::Changed)),
            _ => None,
        };
        Ok(verdict(rows, damage.map(|(sequence, damage)| ChainBreakError { sequence, damage })))
    }
}
