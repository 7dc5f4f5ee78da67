//! Vector search in SQLite: by SimHash sketches, which are loaded into memory on the first search.
//! Changes by other processes are detected by the ids of vectors.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use rusqlite::{Connection, OptionalExtension};
use tollgate_core::memory::{Fact, FactId, MemoryInputError, MemoryScope};

use super::postings::row as number;
use super::{MemoryError, facts, partitions};
use crate::memory::EmbeddingVector;
use crate::memory::simhash::{SimHash, SimHashIndex, cosine, unit};
use crate::number::{size, to_unsigned};

/// State of this process about the stored vectors.
#[derive(Default)]
pub(super) struct SqliteVectorSearch {
    /// By model.
    sketches: Mutex<HashMap<i64, Arc<RwLock<SimHashIndex>>>>,
    /// By model: all facts up to this one have a vector.
    complete: Mutex<HashMap<String, u64>>,
}

/// Candidates compared exactly: a minimum, and a number per wanted hit.
const MIN_COMPARED_VECTORS: usize = 400;
const COMPARED_EACH: usize = 8;
/// Facts scanned at once for missing vectors.
const SLICE: i64 = 2_000;

impl SqliteVectorSearch {
    pub(super) fn near(
        &self,
        connection: &Connection,
        scope: &MemoryScope,
        vector: &EmbeddingVector,
        most: usize,
    ) -> Result<Vec<(Fact, f32)>, MemoryError> {
        let (Some(to), Some(model)) = (unit(&vector.numbers), model(connection, vector)?) else {
            return Ok(Vec::new());
        };
        let shelves: Vec<i64> = partitions::visible_partitions(connection, scope)?
            .into_iter()
            .map(|partition| partition.id)
            .collect();
        let sketches = self.of(model);
        refresh(connection, model, &sketches)?;
        let requested = MIN_COMPARED_VECTORS.max(COMPARED_EACH * most);
        let about = sketches.read().nearest(&shelves, &SimHash::of(&to), requested);
        let mut compared = ExactComparison::of(connection, &about, &to)?;
        if compared.gone.len() > requested / 4 {
            // Many were deleted: near neighbours may have been hidden behind them, so reload.
            *sketches.write() = SimHashIndex::default();
            refresh(connection, model, &sketches)?;
            let about = sketches.read().nearest(&shelves, &SimHash::of(&to), requested);
            compared = ExactComparison::of(connection, &about, &to)?;
        }
        let ExactComparison { mut exact, gone } = compared;
        if !gone.is_empty() {
            sketches.write().remove(&gone);
        }
        exact.sort_by(|one, two| two.1.total_cmp(&one.1).then(two.0.cmp(&one.0)));
        let mut found = Vec::new();
        for (fact, cosine) in exact.into_iter().take(most) {
            found.extend(facts::get(connection, fact)?.map(|fact| (fact, cosine)));
        }
        Ok(found)
    }

    fn of(&self, model: i64) -> Arc<RwLock<SimHashIndex>> {
        Arc::clone(self.sketches.lock().entry(model).or_default())
    }

    /// Oldest first.
    pub(super) fn missing(
        &self,
        connection: &Connection,
        model: &str,
        most: usize,
    ) -> Result<Vec<(FactId, String)>, MemoryError> {
        let newest = "SELECT id FROM models WHERE name = ?1 ORDER BY id DESC LIMIT 1";
        let of: Option<i64> =
            connection.prepare_cached(newest)?.query_row([model], |row| row.get(0)).optional()?;
        let Some(of) = of.filter(|_| most > 0) else { return texts_after(connection, 0, most) };
        let slice = "SELECT id, EXISTS (SELECT 1 FROM vectors WHERE fact = facts.id AND model = ?1)
                     FROM facts WHERE id > ?2 ORDER BY id LIMIT ?3";
        let mut slice = connection.prepare_cached(slice)?;
        let key = format!("{of} {model}");
        let mut looked = number(self.complete.lock().get(&key).copied().unwrap_or_default());
        let mut missing = Vec::new();
        loop {
            let rows = slice.query_map((of, looked, SLICE), |row| row.try_into())?;
            let rows: Vec<(i64, bool)> = rows.collect::<Result<_, _>>()?;
            let Some((last, _)) = rows.last() else { return Ok(missing) };
            looked = *last;
            for (fact, _) in rows.iter().filter(|(_, has)| !has).take(most - missing.len()) {
                missing.extend(text(connection, *fact)?);
            }
            if missing.is_empty() {
                self.complete.lock().insert(key.clone(), to_unsigned(looked));
            }
            if missing.len() >= most {
                return Ok(missing);
            }
        }
    }
}

