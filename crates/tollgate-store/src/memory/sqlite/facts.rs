//! L2 in SQLite: facts and passages, and their posting lists.

use std::cmp::Reverse;

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use tollgate_core::memory::{
    EntityId, EntryId, Fact, FactId, FactSource, MemoryQuery, MemoryScope, MemoryTarget, NewFact,
    SearchCandidates, SessionId, milliseconds, moment, terms,
};

use super::MemoryError;
use super::partitions::{self, PartitionCounter, SqliteWriteTarget, audience_of, author_of};
use super::postings::{SqliteTextIndex, row as number, words};
use super::rows::{entity_of, read_optional, session_of};
use super::transcripts::mark_read;
use crate::memory::Page;
use crate::memory::fact_identity::same;
use crate::number::to_unsigned;

/// A fact with its index terms and its identity.
pub(super) struct SqliteIndexedFact {
    fact: NewFact,
    terms: Vec<String>,
    same: [u8; 32],
}

impl From<NewFact> for SqliteIndexedFact {
    fn from(fact: NewFact) -> Self {
        Self { terms: terms(&fact.text), same: same(&fact), fact }
    }
}

pub(super) fn remember(
    to: &Connection,
    place: &MemoryTarget,
    facts: &[SqliteIndexedFact],
) -> Result<Vec<FactId>, MemoryError> {
    let target = partitions::claim_write_target(to, place)?;
    facts.iter().map(|fact| keep(to, target, fact).map(|id| FactId(to_unsigned(id)))).collect()
}

fn keep(
    to: &Connection,
    target: SqliteWriteTarget,
    worded: &SqliteIndexedFact,
) -> Result<i64, MemoryError> {
    let SqliteIndexedFact { fact, terms, same } = worded;
    if let (FactSource::Transcript { last, .. }, Some(session)) = (fact.source, &fact.session) {
        mark_read(to, target.partition, session, last)?;
    }
    if let Some(known) = renew(to, target, worded)? {
        return Ok(known);
    }
    let (first, last) = match fact.source {
        FactSource::Stated => (None, None),
        FactSource::Transcript { first, last } => (Some(number(first.0)), Some(number(last.0))),
    };
    let insert = "INSERT INTO facts (
                      shelf, author, text, same, at, session, entity, topic, first, last
                  ) VALUES (
                      :shelf, :author, :text, :same, :at, :session, :entity, :topic, :first, :last
                  )";
    to.prepare_cached(insert)?.execute(named_params! {
        ":shelf": target.partition,
        ":author": target.author,
        ":text": fact.text,
        ":same": same,
        ":at": milliseconds(fact.at),
        ":session": fact.session.as_ref().map(SessionId::as_str),
        ":entity": fact.entity.as_ref().map(EntityId::as_str),
        ":topic": fact.topic,
        ":first": first,
        ":last": last,
    })?;
    let id = to.last_insert_rowid();
    SqliteTextIndex::Facts.add(to, id, &words(target.partition, terms))?;
    partitions::count(to, target.partition, PartitionCounter::Facts, 1)?;
    let span = "UPDATE shelves SET last_fact = ?2,
                    first_fact = CASE first_fact WHEN 0 THEN ?2 ELSE first_fact END
                WHERE id = ?1";
    to.prepare_cached(span)?.execute((target.partition, id))?;
    Ok(id)
}

/// Updates an existing fact: the later time, and new values of the other fields where given.
fn renew(
    to: &Connection,
    target: SqliteWriteTarget,
    worded: &SqliteIndexedFact,
) -> Result<Option<i64>, MemoryError> {
    let fact = &worded.fact;
    let update = "UPDATE facts SET at = max(at, :at), session = coalesce(:session, session),
                      entity = coalesce(:entity, entity), topic = coalesce(:topic, topic)
                  WHERE author = :author AND same = :same RETURNING id";
    let mut update = to.prepare_cached(update)?;
    let values = named_params! {
        ":author": target.author,
        ":same": worded.same,
        ":at": milliseconds(fact.at),
        ":session": fact.session.as_ref().map(SessionId::as_str),
        ":entity": fact.entity.as_ref().map(EntityId::as_str),
        ":topic": fact.topic,
    };
    Ok(update.query_row(values, |row| row.get(0)).optional()?)
}

