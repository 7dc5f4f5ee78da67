//! Vector search in PostgreSQL. With pgvector, each model has its own index.
//!
//! Without it, SimHash sketches are used, which are loaded into memory on the first search. Changes
//! by other processes are detected by the ids of vectors.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use tollgate_core::memory::{Fact, FactId, MemoryInputError, MemoryScope};

use super::facts;
use super::partitions::{self, ids};
use super::pool::{PgLease, SqlParam};
use super::rows::{PgColumns, rows_of};
use super::schema::VectorSupport;
use crate::memory::simhash::{SimHash, SimHashIndex, cosine, unit};
use crate::memory::{EmbeddingVector, MemoryError};
use crate::number::{size, to_signed, to_unsigned};

/// State of this process about the stored vectors.
#[derive(Default)]
pub(super) struct PgVectorSearch {
    /// By model.
    sketches: Mutex<HashMap<i32, Arc<RwLock<SimHashIndex>>>>,
    /// By model: all facts up to this one have a vector.
    complete: Mutex<HashMap<i32, i64>>,
}

/// A row of the models table.
#[derive(Debug, Clone, Copy)]
struct PgVectorModel {
    id: i32,
    dimensions: i32,
    /// It has its own index.
    indexed: bool,
}

/// A query vector, and its search range.
#[derive(Debug, Clone, Copy)]
struct PgVectorQuery<'q> {
    model: PgVectorModel,
    shelves: &'q [i32],
    to: &'q [f32],
    /// How many candidates are examined.
    limit: usize,
}

/// Candidates compared exactly: a minimum, and a number per wanted hit.
const MIN_COMPARED_VECTORS: usize = 400;
const COMPARED_EACH: usize = 8;
/// In partitions up to this size, all vectors are compared.
const MAX_EXHAUSTIVE_VECTORS: i64 = 2_000;
/// Sketches read at once, and facts scanned at once for missing vectors.
const SLICE: i64 = 20_000;
const FACTS_AT_ONCE: i64 = 2_000;
/// Minimum number requested from the pgvector index, equal to its search width.
const LEAST_BY_INDEX: usize = 200;
/// Maximum dimensions of the pgvector index.
const MAX_INDEXED_DIMENSIONS: i32 = 2_000;
/// Serializes writes of vectors, so that ids increase in order of visibility. "vectors" in ASCII.
const LOCK: i64 = i64::from_be_bytes(*b"\0vectors");

impl PgVectorSearch {
    pub(super) async fn near(
        &self,
        lease: &PgLease,
        scope: &MemoryScope,
        vector: &EmbeddingVector,
        most: usize,
    ) -> Result<Vec<(Fact, f32)>, MemoryError> {
        let Some(to) = unit(&vector.numbers) else { return Ok(Vec::new()) };
        let Some(model) = model(lease, &vector.model, to.len()).await? else {
            return Ok(Vec::new());
        };
        let shelves = ids(&partitions::visible_partitions(lease, scope).await?);
        let limit = MIN_COMPARED_VECTORS.max(COMPARED_EACH * most);
        let question = PgVectorQuery { model, shelves: &shelves, to: &to, limit };
        let mut exact = if model.indexed {
            search_pgvector(lease, &question).await?
        } else {
            self.search_simhash(lease, &question).await?
        };
        exact.sort_by(|one, two| two.1.total_cmp(&one.1).then(two.0.cmp(&one.0)));
        exact.truncate(most);
        let nearness: HashMap<u64, f32> =
            exact.iter().map(|(fact, near)| (to_unsigned(*fact), *near)).collect();
        let chosen: Vec<i64> = exact.iter().map(|(fact, _)| *fact).collect();
        let found = facts::get(lease, &shelves, &chosen).await?;
        let near = |fact: &Fact| nearness.get(&fact.id.0).copied().unwrap_or_default();
        Ok(found.into_iter().map(|fact| (near(&fact), fact)).map(|(near, it)| (it, near)).collect())
    }

    async fn search_simhash(
        &self,
        lease: &PgLease,
        question: &PgVectorQuery<'_>,
    ) -> Result<NearFacts, MemoryError> {
        let &PgVectorQuery { model, shelves, to, limit: requested } = question;
        let sketches = Arc::clone(self.sketches.lock().entry(model.id).or_default());
        let places: Vec<i64> = shelves.iter().copied().map(i64::from).collect();
        let sketch = SimHash::of(to);
        for attempt in 0..2 {
            refresh(lease, model, &sketches).await?;
            let about = sketches.read().nearest(&places, &sketch, requested);
            let (exact, gone) = compare_exactly(lease, &about, to).await?;
            if gone.len() > requested / 4 && attempt == 0 {
                // Many were deleted: near neighbours may have been hidden behind them, so reload.
                *sketches.write() = SimHashIndex::default();
                continue;
            }
            if !gone.is_empty() {
                sketches.write().remove(&gone);
            }
            return Ok(exact);
        }
        Ok(Vec::new())
    }

