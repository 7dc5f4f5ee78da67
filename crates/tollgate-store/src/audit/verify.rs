//! Goes through the whole trail and recomputes every hash.

use rusqlite::TransactionBehavior;

use super::chain::{self, Hash};
use super::query::{self, Reader};
use crate::error::Error;
use crate::number::unsigned;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// How many rows were good.
    pub rows: u64,
    /// The last row that was removed for its age; zero if none ever was.
    pub cut: u64,
    /// The last row there should be, and its hash. Whoever has noted them elsewhere can tell
    /// whether all of the trail was replaced.
    pub last: u64,
    pub head: [u8; 32],
    /// The first place where the trail is not as it was written.
    pub broken: Option<Break>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("row {sequence} {damage}")]
pub struct Break {
    pub sequence: u64,
    pub damage: Damage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("is missing")]
    Missing,
    #[error("is not as it was written, or stands in another's place")]
    Changed,
    #[error("cannot be read")]
    Unreadable,
    #[error("was added behind the end of the trail")]
    Added,
}

impl Reader {
    /// Takes a few seconds for each million rows; others go on writing meanwhile.
    pub fn verify(&mut self) -> Result<Verified, Error> {
        // One moment of the trail: rows that come or go meanwhile are not seen.
        let moment = self.connection().transaction_with_behavior(TransactionBehavior::Deferred)?;
        let ends = "SELECT cut_sequence, cut_hash, last_sequence, last_hash FROM audit_chain";
        let (cut, mut before, last, head): (i64, Hash, i64, Hash) =
            moment.query_row(ends, [], |row| row.try_into())?;
        let (cut, last) = (unsigned(cut), unsigned(last));
        let mut rows = 0;
        let verdict = |rows, broken| Verified { rows, cut, last, head, broken };
        let mut all = moment.prepare("SELECT * FROM audit ORDER BY sequence")?;
        let mut all = all.query([])?;
        while let Some(found) = all.next()? {
            let expected = cut + rows + 1;
            let damage = match query::read(found) {
                Err(error) if error.sqlite_error_code().is_some() => return Err(error.into()),
                Err(_) => Damage::Unreadable,
                Ok(row) if row.sequence > last => Damage::Added,
                Ok(row) if row.sequence != expected => Damage::Missing,
                Ok(row) if chain::hash(&before, row.sequence, &row.entry) != row.hash => {
                    Damage::Changed
                }
                Ok(row) => {
                    before = row.hash;
                    rows += 1;
                    continue;
                }
            };
            return Ok(verdict(rows, Some(Break { sequence: expected, damage })));
        }
        let damage = match cut + rows {
            end if end < last => Some((end + 1, Damage::Missing)),
            _ if before != head => Some((last, Damage::Changed)),
            _ => None,
        };
        Ok(verdict(rows, damage.map(|(sequence, damage)| Break { sequence, damage })))
    }
}
