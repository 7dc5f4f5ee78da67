//! L1 in SQLite: entries, their sessions, and their posting lists.

use std::cmp::Reverse;
use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use tollgate_core::memory::{
    EntryId, MemoryQuery, MemoryScope, MemoryTarget, NewEntry, SearchCandidates, SessionId,
    TranscriptEntry, TranscriptSession, milliseconds, moment, terms,
};

use super::MemoryError;
use super::partitions::{self, PartitionCounter, SqlitePartition, SqliteWriteTarget, author_of};
use super::postings::{
    EntryIdSpan, SqliteTextIndex, join_words, row as number, speaker_term, words,
};
use super::rows::session_of;
use crate::memory::candidates::{NEWEST, PartitionStats, PostingLists};
use crate::memory::{EntryContext, Page, TranscriptPage};
use crate::number::{size, to_unsigned};

/// Entries examined when the newest with a word are filtered by session.
const LOOKED_AT: usize = 4 * NEWEST;

/// An entry with its index terms and its speaker's, computed before the writer needs them.
pub(super) struct SqliteIndexedEntry {
    pub(super) entry: NewEntry,
    words: Vec<String>,
    names: Vec<String>,
}

/// A row of the sessions table.
pub(super) struct SqliteSessionRow {
    pub(super) number: i64,
    pub(super) span: EntryIdSpan,
    pub(super) session: TranscriptSession,
}

impl From<NewEntry> for SqliteIndexedEntry {
    fn from(entry: NewEntry) -> Self {
        let words = terms(&entry.text);
        let names = terms(&entry.speaker);
        Self { entry, words, names }
    }
}

pub(super) fn append(
    to: &Connection,
    place: &MemoryTarget,
    entries: &[SqliteIndexedEntry],
) -> Result<Vec<EntryId>, MemoryError> {
    let target = partitions::claim_write_target(to, place)?;
    let mut sessions: HashMap<&str, i64> = HashMap::new();
    let mut numbers = Vec::with_capacity(entries.len());
    for SqliteIndexedEntry { entry, words: lines, names } in entries {
        let name = entry.session.as_str();
        let session = match sessions.get(name) {
            Some(session) => *session,
            None => *sessions.entry(name).or_insert(session_for(to, target, entry)?),
        };
        let id = insert(to, session, target.author, entry)?;
        let names = join_words(names.iter().map(|name| speaker_term(target.partition, name)));
        SqliteTextIndex::Entries.add(to, id, &(words(target.partition, lines) + &names))?;
        numbers.push(EntryId(to_unsigned(id)));
    }
    partitions::count(to, target.partition, PartitionCounter::Entries, size(entries.len()))?;
    if let (Some(first), Some(last)) = (numbers.first(), numbers.last()) {
        let span = "UPDATE shelves SET last_entry = ?3,
                        first_entry = CASE first_entry WHEN 0 THEN ?2 ELSE first_entry END
                    WHERE id = ?1";
        to.prepare_cached(span)?.execute((target.partition, number(first.0), number(last.0)))?;
    }
    Ok(numbers)
}

/// The id of an entry's session, which is created if missing.
fn session_for(
    to: &Connection,
    target: SqliteWriteTarget,
    entry: &NewEntry,
) -> Result<i64, MemoryError> {
    let name = entry.session.as_str();
    let mut find = to.prepare_cached("SELECT id FROM sessions WHERE shelf = ?1 AND name = ?2")?;
    if let Some(found) = find.query_row((target.partition, name), |row| row.get(0)).optional()? {
        return Ok(found);
    }
    let insert = "INSERT INTO sessions (shelf, name, began, last, first_entry, last_entry)
                  VALUES (?1, ?2, ?3, ?3, 0, 0)";
    to.prepare_cached(insert)?.execute((target.partition, name, milliseconds(entry.at)))?;
    let session = to.last_insert_rowid();
    partitions::count(to, target.partition, PartitionCounter::Sessions, 1)?;
    Ok(session)
}

fn insert(
    to: &Connection,
    session: i64,
    author: i64,
    entry: &NewEntry,
) -> Result<i64, MemoryError> {
    let at = milliseconds(entry.at);
    let insert = "INSERT INTO entries (session, author, speaker, text, at)
                  VALUES (?1, ?2, ?3, ?4, ?5)";
    to.prepare_cached(insert)?.execute((session, author, &*entry.speaker, &*entry.text, at))?;
    let id = to.last_insert_rowid();
    let update = "UPDATE sessions SET
                      entries = entries + 1, unread = unread + 1, last_entry = :id,
                      first_entry = CASE first_entry WHEN 0 THEN :id ELSE first_entry END,
                      began = min(began, :at), last = max(last, :at)
                  WHERE id = :session";
    to.prepare_cached(update)?
        .execute(named_params! { ":session": session, ":id": id, ":at": at })?;
    Ok(id)
}

