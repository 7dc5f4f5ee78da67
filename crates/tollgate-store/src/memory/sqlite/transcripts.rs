//! L1 in SQLite: entries, the sessions they stand in, and the lists of their words.

use std::cmp::Reverse;
use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use tollgate_core::memory::{
    Candidates, Entry, EntryId, NewEntry, Place, Query, Scope, Session, SessionId, milliseconds,
    moment, terms,
};

use super::Trouble;
use super::postings::{Index, Span, joined, row as number, said_by, words};
use super::rows::session_of;
use super::shelves::{self, Counter, Shelf, Spot, author_of};
use crate::memory::candidates::{Lists, NEWEST, Stock};
use crate::memory::{Page, Stretch};
use crate::number::{size, unsigned};

/// Of the newest entries with a word, those of one session are picked: that many are looked at.
const LOOKED_AT: usize = 4 * NEWEST;

/// An entry and its words, with those of its speaker: made before the writer has to wait for them.
pub(super) struct Worded {
    pub(super) entry: NewEntry,
    words: Vec<String>,
    names: Vec<String>,
}

/// A session as it stands in its table.
pub(super) struct Known {
    pub(super) number: i64,
    pub(super) span: Span,
    pub(super) session: Session,
}

impl From<NewEntry> for Worded {
    fn from(entry: NewEntry) -> Self {
        let (words, names) = (terms(&entry.text), terms(&entry.speaker));
        Self { entry, words, names }
    }
}

pub(super) fn append(
    to: &Connection,
    place: &Place,
    entries: &[Worded],
) -> Result<Vec<EntryId>, Trouble> {
    let spot = shelves::spot(to, place)?;
    let mut sessions: HashMap<&str, i64> = HashMap::new();
    let mut numbers = Vec::with_capacity(entries.len());
    for Worded { entry, words: said, names } in entries {
        let name = entry.session.as_str();
        let session = match sessions.get(name) {
            Some(session) => *session,
            None => *sessions.entry(name).or_insert(session_for(to, spot, entry)?),
        };
        let id = insert(to, (session, spot.author), entry)?;
        let names = joined(names.iter().map(|name| said_by(spot.shelf, name)));
        Index::Entries.add(to, id, &(words(spot.shelf, said) + &names))?;
        numbers.push(EntryId(unsigned(id)));
    }
    shelves::count(to, spot.shelf, Counter::Entries, size(entries.len()))?;
    if let (Some(first), Some(last)) = (numbers.first(), numbers.last()) {
        let span = "UPDATE shelves SET last_entry = ?3,
                        first_entry = CASE first_entry WHEN 0 THEN ?2 ELSE first_entry END
                    WHERE id = ?1";
        to.prepare_cached(span)?.execute((spot.shelf, number(first.0), number(last.0)))?;
    }
    Ok(numbers)
}

/// The number of an entry's session, which begins with it if there is none.
fn session_for(to: &Connection, spot: Spot, entry: &NewEntry) -> Result<i64, Trouble> {
    let name = entry.session.as_str();
    let mut find = to.prepare_cached("SELECT id FROM sessions WHERE shelf = ?1 AND name = ?2")?;
    if let Some(found) = find.query_row((spot.shelf, name), |row| row.get(0)).optional()? {
        return Ok(found);
    }
    let insert = "INSERT INTO sessions (shelf, name, began, last, first_entry, last_entry)
                  VALUES (?1, ?2, ?3, ?3, 0, 0)";
    to.prepare_cached(insert)?.execute((spot.shelf, name, milliseconds(entry.at)))?;
    let session = to.last_insert_rowid();
    shelves::count(to, spot.shelf, Counter::Sessions, 1)?;
    Ok(session)
}

fn insert(to: &Connection, of: (i64, i64), entry: &NewEntry) -> Result<i64, Trouble> {
    let at = milliseconds(entry.at);
    let insert = "INSERT INTO entries (session, author, speaker, text, at)
                  VALUES (?1, ?2, ?3, ?4, ?5)";
    to.prepare_cached(insert)?.execute((of.0, of.1, &*entry.speaker, &*entry.text, at))?;
    let id = to.last_insert_rowid();
    let update = "UPDATE sessions SET
                      entries = entries + 1, unread = unread + 1, last_entry = :id,
                      first_entry = CASE first_entry WHEN 0 THEN :id ELSE first_entry END,
                      began = min(began, :at), last = max(last, :at)
                  WHERE id = :session";
    to.prepare_cached(update)?.execute(named_params! { ":session": of.0, ":id": id, ":at": at })?;
    Ok(id)
}

pub(super) fn with(
    connection: &Connection,
    scope: &Scope,
    query: &Query,
) -> Result<Candidates<Entry>, Trouble> {
    let shelves = shelves::seen(connection, scope)?;
    candidates(connection, &Index::Entries.lists(connection, &shelves, query)?)
}

/// Of one session.
pub(super) fn with_in(
    connection: &Connection,
    scope: &Scope,
    query: &Query,
    session: &SessionId,
) -> Result<Candidates<Entry>, Trouble> {
    let mut lists = Lists::new(query.terms.len());
    if let Some((shelf, known)) = find(connection, scope, session)? {
        let stock = Stock {
            texts: known.session.entries,
            first: unsigned(known.span.first),
            last: unsigned(known.span.last),
        };
        lists.shelf(stock);
        for (at, term) in query.terms.iter().enumerate() {
            for (word, most) in Index::Entries.spellings(shelf, term) {
                let near = Index::Entries.newest(connection, &[word], (known.span, LOOKED_AT))?;
                lists.add(at, of_session(connection, (known.number, most), near)?, stock);
            }
        }
    }
    candidates(connection, &lists)
}

