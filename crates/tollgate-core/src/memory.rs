//! Domain types of the memory: transcripts (L1), passages found by semantic search (L2), and a
//! graph of entities (L3). Storage is in the store crate; nothing here knows SQL.
//!
//! Every row belongs to one [`Namespace`] and one [`Audience`], and names its author. Rows are read
//! only through a [`MemoryScope`].

use crate::id::{AgentId, InvalidNameError};

mod chunks;
mod close_name;
mod fact;
mod fuse;
mod graph;
mod name;
mod rank;
mod search;
mod sentences;
mod snippet;
mod stem;
mod summary;
mod transcript;
mod words;

pub use chunks::passages;
pub use close_name::{CloseName, NameDistance};
pub use fact::{Fact, FactId, FactSource, NewFact};
pub use fuse::fuse;
pub use graph::{
    Entity, EntityId, EntityLink, EntitySnapshot, NewEntity, NewRelation, Provenance, Relation,
};
pub use name::{MemoryName, Namespace};
pub use rank::{RankablePassage, rank};
pub use search::{MemoryQuery, SearchCandidates};
pub use summary::summary;
pub use transcript::{EntryId, NewEntry, SessionId, TranscriptEntry, TranscriptSession};
pub use words::{fold_text, terms};

use std::time::{Duration, SystemTime};

/// The rows an agent may see: the shared ones of its namespace, and its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryScope {
    pub namespace: Namespace,
    pub eyes: MemoryViewer,
}

/// The viewer of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryViewer {
    /// The operator of the gateway sees everything.
    Operator,
    Agent(AgentId),
}

/// The readers of a row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Audience {
    /// Every agent of the namespace.
    Shared,
    Only(AgentId),
}

/// Destination and author of a new row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryTarget {
    pub namespace: Namespace,
    pub audience: Audience,
    pub author: MemoryAuthor,
}

/// The author of a row: all rows of one author can be deleted together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryAuthor {
    /// The principal, as in the audit ledger.
    pub name: String,
    /// The channel it came through: a tool's name, `chat`, `api`, `import`.
    pub via: String,
    pub trust: AuthorTrust,
}

/// How far the author of a row is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuthorTrust {
    /// Written by a model, possibly influenced by untrusted input.
    Agent,
    /// Said in a conversation, or read from a transcript.
    Conversation,
    /// Written by the operator.
    Operator,
}

/// A search hit with its score: higher is better, and only the order is meaningful.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryHit<T> {
    pub found: T,
    pub score: f32,
    /// The matching part of its text, shortened; matches are between `**`.
    pub snippet: String,
}

/// Why an input cannot be stored or searched for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryInputError {
    #[error("`{field}` is empty")]
    Empty { field: &'static str },
    #[error("`{field}` has {found} bytes; the limit is {most}")]
    TooLong { field: &'static str, found: usize, most: usize },
    #[error("`{field}`: {why}")]
    Name { field: &'static str, why: InvalidNameError },
    #[error("`{field}` is {found}; it must be from {least} to {most}")]
    Range { field: &'static str, found: String, least: String, most: String },
}

/// Maximum bytes of an utterance or a fact.
pub const MAX_TEXT_BYTES: usize = 64 << 10;
/// Maximum bytes of an entity's attributes, as JSON.
pub const MAX_ATTRIBUTES_BYTES: usize = 64 << 10;
/// Maximum bytes of names: of speakers, sessions, entities, kinds.
pub const MAX_NAME_BYTES: usize = 256;
/// Maximum hits of one search.
pub const MAX_HITS: usize = 100;

impl<T> MemoryHit<T> {
    /// The same hit with its item converted.
    pub fn of<U>(self, other: impl FnOnce(T) -> U) -> MemoryHit<U> {
        MemoryHit { found: other(self.found), score: self.score, snippet: self.snippet }
    }
}

impl MemoryScope {
    pub fn of_operator(namespace: Namespace) -> Self {
        Self { namespace, eyes: MemoryViewer::Operator }
    }

    pub fn of_agent(namespace: Namespace, agent: AgentId) -> Self {
        Self { namespace, eyes: MemoryViewer::Agent(agent) }
    }

    pub fn sees(&self, audience: &Audience) -> bool {
        match (&self.eyes, audience) {
            (MemoryViewer::Operator, _) | (MemoryViewer::Agent(_), Audience::Shared) => true,
            (MemoryViewer::Agent(agent), Audience::Only(owner)) => agent == owner,
        }
    }
}

impl AuthorTrust {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Conversation => "heard",
            Self::Operator => "operator",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Agent, Self::Conversation, Self::Operator].into_iter().find(|it| it.as_str() == text)
    }
}

impl Audience {
    /// The only agent that sees it.
    pub fn owner(&self) -> Option<&AgentId> {
        match self {
            Self::Shared => None,
            Self::Only(agent) => Some(agent),
        }
    }
}

/// Normalizes a text for storage: no NUL (databases reject it), trimmed, and at most `most` bytes.
pub fn normalize_text(
    field: &'static str,
    text: &str,
    most: usize,
) -> Result<String, MemoryInputError> {
    let text = text.replace('\0', "");
    let text = text.trim();
    match text.len() {
        0 => Err(MemoryInputError::Empty { field }),
        found if found > most => Err(MemoryInputError::TooLong { field, found, most }),
        _ => Ok(text.to_owned()),
    }
}

/// A time in storage format: milliseconds since 1970.
pub fn milliseconds(at: SystemTime) -> i64 {
    match at.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => {
            i64::try_from(before.duration().as_millis()).map_or(i64::MIN, i64::wrapping_neg)
        }
    }
}

/// The inverse of [`milliseconds`].
pub fn moment(milliseconds: i64) -> SystemTime {
    let away = Duration::from_millis(milliseconds.unsigned_abs());
    let moment = match milliseconds {
        0.. => SystemTime::UNIX_EPOCH.checked_add(away),
        _ => SystemTime::UNIX_EPOCH.checked_sub(away),
    };
    moment.unwrap_or(SystemTime::UNIX_EPOCH)
}
