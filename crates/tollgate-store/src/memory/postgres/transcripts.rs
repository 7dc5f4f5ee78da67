//! L1 in PostgreSQL: entries and their sessions.

use std::collections::{BTreeMap, HashMap};
use std::time::SystemTime;

use tokio_postgres::Row;
use tollgate_core::memory::{
    EntryId, MemoryQuery, MemoryScope, MemoryTarget, Namespace, NewEntry, SearchCandidates,
    SessionId, TranscriptEntry, TranscriptSession, milliseconds, moment, terms,
};

use super::partitions::{self, ComingRows, PgPartition, ids};
use super::pool::PgLease;
use super::postings::{PgTextIndex, SearchedSession, in_session, speaker_term, words};
use super::rows::{PgColumns, rows_of, unreadable};
use crate::memory::candidates::{PartitionStats, PostingLists};
use crate::memory::{EntryContext, MemoryError, Page, TranscriptPage, UnreadTranscript};
use crate::number::{size, to_signed, to_unsigned};

/// Maximum sessions with unread entries per call, and entries of each; the rest follows later.
const SESSIONS_UNREAD: i64 = 16;
const ENTRIES_UNREAD: usize = 200;

/// An entry with its index terms and its speaker's, computed before the transaction.
pub(super) struct PgIndexedEntry {
    entry: NewEntry,
    terms: Vec<String>,
}

impl From<NewEntry> for PgIndexedEntry {
    fn from(entry: NewEntry) -> Self {
        let mut words = terms(&entry.text);
        words.extend(terms(&entry.speaker).iter().map(|name| speaker_term(name)));
        Self { terms: words, entry }
    }
}

/// A row of the sessions table.
struct PgSessionRow {
    number: i64,
    partition: i32,
    session: TranscriptSession,
}

/// The rows added to a session.
struct SessionGrowth {
    entries: i64,
    began: i64,
    last: i64,
}

pub(super) async fn append(
    lease: &PgLease,
    place: &MemoryTarget,
    entries: &[&PgIndexedEntry],
) -> Result<Vec<EntryId>, MemoryError> {
    let coming = ComingRows { entries: entries.len(), facts: 0 };
    let target = partitions::claim_write_target(lease, place, coming).await?;
    let (sessions, begun) = sessions_for(lease, target.partition, entries).await?;
    let of =
        |it: &&PgIndexedEntry| sessions.get(it.entry.session.as_str()).copied().unwrap_or_default();
    let sessions: Vec<i64> = entries.iter().map(of).collect();
    let speakers: Vec<&str> = entries.iter().map(|it| &*it.entry.speaker).collect();
    let texts: Vec<&str> = entries.iter().map(|it| &*it.entry.text).collect();
    let times: Vec<i64> = entries.iter().map(|it| milliseconds(it.entry.at)).collect();
    let each = entries.iter().zip(target.entries_ever..);
    let words: Vec<String> =
        each.map(|(it, ordinal)| words(target.partition, ordinal, &it.terms)).collect();
    let insert = "INSERT INTO entries (session, author, speaker, text, at, words)
                  SELECT session, $1, speaker, text, at, words::bigint[]
                  FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[])
                      WITH ORDINALITY AS new (session, speaker, text, at, words, place)
                  ORDER BY place RETURNING id";
    let rows =
        lease.rows(insert, &[&target.author, &sessions, &speakers, &texts, &times, &words]).await?;
    let mut numbers: Vec<i64> =
        rows.iter().map(|row| PgColumns::of(row).value()).collect::<Result<_, _>>()?;
    // Inserted in this order, and the newest of the partition.
    numbers.sort_unstable();
    let update = "UPDATE shelves SET sessions = sessions + $2, last_entry = $4,
                      first_entry = CASE first_entry WHEN 0 THEN $3 ELSE first_entry END
                  WHERE id = $1";
    let first = numbers.first().copied();
    let last = numbers.last().copied();
    lease
        .rows(update, &[&target.partition, &begun, &first.unwrap_or(0), &last.unwrap_or(0)])
        .await?;
    Ok(numbers.into_iter().map(|id| EntryId(to_unsigned(id))).collect())
}

