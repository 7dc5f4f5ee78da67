//! L3 in SQLite: entities, found by name.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use serde_json::Value;
use tollgate_core::memory::{
    Entity, MemoryQuery, MemoryScope, MemoryTarget, NewEntity, fold_text, milliseconds, moment,
    terms,
};

use super::MemoryError;
use super::partitions::{
    self, PartitionCounter, SqlitePartition, SqliteWriteTarget, audience_of, author_of,
};
use super::postings::{ALL, SqliteTextIndex, partition_term, words};
use super::rows::{attributes_of, entity_of};
use crate::memory::{EntityFilter, Page};
use crate::number::size;

/// Maximum rows examined in a search by words.
const MAX_ROWS_WITH_WORDS: usize = 1_000;

pub(super) fn put(
    to: &Connection,
    place: &MemoryTarget,
    entities: &[NewEntity],
) -> Result<(), MemoryError> {
    let target = partitions::claim_write_target(to, place)?;
    entities.iter().try_for_each(|entity| put_one(to, target, entity))
}

fn put_one(
    to: &Connection,
    target: SqliteWriteTarget,
    entity: &NewEntity,
) -> Result<(), MemoryError> {
    let find = "SELECT number FROM entities WHERE shelf = ?1 AND id = ?2";
    let values = (target.partition, entity.id.as_str());
    let known: Option<i64> =
        to.prepare_cached(find)?.query_row(values, |row| row.get(0)).optional()?;
    match known {
        Some(number) => SqliteTextIndex::Entities.remove(to, number)?,
        None => partitions::count(to, target.partition, PartitionCounter::Entities, 1)?,
    }
    let upsert = "INSERT INTO entities (
                      shelf, author, id, kind, name, folded, attributes, changed
                  ) VALUES (
                      :shelf, :author, :id, :kind, :name, :folded, :attributes, :changed
                  ) ON CONFLICT (shelf, id) DO UPDATE SET
                      author = excluded.author, kind = excluded.kind, name = excluded.name,
                      folded = excluded.folded, attributes = excluded.attributes,
                      changed = excluded.changed
                  RETURNING number";
    let attributes = Value::Object(entity.attributes.clone()).to_string();
    let values = named_params! {
        ":shelf": target.partition,
        ":author": target.author,
        ":id": entity.id.as_str(),
        ":kind": entity.kind,
        ":name": entity.name,
        ":folded": looked_for(&entity.name),
        ":attributes": attributes,
        ":changed": milliseconds(entity.at),
    };
    let number = to.prepare_cached(upsert)?.query_row(values, |row| row.get(0))?;
    let terms = terms(&entity.name);
    let of_kind: Vec<String> = terms.iter().map(|term| of_kind(&entity.kind, term)).collect();
    let words = words(target.partition, &terms) + &words(target.partition, &of_kind);
    SqliteTextIndex::Entities.add(to, number, &words)
}

pub(super) fn find(
    connection: &Connection,
    scope: &MemoryScope,
    filter: &EntityFilter,
    page: Page,
) -> Result<Vec<Entity>, MemoryError> {
    let shelves = partitions::visible_partitions(connection, scope)?;
    let kind = filter.kind.as_ref().map(|kind| kind.trim().to_lowercase());
    let search = SqliteEntitySearch { connection, shelves: &shelves, kind: kind.as_deref(), page };
    let Some(name) = &filter.name else { return search.any() };
    let mut found = search.same(name)?;
    if !search.is_enough(&found) {
        found.extend(search.beginning(name)?);
    }
    if !search.is_enough(&found) {
        found.extend(search.with_words(name)?);
    }
    let mut known = HashSet::new();
    found.retain(|(number, _)| known.insert(*number));
    Ok(page.of(found).map(|(_, entity)| entity).collect())
}

/// The entity of that id with precedence.
pub(super) fn get(
    connection: &Connection,
    shelves: &[i64],
    id: &str,
) -> Result<Option<Entity>, MemoryError> {
    let select = format!("{ENTITIES} WHERE e.shelf = ?1 AND e.id = ?2");
    let mut query = connection.prepare_cached(&select)?;
    for partition in shelves {
        if let Some((_, entity)) = query.query_row((partition, id), entity).optional()? {
            return Ok(Some(entity));
        }
    }
    Ok(None)
}

pub(super) fn find_by_number(
    connection: &Connection,
    number: i64,
) -> Result<Option<Entity>, MemoryError> {
    let mut query = connection.prepare_cached(&format!("{ENTITIES} WHERE e.number = ?1"))?;
    Ok(query.query_row([number], entity).optional()?.map(|(_, entity)| entity))
}

