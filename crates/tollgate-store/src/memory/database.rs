//! What a database has to do for the memory: keep, find by words and by meaning, and forget.
//!
//! Two do it, SQLite and PostgreSQL; one suite of tests holds for both. What fits best is decided
//! above, by what they find.
//!
//! What was acknowledged is on the disk. A scope is kept by the query itself, never afterwards.

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
    /// All of them, or none; no more than [`MOST_AT_ONCE`], here and below. Their numbers, in their
    /// order.
    async fn append(
        &self,
        place: &MemoryTarget,
        entries: Vec<NewEntry>,
    ) -> Result<Vec<EntryId>, MemoryError>;

    /// The newest that have the rarest words of the query, whatever there is in all.
    async fn entries_with(
        &self,
        scope: &MemoryScope,
        query: &MemoryQuery,
        session: Option<&SessionId>,
    ) -> Result<SearchCandidates<TranscriptEntry>, MemoryError>;

    /// Those that spoke last first.
    async fn sessions(
        &self,
        scope: &MemoryScope,
        page: Page,
    ) -> Result<Vec<TranscriptSession>, MemoryError>;

    /// An agent's own goes before a shared one of the same name.
    async fn session(
        &self,
        scope: &MemoryScope,
        id: &SessionId,
    ) -> Result<Option<TranscriptSession>, MemoryError>;

    /// In their order.
    async fn entries(
        &self,
        scope: &MemoryScope,
        session: &SessionId,
        stretch: TranscriptPage,
    ) -> Result<Vec<TranscriptEntry>, MemoryError>;

    /// Whether there is such a session for this audience. It goes with its author.
    async fn summarise(
        &self,
        place: &MemoryTarget,
        session: &SessionId,
        summary: &str,
    ) -> Result<bool, MemoryError>;

    /// All of them, or none. A fact of the same words in the same place is not kept twice: it
    /// becomes newer.
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

    /// The nearest by meaning, and how near: the cosine of the angle.
    async fn facts_near(
        &self,
        scope: &MemoryScope,
        vector: &EmbeddingVector,
        most: usize,
    ) -> Result<Vec<(Fact, f32)>, MemoryError>;

    /// The newest first.
    async fn facts(&self, scope: &MemoryScope, page: Page) -> Result<Vec<Fact>, MemoryError>;

    /// Facts that have no vector of that model yet, with their texts.
    async fn without_vector(
        &self,
        model: &str,
        most: usize,
    ) -> Result<Vec<(FactId, String)>, MemoryError>;

    /// Vectors of facts that are gone meanwhile are dropped.
    async fn keep_vectors(
        &self,
        model: &str,
        vectors: Vec<(FactId, Vec<f32>)>,
    ) -> Result<(), MemoryError>;

    /// Pieces of transcripts that are no passages yet: the entries after the last passage of their
    /// session, in their order, of sessions with at least so many of them or silent since then.
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

    /// By name: the same, one that begins like it, one that has its words; `None`: any.
    async fn find_entities(
        &self,
        scope: &MemoryScope,
        wanted: &EntityFilter,
        page: Page,
    ) -> Result<Vec<Entity>, MemoryError>;

    /// With so many links at most.
    async fn snapshot(
        &self,
        scope: &MemoryScope,
        id: &EntityId,
        links: usize,
    ) -> Result<Option<EntitySnapshot>, MemoryError>;

    /// Fails with [`MemoryError::NoEntity`] when one end is not there, or not for this audience.
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

    /// Of one layer of what a scope sees, what comes after a row of that number, in the order of
    /// those numbers: a few hundred at most, and from where to go on. Of facts those that were
    /// stated.
    async fn records(
        &self,
        scope: &MemoryScope,
        from: ExportCursor,
    ) -> Result<(Vec<MemoryRecord>, Option<ExportCursor>), MemoryError>;

    /// Whether it answers, now.
    async fn ping(&self) -> Result<(), MemoryError>;

    /// A copy of all of it, as it is now, in a new file.
    async fn backup(&self, to: &Path) -> Result<(), MemoryError>;
}

/// Written by one call: others wait meanwhile.
pub const MOST_AT_ONCE: usize = 5_000;

/// A part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    pub skip: usize,
    pub most: usize,
}

impl Page {
    /// So many are read for it, from the first on.
    pub(super) fn end(self) -> i64 {
        size(self.skip.saturating_add(self.most.min(MOST_AT_ONCE)))
    }

    /// What belongs to it, of all from the first on.
    pub(super) fn of<T>(self, all: Vec<T>) -> impl Iterator<Item = T> {
        all.into_iter().skip(self.skip).take(self.most.min(MOST_AT_ONCE))
    }
}

/// A part of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptPage {
    /// `None`: from the beginning.
    pub after: Option<EntryId>,
    pub most: usize,
}

/// What a text means, as a model has it.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddingVector {
    /// Vectors of two models have nothing to do with each other.
    pub model: String,
    /// Of length 1.
    pub numbers: Vec<f32>,
}

/// Which entities are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntityFilter {
    pub name: Option<String>,
    pub kind: Option<String>,
}

/// A transcript, as far as it is no passages yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadTranscript {
    /// Where its passages go: with its author, for its audience.
    pub place: MemoryTarget,
    pub entries: Vec<TranscriptEntry>,
}

/// What is to be forgotten of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryForgetTarget {
    /// All that one author wrote.
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
    /// Entries and passages of transcripts that are older.
    Before(SystemTime),
    Everything,
}

/// How much there is of each.
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

/// How many there are, if not too many.
pub(super) fn few(field: &'static str, found: usize) -> Result<usize, MemoryInputError> {
    if found > MOST_AT_ONCE {
        let (least, most) = ("0".to_owned(), MOST_AT_ONCE.to_string());
        return Err(MemoryInputError::Range { field, found: found.to_string(), least, most });
    }
    Ok(found)
}