    /// Oldest first.
    pub(super) async fn missing(
        &self,
        lease: &PgLease,
        model: &str,
        most: usize,
    ) -> Result<Vec<(FactId, String)>, MemoryError> {
        let newest = "SELECT id FROM models WHERE name = $1 ORDER BY id DESC LIMIT 1";
        let of = lease.row(newest, &[&model]).await?;
        let of: i32 = of.map_or(Ok(0), |row| PgColumns::of(&row).value())?;
        let slice = "SELECT f.id, CASE WHEN EXISTS (
                         SELECT FROM vectors v WHERE v.fact = f.id AND v.model = $1
                     ) THEN NULL ELSE f.text END
                     FROM facts f WHERE f.id > $2 ORDER BY f.id LIMIT $3";
        let mut looked = self.complete.lock().get(&of).copied().unwrap_or_default();
        let mut missing = Vec::new();
        while missing.len() < most {
            let rows = lease.rows(slice, &[&of, &looked, &FACTS_AT_ONCE]).await?;
            for row in &rows {
                let mut columns = PgColumns::of(row);
                let fact: i64 = columns.value()?;
                let text: Option<String> = columns.value()?;
                looked = fact;
                missing.extend(text.map(|text| (FactId(to_unsigned(fact)), text)));
            }
            if missing.is_empty() {
                self.complete.lock().insert(of, looked);
            }
            if size(rows.len()) < FACTS_AT_ONCE {
                break;
            }
        }
        missing.truncate(most);
        Ok(missing)
    }
}

/// Facts with their similarity.
type NearFacts = Vec<(i64, f32)>;

/// Vectors of deleted facts are dropped.
pub(super) async fn keep(
    lease: &PgLease,
    name: &str,
    vectors: &[(FactId, Vec<f32>)],
    can: VectorSupport,
) -> Result<(), MemoryError> {
    lease.rows("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    let mut by_length: HashMap<usize, BTreeMap<i64, &[f32]>> = HashMap::new();
    for (fact, numbers) in vectors {
        by_length.entry(numbers.len()).or_default().insert(to_signed(fact.0), numbers);
    }
    for (length, vectors) in by_length {
        let model = model_for(lease, name, length, can).await?;
        let facts: Vec<i64> = vectors.keys().copied().collect();
        // Also of other dimensions: a changed model leaves nothing behind.
        let remove = "DELETE FROM vectors USING models
                      WHERE models.id = vectors.model AND models.name = $1 AND fact = ANY ($2)";
        lease.rows(remove, &[&name, &facts]).await?;
        let insert = "INSERT INTO vectors (fact, model, shelf, numbers, sketch)
                      SELECT f.id, $1, f.shelf,
                          ($3::real[])[
                              ((new.place - 1) * $4 + 1)::integer : (new.place * $4)::integer
                          ], new.sketch
                      FROM unnest($2::bigint[], $5::bytea[])
                          WITH ORDINALITY AS new (fact, sketch, place)
                      JOIN facts f ON f.id = new.fact ORDER BY new.place
                      FOR KEY SHARE OF f";
        let numbers: Vec<f32> = vectors.values().copied().flatten().copied().collect();
        let sketches: Vec<_> =
            vectors.values().map(|numbers| SimHash::of(numbers).bytes()).collect();
        let sketches: Vec<&[u8]> = sketches.iter().map(|it| it.as_slice()).collect();
        let values: [SqlParam<'_>; 5] = [&model.id, &facts, &numbers, &size(length), &sketches];
        lease.rows(insert, &values).await?;
    }
    Ok(())
}

/// Normalizes each to length 1.
pub(super) fn units(
    vectors: Vec<(FactId, Vec<f32>)>,
) -> Result<Vec<(FactId, Vec<f32>)>, MemoryInputError> {
    let of_length_one = |(fact, numbers): (FactId, Vec<f32>)| {
        let numbers = unit(&numbers).ok_or_else(|| MemoryInputError::Range {
            field: "vector",
            found: "all zeros, or contains NaN".to_owned(),
            least: "-1".to_owned(),
            most: "1".to_owned(),
        })?;
        Ok((fact, numbers))
    };
    vectors.into_iter().map(of_length_one).collect()
}

async fn model(
    lease: &PgLease,
    name: &str,
    length: usize,
) -> Result<Option<PgVectorModel>, MemoryError> {
    let find = "SELECT id, dimensions, coalesce((
                    SELECT indisvalid FROM pg_index
                    WHERE indexrelid = to_regclass('tollgate.vectors_near_' || models.id)), false)
                FROM models WHERE name = $1 AND dimensions = $2";
    let length = i32::try_from(length).unwrap_or(i32::MAX);
    let Some(row) = lease.row(find, &[&name, &length]).await? else { return Ok(None) };
    let mut columns = PgColumns::of(&row);
    let id = columns.value()?;
    let dimensions = columns.value()?;
    Ok(Some(PgVectorModel { id, dimensions, indexed: columns.value()? }))
}

