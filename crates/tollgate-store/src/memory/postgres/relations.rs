//! L3 in PostgreSQL: relations from an entity to its direct neighbours.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value as Json;
use tokio_postgres::Row;
use tollgate_core::memory::{
    EntityId, EntityLink, EntitySnapshot, MemoryScope, MemoryTarget, NewRelation, Provenance,
    Relation, SessionId, milliseconds, moment,
};

use super::entities;
use super::partitions::{self, ComingRows, PgWriteTarget, ids};
use super::pool::{PgLease, SqlParam};
use super::rows::PgColumns;
use crate::memory::{MemoryError, Page};
use crate::number::size;

/// Counting the links of an entity stops here.
const MAX_COUNTED_LINKS: i64 = 100_000;
/// Extra links read, because those with an invisible other end are omitted.
const SPARE: i64 = 64;

pub(super) async fn relate(
    lease: &PgLease,
    place: &MemoryTarget,
    relations: &[NewRelation],
) -> Result<(), MemoryError> {
    if relations.is_empty() {
        return Ok(());
    }
    let target = partitions::claim_write_target(lease, place, ComingRows::default()).await?;
    let shelves = match place.audience.owner() {
        None => vec![target.partition],
        Some(owner) => {
            let scope = MemoryScope::of_agent(place.namespace.clone(), owner.clone());
            ids(&partitions::visible_partitions(lease, &scope).await?)
        }
    };
    let ends: Vec<&EntityId> = relations.iter().flat_map(|it| [&it.source, &it.target]).collect();
    let names: Vec<&str> = ends.iter().map(|end| end.as_str()).collect();
    // Lock the entities until the transaction ends.
    let find = "SELECT id FROM entities WHERE shelf = ANY ($1) AND id = ANY ($2) FOR KEY SHARE";
    let rows = lease.rows(find, &[&shelves, &names]).await?;
    let there: HashSet<String> =
        rows.iter().map(|row| PgColumns::of(row).value()).collect::<Result<_, _>>()?;
    match ends.into_iter().find(|end| !there.contains(end.as_str())) {
        Some(missing) => Err(MemoryError::NoEntity(missing.clone())),
        None => put(lease, target, relations).await,
    }
}

async fn put(
    lease: &PgLease,
    target: PgWriteTarget,
    relations: &[NewRelation],
) -> Result<(), MemoryError> {
    // Of several of one kind between the same two the last one is stored.
    let differing: BTreeMap<_, &NewRelation> =
        relations.iter().map(|it| ((&it.source, &*it.kind, &it.target), it)).collect();
    let relations: Vec<&NewRelation> = differing.into_values().collect();
    let column =
        |of: fn(&NewRelation) -> &str| -> Vec<&str> { relations.iter().map(|it| of(it)).collect() };
    let attributes: Vec<String> =
        relations.iter().map(|it| Json::Object(it.attributes.clone()).to_string()).collect();
    let session = |it: &&NewRelation| {
        it.provenance.session.as_ref().map(|session| SessionId::as_str(session).to_owned())
    };
    let sessions: Vec<Option<String>> = relations.iter().map(session).collect();
    let confidences: Vec<f32> = relations.iter().map(|it| it.provenance.confidence).collect();
    let changed: Vec<i64> = relations.iter().map(|it| milliseconds(it.at)).collect();
    let upsert = "INSERT INTO relations (
                      shelf, author, source, kind, target, attributes, session, confidence, changed
                  )
                  SELECT $1, $2, source, kind, target, attributes, session, confidence, changed
                  FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                              $8::real[], $9::bigint[])
                      AS new (source, kind, target, attributes, session, confidence, changed)
                  ON CONFLICT (shelf, source, kind, target) DO UPDATE SET
                      author = excluded.author, attributes = excluded.attributes,
                      session = excluded.session, confidence = excluded.confidence,
                      changed = excluded.changed
                  RETURNING xmax = 0";
    let values: [SqlParam<'_>; 9] = [
        &target.partition,
        &target.author,
        &column(|it| it.source.as_str()),
        &column(|it| &it.kind),
        &column(|it| it.target.as_str()),
        &attributes,
        &sessions,
        &confidences,
        &changed,
    ];
    let rows = lease.rows(upsert, &values).await?;
    let new: Vec<bool> =
        rows.iter().map(|row| PgColumns::of(row).value()).collect::<Result<_, _>>()?;
    let new = size(new.into_iter().filter(|is_new| *is_new).count());
    let update = "UPDATE shelves SET relations = relations + $2 WHERE id = $1";
    lease.rows(update, &[&target.partition, &new]).await?;
    Ok(())
}

