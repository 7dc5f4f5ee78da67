//! L1: the append-only transcript of conversations.

use std::time::SystemTime;

use super::{
    Audience, MAX_NAME_BYTES, MAX_TEXT_BYTES, MemoryAuthor, MemoryInputError, normalize_text,
};

/// Ascending in insertion order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(pub u64);

/// A conversation, by the name its callers use; unique per namespace and audience.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(String);

/// An utterance to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    pub session: SessionId,
    pub speaker: String,
    pub text: String,
    pub at: SystemTime,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptEntry {
    pub id: EntryId,
    pub session: SessionId,
    pub speaker: String,
    pub text: String,
    pub at: SystemTime,
    pub author: MemoryAuthor,
}

/// Metadata of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptSession {
    pub id: SessionId,
    pub audience: Audience,
    pub entries: u64,
    pub began: SystemTime,
    pub last: SystemTime,
    /// As written by an author.
    pub summary: Option<String>,
}

impl SessionId {
    pub fn parse(text: &str) -> Result<Self, MemoryInputError> {
        normalize_text("session_id", text, MAX_NAME_BYTES).map(Self)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl NewEntry {
    pub fn new(
        session: SessionId,
        speaker: &str,
        text: &str,
        at: SystemTime,
    ) -> Result<Self, MemoryInputError> {
        let speaker = normalize_text("speaker", speaker, MAX_NAME_BYTES)?;
        let text = normalize_text("text", text, MAX_TEXT_BYTES)?;
        Ok(Self { session, speaker, text, at })
    }
}
