//! The memory in PostgreSQL: each call leases a connection and has a deadline, whatever happens to
//! the server.
//!
//! The server need not be reachable yet: the schema is created once it is. Used through the trait;
//! the tables are in the modules below.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tollgate_core::memory::{
    Entity, EntityId, EntitySnapshot, EntryId, Fact, FactId, MemoryQuery, MemoryScope,
    MemoryTarget, Namespace, NewEntity, NewEntry, NewFact, NewRelation, Relation, SearchCandidates,
    SessionId, TranscriptEntry, TranscriptSession,
};

use super::database::few;
use super::{
    EmbeddingVector, EntityFilter, EntryContext, ExportCursor, MAX_ROWS_PER_CALL, MemoryCounts,
    MemoryDatabase, MemoryError, MemoryForgetTarget, MemoryRecord, Page, TranscriptPage,
    UnreadTranscript,
};
use crate::Error;

mod address;
mod append_batcher;
mod circuit_breaker;
mod close_entities;
mod deletion;
mod entities;
mod error;
mod facts;
mod partitions;
mod pool;
mod postings;
mod ready_pool;
mod records;
mod relations;
mod rows;
mod schema;
mod tls;
mod transcripts;
mod vectors;

pub use address::PostgresAddressError;

use address::PostgresAddress;
use append_batcher::AppendBatcher;
use deletion::PgDeleteRemainder;
use pool::{PgDeadline, PgLease, PgPool, now};
use ready_pool::ReadyPool;
use tls::PgTls;
use vectors::PgVectorSearch;

/// Vectors per transaction: updating a vector index is slow.
const VECTORS_AT_ONCE: usize = 100;
/// Each vector counts as this many rows for the deadline.
const ROWS_OF_A_VECTOR: usize = 20;

pub(super) struct PostgresMemory {
    door: Arc<ReadyPool>,
    appends: AppendBatcher,
    meanings: PgVectorSearch,
    opening: AbortHandle,
}

impl PostgresMemory {
    pub(super) fn connect(url: &str) -> Result<Self, PostgresAddressError> {
        let runtime = Handle::try_current().map_err(|_| PostgresAddressError::NoRuntime)?;
        let PostgresAddress { config, proof } = PostgresAddress::parse(url)?;
        let pool = PgPool::new(config, PgTls::new(&proof)?, runtime.clone());
        let (door, sender) = ReadyPool::new(pool);
        let door = Arc::new(door);
        let opening = runtime.spawn(ready_pool::open(Arc::clone(&door), sender)).abort_handle();
        let appends = AppendBatcher::start(&runtime, Arc::clone(&door));
        Ok(Self { door, appends, meanings: PgVectorSearch::default(), opening })
    }

    async fn lease(&self) -> Result<PgLease, MemoryError> {
        self.door.lease(PgDeadline::for_rows(0, now())).await
    }

    async fn begin(&self, rows: usize) -> Result<PgLease, MemoryError> {
        self.door.begin(PgDeadline::for_rows(rows, now())).await
    }
}

impl Drop for PostgresMemory {
    fn drop(&mut self) {
        self.opening.abort();
    }
}

#[async_trait]
impl MemoryDatabase for PostgresMemory {
    async fn append(
        &self,
        place: &MemoryTarget,
        entries: Vec<NewEntry>,
    ) -> Result<Vec<EntryId>, MemoryError> {
        few("entries", entries.len())?;
        self.appends.append(place.clone(), entries.into_iter().map(Into::into).collect()).await
    }

    async fn entries_with(
        &self,
        scope: &MemoryScope,
        query: &MemoryQuery,
        session: Option<&SessionId>,
    ) -> Result<SearchCandidates<TranscriptEntry>, MemoryError> {
        let lease = self.lease().await?;
        match session {
            None => transcripts::with(&lease, scope, query).await,
            Some(session) => transcripts::with_in(&lease, scope, query, session).await,
        }
    }

    async fn sessions(
        &self,
        scope: &MemoryScope,
        page: Page,
    ) -> Result<Vec<TranscriptSession>, MemoryError> {
        transcripts::sessions(&self.lease().await?, scope, page).await
    }

    async fn session(
        &self,
        scope: &MemoryScope,
        id: &SessionId,
    ) -> Result<Option<TranscriptSession>, MemoryError> {
        transcripts::session(&self.lease().await?, scope, id).await
    }

    async fn entries(
        &self,
        scope: &MemoryScope,
        session: &SessionId,
        page: TranscriptPage,
    ) -> Result<Vec<TranscriptEntry>, MemoryError> {
        transcripts::entries(&self.lease().await?, scope, session, page).await
    }

    async fn entries_around(
        &self,
        scope: &MemoryScope,
        entries: &[EntryId],
        reach: usize,
    ) -> Result<Vec<EntryContext>, MemoryError> {
        transcripts::around(&self.lease().await?, scope, entries, reach).await
    }

    async fn summarise(
        &self,
        place: &MemoryTarget,
        session: &SessionId,
        summary: &str,
    ) -> Result<bool, MemoryError> {
        let lease = self.begin(1).await?;
        let done = transcripts::summarise(&lease, place, session, summary).await;
        lease.finish(done).await
    }

