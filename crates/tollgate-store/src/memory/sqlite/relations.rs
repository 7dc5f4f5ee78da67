//! L3 in SQLite: relations from an entity to its direct neighbours.

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use serde_json::Value;
use tollgate_core::memory::{
    EntityId, EntityLink, EntitySnapshot, MemoryScope, MemoryTarget, NewRelation, Provenance,
    Relation, SessionId, milliseconds, moment,
};

use super::partitions::{
    self, PartitionCounter, SqlitePartition, SqliteWriteTarget, audience_of, author_of,
};
use super::rows::{attributes_of, entity_of, read_optional, session_of};
use super::{MemoryError, entities};
use crate::memory::Page;
use crate::number::to_unsigned;

/// Counting the links of an entity stops here.
const MAX_COUNTED_LINKS: i64 = 100_000;
/// Extra links read, because those with an invisible other end are omitted.
const SPARE: i64 = 64;

pub(super) fn relate(
    to: &Connection,
    place: &MemoryTarget,
    relations: &[NewRelation],
) -> Result<(), MemoryError> {
    let target = partitions::claim_write_target(to, place)?;
    let ends: Vec<i64> = match place.audience.owner() {
        None => vec![target.partition],
        Some(owner) => {
            let scope = MemoryScope::of_agent(place.namespace.clone(), owner.clone());
            partitions::visible_partitions(to, &scope)?
                .into_iter()
                .map(|partition_id| partition_id.id)
                .collect()
        }
    };
    let mut find = to.prepare_cached("SELECT 1 FROM entities WHERE shelf = ?1 AND id = ?2")?;
    for relation in relations {
        for end in [&relation.source, &relation.target] {
            let mut is_there = false;
            for partition_id in &ends {
                is_there |= find.exists((partition_id, end.as_str()))?;
            }
            if !is_there {
                return Err(MemoryError::NoEntity(end.clone()));
            }
        }
        put(to, target, relation)?;
    }
    Ok(())
}

fn put(
    to: &Connection,
    write_target: SqliteWriteTarget,
    relation: &NewRelation,
) -> Result<(), MemoryError> {
    let key = (
        write_target.partition,
        relation.source.as_str(),
        &*relation.kind,
        relation.target.as_str(),
    );
    let find = "SELECT 1 FROM relations
                WHERE shelf = ?1 AND source = ?2 AND kind = ?3 AND target = ?4";
    if !to.prepare_cached(find)?.exists(key)? {
        partitions::count(to, write_target.partition, PartitionCounter::Relations, 1)?;
    }
    let upsert = "INSERT INTO relations (
                      shelf, author, source, kind, target, attributes, session, confidence, changed
                  ) VALUES (
                      :shelf, :author, :source, :kind, :target,
                      :attributes, :session, :confidence, :changed
                  ) ON CONFLICT (shelf, source, kind, target) DO UPDATE SET
                      author = excluded.author, attributes = excluded.attributes,
                      session = excluded.session, confidence = excluded.confidence,
                      changed = excluded.changed";
    let attributes = Value::Object(relation.attributes.clone()).to_string();
    to.prepare_cached(upsert)?.execute(named_params! {
        ":shelf": write_target.partition,
        ":author": write_target.author,
        ":source": relation.source.as_str(),
        ":kind": relation.kind,
        ":target": relation.target.as_str(),
        ":attributes": attributes,
        ":session": relation.provenance.session.as_ref().map(SessionId::as_str),
        ":confidence": relation.provenance.confidence,
        ":changed": milliseconds(relation.at),
    })?;
    Ok(())
}

pub(super) fn snapshot(
    connection: &Connection,
    scope: &MemoryScope,
    id: &EntityId,
    most: usize,
) -> Result<Option<EntitySnapshot>, MemoryError> {
    let shelves = partitions::visible_partitions(connection, scope)?;
    let seen: Vec<i64> = shelves.iter().map(|partition| partition.id).collect();
    let Some(entity) = entities::get(connection, &seen, id.as_str())? else { return Ok(None) };
    let page = Page { skip: 0, most };
    let mut links = Vec::new();
    for relation in of(connection, &shelves, id, page.end().saturating_add(SPARE))? {
        let other = if relation.source == *id { &relation.target } else { &relation.source };
        if links.len() < most
            && let Some(neighbour) = entities::get(connection, &seen, other.as_str())?
        {
            links.push(EntityLink { relation, neighbour });
        }
    }
    let all = count(connection, &seen, id)?;
    let left_out = all.saturating_sub(u64::try_from(links.len()).unwrap_or(u64::MAX));
    Ok(Some(EntitySnapshot { entity, links, left_out }))
}

