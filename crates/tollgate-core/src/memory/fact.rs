//! L2: passages that are found by their words and, where there is a model for it, by their meaning:
//! facts that somebody wrote down, and pieces of transcripts.

use std::time::SystemTime;

use super::{
    Audience, EntityId, EntryId, LONGEST_NAME, LONGEST_TEXT, MemoryAuthor, MemoryInputError,
    SessionId, kept_text,
};

/// Ascending in the order in which facts were kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FactId(pub u64);

/// Something to be remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFact {
    pub text: String,
    pub at: SystemTime,
    pub source: FactSource,
    /// Where it came up.
    pub session: Option<SessionId>,
    /// Whom it is about.
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

/// How a passage came to be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactSource {
    /// Somebody wrote it down.
    Stated,
    /// A piece of a transcript, from one entry to another.
    Heard { first: EntryId, last: EntryId },
}

impl NewFact {
    /// Something stated, with nothing known about it but the words.
    pub fn from_statement(text: &str, at: SystemTime) -> Result<Self, MemoryInputError> {
        let text = kept_text("text", text, LONGEST_TEXT)?;
        let source = FactSource::Stated;
        Ok(Self { text, at, source, session: None, entity: None, topic: None })
    }

    pub fn on(self, topic: &str) -> Result<Self, MemoryInputError> {
        Ok(Self { topic: Some(kept_text("topic", topic, LONGEST_NAME)?), ..self })
    }
}