pub(super) fn with(
    connection: &Connection,
    scope: &MemoryScope,
    query: &MemoryQuery,
) -> Result<SearchCandidates<Fact>, MemoryError> {
    let shelves = partitions::visible_partitions(connection, scope)?;
    let lists = SqliteTextIndex::Facts.lists(connection, &shelves, query)?;
    let mut found = Vec::new();
    for id in lists.choose_candidates() {
        found.extend(get(connection, number(id))?);
    }
    Ok(SearchCandidates { found, texts: lists.texts(), with: lists.with() })
}

pub(super) fn get(connection: &Connection, id: i64) -> Result<Option<Fact>, MemoryError> {
    let mut query = connection.prepare_cached(&format!("{FACTS} WHERE f.id = ?1"))?;
    Ok(query.query_row([id], fact).optional()?)
}

/// Newest first.
pub(super) fn list(
    connection: &Connection,
    scope: &MemoryScope,
    page: Page,
) -> Result<Vec<Fact>, MemoryError> {
    let select = format!("{FACTS} WHERE f.shelf = ?1 ORDER BY f.at DESC, f.id DESC LIMIT ?2");
    let mut query = connection.prepare_cached(&select)?;
    let mut found: Vec<Fact> = Vec::new();
    for partition in partitions::visible_partitions(connection, scope)? {
        let rows = query.query_map((partition.id, page.end()), fact)?;
        found.extend(rows.collect::<Result<Vec<_>, _>>()?);
    }
    found.sort_by_key(|fact| Reverse((fact.at, fact.id)));
    Ok(page.of(found).collect())
}

/// Those about one entity, newest first.
pub(super) fn about(
    connection: &Connection,
    scope: &MemoryScope,
    entity: &EntityId,
    page: Page,
) -> Result<Vec<Fact>, MemoryError> {
    let select = format!(
        "{FACTS} WHERE f.shelf = ?1 AND f.entity = ?2 ORDER BY f.at DESC, f.id DESC LIMIT ?3"
    );
    let mut query = connection.prepare_cached(&select)?;
    let mut found: Vec<Fact> = Vec::new();
    for partition in partitions::visible_partitions(connection, scope)? {
        let rows = query.query_map((partition.id, entity.as_str(), page.end()), fact)?;
        found.extend(rows.collect::<Result<Vec<_>, _>>()?);
    }
    found.sort_by_key(|fact| Reverse((fact.at, fact.id)));
    Ok(page.of(found).collect())
}

const FACTS: &str = "SELECT f.id, f.text, f.at, f.first, f.last, f.session, f.entity, f.topic,
        s.owner, a.name, a.via, a.trust
    FROM facts f JOIN shelves s ON s.id = f.shelf JOIN authors a ON a.id = f.author";

fn fact(row: &Row<'_>) -> rusqlite::Result<Fact> {
    let entry = |number: i64| EntryId(to_unsigned(number));
    let source = match (row.get(3)?, row.get(4)?) {
        (Some(first), Some(last)) => {
            FactSource::Transcript { first: entry(first), last: entry(last) }
        }
        _ => FactSource::Stated,
    };
    Ok(Fact {
        id: FactId(to_unsigned(row.get(0)?)),
        text: row.get(1)?,
        at: moment(row.get(2)?),
        source,
        session: read_optional(row, 5, session_of)?,
        entity: read_optional(row, 6, entity_of)?,
        topic: row.get(7)?,
        audience: audience_of(row, 8)?,
        author: author_of(row, 9)?,
    })
}
