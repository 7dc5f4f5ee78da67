//! The memory as agents have it: what is said is kept, read into passages while nobody waits, and
//! found by its words and its meaning.
//!
//! Called by the built-in tools and by the fronts; where it is kept is for the store.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;
use tollgate_core::memory::{Entry, Hit, Scope, SessionId};
use tollgate_mcp::tasks::Group;
use tollgate_store::memory::{self, Known, Memory, Search, Trouble, Vector};

use crate::clock::Clock;
use crate::embedding::{Embedder, Purpose};

mod reading;
mod recall;
mod transcript;

pub(crate) use reading::Reading;
pub use recall::{Heard, Recalled};
pub use transcript::Said;

use recall::Recalls;

/// A question whose meaning is not known by then is looked for by its words.
const PATIENCE: Duration = Duration::from_millis(300);
/// Who asks whether it is well waits no longer.
const HEALTH: Duration = Duration::from_secs(1);
/// Conversations whose last words are on their way to the disk.
const MOST_WRITING: usize = 256;

/// What agents remember. One for all of them: what each sees is a matter of its scope.
pub struct Mind {
    store: Arc<Memory>,
    embedder: Option<Arc<dyn Embedder>>,
    clock: Arc<dyn Clock>,
    /// Told when there may be something to read.
    stirred: Notify,
    writing: Group,
    recalls: Recalls,
}

impl Mind {
    /// Must be called within a runtime.
    pub(crate) fn new(
        store: Arc<Memory>,
        embedder: Option<Arc<dyn Embedder>>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        Arc::new(Self {
            store,
            embedder,
            clock,
            stirred: Notify::new(),
            writing: Group::new("transcripts", MOST_WRITING),
            recalls: Recalls::new(),
        })
    }

    /// Where it is kept: for whoever runs the gateway, and for tools that know their scope.
    pub fn store(&self) -> &Memory {
        &self.store
    }

    pub fn now(&self) -> SystemTime {
        self.clock.wall()
    }

    /// Something new was kept, perhaps worth a look.
    pub fn stir(&self) {
        self.stirred.notify_one();
    }

    /// Whether it can be asked just now.
    pub async fn health(&self) -> Result<(), Trouble> {
        let asked = tokio::time::timeout(HEALTH, self.store.ping()).await;
        asked.unwrap_or(Err(Trouble::Slow(HEALTH)))
    }

    /// What was said, the best fit first.
    pub async fn search_entries(
        &self,
        scope: &Scope,
        query: &str,
        (session, most): (Option<&SessionId>, usize),
    ) -> Result<Vec<Hit<Entry>>, Trouble> {
        let search = Search { query, session, most, now: self.now() };
        self.store.search_entries(scope, &search).await
    }

    /// What is known, by meaning where a model is there for it, and by words.
    pub async fn search_facts(
        &self,
        scope: &Scope,
        query: &str,
        most: usize,
    ) -> Result<Vec<Hit<Known>>, Trouble> {
        let search = Search { query, session: None, most, now: self.now() };
        let meaning = self.meaning(query).await;
        self.store.search_facts(scope, &search, meaning.as_ref()).await
    }

    /// In which conversations something came up, the best fit first.
    pub async fn search_history(
        &self,
        scope: &Scope,
        query: &str,
        most: usize,
    ) -> Result<Vec<memory::Recalled>, Trouble> {
        let search = Search { query, session: None, most, now: self.now() };
        self.store.search_history(scope, &search).await
    }

    /// `None`: there is no model, or it has no answer in time.
    async fn meaning(&self, question: &str) -> Option<Vector> {
        let embedder = self.embedder.as_ref()?;
        let texts = [question.to_owned()];
        let asked = tokio::time::timeout(PATIENCE, embedder.embed(&texts, Purpose::Question));
        match asked.await {
            Ok(Ok(meanings)) => {
                let numbers = meanings.into_iter().next()?.into_numbers();
                Some(Vector { model: embedder.model().to_owned(), numbers })
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "a question is looked for by its words only");
                None
            }
            Err(_) => {
                tracing::warn!(waited = ?PATIENCE, "a question is looked for by its words only");
                None
            }
        }
    }
}
