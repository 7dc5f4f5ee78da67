//! The memory in a file of its own: one thread writes, a few read, and each call waits for one of
//! them. Called through the trait; the tables are known to the modules below.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Instant, SystemTime};

use async_trait::async_trait;
use rusqlite::{Connection, ErrorCode};
use tokio::sync::oneshot;
use tollgate_core::memory::{
    Candidates, Entity, EntityId, Entry, EntryId, Fact, FactId, Namespace, NewEntity, NewEntry,
    NewFact, NewRelation, Place, Query, Relation, Scope, Session, SessionId, Snapshot,
};

use super::database::few;
use super::{
    Counts, Cursor, Database, Forget, MOST_AT_ONCE, Page, Record, Stretch, Trouble, Unread, Vector,
    Wanted,
};
use crate::database;
use crate::error::{Error, OpenError};
use crate::migrations::MEMORY;

mod entities;
mod facts;
mod forgetting;
mod postings;
mod queue;
mod readers;
mod reading;
mod records;
mod relations;
mod rows;
mod shelves;
mod transcripts;
mod vectors;
mod writer;

use forgetting::Left;
use readers::Readers;
use vectors::Meanings;
use writer::Writer;

/// Statements that a connection keeps ready.
const STATEMENTS: usize = 96;

pub(super) struct Sqlite {
    readers: Readers,
    writer: Writer,
    meanings: Arc<Meanings>,
    file: PathBuf,
}

impl Sqlite {
    pub(super) fn open(file: &Path) -> Result<Self, OpenError> {
        let unusable = |why| OpenError::Unusable { file: file.to_owned(), why };
        let connection = database::open(file, &MEMORY)?;
        let readers = Readers::start(file).map_err(unusable)?;
        let writer = Writer::start(connection).map_err(unusable)?;
        Ok(Self { readers, writer, meanings: Arc::default(), file: file.to_owned() })
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        self.readers.ask(work).await
    }
}

#[async_trait]
impl Database for Sqlite {
    async fn append(&self, place: &Place, entries: Vec<NewEntry>) -> Result<Vec<EntryId>, Trouble> {
        let rows = few("entries", entries.len())?;
        let entries: Vec<transcripts::Worded> = entries.into_iter().map(Into::into).collect();
        let place = place.clone();
        self.writer.write(rows, move |to| transcripts::append(to, &place, &entries)).await
    }

    async fn entries_with(
        &self,
        scope: &Scope,
        query: &Query,
        session: Option<&SessionId>,
    ) -> Result<Candidates<Entry>, Trouble> {
        let (scope, query, session) = (scope.clone(), query.clone(), session.cloned());
        self.read(move |from| match session {
            None => transcripts::with(from, &scope, &query),
            Some(session) => transcripts::with_in(from, &scope, &query, &session),
        })
        .await
    }

    async fn sessions(&self, scope: &Scope, page: Page) -> Result<Vec<Session>, Trouble> {
        let scope = scope.clone();
        self.read(move |from| transcripts::sessions(from, &scope, page)).await
    }

    async fn session(&self, scope: &Scope, id: &SessionId) -> Result<Option<Session>, Trouble> {
        let (scope, id) = (scope.clone(), id.clone());
        let found = self.read(move |from| transcripts::find(from, &scope, &id)).await?;
        Ok(found.map(|(_, known)| known.session))
    }

    async fn entries(
        &self,
        scope: &Scope,
        session: &SessionId,
        stretch: Stretch,
    ) -> Result<Vec<Entry>, Trouble> {
        let (scope, session) = (scope.clone(), session.clone());
        self.read(move |from| transcripts::entries(from, &scope, &session, stretch)).await
    }

    async fn summarise(
        &self,
        place: &Place,
        session: &SessionId,
        summary: &str,
    ) -> Result<bool, Trouble> {
        let (place, session, summary) = (place.clone(), session.clone(), summary.to_owned());
        let work = move |to: &Connection| transcripts::summarise(to, &place, &session, &summary);
        self.writer.write(1, work).await
    }

    async fn remember(&self, place: &Place, facts: Vec<NewFact>) -> Result<Vec<FactId>, Trouble> {
        let rows = few("facts", facts.len())?;
        let facts: Vec<facts::Worded> = facts.into_iter().map(Into::into).collect();
        let place = place.clone();
        self.writer.write(rows, move |to| facts::remember(to, &place, &facts)).await
    }

    async fn facts_with(&self, scope: &Scope, query: &Query) -> Result<Candidates<Fact>, Trouble> {
        let (scope, query) = (scope.clone(), query.clone());
        self.read(move |from| facts::with(from, &scope, &query)).await
    }

    async fn facts_near(
        &self,
        scope: &Scope,
        vector: &Vector,
        most: usize,
    ) -> Result<Vec<(Fact, f32)>, Trouble> {
        let (scope, vector, meanings) = (scope.clone(), vector.clone(), Arc::clone(&self.meanings));
        let most = most.min(MOST_AT_ONCE);
        self.read(move |from| meanings.near(from, &scope, (&vector, most))).await
    }