pub(super) fn with(
    connection: &Connection,
    scope: &MemoryScope,
    query: &MemoryQuery,
) -> Result<SearchCandidates<TranscriptEntry>, MemoryError> {
    let shelves = partitions::visible_partitions(connection, scope)?;
    candidates(connection, &SqliteTextIndex::Entries.lists(connection, &shelves, query)?)
}

/// Search in one session.
pub(super) fn with_in(
    connection: &Connection,
    scope: &MemoryScope,
    query: &MemoryQuery,
    session: &SessionId,
) -> Result<SearchCandidates<TranscriptEntry>, MemoryError> {
    let mut lists = PostingLists::new(query.terms.len());
    if let Some((partition, known)) = find(connection, scope, session)? {
        let stats = PartitionStats {
            texts: known.session.entries,
            first: to_unsigned(known.span.first),
            last: to_unsigned(known.span.last),
        };
        lists.add_partition(stats);
        for (at, term) in query.terms.iter().enumerate() {
            for (word, most) in SqliteTextIndex::Entries.spellings(partition, term) {
                let near =
                    SqliteTextIndex::Entries.newest(connection, &[word], known.span, LOOKED_AT)?;
                lists.add(at, of_session(connection, known.number, near, most)?, stats);
            }
        }
    }
    candidates(connection, &lists)
}

/// Those of one session, limited in number.
fn of_session(
    connection: &Connection,
    session: i64,
    numbers: Vec<u64>,
    most: usize,
) -> Result<Vec<u64>, MemoryError> {
    let mut query = connection.prepare_cached("SELECT session FROM entries WHERE id = ?1")?;
    let mut retained = Vec::new();
    for entry in numbers {
        let found: Option<i64> = query.query_row([number(entry)], |row| row.get(0)).optional()?;
        if found == Some(session) {
            retained.push(entry);
        }
        if retained.len() == most {
            break;
        }
    }
    Ok(retained)
}

pub(super) fn get(
    connection: &Connection,
    id: i64,
) -> Result<Option<TranscriptEntry>, MemoryError> {
    let mut query = connection.prepare_cached(&format!("{ENTRIES} WHERE e.id = ?1"))?;
    Ok(query.query_row([id], entry).optional()?)
}

fn candidates(
    connection: &Connection,
    lists: &PostingLists,
) -> Result<SearchCandidates<TranscriptEntry>, MemoryError> {
    let mut found = Vec::new();
    for id in lists.choose_candidates() {
        found.extend(get(connection, number(id))?);
    }
    Ok(SearchCandidates { found, texts: lists.texts(), with: lists.with() })
}

pub(super) fn sessions(
    connection: &Connection,
    scope: &MemoryScope,
    page: Page,
) -> Result<Vec<TranscriptSession>, MemoryError> {
    let select = format!("{SESSIONS} WHERE shelf = ?1 ORDER BY last DESC, id DESC LIMIT ?2");
    let mut query = connection.prepare_cached(&select)?;
    let mut found = Vec::new();
    for partition in partitions::visible_partitions(connection, scope)? {
        let rows =
            query.query_map((partition.id, page.end()), |row| read_session_row(row, &partition))?;
        found.extend(rows.collect::<Result<Vec<_>, _>>()?);
    }
    found.sort_by_key(|known: &SqliteSessionRow| Reverse((known.session.last, known.number)));
    Ok(page.of(found).map(|known| known.session).collect())
}

/// The session of that name with precedence, and its partition.
pub(super) fn find(
    connection: &Connection,
    scope: &MemoryScope,
    id: &SessionId,
) -> Result<Option<(i64, SqliteSessionRow)>, MemoryError> {
    let select = format!("{SESSIONS} WHERE shelf = ?1 AND name = ?2");
    let mut query = connection.prepare_cached(&select)?;
    for partition in partitions::visible_partitions(connection, scope)? {
        let found =
            query.query_row((partition.id, id.as_str()), |row| read_session_row(row, &partition));
        if let Some(known) = found.optional()? {
            return Ok(Some((partition.id, known)));
        }
    }
    Ok(None)
}

pub(super) fn entries(
    connection: &Connection,
    scope: &MemoryScope,
    session: &SessionId,
    page: TranscriptPage,
) -> Result<Vec<TranscriptEntry>, MemoryError> {
    let Some((_, known)) = find(connection, scope, session)? else { return Ok(Vec::new()) };
    let after = page.after.map_or(0, |after| number(after.0));
    after_in(connection, known.number, after, page.most)
}

