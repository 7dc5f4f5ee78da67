//! Parts of transcripts without passages, in SQLite. A passage has one author, so that it can be
//! deleted with its source: a piece ends where the author changes.

use std::time::SystemTime;

use rusqlite::Connection;
use tollgate_core::memory::{MemoryTarget, Namespace, milliseconds};

use super::partitions::audience_of;
use super::rows::unreadable;
use super::{MemoryError, transcripts};
use crate::memory::UnreadTranscript;
use crate::number::size;

/// Maximum sessions per call, and entries of each; the rest follows later.
const SESSIONS: usize = 16;
const ENTRIES: usize = 200;

pub(super) fn unread(
    connection: &Connection,
    at_least: usize,
    silent: SystemTime,
) -> Result<Vec<UnreadTranscript>, MemoryError> {
    let select = "SELECT t.id, t.read_to, s.namespace, s.owner
                  FROM sessions t JOIN shelves s ON s.id = t.shelf
                  WHERE t.unread > 0 AND (t.unread >= ?1 OR t.last < ?2)
                  ORDER BY t.last LIMIT ?3";
    let mut query = connection.prepare_cached(select)?;
    let values = (size(at_least), milliseconds(silent), size(SESSIONS));
    let sessions = query.query_map(values, |row| {
        let namespace: String = row.get(2)?;
        let namespace = Namespace::parse(&namespace).map_err(|_| unreadable(2, &namespace))?;
        Ok((row.get(0)?, row.get(1)?, namespace, audience_of(row, 3)?))
    })?;
    let mut found = Vec::new();
    for session in sessions {
        let (session, read_to, namespace, audience) = session?;
        let mut entries = transcripts::after_in(connection, session, read_to, ENTRIES)?;
        let Some(author) = entries.first().map(|entry| entry.author.clone()) else { continue };
        let end = entries.iter().position(|entry| entry.author != author);
        entries.truncate(end.unwrap_or(entries.len()));
        found.push(UnreadTranscript {
            place: MemoryTarget { namespace, audience, author },
            entries,
        });
    }
    Ok(found)
}
