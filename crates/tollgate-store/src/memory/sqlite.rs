//! The memory in its own SQLite file: one writer thread and a few reader threads, to which calls
//! are queued. Used through the trait; the tables are in the modules below.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Instant, SystemTime};

use async_trait::async_trait;
use rusqlite::{Connection, ErrorCode};
use tokio::sync::oneshot;
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
use crate::database::{self, FilesInUse, OpenedDatabase};
use crate::error::{Error, OpenError};
use crate::migrations::MEMORY;

mod close_entities;
mod deletion;
mod entities;
mod facts;
mod partitions;
mod postings;
mod queue;
mod readers;
mod records;
mod relations;
mod rows;
mod transcripts;
mod unread_transcripts;
mod vectors;
mod writer;

use deletion::SqliteDeleteRemainder;
use readers::ReaderPool;
use vectors::SqliteVectorSearch;
use writer::SqliteWriter;

/// Capacity of the prepared statement cache.
const STATEMENTS: usize = 96;

pub(super) struct SqliteMemory {
    readers: ReaderPool,
    writer: SqliteWriter,
    meanings: Arc<SqliteVectorSearch>,
    files: Arc<FilesInUse>,
}

impl SqliteMemory {
    pub(super) fn open(file: &Path) -> Result<Self, OpenError> {
        let unusable = |why| OpenError::Unusable { file: file.to_owned(), why };
        let OpenedDatabase { connection, files } = database::open(file, &MEMORY)?;
        let readers = ReaderPool::start(file).map_err(unusable)?;
        let writer = SqliteWriter::start(connection, Arc::clone(&files)).map_err(unusable)?;
        Ok(Self { readers, writer, meanings: Arc::default(), files })
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, MemoryError> + Send + 'static,
    ) -> Result<T, MemoryError> {
        self.readers.ask(work).await
    }
}

#[async_trait]
impl MemoryDatabase for SqliteMemory {
    async fn append(
        &self,
        place: &MemoryTarget,
        entries: Vec<NewEntry>,
    ) -> Result<Vec<EntryId>, MemoryError> {
        let rows = few("entries", entries.len())?;
        let entries: Vec<transcripts::SqliteIndexedEntry> =
            entries.into_iter().map(Into::into).collect();
        let place = place.clone();
        self.writer.write(rows, move |to| transcripts::append(to, &place, &entries)).await
    }

    async fn entries_with(
        &self,
        scope: &MemoryScope,
        query: &MemoryQuery,
        session: Option<&SessionId>,
    ) -> Result<SearchCandidates<TranscriptEntry>, MemoryError> {
        let scope = scope.clone();
        let query = query.clone();
        let session = session.cloned();
        self.read(move |from| match session {
            None => transcripts::with(from, &scope, &query),
            Some(session) => transcripts::with_in(from, &scope, &query, &session),
        })
        .await
    }

    async fn sessions(
        &self,
        scope: &MemoryScope,
        page: Page,
    ) -> Result<Vec<TranscriptSession>, MemoryError> {
        let scope = scope.clone();
        self.read(move |from| transcripts::sessions(from, &scope, page)).await
    }

    async fn session(
        &self,
        scope: &MemoryScope,
        id: &SessionId,
    ) -> Result<Option<TranscriptSession>, MemoryError> {
        let scope = scope.clone();
        let id = id.clone();
        let found = self.read(move |from| transcripts::find(from, &scope, &id)).await?;
        Ok(found.map(|(_, known)| known.session))
    }

    async fn entries(
        &self,
        scope: &MemoryScope,
        session: &SessionId,
        page: TranscriptPage,
    ) -> Result<Vec<TranscriptEntry>, MemoryError> {
        let scope = scope.clone();
        let session = session.clone();
        self.read(move |from| transcripts::entries(from, &scope, &session, page)).await
    }

