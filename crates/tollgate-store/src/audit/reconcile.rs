//! Compares the audit ledger with its anchor: when it is opened, when the anchor is moved, and on
//! verification.

use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension as _};

use super::Audit;
use super::anchor::{
    AnchorFileContent, AuditAnchor, AuditLoss, AuditLossKind, LockedAnchorFile, RowMark,
};
use super::chain::ChainHash;
use crate::error::Error;
use crate::number::{to_signed, to_unsigned};

/// The ends of the ledger according to the database.
pub(super) struct TrailEnds {
    pub(super) cut: RowMark,
    pub(super) last: RowMark,
    anchored: bool,
}

impl TrailEnds {
    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let query = "SELECT cut_sequence, cut_hash, last_sequence, last_hash, anchored
                     FROM audit_chain";
        let (cut, cut_hash, last, last_hash, anchored): (i64, ChainHash, i64, ChainHash, bool) =
            connection.query_row(query, [], |row| row.try_into())?;
        let cut = RowMark { sequence: to_unsigned(cut), hash: cut_hash };
        let last = RowMark { sequence: to_unsigned(last), hash: last_hash };
        Ok(Self { cut, last, anchored })
    }
}

impl Audit {
    /// Checks the ledger against its anchor, records losses, and anchors the current state. To be
    /// called before writing; may block.
    pub fn reconcile(&self, now: SystemTime) -> Result<Option<AuditLoss>, Error> {
        let connection = self.connect()?;
        let locked = self.anchor.lock()?;
        let found = locked.read()?;
        let ends = TrailEnds::read(&connection)?;
        let lost = compare(&connection, &found, &ends)?;
        let loss = lost.map(|kind| AuditLoss { found: Some(now), ..note(&found, &ends, kind) });
        let mut anchor = match found {
            AnchorFileContent::Anchor(anchor) => anchor,
            AnchorFileContent::Nothing | AnchorFileContent::Damaged => AuditAnchor::default(),
        };
        loss.into_iter().for_each(|loss| anchor.add(loss));
        anchor.last = ends.last;
        anchor.cut = ends.cut;
        locked.write(&anchor)?;
        if !ends.anchored {
            connection.execute("UPDATE audit_chain SET anchored = 1", [])?;
        }
        Ok(loss)
    }

    /// Moves the anchor to the end of the ledger. May block; calls do not wait for it.
    pub fn move_anchor(&self) -> Result<(), Error> {
        let connection = self.connect()?;
        let locked = self.anchor.lock()?;
        let found = locked.read()?;
        let ends = TrailEnds::read(&connection)?;
        // A mismatch must stay visible until the next start records it.
        if compare(&connection, &found, &ends)?.is_some() {
            return Ok(());
        }
        let AnchorFileContent::Anchor(anchor) = found else { return Ok(()) };
        if (anchor.last, anchor.cut) == (ends.last, ends.cut) {
            return Ok(());
        }
        locked.write(&AuditAnchor { last: ends.last, cut: ends.cut, ..anchor })
    }

    /// Clears and returns the recorded losses.
    pub fn acknowledge_losses(&self) -> Result<Vec<AuditLoss>, Error> {
        let locked = self.anchor.lock()?;
        let AnchorFileContent::Anchor(mut anchor) = locked.read()? else { return Ok(Vec::new()) };
        let losses = std::mem::take(&mut anchor.losses);
        if !losses.is_empty() {
            locked.write(&anchor)?;
        }
        Ok(losses)
    }
}

/// Records that rows up to `cut` will be removed, before they are.
pub(super) fn anchor_cut(locked: &LockedAnchorFile<'_>, cut: RowMark) -> Result<(), Error> {
    match locked.read()? {
        AnchorFileContent::Anchor(anchor) => {
            // Removed rows were on disk: the anchored end is not before them.
            let is_behind = anchor.last.sequence < cut.sequence;
            let last = if is_behind { cut } else { anchor.last };
            locked.write(&AuditAnchor { cut, last, ..anchor })
        }
        AnchorFileContent::Nothing | AnchorFileContent::Damaged => Ok(()),
    }
}

/// All losses: recorded ones, and those visible now.
pub(super) fn losses(
    connection: &Connection,
    found: &AnchorFileContent,
    ends: &TrailEnds,
) -> rusqlite::Result<Vec<AuditLoss>> {
    let mut losses = match found {
        AnchorFileContent::Anchor(anchor) => anchor.losses.clone(),
        AnchorFileContent::Nothing | AnchorFileContent::Damaged => Vec::new(),
    };
    losses.extend(compare(connection, found, ends)?.map(|kind| note(found, ends, kind)));
    Ok(losses)
}

fn note(found: &AnchorFileContent, ends: &TrailEnds, kind: AuditLossKind) -> AuditLoss {
    let anchored = match found {
        AnchorFileContent::Anchor(anchor) => anchor.last,
        AnchorFileContent::Nothing | AnchorFileContent::Damaged => RowMark::default(),
    };
    AuditLoss { found: None, kind, anchored, database: ends.last }
}

fn compare(
    connection: &Connection,
    found: &AnchorFileContent,
    ends: &TrailEnds,
) -> rusqlite::Result<Option<AuditLossKind>> {
    let anchor = match found {
        AnchorFileContent::Anchor(anchor) => anchor,
        AnchorFileContent::Nothing if ends.anchored && ends.last.sequence == 0 => {
            return Ok(Some(AuditLossKind::Database));
        }
        AnchorFileContent::Nothing if ends.anchored => return Ok(Some(AuditLossKind::Anchor)),
        AnchorFileContent::Nothing => return Ok(None),
        AnchorFileContent::Damaged => return Ok(Some(AuditLossKind::Anchor)),
    };
    if ends.last.sequence < anchor.last.sequence {
        return Ok(Some(AuditLossKind::Tail));
    }
    if ends.cut.sequence > anchor.cut.sequence {
        return Ok(Some(AuditLossKind::Head));
    }
    let is_same = hash_of(connection, anchor.last.sequence, ends)? == Some(anchor.last.hash);
    Ok((!is_same).then_some(AuditLossKind::Replaced))
}

/// The hash of a row, or of the last removed one.
fn hash_of(
    connection: &Connection,
    sequence: u64,
    ends: &TrailEnds,
) -> rusqlite::Result<Option<ChainHash>> {
    if sequence == ends.last.sequence {
        return Ok(Some(ends.last.hash));
    }
    if sequence == ends.cut.sequence {
        return Ok(Some(ends.cut.hash));
    }
    let query = "SELECT hash FROM audit WHERE sequence = ?1";
    connection.query_row(query, [to_signed(sequence)], |row| row.get(0)).optional()
}
