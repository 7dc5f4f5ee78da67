//! L3 in PostgreSQL: entities, found by name.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value as Json;
use tokio_postgres::Row;
use tollgate_core::memory::{
    Entity, MemoryQuery, MemoryScope, MemoryTarget, NewEntity, fold_text, milliseconds, moment,
    terms,
};

use super::partitions::{self, ComingRows, ids};
use super::pool::{PgLease, SqlParam};
use super::postings::plain_words;
use super::rows::PgColumns;
use crate::memory::{EntityFilter, MemoryError, Page};
use crate::number::size;

/// Maximum rows examined in a search by words.
const MAX_ROWS_WITH_WORDS: i64 = 1_000;

pub(super) async fn put(
    lease: &PgLease,
    place: &MemoryTarget,
    entities: &[NewEntity],
) -> Result<(), MemoryError> {
    if entities.is_empty() {
        return Ok(());
    }
    let target = partitions::claim_write_target(lease, place, ComingRows::default()).await?;
    // Of several with the same id the last one is stored.
    let by_id: BTreeMap<&str, &NewEntity> =
        entities.iter().map(|entity| (entity.id.as_str(), entity)).collect();
    let entities: Vec<&NewEntity> = by_id.into_values().collect();
    let column = |of: fn(&NewEntity) -> &str| -> Vec<&str> {
        entities.iter().map(|entity| of(entity)).collect()
    };
    let found: Vec<String> = entities.iter().map(|it| looked_for(&it.name)).collect();
    let attributes: Vec<String> =
        entities.iter().map(|it| Json::Object(it.attributes.clone()).to_string()).collect();
    let changed: Vec<i64> = entities.iter().map(|it| milliseconds(it.at)).collect();
    let words: Vec<String> = entities.iter().map(|it| words_of(target.partition, it)).collect();
    let upsert = "INSERT INTO entities (
                      shelf, author, id, kind, name, folded, attributes, changed, words
                  )
                  SELECT $1, $2, id, kind, name, folded, attributes, changed, words::bigint[]
                  FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                              $8::bigint[], $9::text[])
                      AS new (id, kind, name, folded, attributes, changed, words)
                  ON CONFLICT (shelf, id) DO UPDATE SET
                      author = excluded.author, kind = excluded.kind, name = excluded.name,
                      folded = excluded.folded, attributes = excluded.attributes,
                      changed = excluded.changed, words = excluded.words
                  RETURNING xmax = 0";
    let values: [SqlParam<'_>; 9] = [
        &target.partition,
        &target.author,
        &column(|it| it.id.as_str()),
        &column(|it| &it.kind),
        &column(|it| &it.name),
        &found,
        &attributes,
        &changed,
        &words,
    ];
    let rows = lease.rows(upsert, &values).await?;
    let new: Vec<bool> =
        rows.iter().map(|row| PgColumns::of(row).value()).collect::<Result<_, _>>()?;
    let new = size(new.into_iter().filter(|is_new| *is_new).count());
    let update = "UPDATE shelves SET entities = entities + $2 WHERE id = $1";
    lease.rows(update, &[&target.partition, &new]).await?;
    Ok(())
}

fn words_of(partition: i32, entity: &NewEntity) -> String {
    let mut words = terms(&entity.name);
    let of_kind: Vec<String> = words.iter().map(|term| of_kind(&entity.kind, term)).collect();
    words.extend(of_kind);
    let words: Vec<String> =
        plain_words(partition, &words).iter().map(ToString::to_string).collect();
    format!("{{{}}}", words.join(","))
}

pub(super) async fn find(
    lease: &PgLease,
    scope: &MemoryScope,
    filter: &EntityFilter,
    page: Page,
) -> Result<Vec<Entity>, MemoryError> {
    let shelves = ids(&partitions::visible_partitions(lease, scope).await?);
    let kind = filter.kind.as_ref().map(|kind| kind.trim().to_lowercase());
    let search = PgEntitySearch { lease, shelves: &shelves, kind: kind.as_deref(), page };
    let Some(name) = &filter.name else { return search.any().await };
    let like = looked_for(name);
    let mut found = search.between(&like, &like).await?;
    if !search.is_enough(&found) {
        // The highest code point, as the upper end of a prefix range.
        found.extend(search.between(&like, &format!("{like}\u{10ffff}")).await?);
    }
    if !search.is_enough(&found) {
        found.extend(search.with_words(name).await?);
    }
    let mut known = HashSet::new();
    found.retain(|(number, _)| known.insert(*number));
    Ok(page.of(found).map(|(_, entity)| entity).collect())
}

/// The entities of these ids; of each id the one with precedence.
pub(super) async fn get(
    lease: &PgLease,
    shelves: &[i32],
    requested: &[&str],
) -> Result<Vec<Entity>, MemoryError> {
    let select = "SELECT DISTINCT ON (e.id) e.number, e.id, e.kind, e.name, e.attributes,
                         e.changed, s.owner, a.name, a.via, a.trust
                  FROM unnest($1::integer[]) WITH ORDINALITY AS seen (id, place)
                  CROSS JOIN unnest($2::text[]) AS wanted (id)
                  JOIN entities e ON e.shelf = seen.id AND e.id = wanted.id
                  JOIN shelves s ON s.id = e.shelf JOIN authors a ON a.id = e.author
                  ORDER BY e.id, seen.place";
    let rows = lease.rows(select, &[&shelves, &requested]).await?;
    rows.iter().map(|row| entity(row).map(|(_, entity)| entity)).collect()
}

