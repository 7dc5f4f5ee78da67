//! Export of rows from SQLite.

use rusqlite::{Connection, OptionalExtension};
use tollgate_core::memory::{
    Audience, FactSource, MemoryScope, MemoryViewer, NewEntity, NewEntry, NewFact, NewRelation,
};

use super::partitions::{audience_of, author_of};
use super::rows::session_of;
use super::{MemoryError, entities, facts, relations, transcripts};
use crate::memory::{ExportCursor, MemoryLayer, MemoryRecord, RecordContent};
use crate::number::{size, to_signed, to_unsigned};

/// Maximum rows returned, and ids scanned for them: some may be of other scopes.
const ROWS: usize = 500;
const LOOKED_THROUGH: u64 = 20_000;

pub(super) fn after(
    connection: &Connection,
    scope: &MemoryScope,
    from: ExportCursor,
) -> Result<(Vec<MemoryRecord>, Option<ExportCursor>), MemoryError> {
    let LayerTable { table, number, .. } = LayerTable::of(from.layer);
    let last: Option<i64> =
        connection.query_row(&format!("SELECT max({number}) FROM {table}"), [], |it| it.get(0))?;
    let to = from.after.saturating_add(LOOKED_THROUGH);
    let rows = visible_rows(connection, scope, from, to)?;
    let mut records = Vec::with_capacity(rows.len());
    for (number, audience) in &rows {
        records.extend(record(connection, from.layer, *number, audience)?);
    }
    let reached = match rows.last() {
        Some((last, _)) if rows.len() == ROWS => to_unsigned(*last),
        _ => to,
    };
    let more = reached < to_unsigned(last.unwrap_or_default());
    Ok((records, more.then_some(ExportCursor { after: reached, ..from })))
}

/// The table of a layer, its id column, and the column or query of its partition.
struct LayerTable {
    table: &'static str,
    number: &'static str,
    partition: &'static str,
}

impl LayerTable {
    fn of(layer: MemoryLayer) -> Self {
        let partition = match layer {
            MemoryLayer::Entries => {
                "(SELECT shelf FROM sessions WHERE sessions.id = entries.session)"
            }
            _ => "shelf",
        };
        let table = match layer {
            MemoryLayer::Entries => "entries",
            MemoryLayer::Summaries => "sessions",
            MemoryLayer::Facts => "facts",
            MemoryLayer::Entities => "entities",
            MemoryLayer::Relations => "relations",
        };
        let number = match layer {
            MemoryLayer::Entries | MemoryLayer::Summaries | MemoryLayer::Facts => "id",
            MemoryLayer::Entities | MemoryLayer::Relations => "number",
        };
        Self { table, number, partition }
    }
}

/// The ids visible in a scope, with the audience of each.
fn visible_rows(
    connection: &Connection,
    scope: &MemoryScope,
    from: ExportCursor,
    to: u64,
) -> Result<Vec<(i64, Audience)>, MemoryError> {
    let LayerTable { table, number, partition } = LayerTable::of(from.layer);
    let select = format!(
        "SELECT {table}.{number}, s.owner FROM {table} JOIN shelves s ON s.id = {partition}
         WHERE {table}.{number} > ?1 AND {table}.{number} <= ?2
             AND s.namespace = ?3 AND (?4 IS NULL OR s.owner IN ('', ?4))
         ORDER BY {table}.{number} LIMIT ?5",
    );
    let owner = match &scope.eyes {
        MemoryViewer::Operator => None,
        MemoryViewer::Agent(agent) => Some(agent.as_str()),
    };
    let mut query = connection.prepare_cached(&select)?;
    let namespace = scope.namespace.as_str();
    let values = (to_signed(from.after), to_signed(to), namespace, owner, size(ROWS));
    let rows = query.query_map(values, |row| Ok((row.get(0)?, audience_of(row, 1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// `None` for rows that are not exported.
fn record(
    connection: &Connection,
    layer: MemoryLayer,
    number: i64,
    audience: &Audience,
) -> Result<Option<MemoryRecord>, MemoryError> {
    let audience = audience.clone();
    Ok(match layer {
        MemoryLayer::Entries => transcripts::get(connection, number)?.map(|it| {
            let entry =
                NewEntry { session: it.session, speaker: it.speaker, text: it.text, at: it.at };
            MemoryRecord { audience, author: it.author, content: RecordContent::Utterance(entry) }
        }),
        MemoryLayer::Summaries => summary(connection, number, audience)?,
        MemoryLayer::Facts => facts::get(connection, number)?
            .filter(|fact| fact.source == FactSource::Stated)
            .map(|it| {
                let fact = NewFact {
                    text: it.text,
                    at: it.at,
                    source: it.source,
                    session: it.session,
                    entity: it.entity,
                    topic: it.topic,
                };
                MemoryRecord { audience, author: it.author, content: RecordContent::Fact(fact) }
            }),
        MemoryLayer::Entities => entities::find_by_number(connection, number)?.map(|it| {
            let id = it.id;
            let kind = it.kind;
            let name = it.name;
            let attributes = it.attributes;
            let entity = NewEntity { id, kind, name, attributes, at: it.changed };
            MemoryRecord { audience, author: it.author, content: RecordContent::Entity(entity) }
        }),
        MemoryLayer::Relations => relations::find_by_number(connection, number)?.map(|it| {
            let relation = NewRelation {
                source: it.source,
                kind: it.kind,
                target: it.target,
                attributes: it.attributes,
                provenance: it.provenance,
                at: it.changed,
            };
            MemoryRecord { audience, author: it.author, content: RecordContent::Relation(relation) }
        }),
    })
}

fn summary(
    connection: &Connection,
    number: i64,
    audience: Audience,
) -> Result<Option<MemoryRecord>, MemoryError> {
    let select = "SELECT t.name, t.summary, a.name, a.via, a.trust
                  FROM sessions t JOIN authors a ON a.id = t.summary_author
                  WHERE t.id = ?1 AND t.summary IS NOT NULL";
    let mut query = connection.prepare_cached(select)?;
    let row = query.query_row([number], |row| {
        let content = RecordContent::Summary { session: session_of(row, 0)?, text: row.get(1)? };
        Ok(MemoryRecord { audience, author: author_of(row, 2)?, content })
    });
    Ok(row.optional()?)
}
