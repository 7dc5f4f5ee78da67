//! L2 in PostgreSQL: facts and passages.

use std::collections::HashMap;

use tokio_postgres::Row;
use tollgate_core::memory::{
    EntityId, EntryId, Fact, FactId, FactSource, MemoryQuery, MemoryScope, MemoryTarget, NewFact,
    SearchCandidates, SessionId, milliseconds, moment, terms,
};

use super::partitions::{self, ComingRows, PgWriteTarget, ids};
use super::pool::{PgLease, SqlParam};
use super::postings::{PgTextIndex, words};
use super::rows::{PgColumns, rows_of};
use super::transcripts::mark_read;
use crate::memory::fact_identity::same;
use crate::memory::{MemoryError, Page};
use crate::number::{size, to_signed, to_unsigned};

/// Serializes inserts of facts, so that ids increase in order of visibility, also across
/// partitions: the scan for facts without a vector resumes where it ended. "facts" in ASCII.
const LOCK: i64 = i64::from_be_bytes(*b"\0\0\0facts");

/// Distinct facts with their index terms.
pub(super) struct PgIndexedFacts {
    facts: Vec<DistinctFact>,
    /// Index of each input among the distinct facts.
    given: Vec<usize>,
}

struct DistinctFact {
    fact: NewFact,
    terms: Vec<String>,
    same: [u8; 32],
}

impl From<Vec<NewFact>> for PgIndexedFacts {
    fn from(given: Vec<NewFact>) -> Self {
        let mut known: HashMap<[u8; 32], usize> = HashMap::new();
        let mut worded = Self { facts: Vec::new(), given: Vec::with_capacity(given.len()) };
        for fact in given {
            let same = same(&fact);
            let place = *known.entry(same).or_insert(worded.facts.len());
            worded.given.push(place);
            match worded.facts.get_mut(place) {
                Some(DistinctFact { fact: before, .. }) => renew(before, fact),
                None => worded.facts.push(DistinctFact { terms: terms(&fact.text), same, fact }),
            }
        }
        worded
    }
}

/// Updates a fact as a stored one is updated.
fn renew(before: &mut NewFact, again: NewFact) {
    before.at = before.at.max(again.at);
    before.session = again.session.or(before.session.take());
    before.entity = again.entity.or(before.entity.take());
    before.topic = again.topic.or(before.topic.take());
}

impl PgIndexedFacts {
    pub(super) fn len(&self) -> usize {
        self.facts.len()
    }

    fn column<'w, T>(&'w self, of: impl Fn(&'w NewFact) -> T) -> Vec<T> {
        self.facts.iter().map(|it| of(&it.fact)).collect()
    }

    fn entries(&self, of: impl Fn(EntryId, EntryId) -> EntryId) -> Vec<Option<i64>> {
        self.column(|fact| match fact.source {
            FactSource::Stated => None,
            FactSource::Transcript { first, last } => Some(to_signed(of(first, last).0)),
        })
    }

    /// The last entry covered by passages, per session.
    fn read(&self) -> HashMap<&SessionId, EntryId> {
        let mut read = HashMap::new();
        for DistinctFact { fact, .. } in &self.facts {
            if let (FactSource::Transcript { last, .. }, Some(session)) =
                (fact.source, &fact.session)
            {
                let to = read.entry(session).or_insert(last);
                *to = last.max(*to);
            }
        }
        read
    }
}

pub(super) async fn remember(
    lease: &PgLease,
    place: &MemoryTarget,
    worded: &PgIndexedFacts,
) -> Result<Vec<FactId>, MemoryError> {
    if worded.facts.is_empty() {
        return Ok(Vec::new());
    }
    lease.rows("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    let coming = ComingRows { entries: 0, facts: worded.len() };
    let target = partitions::claim_write_target(lease, place, coming).await?;
    for (session, last) in worded.read() {
        mark_read(lease, target.partition, session, last).await?;
    }
    let retained = keep(lease, target, worded).await?;
    let id = |at: &usize| retained.get(&worded.facts[*at].same[..]).copied().unwrap_or_default();
    Ok(worded.given.iter().map(|at| FactId(to_unsigned(id(at)))).collect())
}

/// Their ids, by identity.
async fn keep(
    lease: &PgLease,
    target: PgWriteTarget,
    worded: &PgIndexedFacts,
) -> Result<HashMap<Vec<u8>, i64>, MemoryError> {
    let upsert = "INSERT INTO facts AS known (
                      shelf, author, text, same, at, session, entity, topic, first, last, words
                  )
                  SELECT $1, $2, text, same, at, session, entity, topic, first, last, words::bigint[]
                  FROM unnest($3::text[], $4::bytea[], $5::bigint[], $6::text[], $7::text[],
                              $8::text[], $9::bigint[], $10::bigint[], $11::text[])
                      WITH ORDINALITY AS new (
                          text, same, at, session, entity, topic, first, last, words, place)
                  ORDER BY place
                  ON CONFLICT (author, same) DO UPDATE SET
                      at = greatest(known.at, excluded.at),
                      session = coalesce(excluded.session, known.session),
                      entity = coalesce(excluded.entity, known.entity),
                      topic = coalesce(excluded.topic, known.topic)
                  RETURNING id, same, xmax = 0";
    let texts = worded.column(|fact| &*fact.text);
    let same: Vec<&[u8]> = worded.facts.iter().map(|it| &it.same[..]).collect();
    let times = worded.column(|fact| milliseconds(fact.at));
    let sessions = worded.column(|fact| fact.session.as_ref().map(SessionId::as_str));
    let entities = worded.column(|fact| fact.entity.as_ref().map(EntityId::as_str));
    let topics = worded.column(|fact| fact.topic.as_deref());
    let first = worded.entries(|first, _| first);
    let last = worded.entries(|_, last| last);
    let each = worded.facts.iter().zip(target.facts_ever..);
    let words: Vec<String> =
        each.map(|(it, ordinal)| words(target.partition, ordinal, &it.terms)).collect();
    let values: [SqlParam<'_>; 11] = [
        &target.partition,
        &target.author,
        &texts,
        &same,
        &times,
        &sessions,
        &entities,
        &topics,
        &first,
        &last,
        &words,
    ];
    let mut retained = HashMap::new();
    let mut new = Vec::new();
    for row in lease.rows(upsert, &values).await? {
        let mut columns = PgColumns::of(&row);
        let id: i64 = columns.value()?;
        let same: Vec<u8> = columns.value()?;
        let is_new: bool = columns.value()?;
        retained.insert(same, id);
        new.extend(is_new.then_some(id));
    }
    if let (Some(first), Some(last)) = (new.iter().min(), new.iter().max()) {
        let update = "UPDATE shelves SET facts = facts + $2, last_fact = $4,
                          first_fact = CASE first_fact WHEN 0 THEN $3 ELSE first_fact END
                      WHERE id = $1";
        lease.rows(update, &[&target.partition, &size(new.len()), first, last]).await?;
    }
    Ok(retained)
}

