//! The agents' memory: three layers in one of two databases. Called by the engine, which supplies
//! the scope; knows nothing of tools or permissions.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tollgate_core::memory::{
    EntityId, Fact, FactSource, MAX_HITS, MemoryHit, MemoryInputError, MemoryQuery, MemoryScope,
    SessionId, TranscriptEntry, TranscriptSession, fuse, rank,
};

use crate::error::OpenError;

mod candidates;
mod close_names;
mod database;
mod fact_identity;
mod postgres;
mod records;
mod simhash;
mod sqlite;
mod transfer;

pub use database::{
    EmbeddingVector, EntityFilter, EntryContext, MAX_ROWS_PER_CALL, MemoryCounts, MemoryDatabase,
    MemoryForgetTarget, Page, TranscriptPage, UnreadTranscript,
};
pub use postgres::PostgresAddressError;
pub use records::{ExportCursor, MemoryLayer, MemoryRecord, RecordContent};
pub use transfer::MemoryImport;

/// The memory in either database: all database operations, plus ranked search.
#[derive(Clone)]
pub struct MemoryStore {
    database: Arc<dyn MemoryDatabase>,
}

/// A search request.
#[derive(Debug, Clone, Copy)]
pub struct MemorySearch<'s> {
    pub query: &'s str,
    /// Restricts the search to this session.
    pub session: Option<&'s SessionId>,
    /// From 1 to [`MAX_HITS`].
    pub most: usize,
    /// The current time: newer items rank higher.
    pub now: SystemTime,
}

/// A search result: a fact, or an utterance.
#[derive(Debug, Clone, PartialEq)]
pub enum MemoryItem {
    Fact(Fact),
    Utterance(TranscriptEntry),
}

/// A session with hits.
#[derive(Debug, Clone, PartialEq)]
pub struct RecalledSession {
    pub session: TranscriptSession,
    /// Best first, and only a few.
    pub hits: Vec<MemoryHit<TranscriptEntry>>,
}