async fn model_for(
    lease: &PgLease,
    name: &str,
    length: usize,
    can: VectorSupport,
) -> Result<PgVectorModel, MemoryError> {
    let insert = "INSERT INTO models (name, dimensions) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    let dimensions = i32::try_from(length).unwrap_or(i32::MAX);
    loop {
        if let Some(model) = model(lease, name, length).await? {
            return Ok(model);
        }
        lease.rows(insert, &[&name, &dimensions]).await?;
        let made = model(lease, name, length).await?;
        if let (VectorSupport::Indexed, Some(index)) = (can, made.and_then(index_of)) {
            lease.rows(&index, &[]).await?;
        }
    }
}

/// The statement that creates a model's index.
fn index_of(PgVectorModel { id, dimensions, .. }: PgVectorModel) -> Option<String> {
    (dimensions <= MAX_INDEXED_DIMENSIONS).then(|| {
        format!(
            "CREATE INDEX vectors_near_{id} ON vectors
             USING hnsw ((numbers::vector({dimensions})) vector_cosine_ops) WHERE model = {id}"
        )
    })
}

async fn is_few(lease: &PgLease, question: &PgVectorQuery<'_>) -> Result<bool, MemoryError> {
    let select = "SELECT count(*) FROM (
                      SELECT FROM vectors WHERE model = $1 AND shelf = ANY ($2) LIMIT $3) AS found";
    let row = lease
        .row(select, &[&question.model.id, &question.shelves, &(MAX_EXHAUSTIVE_VECTORS + 1)])
        .await?;
    Ok(row.map_or(Ok(0), |row| PgColumns::of(&row).value::<i64>())? <= MAX_EXHAUSTIVE_VECTORS)
}

/// Search with pgvector.
async fn search_pgvector(
    lease: &PgLease,
    question: &PgVectorQuery<'_>,
) -> Result<NearFacts, MemoryError> {
    let PgVectorQuery {
        model: PgVectorModel { id, dimensions, .. },
        shelves,
        to,
        limit: requested,
    } = question;
    let distance = format!("numbers::vector({dimensions}) <=> $1::real[]::vector({dimensions})");
    // The index is used only if the model id is a literal and the order is the bare distance.
    let near = |order: &str| {
        format!(
            "SELECT ARRAY(SELECT id FROM vectors WHERE model = {id} AND shelf = ANY ($2)
                          ORDER BY {order} LIMIT $3)"
        )
    };
    let most = LEAST_BY_INDEX.max(requested / COMPARED_EACH);
    let values: [SqlParam<'_>; 3] = [to, shelves, &size(most)];
    let mut found = Vec::new();
    if !is_few(lease, question).await? {
        found = numbers(lease, &near(&distance), &values).await?;
    }
    // Too few neighbours are in these partitions: search without the index (`+ 0` disables it).
    if found.len() < most {
        found = numbers(lease, &near(&format!("({distance}) + 0")), &values).await?;
    }
    Ok(compare_exactly(lease, &found, to).await?.0)
}

async fn numbers(
    lease: &PgLease,
    select: &str,
    values: &[SqlParam<'_>],
) -> Result<Vec<u64>, MemoryError> {
    let row = lease.row(select, values).await?;
    row.map_or(Ok(Vec::new()), |row| PgColumns::of(&row).numbers())
}

/// Loads new sketches, which have higher ids. Progress is kept if the deadline passes.
async fn refresh(
    lease: &PgLease,
    model: PgVectorModel,
    sketches: &RwLock<SimHashIndex>,
) -> Result<(), MemoryError> {
    let select = "SELECT id, shelf, sketch FROM vectors WHERE model = $1 AND id > $2
                  ORDER BY id LIMIT $3";
    loop {
        let known = to_signed(sketches.read().last());
        let rows = lease.rows(select, &[&model.id, &known, &SLICE]).await?;
        let mut sketches = sketches.write();
        for row in &rows {
            let mut columns = PgColumns::of(row);
            let vector = columns.number()?;
            let partition = columns.value::<i32>()?;
            // Another task may have loaded it meanwhile.
            if let Some(sketch) =
                SimHash::read(columns.value()?).filter(|_| vector > sketches.last())
            {
                sketches.add(vector, i64::from(partition), sketch);
            }
        }
        if size(rows.len()) < SLICE {
            return Ok(());
        }
    }
}

/// The exact similarity of each, by fact; and the deleted ones.
async fn compare_exactly(
    lease: &PgLease,
    vectors: &[u64],
    to: &[f32],
) -> Result<(NearFacts, HashSet<u64>), MemoryError> {
    let select = "SELECT id, fact, numbers FROM vectors WHERE id = ANY ($1)";
    let rows = lease.rows(select, &[&rows_of(vectors)]).await?;
    let mut gone: HashSet<u64> = vectors.iter().copied().collect();
    let mut exact = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut columns = PgColumns::of(row);
        let vector = columns.number()?;
        let fact = columns.value()?;
        let numbers: Vec<f32> = columns.value()?;
        gone.remove(&vector);
        exact.extend(cosine(&numbers, to).map(|near| (fact, near)));
    }
    Ok((exact, gone))
}