    async fn entries_around(
        &self,
        scope: &MemoryScope,
        entries: &[EntryId],
        reach: usize,
    ) -> Result<Vec<EntryContext>, MemoryError> {
        let scope = scope.clone();
        let entries = entries.to_vec();
        self.read(move |from| transcripts::around(from, &scope, &entries, reach)).await
    }

    async fn summarise(
        &self,
        place: &MemoryTarget,
        session: &SessionId,
        summary: &str,
    ) -> Result<bool, MemoryError> {
        let place = place.clone();
        let session = session.clone();
        let summary = summary.to_owned();
        let work = move |to: &Connection| transcripts::summarise(to, &place, &session, &summary);
        self.writer.write(1, work).await
    }

    async fn remember(
        &self,
        place: &MemoryTarget,
        facts: Vec<NewFact>,
    ) -> Result<Vec<FactId>, MemoryError> {
        let rows = few("facts", facts.len())?;
        let facts: Vec<facts::SqliteIndexedFact> = facts.into_iter().map(Into::into).collect();
        let place = place.clone();
        self.writer.write(rows, move |to| facts::remember(to, &place, &facts)).await
    }

    async fn facts_with(
        &self,
        scope: &MemoryScope,
        query: &MemoryQuery,
    ) -> Result<SearchCandidates<Fact>, MemoryError> {
        let scope = scope.clone();
        let query = query.clone();
        self.read(move |from| facts::with(from, &scope, &query)).await
    }

    async fn facts_near(
        &self,
        scope: &MemoryScope,
        vector: &EmbeddingVector,
        most: usize,
    ) -> Result<Vec<(Fact, f32)>, MemoryError> {
        let scope = scope.clone();
        let vector = vector.clone();
        let meanings = Arc::clone(&self.meanings);
        let most = most.min(MAX_ROWS_PER_CALL);
        self.read(move |from| meanings.near(from, &scope, &vector, most)).await
    }

    async fn facts(&self, scope: &MemoryScope, page: Page) -> Result<Vec<Fact>, MemoryError> {
        let scope = scope.clone();
        self.read(move |from| facts::list(from, &scope, page)).await
    }

    async fn facts_about(
        &self,
        scope: &MemoryScope,
        entity: &EntityId,
        page: Page,
    ) -> Result<Vec<Fact>, MemoryError> {
        let scope = scope.clone();
        let entity = entity.clone();
        self.read(move |from| facts::about(from, &scope, &entity, page)).await
    }

    async fn without_vector(
        &self,
        model: &str,
        most: usize,
    ) -> Result<Vec<(FactId, String)>, MemoryError> {
        let model = model.to_owned();
        let meanings = Arc::clone(&self.meanings);
        self.read(move |from| meanings.missing(from, &model, most)).await
    }

    async fn keep_vectors(
        &self,
        model: &str,
        vectors: Vec<(FactId, Vec<f32>)>,
    ) -> Result<(), MemoryError> {
        let rows = few("vectors", vectors.len())?;
        let model = model.to_owned();
        self.writer.write(rows, move |to| vectors::keep(to, &model, &vectors)).await
    }

    async fn unread(
        &self,
        at_least: usize,
        silent: SystemTime,
    ) -> Result<Vec<UnreadTranscript>, MemoryError> {
        self.read(move |from| unread_transcripts::unread(from, at_least, silent)).await
    }

    async fn put_entities(
        &self,
        place: &MemoryTarget,
        entities: Vec<NewEntity>,
    ) -> Result<(), MemoryError> {
        let rows = few("entities", entities.len())?;
        let place = place.clone();
        self.writer.write(rows, move |to| entities::put(to, &place, &entities)).await
    }

    async fn find_entities(
        &self,
        scope: &MemoryScope,
        filter: &EntityFilter,
        page: Page,
    ) -> Result<Vec<Entity>, MemoryError> {
        let scope = scope.clone();
        let filter = filter.clone();
        self.read(move |from| entities::find(from, &scope, &filter, page)).await
    }