pub(super) async fn with(
    lease: &PgLease,
    scope: &MemoryScope,
    query: &MemoryQuery,
) -> Result<SearchCandidates<Fact>, MemoryError> {
    let shelves = partitions::visible_partitions(lease, scope).await?;
    let lists = PgTextIndex::Facts.lists(lease, &shelves, query).await?;
    let found = get(lease, &ids(&shelves), &rows_of(&lists.choose_candidates())).await?;
    Ok(SearchCandidates { found, texts: lists.texts(), with: lists.with() })
}

/// The columns of a fact.
const SELECT: &str = "SELECT f.id, f.text, f.at, f.first, f.last, f.session, f.entity, f.topic,
                             s.owner, a.name, a.via, a.trust";
/// Its partition and its author.
const JOIN: &str = "JOIN shelves s ON s.id = f.shelf JOIN authors a ON a.id = f.author";

/// Those that exist in these partitions, in that order.
pub(super) async fn get(
    lease: &PgLease,
    shelves: &[i32],
    facts: &[i64],
) -> Result<Vec<Fact>, MemoryError> {
    let select = format!(
        "{SELECT} FROM unnest($1::bigint[]) WITH ORDINALITY AS chosen (id, place)
         JOIN facts f ON f.id = chosen.id AND f.shelf = ANY ($2) {JOIN}
         ORDER BY chosen.place"
    );
    let rows = lease.rows(&select, &[&facts, &shelves]).await?;
    rows.iter().map(fact).collect()
}

/// Newest first.
pub(super) async fn list(
    lease: &PgLease,
    scope: &MemoryScope,
    page: Page,
) -> Result<Vec<Fact>, MemoryError> {
    newest(lease, scope, None, page).await
}

/// Those about one entity, newest first.
pub(super) async fn about(
    lease: &PgLease,
    scope: &MemoryScope,
    entity: &EntityId,
    page: Page,
) -> Result<Vec<Fact>, MemoryError> {
    newest(lease, scope, Some(entity), page).await
}

async fn newest(
    lease: &PgLease,
    scope: &MemoryScope,
    about: Option<&EntityId>,
    page: Page,
) -> Result<Vec<Fact>, MemoryError> {
    let shelves = ids(&partitions::visible_partitions(lease, scope).await?);
    let end = page.end();
    let entity = about.map(EntityId::as_str);
    let mut values: Vec<SqlParam<'_>> = vec![&shelves, &end];
    values.extend(entity.as_ref().map(|entity| entity as SqlParam<'_>));
    let filter = if entity.is_some() { "AND entity = $3" } else { "" };
    let select = format!(
        "{SELECT} FROM unnest($1::integer[]) AS seen (id)
         CROSS JOIN LATERAL (
             SELECT * FROM facts WHERE shelf = seen.id {filter}
             ORDER BY at DESC, id DESC LIMIT $2
         ) f {JOIN}
         ORDER BY f.at DESC, f.id DESC LIMIT $2"
    );
    let rows = lease.rows(&select, &values).await?;
    let found: Vec<Fact> = rows.iter().map(fact).collect::<Result<_, _>>()?;
    Ok(page.of(found).collect())
}

fn fact(row: &Row) -> Result<Fact, MemoryError> {
    let mut columns = PgColumns::of(row);
    let id = FactId(columns.number()?);
    let text = columns.value()?;
    let at = moment(columns.value()?);
    let entry = |row: i64| EntryId(to_unsigned(row));
    let source = match (columns.value::<Option<i64>>()?, columns.value::<Option<i64>>()?) {
        (Some(first), Some(last)) => {
            FactSource::Transcript { first: entry(first), last: entry(last) }
        }
        _ => FactSource::Stated,
    };
    Ok(Fact {
        id,
        text,
        at,
        source,
        session: columns.session_if_any()?,
        entity: columns.entity_if_any()?,
        topic: columns.value()?,
        audience: columns.audience()?,
        author: columns.author()?,
    })
}