pub(super) fn after_in(
    connection: &Connection,
    session: i64,
    after: i64,
    most: usize,
) -> Result<Vec<TranscriptEntry>, MemoryError> {
    let select = format!("{ENTRIES} WHERE e.session = ?1 AND e.id > ?2 ORDER BY e.id LIMIT ?3");
    let most = Page { skip: 0, most }.end();
    let mut query = connection.prepare_cached(&select)?;
    let entries = query.query_map((session, after, most), entry)?;
    Ok(entries.collect::<Result<_, _>>()?)
}

/// The neighbours of each entry in its session.
pub(super) fn around(
    connection: &Connection,
    scope: &MemoryScope,
    entries: &[EntryId],
    reach: usize,
) -> Result<Vec<EntryContext>, MemoryError> {
    let shelves = partitions::visible_partitions(connection, scope)?;
    let find = "SELECT e.session, s.shelf FROM entries e JOIN sessions s ON s.id = e.session
                WHERE e.id = ?1";
    let mut find = connection.prepare_cached(find)?;
    let select =
        format!("{ENTRIES} WHERE e.session = ?1 AND e.id < ?2 ORDER BY e.id DESC LIMIT ?3");
    let mut before = connection.prepare_cached(&select)?;
    let most = Page { skip: 0, most: reach }.end();
    let mut contexts = Vec::with_capacity(entries.len());
    for id in entries {
        let at = number(id.0);
        let row = find.query_row([at], |row| Ok((row.get(0)?, row.get(1)?)));
        let known: Option<(i64, i64)> = row.optional()?;
        let visible = known.filter(|(_, shelf)| shelves.iter().any(|it| it.id == *shelf));
        contexts.push(match visible {
            None => EntryContext::default(),
            Some((session, _)) => {
                let rows = before.query_map((session, at, most), entry)?;
                let mut before = rows.collect::<Result<Vec<_>, _>>()?;
                before.reverse();
                EntryContext { before, after: after_in(connection, session, at, reach)? }
            }
        });
    }
    Ok(contexts)
}

pub(super) fn summarise(
    to: &Connection,
    place: &MemoryTarget,
    session: &SessionId,
    summary: &str,
) -> Result<bool, MemoryError> {
    let Some(partition) = partitions::of(to, place)? else { return Ok(false) };
    let author = partitions::author(to, partition, &place.author)?;
    let update = "UPDATE sessions SET summary = ?3, summary_author = ?4
                  WHERE shelf = ?1 AND name = ?2";
    let values = (partition, session.as_str(), summary, author);
    Ok(to.prepare_cached(update)?.execute(values)? > 0)
}

/// Records that passages of a session cover the entries up to this one.
pub(super) fn mark_read(
    to: &Connection,
    partition: i64,
    session: &SessionId,
    last: EntryId,
) -> Result<(), MemoryError> {
    let update = "UPDATE sessions SET read_to = max(read_to, ?3), unread = (
                      SELECT count(*) FROM entries
                      WHERE entries.session = sessions.id AND entries.id > max(read_to, ?3))
                  WHERE shelf = ?1 AND name = ?2";
    to.prepare_cached(update)?.execute((partition, session.as_str(), number(last.0)))?;
    Ok(())
}

const ENTRIES: &str = "SELECT e.id, s.name, e.speaker, e.text, e.at, a.name, a.via, a.trust
    FROM entries e JOIN sessions s ON s.id = e.session JOIN authors a ON a.id = e.author";

fn entry(row: &Row<'_>) -> rusqlite::Result<TranscriptEntry> {
    Ok(TranscriptEntry {
        id: EntryId(to_unsigned(row.get(0)?)),
        session: session_of(row, 1)?,
        speaker: row.get(2)?,
        text: row.get(3)?,
        at: moment(row.get(4)?),
        author: author_of(row, 5)?,
    })
}

const SESSIONS: &str = "SELECT id, name, entries, began, last, summary, first_entry, last_entry
    FROM sessions";

fn read_session_row(
    row: &Row<'_>,
    partition: &SqlitePartition,
) -> rusqlite::Result<SqliteSessionRow> {
    let session = TranscriptSession {
        id: session_of(row, 1)?,
        audience: partition.audience.clone(),
        entries: to_unsigned(row.get(2)?),
        began: moment(row.get(3)?),
        last: moment(row.get(4)?),
        summary: row.get(5)?,
    };
    let span = EntryIdSpan { first: row.get(6)?, last: row.get(7)? };
    Ok(SqliteSessionRow { number: row.get(0)?, span, session })
}