type SqliteNumberedEntities = Vec<(i64, Entity)>;

struct SqliteEntitySearch<'s> {
    connection: &'s Connection,
    shelves: &'s [SqlitePartition],
    kind: Option<&'s str>,
    page: Page,
}

impl SqliteEntitySearch<'_> {
    fn is_enough(&self, found: &SqliteNumberedEntities) -> bool {
        size(found.len()) >= self.page.end()
    }

    /// By name, partition by partition.
    fn any(&self) -> Result<Vec<Entity>, MemoryError> {
        let mut found = self.between("", None)?;
        found.sort_by_cached_key(|(number, entity)| (looked_for(&entity.name), *number));
        Ok(self.page.of(found).map(|(_, entity)| entity).collect())
    }

    fn same(&self, name: &str) -> Result<SqliteNumberedEntities, MemoryError> {
        let name = looked_for(name);
        self.between(&name, Some(&format!("{name}\0")))
    }

    fn beginning(&self, name: &str) -> Result<SqliteNumberedEntities, MemoryError> {
        let name = looked_for(name);
        // The highest code point, as the upper end of a prefix range.
        self.between(&name, Some(&format!("{name}\u{10ffff}")))
    }

    /// A range of names.
    fn between(&self, from: &str, to: Option<&str>) -> Result<SqliteNumberedEntities, MemoryError> {
        let kind = if self.kind.is_some() { "e.kind = ?4" } else { "?4 IS NULL" };
        let end = if to.is_some() { "e.folded < ?3" } else { "?3 IS NULL" };
        let select = format!(
            "{ENTITIES} WHERE e.shelf = ?1 AND e.folded >= ?2 AND {end} AND {kind}
             ORDER BY e.folded, e.number LIMIT ?5",
        );
        let mut query = self.connection.prepare_cached(&select)?;
        let mut found = Vec::new();
        for partition in self.shelves {
            let values = (partition.id, from, to, self.kind, self.page.end());
            let rows = query.query_map(values, entity)?;
            found.extend(rows.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(found)
    }

    /// Names with all words; if there are none, with any significant word.
    fn with_words(&self, name: &str) -> Result<SqliteNumberedEntities, MemoryError> {
        let all = self.with(&terms(name))?;
        if !all.is_empty() {
            return Ok(all);
        }
        let mut any = Vec::new();
        for term in MemoryQuery::parse(name).map(|query| query.terms).unwrap_or_default() {
            any.extend(self.with(&[term])?);
        }
        Ok(any)
    }

    fn with(&self, terms: &[String]) -> Result<SqliteNumberedEntities, MemoryError> {
        let select = format!("{ENTITIES} WHERE e.number = ?1");
        let mut query = self.connection.prepare_cached(&select)?;
        let mut found = Vec::new();
        for partition in self.shelves.iter().filter(|_| !terms.is_empty()) {
            let word = |term: &String| match self.kind {
                None => partition_term(partition.id, term),
                Some(kind) => partition_term(partition.id, &of_kind(kind, term)),
            };
            let words: Vec<String> = terms.iter().map(word).collect();
            let most = usize::try_from(self.page.end()).unwrap_or(usize::MAX);
            let most = most.min(MAX_ROWS_WITH_WORDS);
            for number in SqliteTextIndex::Entities.newest(self.connection, &words, ALL, most)? {
                found.extend(query.query_row([super::postings::row(number)], entity).optional()?);
            }
        }
        Ok(found)
    }
}

/// The normalized name; a name without letters is kept.
fn looked_for(name: &str) -> String {
    match fold_text(name) {
        words if words.is_empty() => name.trim().to_lowercase(),
        words => words,
    }
}

/// An index term for entities of that kind only. Kinds are arbitrary text, so their bytes are
/// hex-encoded.
fn of_kind(kind: &str, term: &str) -> String {
    let kind: String = kind.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("k{kind}x{term}")
}

const ENTITIES: &str = "SELECT e.number, e.id, e.kind, e.name, e.attributes, e.changed,
        s.owner, a.name, a.via, a.trust
    FROM entities e JOIN shelves s ON s.id = e.shelf JOIN authors a ON a.id = e.author";

fn entity(row: &Row<'_>) -> rusqlite::Result<(i64, Entity)> {
    let entity = Entity {
        id: entity_of(row, 1)?,
        kind: row.get(2)?,
        name: row.get(3)?,
        attributes: attributes_of(row, 4)?,
        audience: audience_of(row, 6)?,
        author: author_of(row, 7)?,
        changed: moment(row.get(5)?),
    };
    Ok((row.get(0)?, entity))
}
