//! The words of the memory: what was said (L1), passages that can be found by meaning (L2), and who
//! and what there is in the world (L3). How it is kept is for the store; nothing here knows SQL.
//!
//! Whatever is kept stands in one [`Namespace`] and is for one [`Audience`] in it, and says who
//! wrote it. Nothing is read but through a [`MemoryScope`].

use crate::id::{AgentId, InvalidNameError};

mod chunks;
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

/// What an agent may see: what is shared in its namespace, and what is its own there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryScope {
    pub namespace: Namespace,
    pub eyes: MemoryViewer,
}

/// Whose eyes look at a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryViewer {
    /// Whoever runs the gateway sees all of it.
    Operator,
    Agent(AgentId),
}

/// For whom something is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Audience {
    /// Every agent of the namespace.
    Shared,
    Only(AgentId),
}

/// Where something new goes, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryTarget {
    pub namespace: Namespace,
    pub audience: Audience,
    pub author: MemoryAuthor,
}

/// Who wrote something: all of one author can be taken out again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryAuthor {
    /// The principal, as the audit trail names it.
    pub name: String,
    /// What it came through: a tool's name, `chat`, `api`, `import`.
    pub via: String,
    pub trust: AuthorTrust,
}

/// How far what was written can be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuthorTrust {
    /// A model wrote it, perhaps after what a stranger told it.
    Agent,
    /// Somebody said it in a conversation, or it was read from a transcript.
    Heard,
    /// Whoever runs the gateway wrote it.
    Operator,
}

/// Something found, and how well it fits: more is better, and only the order means anything.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryHit<T> {
    pub found: T,
    pub score: f32,
    /// The part of its text that fits, shortened; what was looked for stands between `**`.
    pub snippet: String,
}

/// Why something cannot be kept or looked for.
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

/// Bytes of one utterance, or of one fact.
pub const LONGEST_TEXT: usize = 64 << 10;
/// Bytes of an entity's attributes, as JSON.
pub const LONGEST_ATTRIBUTES: usize = 64 << 10;
/// Bytes of names: of speakers, sessions, entities, kinds.
pub const LONGEST_NAME: usize = 256;
/// Found at once, at most.
pub const MOST_HITS: usize = 100;

impl<T> MemoryHit<T> {
    /// The same hit, of what was found as something else.
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
            Self::Heard => "heard",
            Self::Operator => "operator",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Agent, Self::Heard, Self::Operator].into_iter().find(|it| it.as_str() == text)
    }
}

impl Audience {
    /// The agent that alone sees it.
    pub fn owner(&self) -> Option<&AgentId> {
        match self {
            Self::Shared => None,
            Self::Only(agent) => Some(agent),
        }
    }
}

/// A text as it can be kept: no NUL, which databases refuse, nothing but spaces around it, and not
/// longer than `most` bytes.
pub fn kept_text(field: &'static str, text: &str, most: usize) -> Result<String, MemoryInputError> {
    let text = text.replace('\0', "");
    let text = text.trim();
    match text.len() {
        0 => Err(MemoryInputError::Empty { field }),
        found if found > most => Err(MemoryInputError::TooLong { field, found, most }),
        _ => Ok(text.to_owned()),
    }
}

/// A moment as it can be kept, in milliseconds since 1970.
pub fn milliseconds(at: SystemTime) -> i64 {
    match at.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => {
            i64::try_from(before.duration().as_millis()).map_or(i64::MIN, i64::wrapping_neg)
        }
    }
}

/// The moment that [`milliseconds`] made the number of.
pub fn moment(milliseconds: i64) -> SystemTime {
    let away = Duration::from_millis(milliseconds.unsigned_abs());
    let moment = match milliseconds {
        0.. => SystemTime::UNIX_EPOCH.checked_add(away),
        _ => SystemTime::UNIX_EPOCH.checked_sub(away),
    };
    moment.unwrap_or(SystemTime::UNIX_EPOCH)
}
