//! The interface of a memory database: store, search by keyword and by vector, delete.
//!
//! Implemented for SQLite and PostgreSQL; one test suite covers both. Ranking is done by the
//! caller.
//!
//! Acknowledged data is on disk. Scopes are enforced in the queries themselves, never afterwards.

use std::path::Path;
use std::time::SystemTime;

use async_trait::async_trait;
use tollgate_core::memory::{
    Entity, EntityId, EntitySnapshot, EntryId, Fact, FactId, MemoryInputError, MemoryQuery,
    MemoryScope, MemoryTarget, Namespace, NewEntity, NewEntry, NewFact, NewRelation, Relation,
    SearchCandidates, SessionId, TranscriptEntry, TranscriptSession,
};

use super::{ExportCursor, MemoryError, MemoryRecord};
use crate::number::size;

#[async_trait]
pub trait MemoryDatabase: Send + Sync {
    /// All or none; at most [`MAX_ROWS_PER_CALL`], here and below. Returns the ids in order.
    async fn append(
        &self,
        place: &MemoryTarget,
        entries: Vec<NewEntry>,
    ) -> Result<Vec<EntryId>, MemoryError>;

    /// The newest entries with the rarest terms of the query, independent of the total size.
    async fn entries_with(
        &self,
        scope: &MemoryScope,
        query: &MemoryQuery,
        session: Option<&SessionId>,
    ) -> Result<SearchCandidates<TranscriptEntry>, MemoryError>;

    /// Most recently active first.
    async fn sessions(
        &self,
        scope: &MemoryScope,
        page: Page,
    ) -> Result<Vec<TranscriptSession>, MemoryError>;

    /// An agent's own session takes precedence over a shared one of the same name.
    async fn session(
        &self,
        scope: &MemoryScope,
        id: &SessionId,
    ) -> Result<Option<TranscriptSession>, MemoryError>;

    /// In order.
    async fn entries(
        &self,
        scope: &MemoryScope,
        session: &SessionId,
        page: TranscriptPage,
    ) -> Result<Vec<TranscriptEntry>, MemoryError>;

    /// What was said in the same session before and after each of these entries: at most `reach`
    /// entries on each side, in order. Nothing for an entry that the scope does not see.
    async fn entries_around(
        &self,
        scope: &MemoryScope,
        entries: &[EntryId],
        reach: usize,
    ) -> Result<Vec<EntryContext>, MemoryError>;

    /// Stores a summary with its author. Returns whether there is such a session for this audience.
    async fn summarise(
        &self,
        place: &MemoryTarget,
        session: &SessionId,
        summary: &str,
    ) -> Result<bool, MemoryError>;

    /// All or none. An equal fact in the same partition is not stored twice: its time is updated.
    async fn remember(
        &self,
        place: &MemoryTarget,
        facts: Vec<NewFact>,
    ) -> Result<Vec<FactId>, MemoryError>;

    async fn facts_with(
        &self,
        scope: &MemoryScope,
        query: &MemoryQuery,
    ) -> Result<SearchCandidates<Fact>, MemoryError>;

    /// The nearest neighbours, with cosine similarity.
    async fn facts_near(
        &self,
        scope: &MemoryScope,
        vector: &EmbeddingVector,
        most: usize,
    ) -> Result<Vec<(Fact, f32)>, MemoryError>;

    /// Newest first.
    async fn facts(&self, scope: &MemoryScope, page: Page) -> Result<Vec<Fact>, MemoryError>;

    /// Those about one entity, newest first.
    async fn facts_about(
        &self,
        scope: &MemoryScope,
        entity: &EntityId,
        page: Page,
    ) -> Result<Vec<Fact>, MemoryError>;

    /// Facts without a vector of that model yet, with their texts.
    async fn without_vector(
        &self,
        model: &str,
        most: usize,
    ) -> Result<Vec<(FactId, String)>, MemoryError>;

    /// Vectors of deleted facts are dropped.
    async fn keep_vectors(
        &self,
        model: &str,
        vectors: Vec<(FactId, Vec<f32>)>,
    ) -> Result<(), MemoryError>;

    /// Parts of transcripts without passages: the entries after the last passage of their session,
    /// in order, of sessions with at least so many of them or inactive since then.
    async fn unread(
        &self,
        at_least: usize,
        silent: SystemTime,
    ) -> Result<Vec<UnreadTranscript>, MemoryError>;

    async fn put_entities(
        &self,
        place: &MemoryTarget,
        entities: Vec<NewEntity>,
    ) -> Result<(), MemoryError>;

