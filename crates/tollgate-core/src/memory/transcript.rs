//! L1: what was said, in order. Only appended to.

use std::time::SystemTime;

use super::{Audience, LONGEST_NAME, LONGEST_TEXT, MemoryAuthor, MemoryInputError, kept_text};

/// Ascending in the order in which entries were kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(pub u64);

/// A conversation, by the name its callers give it; its own in each namespace and for each
/// audience.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(String);

/// Something that was said, to be kept.
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

/// What is known of a session beside what was said in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptSession {
    pub id: SessionId,
    pub audience: Audience,
    pub entries: u64,
    pub began: SystemTime,
    pub last: SystemTime,
    /// As somebody wrote it.
    pub summary: Option<String>,
}

impl SessionId {
    pub fn parse(text: &str) -> Result<Self, MemoryInputError> {
        kept_text("session_id", text, LONGEST_NAME).map(Self)
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
        let speaker = kept_text("speaker", speaker, LONGEST_NAME)?;
        let text = kept_text("text", text, LONGEST_TEXT)?;
        Ok(Self { session, speaker, text, at })
    }
}
