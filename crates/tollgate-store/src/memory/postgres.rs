//! The memory in PostgreSQL: each call borrows a connection and ends in time, whatever becomes of the
//! server. It need not be there yet: the tables are made when it comes. Called through the trait; the
//! tables are known to the modules below.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tollgate_core::memory::{
    Candidates, Entity, EntityId, Entry, EntryId, Fact, FactId, Namespace, NewEntity, NewEntry,
    NewFact, NewRelation, Place, Query, Relation, Scope, Session, SessionId, Snapshot,
};

use super::database::few;
use super::{
    Counts, Cursor, Database, Forget, MOST_AT_ONCE, Page, Record, Stretch, Trouble, Unread, Vector,
    Wanted,
};
use crate::Error;

mod address;
mod appending;
mod circuit;
mod entities;
mod facts;
mod forgetting;
mod opening;
mod pool;
mod postings;
mod records;
mod relations;
mod rows;
mod schema;
mod shelves;
mod tls;
mod transcripts;
mod trouble;
mod vectors;

pub use address::BadAddress;

use address::Address;
use appending::Appends;
use forgetting::Left;
use opening::Door;
use pool::{Lease, Pool, Term, now};
use tls::Tls;
use vectors::Meanings;

/// Vectors of one transaction: an index of vectors takes its time.
const VECTORS_AT_ONCE: usize = 100;
/// Each of them counts as so many rows.
const ROWS_OF_A_VECTOR: usize = 20;

pub(super) struct Postgres {
    door: Arc<Door>,
    appends: Appends,
    meanings: Meanings,
    opening: AbortHandle,
}

impl Postgres {
    pub(super) fn connect(url: &str) -> Result<Self, BadAddress> {
        let runtime = Handle::try_current().map_err(|_| BadAddress::NoRuntime)?;
        let Address { config, proof } = Address::parse(url)?;
        let pool = Pool::new(config, Tls::new(&proof)?, runtime.clone());
        let (door, told) = Door::new(pool);
        let door = Arc::new(door);
        let opening = runtime.spawn(opening::open(Arc::clone(&door), told)).abort_handle();
        let appends = Appends::start(&runtime, Arc::clone(&door));
        Ok(Self { door, appends, meanings: Meanings::default(), opening })
    }

    async fn lease(&self) -> Result<Lease, Trouble> {
        self.door.lease(Term::for_rows(0, now())).await
    }

    async fn begin(&self, rows: usize) -> Result<Lease, Trouble> {
        self.door.begin(Term::for_rows(rows, now())).await
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.opening.abort();
    }
}

#[async_trait]
impl Database for Postgres {
    async fn append(&self, place: &Place, entries: Vec<NewEntry>) -> Result<Vec<EntryId>, Trouble> {
        few("entries", entries.len())?;
        self.appends.append(place.clone(), entries.into_iter().map(Into::into).collect()).await
    }

    async fn entries_with(
        &self,
        scope: &Scope,
        query: &Query,
        session: Option<&SessionId>,
    ) -> Result<Candidates<Entry>, Trouble> {
        let lease = self.lease().await?;
        match session {
            None => transcripts::with(&lease, scope, query).await,
            Some(session) => transcripts::with_in(&lease, scope, query, session).await,
        }
    }

    async fn sessions(&self, scope: &Scope, page: Page) -> Result<Vec<Session>, Trouble> {
        transcripts::sessions(&self.lease().await?, scope, page).await
    }

    async fn session(&self, scope: &Scope, id: &SessionId) -> Result<Option<Session>, Trouble> {
        transcripts::session(&self.lease().await?, scope, id).await
    }

    async fn entries(
        &self,
        scope: &Scope,
        session: &SessionId,
        stretch: Stretch,
    ) -> Result<Vec<Entry>, Trouble> {
        transcripts::entries(&self.lease().await?, scope, session, stretch).await
    }

    async fn summarise(
        &self,
        place: &Place,
        session: &SessionId,
        summary: &str,
    ) -> Result<bool, Trouble> {
        let lease = self.begin(1).await?;
        let done = transcripts::summarise(&lease, place, session, summary).await;
        lease.finish(done).await
    }

    async fn remember(&self, place: &Place, facts: Vec<NewFact>) -> Result<Vec<FactId>, Trouble> {
        let rows = few("facts", facts.len())?;
        let facts = facts::Worded::from(facts);
        let lease = self.begin(rows).await?;
        let done = facts::remember(&lease, place, &facts).await;
        lease.finish(done).await
    }