    /// By name: equal, by prefix, by words; `None`: any.
    async fn find_entities(
        &self,
        scope: &MemoryScope,
        wanted: &EntityFilter,
        page: Page,
    ) -> Result<Vec<Entity>, MemoryError>;

    /// By a name that is misspelt or misheard: those with a close one, closest first. Compares a
    /// bounded number of names, those with the same first letter before others.
    async fn find_close_entities(
        &self,
        scope: &MemoryScope,
        wanted: &EntityFilter,
        most: usize,
    ) -> Result<Vec<Entity>, MemoryError>;

    /// With a maximum number of links.
    async fn snapshot(
        &self,
        scope: &MemoryScope,
        id: &EntityId,
        links: usize,
    ) -> Result<Option<EntitySnapshot>, MemoryError>;

    /// Fails with [`MemoryError::NoEntity`] if one end does not exist for this audience.
    async fn relate(
        &self,
        place: &MemoryTarget,
        relations: Vec<NewRelation>,
    ) -> Result<(), MemoryError>;

    /// Of one entity, or all.
    async fn relations(
        &self,
        scope: &MemoryScope,
        of: Option<&EntityId>,
        page: Page,
    ) -> Result<Vec<Relation>, MemoryError>;

    async fn forget(
        &self,
        scope: &MemoryScope,
        what: &MemoryForgetTarget,
    ) -> Result<MemoryCounts, MemoryError>;

    async fn namespaces(&self) -> Result<Vec<(Namespace, MemoryCounts)>, MemoryError>;

    /// Rows of one layer visible in a scope, after a given row id and in the order of ids: a few
    /// hundred at most, and the next cursor. Of facts only the stated ones.
    async fn records(
        &self,
        scope: &MemoryScope,
        from: ExportCursor,
    ) -> Result<(Vec<MemoryRecord>, Option<ExportCursor>), MemoryError>;

    /// Whether the database answers now.
    async fn ping(&self) -> Result<(), MemoryError>;

    /// A snapshot of everything in a new file.
    async fn backup(&self, to: &Path) -> Result<(), MemoryError>;
}

/// Maximum rows of one call: other writers wait meanwhile.
pub const MAX_ROWS_PER_CALL: usize = 5_000;

/// A page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    pub skip: usize,
    pub most: usize,
}

impl Page {
    /// Number of rows to read for it, from the first on.
    pub(super) fn end(self) -> i64 {
        size(self.skip.saturating_add(self.most.min(MAX_ROWS_PER_CALL)))
    }

    /// The rows of the page, out of all from the first on.
    pub(super) fn of<T>(self, all: Vec<T>) -> impl Iterator<Item = T> {
        all.into_iter().skip(self.skip).take(self.most.min(MAX_ROWS_PER_CALL))
    }
}

/// A page of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptPage {
    /// `None`: from the beginning.
    pub after: Option<EntryId>,
    pub most: usize,
}

/// The neighbours of an entry in its session, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EntryContext {
    pub before: Vec<TranscriptEntry>,
    pub after: Vec<TranscriptEntry>,
}

/// The embedding of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddingVector {
    /// Vectors of different models are not comparable.
    pub model: String,
    /// Normalized to length 1.
    pub numbers: Vec<f32>,
}

/// Filter of an entity search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntityFilter {
    pub name: Option<String>,
    pub kind: Option<String>,
}

/// The part of a transcript without passages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadTranscript {
    /// Where its passages are stored: with its author, for its audience.
    pub place: MemoryTarget,
    pub entries: Vec<TranscriptEntry>,
}

/// What to delete in a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryForgetTarget {
    /// Everything by one author.
    Author(String),
    Session(SessionId),
    Fact(FactId),
    /// With its relations.
    Entity(EntityId),
    Relation {
        source: EntityId,
        kind: String,
        target: EntityId,
    },
    /// Older entries and passages of transcripts.
    Before(SystemTime),
    Everything,
}

/// Number of rows of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryCounts {
    pub sessions: u64,
    pub entries: u64,
    pub facts: u64,
    pub entities: u64,
    pub relations: u64,
}

impl MemoryCounts {
    pub(super) fn add(&mut self, more: &Self) {
        self.sessions += more.sessions;
        self.entries += more.entries;
        self.facts += more.facts;
        self.entities += more.entities;
        self.relations += more.relations;
    }
}

/// The number, if it is within the limit.
pub(super) fn few(field: &'static str, found: usize) -> Result<usize, MemoryInputError> {
    if found > MAX_ROWS_PER_CALL {
        let least = "0".to_owned();
        let most = MAX_ROWS_PER_CALL.to_string();
        return Err(MemoryInputError::Range { field, found: found.to_string(), least, most });
    }
    Ok(found)
}
