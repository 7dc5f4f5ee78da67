//! L2: passages that are found by keyword and, with an embedding model, by semantic search: stated
//! facts, and pieces of transcripts.

use std::time::SystemTime;

use super::{
    Audience, EntityId, EntryId, MAX_NAME_BYTES, MAX_TEXT_BYTES, MemoryAuthor, MemoryInputError,
    SessionId, normalize_text,
};

/// Ascending in insertion order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FactId(pub u64);

/// A fact to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFact {
    pub text: String,
    pub at: SystemTime,
    pub source: FactSource,
    /// The session it is from.
    pub session: Option<SessionId>,
    /// The entity it is about.
    pub entity: Option<EntityId>,
    pub topic: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    pub id: FactId,
    pub text: String,
    pub at: SystemTime,
    pub source: FactSource,
    pub session: Option<SessionId>,
    pub entity: Option<EntityId>,
    pub topic: Option<String>,
    pub audience: Audience,
    pub author: MemoryAuthor,
}

/// The origin of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactSource {
    /// Stated explicitly.
    Stated,
    /// A piece of a transcript, from one entry to another.
    Transcript { first: EntryId, last: EntryId },
}

impl NewFact {
    /// A stated fact with no metadata but its text.
    pub fn from_statement(text: &str, at: SystemTime) -> Result<Self, MemoryInputError> {
        let text = normalize_text("text", text, MAX_TEXT_BYTES)?;
        let source = FactSource::Stated;
        Ok(Self { text, at, source, session: None, entity: None, topic: None })
    }

    pub fn on(self, topic: &str) -> Result<Self, MemoryInputError> {
        Ok(Self { topic: Some(normalize_text("topic", topic, MAX_NAME_BYTES)?), ..self })
    }
}
