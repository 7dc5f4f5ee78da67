//! The memory as agents have it: what is said is kept, read into passages while nobody waits, and
//! found by its words and its meaning.
//!
//! Called by the built-in tools and by the fronts; where it is kept is for the store.

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
pub use recall::{HeardUtterance, RecalledNotes};
pub use transcript::TranscriptTurn;

use recall::RecallLookups;

/// A question whose meaning is not known by then is looked for by its words.
const EMBED_TIMEOUT: Duration = Duration::from_millis(300);
/// Who asks whether it is well waits no longer.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(1);
/// Conversations whose last words are on their way to the disk.
const MAX_WRITING: usize = 256;

/// What agents remember. One for all of them: what each sees is a matter of its scope.
pub struct MemoryService {
    store: Arc<MemoryStore>,
    embedder: Option<Arc<dyn Embedder>>,
    clock: Arc<dyn Clock>,
    /// Told when there may be something to read.
    stirred: Notify,
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
            stirred: Notify::new(),
            writing: TaskGroup::new("transcripts", MAX_WRITING),
            recalls: RecallLookups::new(),
        })
    }

    /// Where it is kept: for whoever runs the gateway, and for tools that know their scope.
    pub fn store(&self) -> &MemoryStore {
        &self.store
    }

    pub fn now(&self) -> SystemTime {
        self.clock.wall()
    }

    /// Something new was kept, perhaps worth a look.
    pub fn wake(&self) {
        self.stirred.notify_one();
    }

    /// Whether it can be asked just now.
    pub async fn health(&self) -> Result<(), MemoryError> {
        let asked = tokio::time::timeout(HEALTH_TIMEOUT, self.store.ping()).await;
        asked.unwrap_or(Err(MemoryError::Slow(HEALTH_TIMEOUT)))
    }

    /// What was said, the best fit first.
    pub async fn search_entries(
        &self,
        scope: &MemoryScope,
        query: &str,
        (session, most): (Option<&SessionId>, usize),
    ) -> Result<Vec<MemoryHit<TranscriptEntry>>, MemoryError> {
        let search = MemorySearch { query, session, most, now: self.now() };
        self.store.search_entries(scope, &search).await
    }

    /// What is known, by meaning where a model is there for it, and by words.
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

    /// In which conversations something came up, the best fit first.
    pub async fn search_history(
        &self,
        scope: &MemoryScope,
        query: &str,
        most: usize,
    ) -> Result<Vec<memory::RecalledSession>, MemoryError> {
        let search = MemorySearch { query, session: None, most, now: self.now() };
        self.store.search_history(scope, &search).await
    }

    /// `None`: there is no model, or it has no answer in time.
    async fn meaning(&self, question: &str) -> Option<EmbeddingVector> {
        let embedder = self.embedder.as_ref()?;
        let texts = [question.to_owned()];
        let asked =
            tokio::time::timeout(EMBED_TIMEOUT, embedder.embed(&texts, EmbeddingPurpose::Question));
        match asked.await {
            Ok(Ok(meanings)) => {
                let numbers = meanings.into_iter().next()?.into_numbers();
                Some(EmbeddingVector { model: embedder.model().to_owned(), numbers })
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "a query is searched by its words only");
                None
            }
            Err(_) => {
                tracing::warn!(waited = ?EMBED_TIMEOUT, "a query is searched by its words only");
                None
            }
        }
    }
}