/// Those of one session, so many at most.
fn of_session(
    connection: &Connection,
    (session, most): (i64, usize),
    numbers: Vec<u64>,
) -> Result<Vec<u64>, Trouble> {
    let mut query = connection.prepare_cached("SELECT session FROM entries WHERE id = ?1")?;
    let mut kept = Vec::new();
    for entry in numbers {
        let found: Option<i64> = query.query_row([number(entry)], |row| row.get(0)).optional()?;
        if found == Some(session) {
            kept.push(entry);
        }
        if kept.len() == most {
            break;
        }
    }
    Ok(kept)
}

pub(super) fn get(connection: &Connection, id: i64) -> Result<Option<Entry>, Trouble> {
    let mut query = connection.prepare_cached(&format!("{ENTRIES} WHERE e.id = ?1"))?;
    Ok(query.query_row([id], entry).optional()?)
}

fn candidates(connection: &Connection, lists: &Lists) -> Result<Candidates<Entry>, Trouble> {
    let mut found = Vec::new();
    for id in lists.chosen() {
        found.extend(get(connection, number(id))?);
    }
    Ok(Candidates { found, texts: lists.texts(), with: lists.with() })
}

pub(super) fn sessions(
    connection: &Connection,
    scope: &Scope,
    page: Page,
) -> Result<Vec<Session>, Trouble> {
    let select = format!("{SESSIONS} WHERE shelf = ?1 ORDER BY last DESC, id DESC LIMIT ?2");
    let mut query = connection.prepare_cached(&select)?;
    let mut found = Vec::new();
    for shelf in shelves::seen(connection, scope)? {
        let rows = query.query_map((shelf.id, page.end()), |row| known(row, &shelf))?;
        found.extend(rows.collect::<Result<Vec<_>, _>>()?);
    }
    found.sort_by_key(|known: &Known| Reverse((known.session.last, known.number)));
    Ok(page.of(found).map(|known| known.session).collect())
}

/// The session of that name that goes before others, and its shelf.
pub(super) fn find(
    connection: &Connection,
    scope: &Scope,
    id: &SessionId,
) -> Result<Option<(i64, Known)>, Trouble> {
    let select = format!("{SESSIONS} WHERE shelf = ?1 AND name = ?2");
    let mut query = connection.prepare_cached(&select)?;
    for shelf in shelves::seen(connection, scope)? {
        let found = query.query_row((shelf.id, id.as_str()), |row| known(row, &shelf));
        if let Some(known) = found.optional()? {
            return Ok(Some((shelf.id, known)));
        }
    }
    Ok(None)
}

pub(super) fn entries(
    connection: &Connection,
    scope: &Scope,
    session: &SessionId,
    stretch: Stretch,
) -> Result<Vec<Entry>, Trouble> {
    let Some((_, known)) = find(connection, scope, session)? else { return Ok(Vec::new()) };
    let after = stretch.after.map_or(0, |after| number(after.0));
    after_in(connection, known.number, after, stretch.most)
}

pub(super) fn after_in(
    connection: &Connection,
    session: i64,
    after: i64,
    most: usize,
) -> Result<Vec<Entry>, Trouble> {
    let select = format!("{ENTRIES} WHERE e.session = ?1 AND e.id > ?2 ORDER BY e.id LIMIT ?3");
    let most = Page { skip: 0, most }.end();
    let mut query = connection.prepare_cached(&select)?;
    let entries = query.query_map((session, after, most), entry)?;
    Ok(entries.collect::<Result<_, _>>()?)
}

pub(super) fn summarise(
    to: &Connection,
    place: &Place,
    session: &SessionId,
    summary: &str,
) -> Result<bool, Trouble> {
    let Some(shelf) = shelves::of(to, place)? else { return Ok(false) };
    let author = shelves::author(to, shelf, &place.author)?;
    let update = "UPDATE sessions SET summary = ?3, summary_author = ?4
                  WHERE shelf = ?1 AND name = ?2";
    let values = (shelf, session.as_str(), summary, author);
    Ok(to.prepare_cached(update)?.execute(values)? > 0)
}

/// Passages of a session reach up to that entry now.
pub(super) fn mark_read(
    to: &Connection,
    shelf: i64,
    session: &SessionId,
    last: EntryId,
) -> Result<(), Trouble> {
    let update = "UPDATE sessions SET read_to = max(read_to, ?3), unread = (
                      SELECT count(*) FROM entries
                      WHERE entries.session = sessions.id AND entries.id > max(read_to, ?3))
                  WHERE shelf = ?1 AND name = ?2";
    to.prepare_cached(update)?.execute((shelf, session.as_str(), number(last.0)))?;
    Ok(())
}

const ENTRIES: &str = "SELECT e.id, s.name, e.speaker, e.text, e.at, a.name, a.via, a.trust
    FROM entries e JOIN sessions s ON s.id = e.session JOIN authors a ON a.id = e.author";

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        id: EntryId(unsigned(row.get(0)?)),
        session: session_of(row, 1)?,
        speaker: row.get(2)?,
        text: row.get(3)?,
        at: moment(row.get(4)?),
        author: author_of(row, 5)?,
    })
}

const SESSIONS: &str = "SELECT id, name, entries, began, last, summary, first_entry, last_entry
    FROM sessions";

fn known(row: &Row<'_>, shelf: &Shelf) -> rusqlite::Result<Known> {
    let session = Session {
        id: session_of(row, 1)?,
        audience: shelf.audience.clone(),
        entries: unsigned(row.get(2)?),
        began: moment(row.get(3)?),
        last: moment(row.get(4)?),
        summary: row.get(5)?,
    };
    let span = Span { first: row.get(6)?, last: row.get(7)? };
    Ok(Known { number: row.get(0)?, span, session })
}
