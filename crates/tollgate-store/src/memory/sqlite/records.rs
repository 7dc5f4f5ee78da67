//! What stands in the memory's file, row by row: for export.

use rusqlite::{Connection, OptionalExtension};
use tollgate_core::memory::{
    Audience, Eyes, NewEntity, NewEntry, NewFact, NewRelation, Scope, Source,
};

use super::rows::session_of;
use super::shelves::{audience_of, author_of};
use super::{Trouble, entities, facts, relations, transcripts};
use crate::memory::{Cursor, Kept, Layer, Record};
use crate::number::{signed, size, unsigned};

/// Rows at once, and numbers that are looked through for them: those between may be of others.
const ROWS: usize = 500;
const LOOKED_THROUGH: u64 = 20_000;

pub(super) fn after(
    connection: &Connection,
    scope: &Scope,
    from: Cursor,
) -> Result<(Vec<Record>, Option<Cursor>), Trouble> {
    let (table, number, _) = table(from.layer);
    let last: Option<i64> =
        connection.query_row(&format!("SELECT max({number}) FROM {table}"), [], |it| it.get(0))?;
    let to = from.after.saturating_add(LOOKED_THROUGH);
    let rows = seen(connection, scope, from, to)?;
    let mut records = Vec::with_capacity(rows.len());
    for (number, audience) in &rows {
        records.extend(record(connection, from.layer, *number, audience)?);
    }
    let reached = match rows.last() {
        Some((last, _)) if rows.len() == ROWS => unsigned(*last),
        _ => to,
    };
    let more = reached < unsigned(last.unwrap_or_default());
    Ok((records, more.then_some(Cursor { after: reached, ..from })))
}

/// Where the rows of a layer stand, by which number, and the shelf of each.
fn table(layer: Layer) -> (&'static str, &'static str, &'static str) {
    match layer {
        Layer::Entries => {
            ("entries", "id", "(SELECT shelf FROM sessions WHERE sessions.id = entries.session)")
        }
        Layer::Summaries => ("sessions", "id", "shelf"),
        Layer::Facts => ("facts", "id", "shelf"),
        Layer::Entities => ("entities", "number", "shelf"),
        Layer::Relations => ("relations", "number", "shelf"),
    }
}

/// The numbers of what a scope sees, and for whom each is.
fn seen(
    connection: &Connection,
    scope: &Scope,
    from: Cursor,
    to: u64,
) -> Result<Vec<(i64, Audience)>, Trouble> {
    let (table, number, shelf) = table(from.layer);
    let select = format!(
        "SELECT {table}.{number}, s.owner FROM {table} JOIN shelves s ON s.id = {shelf}
         WHERE {table}.{number} > ?1 AND {table}.{number} <= ?2
             AND s.namespace = ?3 AND (?4 IS NULL OR s.owner IN ('', ?4))
         ORDER BY {table}.{number} LIMIT ?5",
    );
    let owner = match &scope.eyes {
        Eyes::Operator => None,
        Eyes::Agent(agent) => Some(agent.as_str()),
    };
    let mut query = connection.prepare_cached(&select)?;
    let namespace = scope.namespace.as_str();
    let values = (signed(from.after), signed(to), namespace, owner, size(ROWS));
    let rows = query.query_map(values, |row| Ok((row.get(0)?, audience_of(row, 1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// `None` for what is not exported.
fn record(
    connection: &Connection,
    layer: Layer,
    number: i64,
    audience: &Audience,
) -> Result<Option<Record>, Trouble> {
    let audience = audience.clone();
    Ok(match layer {
        Layer::Entries => transcripts::get(connection, number)?.map(|it| {
            let entry =
                NewEntry { session: it.session, speaker: it.speaker, text: it.text, at: it.at };
            Record { audience, author: it.author, kept: Kept::Said(entry) }
        }),
        Layer::Summaries => summary(connection, number, audience)?,
        Layer::Facts => {
            facts::get(connection, number)?.filter(|fact| fact.source == Source::Stated).map(|it| {
                let fact = NewFact {
                    text: it.text,
                    at: it.at,
                    source: it.source,
                    session: it.session,
                    entity: it.entity,
                    topic: it.topic,
                };
                Record { audience, author: it.author, kept: Kept::Fact(fact) }
            })
        }
        Layer::Entities => entities::numbered(connection, number)?.map(|it| {
            let (id, kind, name, attributes) = (it.id, it.kind, it.name, it.attributes);
            let entity = NewEntity { id, kind, name, attributes, at: it.changed };
            Record { audience, author: it.author, kept: Kept::Entity(entity) }
        }),
        Layer::Relations => relations::numbered(connection, number)?.map(|it| {
            let relation = NewRelation {
                source: it.source,
                kind: it.kind,
                target: it.target,
                attributes: it.attributes,
                provenance: it.provenance,
                at: it.changed,
            };
            Record { audience, author: it.author, kept: Kept::Relation(relation) }
        }),
    })
}

fn summary(
    connection: &Connection,
    number: i64,
    audience: Audience,
) -> Result<Option<Record>, Trouble> {
    let select = "SELECT t.name, t.summary, a.name, a.via, a.trust
                  FROM sessions t JOIN authors a ON a.id = t.summary_author
                  WHERE t.id = ?1 AND t.summary IS NOT NULL";
    let mut query = connection.prepare_cached(select)?;
    let row = query.query_row([number], |row| {
        let kept = Kept::Summary { session: session_of(row, 0)?, text: row.get(1)? };
        Ok(Record { audience, author: author_of(row, 2)?, kept })
    });
    Ok(row.optional()?)
}