/// Those that exist in these partitions, in that order.
pub(super) async fn find_by_number(
    lease: &PgLease,
    shelves: &[i32],
    numbers: &[i64],
) -> Result<Vec<Entity>, MemoryError> {
    let select = "SELECT e.number, e.id, e.kind, e.name, e.attributes, e.changed,
                         s.owner, a.name, a.via, a.trust
                  FROM unnest($1::bigint[]) WITH ORDINALITY AS chosen (number, place)
                  JOIN entities e ON e.number = chosen.number AND e.shelf = ANY ($2)
                  JOIN shelves s ON s.id = e.shelf JOIN authors a ON a.id = e.author
                  ORDER BY chosen.place";
    let rows = lease.rows(select, &[&numbers, &shelves]).await?;
    rows.iter().map(|row| entity(row).map(|(_, entity)| entity)).collect()
}

type PgNumberedEntities = Vec<(i64, Entity)>;

struct PgEntitySearch<'s> {
    lease: &'s PgLease,
    shelves: &'s [i32],
    kind: Option<&'s str>,
    page: Page,
}

impl PgEntitySearch<'_> {
    fn is_enough(&self, found: &PgNumberedEntities) -> bool {
        size(found.len()) >= self.page.end()
    }

    /// By name, partition by partition.
    async fn any(&self) -> Result<Vec<Entity>, MemoryError> {
        let mut found = self.between("", "\u{10ffff}").await?;
        found.sort_by_cached_key(|(number, entity)| (looked_for(&entity.name), *number));
        Ok(self.page.of(found).map(|(_, entity)| entity).collect())
    }

    /// A range of names, inclusive.
    async fn between(&self, from: &str, to: &str) -> Result<PgNumberedEntities, MemoryError> {
        // The order must be that of an index, or the whole partition is sorted.
        let (kind, order) = match self.kind {
            None => ("$5::text IS NULL", "folded, number"),
            Some(_) => ("kind = $5", "kind, folded, number"),
        };
        let select = format!(
            "SELECT e.number, e.id, e.kind, e.name, e.attributes, e.changed,
                    s.owner, a.name, a.via, a.trust
             FROM unnest($1::integer[]) WITH ORDINALITY AS seen (id, place)
             CROSS JOIN LATERAL (
                 SELECT * FROM entities
                 WHERE shelf = seen.id AND folded >= $2 AND folded <= $3 AND {kind}
                 ORDER BY {order} LIMIT $4
             ) e
             JOIN shelves s ON s.id = e.shelf JOIN authors a ON a.id = e.author
             ORDER BY seen.place, e.folded, e.number",
        );
        let values: [SqlParam<'_>; 5] = [&self.shelves, &from, &to, &self.page.end(), &self.kind];
        self.lease.rows(&select, &values).await?.iter().map(entity).collect()
    }

    /// Names with all words; if there are none, with any significant word.
    async fn with_words(&self, name: &str) -> Result<PgNumberedEntities, MemoryError> {
        let all = self.with(&terms(name)).await?;
        if !all.is_empty() {
            return Ok(all);
        }
        let mut any = Vec::new();
        for term in MemoryQuery::parse(name).map(|query| query.terms).unwrap_or_default() {
            any.extend(self.with(&[term]).await?);
        }
        Ok(any)
    }

    async fn with(&self, terms: &[String]) -> Result<PgNumberedEntities, MemoryError> {
        let select = "SELECT e.number, e.id, e.kind, e.name, e.attributes, e.changed,
                             s.owner, a.name, a.via, a.trust
                      FROM (
                          SELECT * FROM entities WHERE words @> $1 ORDER BY number + 0 DESC LIMIT $2
                      ) e
                      JOIN shelves s ON s.id = e.shelf AND s.id = $3
                      JOIN authors a ON a.id = e.author
                      ORDER BY e.number DESC";
        let most = self.page.end().min(MAX_ROWS_WITH_WORDS);
        let mut found = Vec::new();
        for partition in self.shelves.iter().filter(|_| !terms.is_empty()) {
            let words = match self.kind {
                None => plain_words(*partition, terms),
                Some(kind) => {
                    let terms: Vec<String> = terms.iter().map(|it| of_kind(kind, it)).collect();
                    plain_words(*partition, &terms)
                }
            };
            let rows = self.lease.rows(select, &[&words, &most, partition]).await?;
            found.extend(rows.iter().map(entity).collect::<Result<PgNumberedEntities, _>>()?);
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

/// An index term for entities of that kind only.
fn of_kind(kind: &str, term: &str) -> String {
    format!("{kind}\0{term}")
}

fn entity(row: &Row) -> Result<(i64, Entity), MemoryError> {
    let mut columns = PgColumns::of(row);
    let number = columns.value()?;
    let id = columns.entity()?;
    let kind = columns.value()?;
    let name = columns.value()?;
    let attributes = columns.attributes()?;
    let changed = moment(columns.value()?);
    let audience = columns.audience()?;
    let author = columns.author()?;
    Ok((number, Entity { id, kind, name, attributes, audience, author, changed }))
}
