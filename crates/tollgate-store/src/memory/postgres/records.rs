//! Export of rows from PostgreSQL.

use tollgate_core::memory::{
    FactSource, MemoryScope, MemoryViewer, NewEntity, NewEntry, NewFact, NewRelation, Provenance,
    moment,
};

use super::pool::{PgLease, SqlParam};
use super::rows::PgColumns;
use crate::memory::{ExportCursor, MemoryError, MemoryLayer, MemoryRecord, RecordContent};
use crate::number::{size, to_signed, to_unsigned};

/// Maximum rows returned, and ids scanned for them: some may be of other scopes.
const ROWS: usize = 500;
const LOOKED_THROUGH: u64 = 20_000;

pub(super) async fn after(
    lease: &PgLease,
    scope: &MemoryScope,
    from: ExportCursor,
) -> Result<(Vec<MemoryRecord>, Option<ExportCursor>), MemoryError> {
    let LayerTable { of, number, author, table: partition, also, columns } = table(from.layer);
    let select = format!(
        "SELECT t.{number}, s.owner, a.name, a.via, a.trust, {columns}
         FROM {of} JOIN shelves s ON s.id = {partition} JOIN authors a ON a.id = t.{author}
         WHERE t.{number} > $1 AND t.{number} <= $2 AND {also}
             AND s.namespace = $3 AND ($4::text IS NULL OR s.owner IN ('', $4))
         ORDER BY t.{number} LIMIT $5",
    );
    let owner = match &scope.eyes {
        MemoryViewer::Operator => None,
        MemoryViewer::Agent(agent) => Some(agent.as_str()),
    };
    let to = from.after.saturating_add(LOOKED_THROUGH);
    let first = to_signed(from.after);
    let last = to_signed(to);
    let most = size(ROWS);
    let values: [SqlParam<'_>; 5] = [&first, &last, &scope.namespace.as_str(), &owner, &most];
    let rows = lease.rows(&select, &values).await?;
    let mut records = Vec::with_capacity(rows.len());
    let mut reached = to;
    for row in &rows {
        let mut columns = PgColumns::of(row);
        let number = columns.number()?;
        if rows.len() == ROWS {
            reached = number;
        }
        let audience = columns.audience()?;
        let author = columns.author()?;
        records.push(MemoryRecord {
            audience,
            author,
            content: read_content(from.layer, &mut columns)?,
        });
    }
    let table = of.split(' ').next().unwrap_or(of);
    let last = format!("SELECT coalesce(max({number}), 0) FROM {table}");
    let last = lease.row(&last, &[]).await?;
    let last: i64 = last.map_or(Ok(0), |row| PgColumns::of(&row).value())?;
    let more = reached < to_unsigned(last);
    Ok((records, more.then_some(ExportCursor { after: reached, ..from })))
}

/// The table of a layer.
struct LayerTable {
    of: &'static str,
    number: &'static str,
    author: &'static str,
    table: &'static str,
    /// Further condition for exported rows.
    also: &'static str,
    columns: &'static str,
}

fn table(layer: MemoryLayer) -> LayerTable {
    let number = "id";
    let author = "author";
    let partition = "t.shelf";
    let also = "true";
    match layer {
        MemoryLayer::Entries => LayerTable {
            of: "entries t JOIN sessions n ON n.id = t.session",
            table: "n.shelf",
            columns: "n.name, t.speaker, t.text, t.at",
            number,
            author,
            also,
        },
        MemoryLayer::Summaries => LayerTable {
            of: "sessions t",
            author: "summary_author",
            also: "t.summary IS NOT NULL",
            columns: "t.name, t.summary",
            number,
            table: partition,
        },
        MemoryLayer::Facts => LayerTable {
            of: "facts t",
            also: "t.first IS NULL",
            columns: "t.text, t.at, t.session, t.entity, t.topic",
            number,
            author,
            table: partition,
        },
        MemoryLayer::Entities => LayerTable {
            of: "entities t",
            number: "number",
            columns: "t.id, t.kind, t.name, t.attributes, t.changed",
            author,
            table: partition,
            also,
        },
        MemoryLayer::Relations => LayerTable {
            of: "relations t",
            number: "number",
            columns: "t.source, t.kind, t.target, t.attributes, t.session, t.confidence, t.changed",
            author,
            table: partition,
            also,
        },
    }
}

fn read_content(
    layer: MemoryLayer,
    columns: &mut PgColumns<'_>,
) -> Result<RecordContent, MemoryError> {
    Ok(match layer {
        MemoryLayer::Entries => RecordContent::Utterance(NewEntry {
            session: columns.session()?,
            speaker: columns.value()?,
            text: columns.value()?,
            at: moment(columns.value()?),
        }),
        MemoryLayer::Summaries => {
            RecordContent::Summary { session: columns.session()?, text: columns.value()? }
        }
        MemoryLayer::Facts => RecordContent::Fact(NewFact {
            text: columns.value()?,
            at: moment(columns.value()?),
            source: FactSource::Stated,
            session: columns.session_if_any()?,
            entity: columns.entity_if_any()?,
            topic: columns.value()?,
        }),
        MemoryLayer::Entities => RecordContent::Entity(NewEntity {
            id: columns.entity()?,
            kind: columns.value()?,
            name: columns.value()?,
            attributes: columns.attributes()?,
            at: moment(columns.value()?),
        }),
        MemoryLayer::Relations => RecordContent::Relation(NewRelation {
            source: columns.entity()?,
            kind: columns.value()?,
            target: columns.entity()?,
            attributes: columns.attributes()?,
            provenance: Provenance {
                session: columns.session_if_any()?,
                confidence: columns.value()?,
            },
            at: moment(columns.value()?),
        }),
    })
}