/// The ids of the entries' sessions, and how many of those are new.
async fn sessions_for(
    lease: &PgLease,
    partition: i32,
    entries: &[&PgIndexedEntry],
) -> Result<(HashMap<String, i64>, i64), MemoryError> {
    let mut coming: BTreeMap<&str, SessionGrowth> = BTreeMap::new();
    for PgIndexedEntry { entry, .. } in entries {
        let at = milliseconds(entry.at);
        let new = SessionGrowth { entries: 0, began: at, last: at };
        let more = coming.entry(entry.session.as_str()).or_insert(new);
        more.entries += 1;
        (more.began, more.last) = (more.began.min(at), more.last.max(at));
    }
    let names: Vec<&str> = coming.keys().copied().collect();
    let entries: Vec<i64> = coming.values().map(|more| more.entries).collect();
    let began: Vec<i64> = coming.values().map(|more| more.began).collect();
    let last: Vec<i64> = coming.values().map(|more| more.last).collect();
    let upsert = "INSERT INTO sessions AS known (shelf, name, entries, unread, began, last)
                  SELECT $1, name, entries, entries, began, last
                  FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
                      AS new (name, entries, began, last)
                  ON CONFLICT (shelf, name) DO UPDATE SET
                      entries = known.entries + excluded.entries,
                      unread = known.unread + excluded.unread,
                      began = least(known.began, excluded.began),
                      last = greatest(known.last, excluded.last)
                  RETURNING id, name, xmax = 0";
    let rows = lease.rows(upsert, &[&partition, &names, &entries, &began, &last]).await?;
    let mut sessions = HashMap::new();
    let mut begun = 0;
    for row in &rows {
        let mut columns = PgColumns::of(row);
        let id: i64 = columns.value()?;
        let name: String = columns.value()?;
        let is_new: bool = columns.value()?;
        sessions.insert(name, id);
        begun += i64::from(is_new);
    }
    Ok((sessions, begun))
}

pub(super) async fn with(
    lease: &PgLease,
    scope: &MemoryScope,
    query: &MemoryQuery,
) -> Result<SearchCandidates<TranscriptEntry>, MemoryError> {
    let shelves = partitions::visible_partitions(lease, scope).await?;
    let lists = PgTextIndex::Entries.lists(lease, &shelves, query).await?;
    candidates(lease, &shelves, &lists).await
}

/// Search in one session.
pub(super) async fn with_in(
    lease: &PgLease,
    scope: &MemoryScope,
    query: &MemoryQuery,
    session: &SessionId,
) -> Result<SearchCandidates<TranscriptEntry>, MemoryError> {
    let shelves = partitions::visible_partitions(lease, scope).await?;
    let mut lists = PostingLists::new(query.terms.len());
    if let Some(known) = find(lease, &shelves, session).await?
        && let Some(partition) = shelves.iter().find(|partition| partition.id == known.partition)
    {
        let stats = stats(lease, &known).await?;
        lists.add_partition(stats);
        let inside =
            SearchedSession { session: known.number, entries: to_signed(known.session.entries) };
        for (term, newest) in in_session(lease, partition, query, inside).await? {
            lists.add(term, newest, stats);
        }
    }
    candidates(lease, &shelves, &lists).await
}

async fn stats(lease: &PgLease, known: &PgSessionRow) -> Result<PartitionStats, MemoryError> {
    let select =
        "SELECT coalesce(min(id), 0), coalesce(max(id), 0) FROM entries WHERE session = $1";
    let texts = known.session.entries;
    match lease.row(select, &[&known.number]).await? {
        None => Ok(PartitionStats { texts, first: 0, last: 0 }),
        Some(row) => {
            let mut columns = PgColumns::of(&row);
            Ok(PartitionStats { texts, first: columns.number()?, last: columns.number()? })
        }
    }
}

async fn candidates(
    lease: &PgLease,
    shelves: &[PgPartition],
    lists: &PostingLists,
) -> Result<SearchCandidates<TranscriptEntry>, MemoryError> {
    let select = "SELECT e.id, s.name, e.speaker, e.text, e.at, a.name, a.via, a.trust
                  FROM unnest($1::bigint[]) WITH ORDINALITY AS chosen (id, place)
                  JOIN entries e ON e.id = chosen.id
                  JOIN sessions s ON s.id = e.session AND s.shelf = ANY ($2)
                  JOIN authors a ON a.id = e.author
                  ORDER BY chosen.place";
    let rows = lease.rows(select, &[&rows_of(&lists.choose_candidates()), &ids(shelves)]).await?;
    let found = rows.iter().map(entry).collect::<Result<_, _>>()?;
    Ok(SearchCandidates { found, texts: lists.texts(), with: lists.with() })
}