pub(super) async fn snapshot(
    lease: &PgLease,
    scope: &MemoryScope,
    id: &EntityId,
    most: usize,
) -> Result<Option<EntitySnapshot>, MemoryError> {
    let shelves = ids(&partitions::visible_partitions(lease, scope).await?);
    let Some(entity) = entities::get(lease, &shelves, &[id.as_str()]).await?.pop() else {
        return Ok(None);
    };
    let page = Page { skip: 0, most };
    let relations = of(lease, &shelves, id, page.end().saturating_add(SPARE)).await?;
    let other = |it: &Relation| {
        if it.source == *id { it.target.clone() } else { it.source.clone() }
    };
    let others: Vec<EntityId> = relations.iter().map(other).collect();
    let names: HashSet<&str> = others.iter().map(EntityId::as_str).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let neighbours = entities::get(lease, &shelves, &names).await?;
    let mut links = Vec::new();
    for (relation, other) in relations.into_iter().zip(&others) {
        if links.len() < most
            && let Some(neighbour) = neighbours.iter().find(|it| it.id == *other)
        {
            links.push(EntityLink { relation, neighbour: neighbour.clone() });
        }
    }
    let all = count_links(lease, &shelves, id).await?;
    let left_out = all.saturating_sub(u64::try_from(links.len()).unwrap_or(u64::MAX));
    Ok(Some(EntitySnapshot { entity, links, left_out }))
}

/// Of one entity, highest confidence first; or all, by their ends.
pub(super) async fn list(
    lease: &PgLease,
    scope: &MemoryScope,
    of_entity: Option<&EntityId>,
    page: Page,
) -> Result<Vec<Relation>, MemoryError> {
    let shelves = ids(&partitions::visible_partitions(lease, scope).await?);
    if let Some(id) = of_entity {
        return Ok(page.of(of(lease, &shelves, id, page.end()).await?).collect());
    }
    let select = "SELECT r.source, r.kind, r.target, r.attributes, r.session, r.confidence,
                         r.changed, s.owner, a.name, a.via, a.trust
                  FROM unnest($1::integer[]) AS seen (id)
                  CROSS JOIN LATERAL (
                      SELECT * FROM relations WHERE shelf = seen.id
                      ORDER BY source, kind, target LIMIT $2
                  ) r
                  JOIN shelves s ON s.id = r.shelf JOIN authors a ON a.id = r.author
                  ORDER BY r.source, r.kind, r.target LIMIT $2";
    let rows = lease.rows(select, &[&shelves, &page.end()]).await?;
    let found: Vec<Relation> = rows.iter().map(relation).collect::<Result<_, _>>()?;
    Ok(page.of(found).collect())
}

/// The relations of an entity in both directions, highest confidence first. A self-relation counts
/// once.
async fn of(
    lease: &PgLease,
    shelves: &[i32],
    id: &EntityId,
    most: i64,
) -> Result<Vec<Relation>, MemoryError> {
    let select = "SELECT r.source, r.kind, r.target, r.attributes, r.session, r.confidence,
                         r.changed, s.owner, a.name, a.via, a.trust
                  FROM unnest($1::integer[]) AS seen (id)
                  CROSS JOIN LATERAL (
                      (SELECT * FROM relations WHERE shelf = seen.id AND source = $2
                       ORDER BY confidence DESC LIMIT $3)
                      UNION ALL
                      (SELECT * FROM relations
                       WHERE shelf = seen.id AND target = $2 AND source <> $2
                       ORDER BY confidence DESC LIMIT $3)
                  ) r
                  JOIN shelves s ON s.id = r.shelf JOIN authors a ON a.id = r.author
                  ORDER BY r.confidence DESC, r.source, r.kind, r.target LIMIT $3";
    let rows = lease.rows(select, &[&shelves, &id.as_str(), &most]).await?;
    rows.iter().map(relation).collect()
}

async fn count_links(lease: &PgLease, shelves: &[i32], id: &EntityId) -> Result<u64, MemoryError> {
    let select = "SELECT count(*) FROM unnest($1::integer[]) AS seen (id)
                  CROSS JOIN LATERAL (
                      (SELECT FROM relations WHERE shelf = seen.id AND source = $2 LIMIT $3)
                      UNION ALL
                      (SELECT FROM relations
                       WHERE shelf = seen.id AND target = $2 AND source <> $2 LIMIT $3)
                  ) r";
    let row = lease.row(select, &[&shelves, &id.as_str(), &MAX_COUNTED_LINKS]).await?;
    row.map_or(Ok(0), |row| PgColumns::of(&row).number())
}

fn relation(row: &Row) -> Result<Relation, MemoryError> {
    let mut columns = PgColumns::of(row);
    let source = columns.entity()?;
    let kind = columns.value()?;
    let target = columns.entity()?;
    let attributes = columns.attributes()?;
    let session = columns.session_if_any()?;
    let provenance = Provenance { session, confidence: columns.value()? };
    let changed = moment(columns.value()?);
    let audience = columns.audience()?;
    let author = columns.author()?;
    Ok(Relation { source, kind, target, attributes, provenance, audience, author, changed })
}