    async fn remember(
        &self,
        place: &MemoryTarget,
        facts: Vec<NewFact>,
    ) -> Result<Vec<FactId>, MemoryError> {
        let rows = few("facts", facts.len())?;
        let facts = facts::PgIndexedFacts::from(facts);
        let lease = self.begin(rows).await?;
        let done = facts::remember(&lease, place, &facts).await;
        lease.finish(done).await
    }

    async fn facts_with(
        &self,
        scope: &MemoryScope,
        query: &MemoryQuery,
    ) -> Result<SearchCandidates<Fact>, MemoryError> {
        facts::with(&self.lease().await?, scope, query).await
    }

    async fn facts_near(
        &self,
        scope: &MemoryScope,
        vector: &EmbeddingVector,
        most: usize,
    ) -> Result<Vec<(Fact, f32)>, MemoryError> {
        let most = most.min(MAX_ROWS_PER_CALL);
        self.meanings.near(&self.lease().await?, scope, vector, most).await
    }

    async fn facts(&self, scope: &MemoryScope, page: Page) -> Result<Vec<Fact>, MemoryError> {
        facts::list(&self.lease().await?, scope, page).await
    }

    async fn facts_about(
        &self,
        scope: &MemoryScope,
        entity: &EntityId,
        page: Page,
    ) -> Result<Vec<Fact>, MemoryError> {
        facts::about(&self.lease().await?, scope, entity, page).await
    }

    async fn without_vector(
        &self,
        model: &str,
        most: usize,
    ) -> Result<Vec<(FactId, String)>, MemoryError> {
        self.meanings.missing(&self.lease().await?, model, most).await
    }

    async fn keep_vectors(
        &self,
        model: &str,
        vectors: Vec<(FactId, Vec<f32>)>,
    ) -> Result<(), MemoryError> {
        few("vectors", vectors.len())?;
        for some in vectors::units(vectors)?.chunks(VECTORS_AT_ONCE) {
            let term = PgDeadline::for_rows(some.len() * ROWS_OF_A_VECTOR, now());
            let can = self.door.ready(term).await?;
            let lease = self.door.begin(term).await?;
            let done = vectors::keep(&lease, model, some, can).await;
            lease.finish(done).await?;
        }
        Ok(())
    }

    async fn unread(
        &self,
        at_least: usize,
        silent: SystemTime,
    ) -> Result<Vec<UnreadTranscript>, MemoryError> {
        transcripts::unread(&self.lease().await?, at_least, silent).await
    }

    async fn put_entities(
        &self,
        place: &MemoryTarget,
        entities: Vec<NewEntity>,
    ) -> Result<(), MemoryError> {
        let lease = self.begin(few("entities", entities.len())?).await?;
        let done = entities::put(&lease, place, &entities).await;
        lease.finish(done).await
    }

    async fn find_entities(
        &self,
        scope: &MemoryScope,
        filter: &EntityFilter,
        page: Page,
    ) -> Result<Vec<Entity>, MemoryError> {
        entities::find(&self.lease().await?, scope, filter, page).await
    }

    async fn find_close_entities(
        &self,
        scope: &MemoryScope,
        filter: &EntityFilter,
        most: usize,
    ) -> Result<Vec<Entity>, MemoryError> {
        close_entities::find(&self.lease().await?, scope, filter, most).await
    }

    async fn snapshot(
        &self,
        scope: &MemoryScope,
        id: &EntityId,
        links: usize,
    ) -> Result<Option<EntitySnapshot>, MemoryError> {
        relations::snapshot(&self.lease().await?, scope, id, links).await
    }

    async fn relate(
        &self,
        place: &MemoryTarget,
        relations: Vec<NewRelation>,
    ) -> Result<(), MemoryError> {
        let lease = self.begin(few("relations", relations.len())?).await?;
        let done = relations::relate(&lease, place, &relations).await;
        lease.finish(done).await
    }

    async fn relations(
        &self,
        scope: &MemoryScope,
        of: Option<&EntityId>,
        page: Page,
    ) -> Result<Vec<Relation>, MemoryError> {
        relations::list(&self.lease().await?, scope, of, page).await
    }

    async fn forget(
        &self,
        scope: &MemoryScope,
        what: &MemoryForgetTarget,
    ) -> Result<MemoryCounts, MemoryError> {
        let mut gone = MemoryCounts::default();
        loop {
            let lease = self.begin(deletion::SLICE).await?;
            let done = deletion::some(&lease, scope, what).await;
            let (some, left) = lease.finish(done).await?;
            gone.add(&some);
            if left == PgDeleteRemainder::Nothing {
                return Ok(gone);
            }
        }
    }

    async fn records(
        &self,
        scope: &MemoryScope,
        from: ExportCursor,
    ) -> Result<(Vec<MemoryRecord>, Option<ExportCursor>), MemoryError> {
        records::after(&self.lease().await?, scope, from).await
    }

    async fn namespaces(&self) -> Result<Vec<(Namespace, MemoryCounts)>, MemoryError> {
        partitions::namespaces(&self.lease().await?).await
    }

    async fn ping(&self) -> Result<(), MemoryError> {
        self.lease().await?.rows("SELECT", &[]).await.map(drop)
    }

    async fn backup(&self, _: &Path) -> Result<(), MemoryError> {
        let text = "it is in PostgreSQL: back it up with `pg_dump --schema=tollgate`";
        Err(MemoryError::Failed(Error::Failed(text.to_owned())))
    }
}