    async fn facts(&self, scope: &Scope, page: Page) -> Result<Vec<Fact>, Trouble> {
        let scope = scope.clone();
        self.read(move |from| facts::list(from, &scope, page)).await
    }

    async fn without_vector(
        &self,
        model: &str,
        most: usize,
    ) -> Result<Vec<(FactId, String)>, Trouble> {
        let (model, meanings) = (model.to_owned(), Arc::clone(&self.meanings));
        self.read(move |from| meanings.missing(from, &model, most)).await
    }

    async fn keep_vectors(
        &self,
        model: &str,
        vectors: Vec<(FactId, Vec<f32>)>,
    ) -> Result<(), Trouble> {
        let (rows, model) = (few("vectors", vectors.len())?, model.to_owned());
        self.writer.write(rows, move |to| vectors::keep(to, &model, &vectors)).await
    }

    async fn unread(&self, at_least: usize, silent: SystemTime) -> Result<Vec<Unread>, Trouble> {
        self.read(move |from| reading::unread(from, at_least, silent)).await
    }

    async fn put_entities(&self, place: &Place, entities: Vec<NewEntity>) -> Result<(), Trouble> {
        let (rows, place) = (few("entities", entities.len())?, place.clone());
        self.writer.write(rows, move |to| entities::put(to, &place, &entities)).await
    }

    async fn find_entities(
        &self,
        scope: &Scope,
        wanted: &Wanted,
        page: Page,
    ) -> Result<Vec<Entity>, Trouble> {
        let (scope, wanted) = (scope.clone(), wanted.clone());
        self.read(move |from| entities::find(from, &scope, &wanted, page)).await
    }

    async fn snapshot(
        &self,
        scope: &Scope,
        id: &EntityId,
        links: usize,
    ) -> Result<Option<Snapshot>, Trouble> {
        let (scope, id) = (scope.clone(), id.clone());
        self.read(move |from| relations::snapshot(from, &scope, &id, links)).await
    }

    async fn relate(&self, place: &Place, relations: Vec<NewRelation>) -> Result<(), Trouble> {
        let (rows, place) = (few("relations", relations.len())?, place.clone());
        self.writer.write(rows, move |to| relations::relate(to, &place, &relations)).await
    }

    async fn relations(
        &self,
        scope: &Scope,
        of: Option<&EntityId>,
        page: Page,
    ) -> Result<Vec<Relation>, Trouble> {
        let (scope, of) = (scope.clone(), of.cloned());
        self.read(move |from| relations::list(from, &scope, of.as_ref(), page)).await
    }

    async fn forget(&self, scope: &Scope, what: &Forget) -> Result<Counts, Trouble> {
        let mut gone = Counts::default();
        loop {
            let (scope, what) = (scope.clone(), what.clone());
            let work = move |from: &Connection| forgetting::some(from, &scope, &what);
            let (some, left) = self.writer.write(forgetting::SLICE, work).await?;
            gone.add(&some);
            if left == Left::Nothing {
                return Ok(gone);
            }
        }
    }

    async fn namespaces(&self) -> Result<Vec<(Namespace, Counts)>, Trouble> {
        self.read(shelves::namespaces).await
    }

    async fn records(
        &self,
        scope: &Scope,
        from: Cursor,
    ) -> Result<(Vec<Record>, Option<Cursor>), Trouble> {
        let scope = scope.clone();
        self.read(move |file| records::after(file, &scope, from)).await
    }

    async fn ping(&self) -> Result<(), Trouble> {
        self.read(|from| Ok(from.query_row("SELECT 1", [], |_| Ok(()))?)).await
    }

    async fn backup(&self, to: &Path) -> Result<(), Trouble> {
        let (reply, answer) = oneshot::channel();
        let (file, to) = (self.file.clone(), to.to_owned());
        // It takes as long as it takes, and nobody who reads waits for it.
        let thread = thread::Builder::new().name("memory-backup".to_owned());
        let copying = thread.spawn(move || drop(reply.send(copy(&file, &to))));
        copying.map_err(|error| Trouble::Failed(error.into()))?;
        Ok(answer.await.unwrap_or_else(|_| Err(Error::Failed("it broke off".to_owned())))?)
    }
}

/// Into a file that was not there before, which only this user can read.
fn copy(file: &Path, to: &Path) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    let made = options.write(true).create_new(true).mode(0o600).open(to)?;
    let target = to.to_str().ok_or_else(|| Error::Failed("its name is no text".to_owned()));
    let copied = target.and_then(|to| {
        database::connect(file)?.execute("VACUUM INTO ?1", [to])?;
        Ok(made.sync_all()?)
    });
    if copied.is_err() {
        let _ = fs::remove_file(to);
    }
    copied
}

#[expect(clippy::disallowed_methods, reason = "threads of the disk wait in real time")]
fn now() -> Instant {
    Instant::now()
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Self::Slow(readers::PATIENCE),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Slow(writer::PATIENCE)
            }
            _ => Self::Failed(error.into()),
        }
    }
}

#[cfg(test)]
mod tests;