pub(super) async fn sessions(
    lease: &PgLease,
    scope: &MemoryScope,
    page: Page,
) -> Result<Vec<TranscriptSession>, MemoryError> {
    let shelves = partitions::visible_partitions(lease, scope).await?;
    let select = "SELECT t.id, t.shelf, t.name, t.entries, t.began, t.last, t.summary
                  FROM unnest($1::integer[]) AS s (id)
                  CROSS JOIN LATERAL (
                      SELECT * FROM sessions WHERE shelf = s.id
                      ORDER BY last DESC, id DESC LIMIT $2
                  ) t ORDER BY t.last DESC, t.id DESC LIMIT $2";
    let rows = lease.rows(select, &[&ids(&shelves), &page.end()]).await?;
    let known: Vec<PgSessionRow> =
        rows.iter().map(|row| read_session_row(row, &shelves)).collect::<Result<_, _>>()?;
    Ok(page.of(known).map(|known| known.session).collect())
}

pub(super) async fn session(
    lease: &PgLease,
    scope: &MemoryScope,
    id: &SessionId,
) -> Result<Option<TranscriptSession>, MemoryError> {
    let shelves = partitions::visible_partitions(lease, scope).await?;
    Ok(find(lease, &shelves, id).await?.map(|known| known.session))
}

/// The session of that name with precedence.
async fn find(
    lease: &PgLease,
    shelves: &[PgPartition],
    id: &SessionId,
) -> Result<Option<PgSessionRow>, MemoryError> {
    let select = "SELECT t.id, t.shelf, t.name, t.entries, t.began, t.last, t.summary
                  FROM unnest($1::integer[]) WITH ORDINALITY AS s (id, place)
                  JOIN sessions t ON t.shelf = s.id AND t.name = $2
                  ORDER BY s.place LIMIT 1";
    let row = lease.row(select, &[&ids(shelves), &id.as_str()]).await?;
    row.map(|row| read_session_row(&row, shelves)).transpose()
}

pub(super) async fn entries(
    lease: &PgLease,
    scope: &MemoryScope,
    session: &SessionId,
    page: TranscriptPage,
) -> Result<Vec<TranscriptEntry>, MemoryError> {
    let shelves = partitions::visible_partitions(lease, scope).await?;
    let Some(known) = find(lease, &shelves, session).await? else { return Ok(Vec::new()) };
    let after = page.after.map_or(0, |after| to_signed(after.0));
    after_in(lease, known.number, after, page.most).await
}

async fn after_in(
    lease: &PgLease,
    session: i64,
    after: i64,
    most: usize,
) -> Result<Vec<TranscriptEntry>, MemoryError> {
    let select = "SELECT e.id, s.name, e.speaker, e.text, e.at, a.name, a.via, a.trust
                  FROM (
                      SELECT * FROM entries WHERE session = $1 AND id > $2 ORDER BY id LIMIT $3
                  ) e
                  JOIN sessions s ON s.id = e.session JOIN authors a ON a.id = e.author
                  ORDER BY e.id";
    let most = Page { skip: 0, most }.end();
    let rows = lease.rows(select, &[&session, &after, &most]).await?;
    rows.iter().map(entry).collect()
}

/// The neighbours of each entry in its session.
pub(super) async fn around(
    lease: &PgLease,
    scope: &MemoryScope,
    entries: &[EntryId],
    reach: usize,
) -> Result<Vec<EntryContext>, MemoryError> {
    let shelves = partitions::visible_partitions(lease, scope).await?;
    let select = "SELECT near.id, s.name, near.speaker, near.text, near.at, a.name, a.via, a.trust,
                         given.place
                  FROM unnest($1::bigint[]) WITH ORDINALITY AS given (id, place)
                  JOIN entries e ON e.id = given.id
                  JOIN sessions s ON s.id = e.session AND s.shelf = ANY ($2)
                  CROSS JOIN LATERAL (
                      (SELECT * FROM entries WHERE session = e.session AND id < e.id
                       ORDER BY id DESC LIMIT $3)
                      UNION ALL
                      (SELECT * FROM entries WHERE session = e.session AND id > e.id
                       ORDER BY id LIMIT $3)
                  ) near
                  JOIN authors a ON a.id = near.author
                  ORDER BY given.place, near.id";
    let given: Vec<i64> = entries.iter().map(|id| to_signed(id.0)).collect();
    let most = Page { skip: 0, most: reach }.end();
    let mut contexts = vec![EntryContext::default(); entries.len()];
    for row in lease.rows(select, &[&given, &ids(&shelves), &most]).await? {
        let near = entry(&row)?;
        let place: i64 = row.try_get(8)?;
        let at = usize::try_from(place).unwrap_or_default().saturating_sub(1);
        let Some((context, id)) = contexts.get_mut(at).zip(entries.get(at)) else { continue };
        if near.id < *id { &mut context.before } else { &mut context.after }.push(near);
    }
    Ok(contexts)
}