/// Why the memory did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    #[error(transparent)]
    Invalid(#[from] MemoryInputError),
    #[error("there is no entity `{0}`")]
    NoEntity(EntityId),
    /// The queue is full, or the deadline passed.
    #[error("the memory database is busy: no answer within {0:?}; try again in a moment")]
    Slow(Duration),
    /// The database is unreachable. Nothing was stored.
    #[error("the memory database is unavailable: {0}")]
    Away(String),
    #[error("the memory database failed: {0}")]
    Failed(#[from] crate::Error),
}

/// Semantic hits requested beyond the wanted number: keywords may reorder them.
const NEAR: usize = 40;
/// Weight of utterances beside facts: about that of a fact found by keywords only.
const WORDS_ALONE: f32 = 0.4;
/// Maximum hits per session.
const OF_A_SESSION: usize = 3;

impl MemoryStore {
    pub fn over(database: Arc<dyn MemoryDatabase>) -> Self {
        Self { database }
    }

    /// In its own SQLite file, created if missing.
    pub fn open_sqlite(file: &Path) -> Result<Self, OpenError> {
        Ok(Self::over(Arc::new(sqlite::SqliteMemory::open(file)?)))
    }

    /// In PostgreSQL, which need not be reachable yet. Must be called in a runtime.
    pub fn connect_postgres(url: &str) -> Result<Self, PostgresAddressError> {
        Ok(Self::over(Arc::new(postgres::PostgresMemory::connect(url)?)))
    }

    /// Searches utterances.
    pub async fn search_entries(
        &self,
        scope: &MemoryScope,
        search: &MemorySearch<'_>,
    ) -> Result<Vec<MemoryHit<TranscriptEntry>>, MemoryError> {
        self.entries_like(scope, &search.query()?, search).await
    }

    /// Searches facts by keywords and, with an embedding of the query, by similarity. Utterances
    /// are included unless a passage in the result contains them.
    pub async fn search_facts(
        &self,
        scope: &MemoryScope,
        search: &MemorySearch<'_>,
        vector: Option<&EmbeddingVector>,
    ) -> Result<Vec<MemoryHit<MemoryItem>>, MemoryError> {
        let query = search.query()?;
        let most = search.most;
        let worded = self.database.facts_with(scope, &query);
        let lines = self.entries_like(scope, &query, search);
        let Some(vector) = vector else {
            let (worded, lines) = tokio::try_join!(worded, lines)?;
            return Ok(merge_hits(rank(&query, worded, search.now, most), lines, most));
        };
        let near = self.database.facts_near(scope, vector, NEAR.max(2 * most));
        let (worded, near, mut lines) = tokio::try_join!(worded, near, lines)?;
        let worded = rank(&query, worded, search.now, most.max(NEAR));
        lines.iter_mut().for_each(|hit| hit.score *= WORDS_ALONE);
        Ok(merge_hits(fuse(&query, worded, near, most), lines, most))
    }

    /// Sessions with matching utterances, best first.
    pub async fn search_history(
        &self,
        scope: &MemoryScope,
        search: &MemorySearch<'_>,
    ) -> Result<Vec<RecalledSession>, MemoryError> {
        let query = search.query()?;
        let wide = MemorySearch { most: MAX_HITS, ..*search };
        let mut sessions: Vec<(SessionId, Vec<MemoryHit<TranscriptEntry>>)> = Vec::new();
        for hit in self.entries_like(scope, &query, &wide).await? {
            let known = sessions.iter().position(|(session, _)| *session == hit.found.session);
            match known {
                Some(at) if sessions[at].1.len() < OF_A_SESSION => sessions[at].1.push(hit),
                Some(_) => {}
                None if sessions.len() < search.most => {
                    sessions.push((hit.found.session.clone(), vec![hit]));
                }
                None => {}
            }
        }
        let mut recalled = Vec::new();
        for (session, hits) in sessions {
            // It may have been deleted meanwhile.
            if let Some(session) = self.database.session(scope, &session).await? {
                recalled.push(RecalledSession { session, hits });
            }
        }
        Ok(recalled)
    }

    async fn entries_like(
        &self,
        scope: &MemoryScope,
        query: &MemoryQuery,
        search: &MemorySearch<'_>,
    ) -> Result<Vec<MemoryHit<TranscriptEntry>>, MemoryError> {
        let found = self.database.entries_with(scope, query, search.session).await?;
        Ok(rank(query, found, search.now, search.most))
    }
}

/// All other operations are those of the database.
impl Deref for MemoryStore {
    type Target = dyn MemoryDatabase;

    fn deref(&self) -> &Self::Target {
        &*self.database
    }
}

impl MemorySearch<'_> {
    fn query(&self) -> Result<MemoryQuery, MemoryInputError> {
        if self.most == 0 || self.most > MAX_HITS {
            return Err(MemoryInputError::Range {
                field: "top_k",
                found: self.most.to_string(),
                least: "1".to_owned(),
                most: MAX_HITS.to_string(),
            });
        }
        MemoryQuery::parse(self.query)
    }
}

/// Merges facts and entries, best first. Entries contained in a passage of the result are omitted.
fn merge_hits(
    facts: Vec<MemoryHit<Fact>>,
    lines: Vec<MemoryHit<TranscriptEntry>>,
    most: usize,
) -> Vec<MemoryHit<MemoryItem>> {
    let received: Vec<_> = facts
        .iter()
        .filter_map(|hit| match hit.found.source {
            FactSource::Transcript { first, last } => Some(first..=last),
            FactSource::Stated => None,
        })
        .collect();
    let is_new = |hit: &MemoryHit<TranscriptEntry>| {
        !received.iter().any(|span| span.contains(&hit.found.id))
    };
    let lines: Vec<_> =
        lines.into_iter().filter(is_new).map(|hit| hit.of(MemoryItem::Utterance)).collect();
    let mut all: Vec<_> =
        facts.into_iter().map(|hit| hit.of(MemoryItem::Fact)).chain(lines).collect();
    all.sort_by(|one, two| two.score.total_cmp(&one.score));
    all.truncate(most);
    all
}

#[cfg(test)]
mod tests;
