//! Records: the form in which the memory is exported and imported.

use tollgate_core::memory::{
    Audience, MemoryAuthor, NewEntity, NewEntry, NewFact, NewRelation, SessionId,
};

/// One stored item.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryRecord {
    pub audience: Audience,
    pub author: MemoryAuthor,
    pub content: RecordContent,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RecordContent {
    Utterance(NewEntry),
    /// Must come after the entries.
    Summary {
        session: SessionId,
        text: String,
    },
    /// As stated.
    Fact(NewFact),
    Entity(NewEntity),
    /// Must come after both its ends.
    Relation(NewRelation),
}

/// The cursor of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportCursor {
    pub layer: MemoryLayer,
    /// The last row examined; ids are per layer.
    pub after: u64,
}

/// In the order in which records can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryLayer {
    Entries,
    Summaries,
    Facts,
    Entities,
    Relations,
}

impl MemoryLayer {
    pub(super) fn next(self) -> Option<Self> {
        match self {
            Self::Entries => Some(Self::Summaries),
            Self::Summaries => Some(Self::Facts),
            Self::Facts => Some(Self::Entities),
            Self::Entities => Some(Self::Relations),
            Self::Relations => None,
        }
    }
}
