//! The background indexer of the memory: splits transcripts into passages, computes their
//! embeddings, and deletes what has expired. All of it is idempotent: the next start resumes after
//! a crash.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tollgate_core::memory::{self, FactId, MemoryScope};
use tollgate_mcp::tasks::{self, Task};
use tollgate_store::memory::{MemoryError, MemoryForgetTarget, UnreadTranscript};

use super::MemoryService;
use crate::embedding::{EmbedError, Embedder, Embedding, embed_passages};

/// A transcript is indexed when it has this many new entries, …
const MIN_UNREAD_ENTRIES: usize = 24;
/// … or when it has been idle for this long.
const IDLE_BEFORE_READING: Duration = Duration::from_secs(120);
/// Also picks up entries that other processes wrote.
const POLL_INTERVAL: Duration = Duration::from_secs(60);
/// Entries that arrive together are indexed together.
const COALESCE_DELAY: Duration = Duration::from_millis(200);
/// After a failure; longer if the failing side asks for it.
const RETRY_PAUSE: Duration = Duration::from_secs(10);
/// Interval between deletions of expired entries.
const FORGET_INTERVAL: Duration = Duration::from_secs(3_600);
/// Passages embedded per request.
const EMBED_BATCH: usize = 64;

/// Runs until it is dropped.
pub(crate) struct MemoryIndexer {
    keep: Arc<ArcSwap<Option<Duration>>>,
    _task: Task,
}

impl MemoryIndexer {
    /// `keep`: how long transcripts are kept; `None`: forever.
    pub(crate) fn begin(memory_service: &Arc<MemoryService>, keep: Option<Duration>) -> Self {
        let keep = Arc::new(ArcSwap::from_pointee(keep));
        let memory_service = Arc::clone(memory_service);
        let kept = Arc::clone(&keep);
        Self {
            keep,
            _task: tasks::spawn("memory", async move { memory_service.keep_reading(&kept).await }),
        }
    }

    pub(crate) fn keep(&self, keep: Option<Duration>) {
        self.keep.store(Arc::new(keep));
    }
}

/// Why a pass ended early.
enum IndexPassError {
    AllRead,
    Trouble { why: String, again: Duration },
}

impl MemoryService {
    async fn keep_reading(&self, keep: &ArcSwap<Option<Duration>>) {
        let mut text = None;
        let mut forgot = None;
        loop {
            let rest = match self.tidy(**keep.load(), &mut forgot).await {
                Ok(()) => IndexPassError::AllRead,
                Err(rest) => rest,
            };
            match rest {
                IndexPassError::AllRead => {
                    text = None;
                    let _ = tokio::time::timeout(POLL_INTERVAL, self.wake.notified()).await;
                    tokio::time::sleep(COALESCE_DELAY).await;
                }
                IndexPassError::Trouble { why, again } => {
                    // Each failure is logged once, however long it lasts.
                    if text.as_ref() != Some(&why) {
                        tracing::warn!(why, "transcripts are waiting to be indexed");
                        text = Some(why);
                    }
                    tokio::time::sleep(again.max(RETRY_PAUSE)).await;
                }
            }
        }
    }

    async fn tidy(
        &self,
        keep: Option<Duration>,
        forgot: &mut Option<Instant>,
    ) -> Result<(), IndexPassError> {
        let now = self.clock.now();
        let is_due =
            forgot.is_none_or(|last| now.saturating_duration_since(last) >= FORGET_INTERVAL);
        if let (Some(keep), true) = (keep, is_due) {
            self.forget_older(keep).await?;
            *forgot = Some(now);
        }
        self.read_all().await
    }

    async fn read_all(&self) -> Result<(), IndexPassError> {
        // Without an embedding model, passages add nothing to transcripts.
        let Some(embedder) = &self.embedder else { return Ok(()) };
        let silent = self.now().checked_sub(IDLE_BEFORE_READING).unwrap_or(std::time::UNIX_EPOCH);
        for unread in self.store.unread(MIN_UNREAD_ENTRIES, silent).await? {
            self.read(unread).await?;
        }
        loop {
            let waiting = self.store.without_vector(embedder.model(), EMBED_BATCH).await?;
            if waiting.is_empty() {
                return Ok(());
            }
            self.understand(&**embedder, waiting).await?;
        }
    }

    async fn read(&self, unread: UnreadTranscript) -> Result<(), IndexPassError> {
        let passages = memory::passages(&unread.entries);
        self.store.remember(&unread.place, passages).await?;
        Ok(())
    }

    async fn understand(
        &self,
        embedder: &dyn Embedder,
        waiting: Vec<(FactId, String)>,
    ) -> Result<(), IndexPassError> {
        let (ids, texts): (Vec<FactId>, Vec<String>) = waiting.into_iter().unzip();
        let meanings = embed_passages(embedder, &texts).await?;
        let numbers = meanings.into_iter().map(Embedding::into_numbers);
        let vectors = ids.into_iter().zip(numbers).collect();
        self.store.keep_vectors(embedder.model(), vectors).await?;
        Ok(())
    }

    async fn forget_older(&self, keep: Duration) -> Result<(), IndexPassError> {
        let Some(before) = self.now().checked_sub(keep) else { return Ok(()) };
        for (namespace, _) in self.store.namespaces().await? {
            let scope = MemoryScope::of_operator(namespace);
            let gone = self.store.forget(&scope, &MemoryForgetTarget::Before(before)).await?;
            if gone.entries > 0 {
                tracing::info!(namespace = %scope.namespace, entries = gone.entries, "forgotten");
            }
        }
        Ok(())
    }
}

impl From<MemoryError> for IndexPassError {
    fn from(trouble: MemoryError) -> Self {
        Self::Trouble { why: trouble.to_string(), again: RETRY_PAUSE }
    }
}

impl From<EmbedError> for IndexPassError {
    fn from(error: EmbedError) -> Self {
        let again = match &error {
            EmbedError::Away { again, .. } => again.unwrap_or(RETRY_PAUSE),
            EmbedError::Refused(_) | EmbedError::Unusable(_) => POLL_INTERVAL,
        };
        Self::Trouble { why: error.to_string(), again }
    }
}