    async fn facts_with(&self, scope: &Scope, query: &Query) -> Result<Candidates<Fact>, Trouble> {
        facts::with(&self.lease().await?, scope, query).await
    }

    async fn facts_near(
        &self,
        scope: &Scope,
        vector: &Vector,
        most: usize,
    ) -> Result<Vec<(Fact, f32)>, Trouble> {
        let most = most.min(MOST_AT_ONCE);
        self.meanings.near(&self.lease().await?, scope, (vector, most)).await
    }

    async fn facts(&self, scope: &Scope, page: Page) -> Result<Vec<Fact>, Trouble> {
        facts::list(&self.lease().await?, scope, page).await
    }

    async fn without_vector(
        &self,
        model: &str,
        most: usize,
    ) -> Result<Vec<(FactId, String)>, Trouble> {
        self.meanings.missing(&self.lease().await?, model, most).await
    }

    async fn keep_vectors(
        &self,
        model: &str,
        vectors: Vec<(FactId, Vec<f32>)>,
    ) -> Result<(), Trouble> {
        few("vectors", vectors.len())?;
        for some in vectors::units(vectors)?.chunks(VECTORS_AT_ONCE) {
            let term = Term::for_rows(some.len() * ROWS_OF_A_VECTOR, now());
            let can = self.door.ready(term).await?;
            let lease = self.door.begin(term).await?;
            let done = vectors::keep(&lease, model, some, can).await;
            lease.finish(done).await?;
        }
        Ok(())
    }

    async fn unread(&self, at_least: usize, silent: SystemTime) -> Result<Vec<Unread>, Trouble> {
        transcripts::unread(&self.lease().await?, at_least, silent).await
    }

    async fn put_entities(&self, place: &Place, entities: Vec<NewEntity>) -> Result<(), Trouble> {
        let lease = self.begin(few("entities", entities.len())?).await?;
        let done = entities::put(&lease, place, &entities).await;
        lease.finish(done).await
    }

    async fn find_entities(
        &self,
        scope: &Scope,
        wanted: &Wanted,
        page: Page,
    ) -> Result<Vec<Entity>, Trouble> {
        entities::find(&self.lease().await?, scope, wanted, page).await
    }

    async fn snapshot(
        &self,
        scope: &Scope,
        id: &EntityId,
        links: usize,
    ) -> Result<Option<Snapshot>, Trouble> {
        relations::snapshot(&self.lease().await?, scope, id, links).await
    }

    async fn relate(&self, place: &Place, relations: Vec<NewRelation>) -> Result<(), Trouble> {
        let lease = self.begin(few("relations", relations.len())?).await?;
        let done = relations::relate(&lease, place, &relations).await;
        lease.finish(done).await
    }

    async fn relations(
        &self,
        scope: &Scope,
        of: Option<&EntityId>,
        page: Page,
    ) -> Result<Vec<Relation>, Trouble> {
        relations::list(&self.lease().await?, scope, of, page).await
    }

    async fn forget(&self, scope: &Scope, what: &Forget) -> Result<Counts, Trouble> {
        let mut gone = Counts::default();
        loop {
            let lease = self.begin(forgetting::SLICE).await?;
            let done = forgetting::some(&lease, scope, what).await;
            let (some, left) = lease.finish(done).await?;
            gone.add(&some);
            if left == Left::Nothing {
                return Ok(gone);
            }
        }
    }

    async fn records(
        &self,
        scope: &Scope,
        from: Cursor,
    ) -> Result<(Vec<Record>, Option<Cursor>), Trouble> {
        records::after(&self.lease().await?, scope, from).await
    }

    async fn namespaces(&self) -> Result<Vec<(Namespace, Counts)>, Trouble> {
        shelves::namespaces(&self.lease().await?).await
    }

    async fn ping(&self) -> Result<(), Trouble> {
        self.lease().await?.rows("SELECT", &[]).await.map(drop)
    }

    async fn backup(&self, _: &Path) -> Result<(), Trouble> {
        let said = "it is in PostgreSQL: `pg_dump --schema=tollgate` makes a copy of it";
        Err(Trouble::Failed(Error::Failed(said.to_owned())))
    }
}