/// Vectors of deleted facts are dropped.
pub(super) fn keep(
    to: &Connection,
    model: &str,
    vectors: &[(FactId, Vec<f32>)],
) -> Result<(), MemoryError> {
    for (fact, numbers) in vectors {
        let fact = number(fact.0);
        let numbers = unit(numbers).ok_or(MemoryInputError::Range {
            field: "vector",
            found: "all zeros, or contains NaN".to_owned(),
            least: "-1".to_owned(),
            most: "1".to_owned(),
        })?;
        let find = "SELECT shelf FROM facts WHERE id = ?1";
        let partition: Option<i64> =
            to.prepare_cached(find)?.query_row([fact], |row| row.get(0)).optional()?;
        if let Some(partition) = partition {
            let model = model_for(to, model, numbers.len())?;
            replace(to, VectorKey { fact, partition, model }, &numbers)?;
        }
    }
    Ok(())
}

/// Row ids of what a vector belongs to.
#[derive(Clone, Copy)]
struct VectorKey {
    fact: i64,
    partition: i64,
    model: i64,
}

fn replace(to: &Connection, key: VectorKey, numbers: &[f32]) -> Result<(), MemoryError> {
    let VectorKey { fact, partition, model } = key;
    // Also of other dimensions: a changed model leaves nothing behind.
    let alike = "SELECT vectors.id, vectors.model FROM vectors JOIN models ON models.id = model
                 WHERE fact = ?1 AND name = (SELECT name FROM models WHERE id = ?2)";
    remove(to, alike, [fact, model])?;
    let bytes: Vec<u8> = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
    let insert = "INSERT INTO vectors (fact, model, numbers) VALUES (?1, ?2, ?3)";
    to.prepare_cached(insert)?.execute((fact, model, bytes))?;
    let vector = to.last_insert_rowid();
    let insert = "INSERT INTO sketches (model, vector, shelf, bits) VALUES (?1, ?2, ?3, ?4)";
    let bits = SimHash::of(numbers).bytes();
    to.prepare_cached(insert)?.execute((model, vector, partition, bits))?;
    Ok(())
}

/// Deletes all vectors of a fact.
pub(super) fn forget(to: &Connection, fact: i64) -> Result<(), MemoryError> {
    remove(to, "SELECT id, model FROM vectors WHERE fact = ?1 AND fact != ?2", [fact, -1])
}

fn remove(to: &Connection, which: &str, values: [i64; 2]) -> Result<(), MemoryError> {
    let mut query = to.prepare_cached(which)?;
    let rows = query.query_map(values, |row| row.try_into())?;
    for (vector, model) in rows.collect::<Result<Vec<(i64, i64)>, _>>()? {
        to.prepare_cached("DELETE FROM vectors WHERE id = ?1")?.execute([vector])?;
        let delete = "DELETE FROM sketches WHERE model = ?1 AND vector = ?2";
        to.prepare_cached(delete)?.execute((model, vector))?;
    }
    Ok(())
}

fn model(connection: &Connection, vector: &EmbeddingVector) -> Result<Option<i64>, MemoryError> {
    let find = "SELECT id FROM models WHERE name = ?1 AND dimensions = ?2";
    let mut find = connection.prepare_cached(find)?;
    let values = (&*vector.model, size(vector.numbers.len()));
    Ok(find.query_row(values, |row| row.get(0)).optional()?)
}

