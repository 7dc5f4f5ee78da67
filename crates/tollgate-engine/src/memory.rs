//! The memory service of agents: records conversations, splits them into passages in the
//! background, and searches them by text and by embedding.
//!
//! Called by the built-in tools and the fronts; storage is up to the store.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;
use tollgate_core::memory::{MemoryHit, MemoryScope, SessionId, TranscriptEntry};
use tollgate_mcp::tasks::TaskGroup;
use tollgate_store::memory::{
    self, EmbeddingVector, MemoryError, MemoryItem, MemorySearch, MemoryStore,
};

use crate::clock::Clock;
use crate::embedding::{Embedder, EmbeddingPurpose};

mod indexer;
mod recall;
mod transcript;

pub(crate) use indexer::MemoryIndexer;
pub use recall::{RecalledNotes, SpokenUtterance};
pub use transcript::TranscriptTurn;

use recall::RecallLookups;

/// A query without an embedding by then is searched by text only.
const EMBED_TIMEOUT: Duration = Duration::from_millis(300);
/// Timeout of a health check.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(1);
/// Conversations with entries that are not on disk yet.
const MAX_WRITING: usize = 256;

/// The memory of all agents. The scope decides what each of them sees.
pub struct MemoryService {
    store: Arc<MemoryStore>,
    embedder: Option<Arc<dyn Embedder>>,
    clock: Arc<dyn Clock>,
    /// Signalled when there may be something to index.
    wake: Notify,
    writing: TaskGroup,
    recalls: RecallLookups,
}

impl MemoryService {
    /// Must be called within a runtime.
    pub(crate) fn new(
        store: Arc<MemoryStore>,
        embedder: Option<Arc<dyn Embedder>>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        Arc::new(Self {
            store,
            embedder,
            clock,
            wake: Notify::new(),
            writing: TaskGroup::new("transcripts", MAX_WRITING),
            recalls: RecallLookups::new(),
        })
    }

    /// The store: for the operator, and for tools that have a scope.
    pub fn store(&self) -> &MemoryStore {
        &self.store
    }

    pub fn now(&self) -> SystemTime {
        self.clock.wall()
    }

    /// Something new was stored and may have to be indexed.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Whether the store responds.
    pub async fn health(&self) -> Result<(), MemoryError> {
        let ping = tokio::time::timeout(HEALTH_TIMEOUT, self.store.ping()).await;
        ping.unwrap_or(Err(MemoryError::Slow(HEALTH_TIMEOUT)))
    }

    /// Transcript entries, the best match first.
    pub async fn search_entries(
        &self,
        scope: &MemoryScope,
        query: &str,
        session: Option<&SessionId>,
        most: usize,
    ) -> Result<Vec<MemoryHit<TranscriptEntry>>, MemoryError> {
        let search = MemorySearch { query, session, most, now: self.now() };
        self.store.search_entries(scope, &search).await
    }

    /// Facts, by embedding if there is a model, and by text.
    pub async fn search_facts(
        &self,
        scope: &MemoryScope,
        query: &str,
        most: usize,
    ) -> Result<Vec<MemoryHit<MemoryItem>>, MemoryError> {
        let search = MemorySearch { query, session: None, most, now: self.now() };
        let meaning = self.meaning(query).await;
        self.store.search_facts(scope, &search, meaning.as_ref()).await
    }

    /// Conversations that mention something, the best match first.
    pub async fn search_history(
        &self,
        scope: &MemoryScope,
        query: &str,
        most: usize,
    ) -> Result<Vec<memory::RecalledSession>, MemoryError> {
        let search = MemorySearch { query, session: None, most, now: self.now() };
        self.store.search_history(scope, &search).await
    }

    /// `None`: there is no model, or it did not answer in time.
    async fn meaning(&self, question: &str) -> Option<EmbeddingVector> {
        let embedder = self.embedder.as_ref()?;
        let texts = [question.to_owned()];
        let search =
            tokio::time::timeout(EMBED_TIMEOUT, embedder.embed(&texts, EmbeddingPurpose::Question));
        match search.await {
            Ok(Ok(meanings)) => {
                let numbers = meanings.into_iter().next()?.into_numbers();
                Some(EmbeddingVector { model: embedder.model().to_owned(), numbers })
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "searching by keywords only");
                None
            }
            Err(_) => {
                tracing::warn!(waited = ?EMBED_TIMEOUT, "searching by keywords only");
                None
            }
        }
    }
}