pub(super) async fn summarise(
    lease: &PgLease,
    place: &MemoryTarget,
    session: &SessionId,
    summary: &str,
) -> Result<bool, MemoryError> {
    let Some(partition) = partitions::of(lease, place).await? else { return Ok(false) };
    let author = partitions::author(lease, partition, &place.author).await?;
    let update = "UPDATE sessions SET summary = $3, summary_author = $4
                  WHERE shelf = $1 AND name = $2 RETURNING id";
    let row = lease.row(update, &[&partition, &session.as_str(), &summary, &author]).await?;
    Ok(row.is_some())
}

/// Records that passages of a session cover the entries up to this one.
pub(super) async fn mark_read(
    lease: &PgLease,
    partition: i32,
    session: &SessionId,
    last: EntryId,
) -> Result<(), MemoryError> {
    let update = "UPDATE sessions SET read_to = greatest(read_to, $3), unread = (
                      SELECT count(*) FROM entries
                      WHERE entries.session = sessions.id
                          AND entries.id > greatest(sessions.read_to, $3))
                  WHERE shelf = $1 AND name = $2";
    lease.rows(update, &[&partition, &session.as_str(), &to_signed(last.0)]).await?;
    Ok(())
}

/// A passage has one author, so that it can be deleted with its source: a piece ends where the
/// author changes.
pub(super) async fn unread(
    lease: &PgLease,
    at_least: usize,
    silent: SystemTime,
) -> Result<Vec<UnreadTranscript>, MemoryError> {
    let select = "SELECT t.id, t.read_to, s.namespace, s.owner
                  FROM sessions t JOIN shelves s ON s.id = t.shelf
                  WHERE t.unread > 0 AND (t.unread >= $1 OR t.last < $2)
                  ORDER BY t.last LIMIT $3";
    let values: [super::pool::SqlParam<'_>; 3] =
        [&size(at_least), &milliseconds(silent), &SESSIONS_UNREAD];
    let mut found = Vec::new();
    for row in lease.rows(select, &values).await? {
        let mut columns = PgColumns::of(&row);
        let session: i64 = columns.value()?;
        let read_to: i64 = columns.value()?;
        let namespace: &str = columns.value()?;
        let namespace = Namespace::parse(namespace).map_err(|_| unreadable(namespace))?;
        let audience = columns.audience()?;
        let mut entries = after_in(lease, session, read_to, ENTRIES_UNREAD).await?;
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

fn entry(row: &Row) -> Result<TranscriptEntry, MemoryError> {
    let mut columns = PgColumns::of(row);
    Ok(TranscriptEntry {
        id: EntryId(columns.number()?),
        session: columns.session()?,
        speaker: columns.value()?,
        text: columns.value()?,
        at: moment(columns.value()?),
        author: columns.author()?,
    })
}

fn read_session_row(row: &Row, shelves: &[PgPartition]) -> Result<PgSessionRow, MemoryError> {
    let mut columns = PgColumns::of(row);
    let number: i64 = columns.value()?;
    let partition: i32 = columns.value()?;
    let audience = shelves.iter().find(|it| it.id == partition).map(|it| it.audience.clone());
    let session = TranscriptSession {
        id: columns.session()?,
        audience: audience.ok_or_else(|| unreadable(&partition.to_string()))?,
        entries: columns.number()?,
        began: moment(columns.value()?),
        last: moment(columns.value()?),
        summary: columns.value()?,
    };
    Ok(PgSessionRow { number, partition, session })
}