fn model_for(to: &Connection, name: &str, dimensions: usize) -> Result<i64, MemoryError> {
    let insert = "INSERT INTO models (name, dimensions) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    to.prepare_cached(insert)?.execute((name, size(dimensions)))?;
    let find = "SELECT id FROM models WHERE name = ?1 AND dimensions = ?2";
    Ok(to.prepare_cached(find)?.query_row((name, size(dimensions)), |row| row.get(0))?)
}

/// Loads new sketches; vector ids only increase, so they come after the known ones. Progress is
/// kept if the deadline passes.
fn refresh(
    connection: &Connection,
    model: i64,
    sketches: &RwLock<SimHashIndex>,
) -> Result<(), MemoryError> {
    let select = "SELECT vector, shelf, bits FROM sketches WHERE model = ?1 AND vector > ?2
                  ORDER BY vector";
    let mut query = connection.prepare_cached(select)?;
    let known = sketches.read().last();
    let mut rows = query.query((model, number(known)))?;
    let Some(first) = rows.next()? else { return Ok(()) };
    let mut sketches = sketches.write();
    let mut row = Some(first);
    while let Some(found) = row {
        let vector = to_unsigned(found.get(0)?);
        let sketch = SimHash::read(found.get_ref(2)?.as_blob().unwrap_or_default());
        // Another reader may have loaded it meanwhile.
        if let Some(sketch) = sketch.filter(|_| vector > sketches.last()) {
            sketches.add(vector, found.get(1)?, sketch);
        }
        row = rows.next()?;
    }
    Ok(())
}

/// Exact comparison of candidates.
struct ExactComparison {
    /// The similarity of each, by fact.
    exact: Vec<(i64, f32)>,
    /// Deleted vectors.
    gone: HashSet<u64>,
}

impl ExactComparison {
    fn of(connection: &Connection, vectors: &[u64], to: &[f32]) -> Result<Self, MemoryError> {
        let select = "SELECT fact, numbers FROM vectors WHERE id = ?1";
        let mut query = connection.prepare_cached(select)?;
        let mut compared = Self { exact: Vec::new(), gone: HashSet::new() };
        let mut numbers: Vec<f32> = Vec::with_capacity(to.len());
        for vector in vectors {
            let mut rows = query.query([number(*vector)])?;
            let Some(row) = rows.next()? else {
                compared.gone.insert(*vector);
                continue;
            };
            let (chunks, _) = row.get_ref(1)?.as_blob().unwrap_or_default().as_chunks::<4>();
            numbers.clear();
            numbers.extend(chunks.iter().map(|it| f32::from_le_bytes(*it)));
            if let Some(near) = cosine(&numbers, to) {
                compared.exact.push((row.get(0)?, near));
            }
        }
        Ok(compared)
    }
}

fn texts_after(
    connection: &Connection,
    after: i64,
    most: usize,
) -> Result<Vec<(FactId, String)>, MemoryError> {
    let select = "SELECT id, text FROM facts WHERE id > ?1 ORDER BY id LIMIT ?2";
    let mut query = connection.prepare_cached(select)?;
    let rows =
        query.query_map((after, size(most)), |row| Ok((to_unsigned(row.get(0)?), row.get(1)?)))?;
    let rows: Vec<(u64, String)> = rows.collect::<Result<_, _>>()?;
    Ok(rows.into_iter().map(|(fact, text)| (FactId(fact), text)).collect())
}

fn text(connection: &Connection, fact: i64) -> Result<Option<(FactId, String)>, MemoryError> {
    let mut query = connection.prepare_cached("SELECT text FROM facts WHERE id = ?1")?;
    let text = query.query_row([fact], |row| row.get(0)).optional()?;
    Ok(text.map(|text| (FactId(to_unsigned(fact)), text)))
}
