//! Compares the trail with its anchor: when it is opened, when the anchor is moved, and when somebody
//! asks whether the trail is whole.

use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension as _};

use super::Audit;
use super::anchor::{Anchor, Found, Locked, Loss, LossKind, Mark};
use super::chain::Hash;
use crate::error::Error;
use crate::number::{signed, unsigned};

/// The ends of the trail as the database has them.
pub(super) struct Ends {
    pub(super) cut: Mark,
    pub(super) last: Mark,
    anchored: bool,
}

impl Ends {
    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let query = "SELECT cut_sequence, cut_hash, last_sequence, last_hash, anchored
                     FROM audit_chain";
        let (cut, cut_hash, last, last_hash, anchored): (i64, Hash, i64, Hash, bool) =
            connection.query_row(query, [], |row| row.try_into())?;
        let cut = Mark { sequence: unsigned(cut), hash: cut_hash };
        let last = Mark { sequence: unsigned(last), hash: last_hash };
        Ok(Self { cut, last, anchored })
    }
}

impl Audit {
    /// Looks whether the trail still has what its anchor says, notes what is lost, and anchors what
    /// there is. For whoever is about to write; may block.
    pub fn reconcile(&self, now: SystemTime) -> Result<Option<Loss>, Error> {
        let connection = self.connect()?;
        let locked = self.anchor.lock()?;
        let (found, ends) = (locked.read()?, Ends::read(&connection)?);
        let lost = compare(&connection, (&found, &ends))?;
        let loss = lost.map(|kind| Loss { found: Some(now), ..note(&found, &ends, kind) });
        let mut anchor = match found {
            Found::Anchor(anchor) => anchor,
            Found::Nothing | Found::Damaged => Anchor::default(),
        };
        loss.into_iter().for_each(|loss| anchor.add(loss));
        (anchor.last, anchor.cut) = (ends.last, ends.cut);
        locked.write(&anchor)?;
        if !ends.anchored {
            connection.execute("UPDATE audit_chain SET anchored = 1", [])?;
        }
        Ok(loss)
    }

    /// Moves the anchor to the end of the trail. May block; what a call waits for does not.
    pub fn move_anchor(&self) -> Result<(), Error> {
        let connection = self.connect()?;
        let locked = self.anchor.lock()?;
        let (found, ends) = (locked.read()?, Ends::read(&connection)?);
        // What is wrong stays visible until the next start notes it.
        if compare(&connection, (&found, &ends))?.is_some() {
            return Ok(());
        }
        let Found::Anchor(anchor) = found else { return Ok(()) };
        if (anchor.last, anchor.cut) == (ends.last, ends.cut) {
            return Ok(());
        }
        locked.write(&Anchor { last: ends.last, cut: ends.cut, ..anchor })
    }

    /// Forgets the losses that were noted, and says which ones.
    pub fn acknowledge_losses(&self) -> Result<Vec<Loss>, Error> {
        let locked = self.anchor.lock()?;
        let Found::Anchor(mut anchor) = locked.read()? else { return Ok(Vec::new()) };
        let losses = std::mem::take(&mut anchor.losses);
        if !losses.is_empty() {
            locked.write(&anchor)?;
        }
        Ok(losses)
    }
}

/// Notes that rows up to `cut` go, before they do.
pub(super) fn anchor_cut(locked: &Locked<'_>, cut: Mark) -> Result<(), Error> {
    match locked.read()? {
        Found::Anchor(anchor) => {
            // What goes was on the disk: the end is not before it.
            let is_behind = anchor.last.sequence < cut.sequence;
            let last = if is_behind { cut } else { anchor.last };
            locked.write(&Anchor { cut, last, ..anchor })
        }
        Found::Nothing | Found::Damaged => Ok(()),
    }
}

/// All that is lost: what was noted before, and what shows now.
pub(super) fn losses(
    connection: &Connection,
    (found, ends): (&Found, &Ends),
) -> rusqlite::Result<Vec<Loss>> {
    let mut losses = match found {
        Found::Anchor(anchor) => anchor.losses.clone(),
        Found::Nothing | Found::Damaged => Vec::new(),
    };
    losses.extend(compare(connection, (found, ends))?.map(|kind| note(found, ends, kind)));
    Ok(losses)
}

fn note(found: &Found, ends: &Ends, kind: LossKind) -> Loss {
    let anchored = match found {
        Found::Anchor(anchor) => anchor.last,
        Found::Nothing | Found::Damaged => Mark::default(),
    };
    Loss { found: None, kind, anchored, database: ends.last }
}

fn compare(
    connection: &Connection,
    (found, ends): (&Found, &Ends),
) -> rusqlite::Result<Option<LossKind>> {
    let anchor = match found {
        Found::Anchor(anchor) => anchor,
        Found::Nothing if ends.anchored && ends.last.sequence == 0 => {
            return Ok(Some(LossKind::Database));
        }
        Found::Nothing if ends.anchored => return Ok(Some(LossKind::Anchor)),
        Found::Nothing => return Ok(None),
        Found::Damaged => return Ok(Some(LossKind::Anchor)),
    };
    if ends.last.sequence < anchor.last.sequence {
        return Ok(Some(LossKind::Tail));
    }
    if ends.cut.sequence > anchor.cut.sequence {
        return Ok(Some(LossKind::Head));
    }
    let is_same = hash_of(connection, (anchor.last.sequence, ends))? == Some(anchor.last.hash);
    Ok((!is_same).then_some(LossKind::Replaced))
}

/// The hash of a row, also of the last one that was removed.
fn hash_of(
    connection: &Connection,
    (sequence, ends): (u64, &Ends),
) -> rusqlite::Result<Option<Hash>> {
    if sequence == ends.last.sequence {
        return Ok(Some(ends.last.hash));
    }
    if sequence == ends.cut.sequence {
        return Ok(Some(ends.cut.hash));
    }
    let query = "SELECT hash FROM audit WHERE sequence = ?1";
    connection.query_row(query, [signed(sequence)], |row| row.get(0)).optional()
}