/// Of one entity, highest confidence first; or all, by their ends.
pub(super) fn list(
    connection: &Connection,
    scope: &MemoryScope,
    of_entity: Option<&EntityId>,
    page: Page,
) -> Result<Vec<Relation>, MemoryError> {
    let shelves = partitions::visible_partitions(connection, scope)?;
    if let Some(id) = of_entity {
        return Ok(page.of(of(connection, &shelves, id, page.end())?).collect());
    }
    let select = format!(
        "{RELATIONS} WHERE r.shelf = ?1 ORDER BY r.source, r.kind, r.target
                          LIMIT ?2"
    );
    let mut query = connection.prepare_cached(&select)?;
    let mut found: Vec<Relation> = Vec::new();
    for partition in shelves {
        let rows = query.query_map((partition.id, page.end()), relation)?;
        found.extend(rows.collect::<Result<Vec<_>, _>>()?);
    }
    let key = |it: &Relation| (it.source.clone(), it.kind.clone(), it.target.clone());
    found.sort_by_cached_key(key);
    Ok(page.of(found).collect())
}

pub(super) fn find_by_number(
    connection: &Connection,
    number: i64,
) -> Result<Option<Relation>, MemoryError> {
    let mut query = connection.prepare_cached(&format!("{RELATIONS} WHERE r.number = ?1"))?;
    Ok(query.query_row([number], relation).optional()?)
}

/// The relations of an entity in both directions, highest confidence first.
fn of(
    connection: &Connection,
    shelves: &[SqlitePartition],
    id: &EntityId,
    most: i64,
) -> Result<Vec<Relation>, MemoryError> {
    let mut found = Vec::new();
    // A self-relation counts once.
    for end in ["r.source = ?2", "r.target = ?2 AND r.source != ?2"] {
        let select = format!(
            "{RELATIONS} WHERE r.shelf = ?1 AND {end}
                              ORDER BY r.confidence DESC LIMIT ?3"
        );
        let mut query = connection.prepare_cached(&select)?;
        for partition in shelves {
            let rows = query.query_map((partition.id, id.as_str(), most), relation)?;
            found.extend(rows.collect::<Result<Vec<_>, _>>()?);
        }
    }
    found.sort_by(|one: &Relation, two| {
        let surer = two.provenance.confidence.total_cmp(&one.provenance.confidence);
        surer.then_with(|| {
            (&one.source, &one.kind, &one.target).cmp(&(&two.source, &two.kind, &two.target))
        })
    });
    found.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    Ok(found)
}

fn count(connection: &Connection, shelves: &[i64], id: &EntityId) -> Result<u64, MemoryError> {
    let count = "SELECT count(*) FROM (
                     SELECT 1 FROM relations WHERE shelf = ?1 AND source = ?2 LIMIT ?3
                 )";
    let back = "SELECT count(*) FROM (
                    SELECT 1 FROM relations WHERE shelf = ?1 AND target = ?2 AND source != ?2
                    LIMIT ?3
                )";
    let mut all = 0;
    for select in [count, back] {
        let mut query = connection.prepare_cached(select)?;
        for partition in shelves {
            let found =
                query.query_row((partition, id.as_str(), MAX_COUNTED_LINKS), |row| row.get(0));
            all += to_unsigned(found.optional()?.unwrap_or_default());
        }
    }
    Ok(all)
}

const RELATIONS: &str = "SELECT r.source, r.kind, r.target, r.attributes, r.session, r.confidence,
        r.changed, s.owner, a.name, a.via, a.trust
    FROM relations r JOIN shelves s ON s.id = r.shelf JOIN authors a ON a.id = r.author";

fn relation(row: &Row<'_>) -> rusqlite::Result<Relation> {
    Ok(Relation {
        source: entity_of(row, 0)?,
        kind: row.get(1)?,
        target: entity_of(row, 2)?,
        attributes: attributes_of(row, 3)?,
        provenance: Provenance {
            session: read_optional(row, 4, session_of)?,
            confidence: row.get(5)?,
        },
        audience: audience_of(row, 7)?,
        author: author_of(row, 8)?,
        changed: moment(row.get(6)?),
    })
}
