//! Reads while nobody waits: cuts transcripts into passages, asks what passages mean, and forgets
//! what is too old. All of it can be done again: what a crash interrupts, the next start does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tollgate_core::memory::{self, FactId, MemoryScope};
use tollgate_mcp::tasks::{self, Task};
use tollgate_store::memory::{MemoryError, MemoryForgetTarget, UnreadTranscript};

use super::MemoryService;
use crate::embedding::{EmbedError, Embedder, Embedding, embed_passages};

/// A transcript is read when it has so many entries that were not, …
const MIN_UNREAD_ENTRIES: usize = 24;
/// … or when nobody has said anything for so long.
const IDLE_BEFORE_READING: Duration = Duration::from_secs(120);
/// So that other processes' writing is seen as well.
const POLL_INTERVAL: Duration = Duration::from_secs(60);
/// What is said together is read together.
const COALESCE_DELAY: Duration = Duration::from_millis(200);
/// After trouble, and never sooner than who is in trouble asks for.
const RETRY_PAUSE: Duration = Duration::from_secs(10);
/// Between two looks at what is too old.
const FORGET_INTERVAL: Duration = Duration::from_secs(3_600);
/// Passages whose meaning is asked for at once.
const EMBED_BATCH: usize = 64;

/// Keeps reading for as long as it is held.
pub(crate) struct MemoryIndexer {
    keep: Arc<ArcSwap<Option<Duration>>>,
    _task: Task,
}

impl MemoryIndexer {
    /// `keep`: how long transcripts are; `None`: for ever.
    pub(crate) fn begin(mind: &Arc<MemoryService>, keep: Option<Duration>) -> Self {
        let keep = Arc::new(ArcSwap::from_pointee(keep));
        let (mind, kept) = (Arc::clone(mind), Arc::clone(&keep));
        Self { keep, _task: tasks::spawn("memory", async move { mind.keep_reading(&kept).await }) }
    }

    pub(crate) fn keep(&self, keep: Option<Duration>) {
        self.keep.store(Arc::new(keep));
    }
}

/// Why there was nothing more to do, or no doing it.
enum IndexPassError {
    AllRead,
    Trouble { why: String, again: Duration },
}

impl MemoryService {
    async fn keep_reading(&self, keep: &ArcSwap<Option<Duration>>) {
        let (mut told, mut forgot) = (None, None);
        loop {
            let rest = match self.tidy(**keep.load(), &mut forgot).await {
                Ok(()) => IndexPassError::AllRead,
                Err(rest) => rest,
            };
            match rest {
                IndexPassError::AllRead => {
                    told = None;
                    let _ = tokio::time::timeout(POLL_INTERVAL, self.stirred.notified()).await;
                    tokio::time::sleep(COALESCE_DELAY).await;
                }
                IndexPassError::Trouble { why, again } => {
                    // The same trouble is told once, however long it lasts.
                    if told.as_ref() != Some(&why) {
                        tracing::warn!(why, "transcripts are waiting to be indexed");
                        told = Some(why);
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
        // Without a model of meanings passages have nothing that transcripts have not.
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
