//! L3 in SQLite, who and what there is: entities, found by their names.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use serde_json::Value;
use tollgate_core::memory::{
    Entity, NewEntity, Place, Query, Scope, folded, milliseconds, moment, terms,
};

use super::Trouble;
use super::postings::{ALL, Index, spelled, words};
use super::rows::{attributes_of, entity_of};
use super::shelves::{self, Counter, Shelf, Spot, audience_of, author_of};
use crate::memory::{Page, Wanted};
use crate::number::size;

/// By words no more are looked through.
const MOST_WITH_WORDS: usize = 1_000;

pub(super) fn put(to: &Connection, place: &Place, entities: &[NewEntity]) -> Result<(), Trouble> {
    let spot = shelves::spot(to, place)?;
    entities.iter().try_for_each(|entity| put_one(to, spot, entity))
}

fn put_one(to: &Connection, spot: Spot, entity: &NewEntity) -> Result<(), Trouble> {
    let find = "SELECT number FROM entities WHERE shelf = ?1 AND id = ?2";
    let values = (spot.shelf, entity.id.as_str());
    let known: Option<i64> =
        to.prepare_cached(find)?.query_row(values, |row| row.get(0)).optional()?;
    match known {
        Some(number) => Index::Entities.remove(to, number)?,
        None => shelves::count(to, spot.shelf, Counter::Entities, 1)?,
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
        ":shelf": spot.shelf,
        ":author": spot.author,
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
    let words = words(spot.shelf, &terms) + &words(spot.shelf, &of_kind);
    Index::Entities.add(to, number, &words)
}

pub(super) fn find(
    connection: &Connection,
    scope: &Scope,
    wanted: &Wanted,
    page: Page,
) -> Result<Vec<Entity>, Trouble> {
    let shelves = shelves::seen(connection, scope)?;
    let kind = wanted.kind.as_ref().map(|kind| kind.trim().to_lowercase());
    let search = Search { connection, shelves: &shelves, kind: kind.as_deref(), page };
    let Some(name) = &wanted.name else { return search.any() };
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

/// The entity of that id that goes before others.
pub(super) fn get(
    connection: &Connection,
    shelves: &[i64],
    id: &str,
) -> Result<Option<Entity>, Trouble> {
    let select = format!("{ENTITIES} WHERE e.shelf = ?1 AND e.id = ?2");
    let mut query = connection.prepare_cached(&select)?;
    for shelf in shelves {
        if let Some((_, entity)) = query.query_row((shelf, id), entity).optional()? {
            return Ok(Some(entity));
        }
    }
    Ok(None)
}

pub(super) fn numbered(connection: &Connection, number: i64) -> Result<Option<Entity>, Trouble> {
    let mut query = connection.prepare_cached(&format!("{ENTITIES} WHERE e.number = ?1"))?;
    Ok(query.query_row([number], entity).optional()?.map(|(_, entity)| entity))
}

type Found = Vec<(i64, Entity)>;

struct Search<'s> {
    connection: &'s Connection,
    shelves: &'s [Shelf],
    kind: Option<&'s str>,
    page: Page,
}

impl Search<'_> {
    fn is_enough(&self, found: &Found) -> bool {
        size(found.len()) >= self.page.end()
    }

    /// By their names, from a shelf to the next.
    fn any(&self) -> Result<Vec<Entity>, Trouble> {
        let mut found = self.between("", None)?;
        found.sort_by_cached_key(|(number, entity)| (looked_for(&entity.name), *number));
        Ok(self.page.of(found).map(|(_, entity)| entity).collect())
    }

    fn same(&self, name: &str) -> Result<Found, Trouble> {
        let name = looked_for(name);
        self.between(&name, Some(&format!("{name}\0")))
    }

    fn beginning(&self, name: &str) -> Result<Found, Trouble> {
        let name = looked_for(name);
        // Nothing of Unicode comes after it.
        self.between(&name, Some(&format!("{name}\u{10ffff}")))
    }

    /// Names from one on, up to another.
    fn between(&self, from: &str, to: Option<&str>) -> Result<Found, Trouble> {
        let kind = if self.kind.is_some() { "e.kind = ?4" } else { "?4 IS NULL" };
        let end = if to.is_some() { "e.folded < ?3" } else { "?3 IS NULL" };
        let select = format!(
            "{ENTITIES} WHERE e.shelf = ?1 AND e.folded >= ?2 AND {end} AND {kind}
             ORDER BY e.folded, e.number LIMIT ?5",
        );
        let mut query = self.connection.prepare_cached(&select)?;
        let mut found = Vec::new();
        for shelf in self.shelves {
            let values = (shelf.id, from, to, self.kind, self.page.end());
            let rows = query.query_map(values, entity)?;
            found.extend(rows.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(found)
    }

    /// All of its words; where no name has all, any of those that say something.
    fn with_words(&self, name: &str) -> Result<Found, Trouble> {
        let all = self.with(&terms(name))?;
        if !all.is_empty() {
            return Ok(all);
        }
        let mut any = Vec::new();
        for term in Query::parse(name).map(|query| query.terms).unwrap_or_default() {
            any.extend(self.with(&[term])?);
        }
        Ok(any)
    }

    fn with(&self, terms: &[String]) -> Result<Found, Trouble> {
        let select = format!("{ENTITIES} WHERE e.number = ?1");
        let mut query = self.connection.prepare_cached(&select)?;
        let mut found = Vec::new();
        for shelf in self.shelves.iter().filter(|_| !terms.is_empty()) {
            let word = |term: &String| match self.kind {
                None => spelled(shelf.id, term),
                Some(kind) => spelled(shelf.id, &of_kind(kind, term)),
            };
            let words: Vec<String> = terms.iter().map(word).collect();
            let most = usize::try_from(self.page.end()).unwrap_or(usize::MAX);
            let limit = (ALL, most.min(MOST_WITH_WORDS));
            for number in Index::Entities.newest(self.connection, &words, limit)? {
                found.extend(query.query_row([super::postings::row(number)], entity).optional()?);
            }
        }
        Ok(found)
    }
}

/// A name as it is compared; one without letters is what it is.
fn looked_for(name: &str) -> String {
    match folded(name) {
        words if words.is_empty() => name.trim().to_lowercase(),
        words => words,
    }
}

/// A word that only entities of that kind have. Kinds may be anything: their bytes are spelled out.
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