    async fn find_close_entities(
        &self,
        scope: &MemoryScope,
        filter: &EntityFilter,
        most: usize,
    ) -> Result<Vec<Entity>, MemoryError> {
        let scope = scope.clone();
        let filter = filter.clone();
        self.read(move |from| close_entities::find(from, &scope, &filter, most)).await
    }

    async fn snapshot(
        &self,
        scope: &MemoryScope,
        id: &EntityId,
        links: usize,
    ) -> Result<Option<EntitySnapshot>, MemoryError> {
        let scope = scope.clone();
        let id = id.clone();
        self.read(move |from| relations::snapshot(from, &scope, &id, links)).await
    }

    async fn relate(
        &self,
        place: &MemoryTarget,
        relations: Vec<NewRelation>,
    ) -> Result<(), MemoryError> {
        let rows = few("relations", relations.len())?;
        let place = place.clone();
        self.writer.write(rows, move |to| relations::relate(to, &place, &relations)).await
    }

    async fn relations(
        &self,
        scope: &MemoryScope,
        of: Option<&EntityId>,
        page: Page,
    ) -> Result<Vec<Relation>, MemoryError> {
        let scope = scope.clone();
        let of = of.cloned();
        self.read(move |from| relations::list(from, &scope, of.as_ref(), page)).await
    }

    async fn forget(
        &self,
        scope: &MemoryScope,
        what: &MemoryForgetTarget,
    ) -> Result<MemoryCounts, MemoryError> {
        let mut gone = MemoryCounts::default();
        loop {
            let scope = scope.clone();
            let what = what.clone();
            let work = move |from: &Connection| deletion::some(from, &scope, &what);
            let (some, left) = self.writer.write(deletion::SLICE, work).await?;
            gone.add(&some);
            if left == SqliteDeleteRemainder::Nothing {
                return Ok(gone);
            }
        }
    }

    async fn namespaces(&self) -> Result<Vec<(Namespace, MemoryCounts)>, MemoryError> {
        self.read(partitions::namespaces).await
    }

    async fn records(
        &self,
        scope: &MemoryScope,
        from: ExportCursor,
    ) -> Result<(Vec<MemoryRecord>, Option<ExportCursor>), MemoryError> {
        let scope = scope.clone();
        self.read(move |file| records::after(file, &scope, from)).await
    }

    async fn ping(&self) -> Result<(), MemoryError> {
        let files = Arc::clone(&self.files);
        self.read(move |from| {
            files.check()?;
            Ok(from.query_row("SELECT 1", [], |_| Ok(()))?)
        })
        .await
    }

    async fn backup(&self, to: &Path) -> Result<(), MemoryError> {
        let (reply, answer) = oneshot::channel();
        let files = Arc::clone(&self.files);
        let to = to.to_owned();
        // Takes as long as it takes; readers are not blocked.
        let thread = thread::Builder::new().name("memory-backup".to_owned());
        let copying = thread.spawn(move || drop(reply.send(copy(&files, &to))));
        copying.map_err(|error| MemoryError::Failed(error.into()))?;
        Ok(answer.await.unwrap_or_else(|_| Err(Error::Failed("it was interrupted".to_owned())))?)
    }
}

/// Copies into a new file that only this user can read.
fn copy(files: &FilesInUse, to: &Path) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    let made = options.write(true).create_new(true).mode(0o600).open(to)?;
    let target = to.to_str().ok_or_else(|| Error::Failed("its name is not valid UTF-8".to_owned()));
    let copied = target.and_then(|to| {
        database::connect_again(files)?.execute("VACUUM INTO ?1", [to])?;
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

impl From<rusqlite::Error> for MemoryError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Self::Slow(readers::READ_TIMEOUT),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Slow(writer::BUSY_TIMEOUT)
            }
            _ => Self::Failed(error.into()),
        }
    }
}

#[cfg(test)]
mod tests;
