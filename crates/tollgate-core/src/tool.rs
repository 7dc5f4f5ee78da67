//! One tool: what its server says of it, and what the operator says on top.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::budget::Estimate;
use crate::digest;
use crate::id::{ExposedName, ToolId};
use crate::rate::RateLimit;
use crate::schema::Schema;

mod definition;
mod finding;
mod headers;
pub mod hidden_text;
mod prompt_injection;
pub(crate) mod scrub;

pub use definition::{
    DeclaredMeta, DefinitionError, HeaderKind, HeaderParameter, ToolAnnotations, ToolDefinition,
};
pub use finding::{Finding, FindingKind, InjectionPattern};

/// A tool as it stands in the catalogue: named, checked, its schema compiled.
#[derive(Debug)]
pub struct Tool {
    pub id: ToolId,
    pub exposed: ExposedName,
    pub definition: Arc<ToolDefinition>,
    /// As listed: the operator's words if there are any, else the server's.
    pub description: Option<String>,
    pub terms: CallTerms,
    pub input: Schema,
    pub output: Option<Schema>,
    /// SHA-256 over what the server said, in canonical form: changes when the server changes it.
    pub hash: ContentHash,
    /// SHA-256 over the very text that the server sent: equal text need not be read again.
    pub(crate) source: ContentHash,
    /// The tool as JSON under its exposed name, ready to be listed.
    pub listed: Listed,
}

/// The forms in which clients of the two protocol eras see one tool.
#[derive(Debug)]
pub struct Listed {
    pub modern: Box<str>,
    /// Without what only 2026-07-28 knows (an output schema that is no object).
    pub legacy: Box<str>,
}

/// What holds for calls of this tool, from the operator first, then the server where trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct CallTerms {
    pub estimated: Option<Estimate>,
    /// Declared p99; also the hard timeout.
    pub max: Option<Duration>,
    /// The server's default timeout.
    pub timeout: Duration,
    pub effect: ToolEffect,
    /// What happens to a call after a result of an untrusted server; for what is called
    /// destructive only.
    pub taint: TaintRule,
    /// May the same call be sent twice? Only an operator or a trusted server can say so.
    pub idempotent: bool,
    pub cacheable: Duration,
    /// Who may be given an answer that was kept.
    pub scope: CacheScope,
    pub approval: ApprovalMode,
    pub speech: SpeechTemplate,
    pub probe: Option<Value>,
    pub rate_limit: Option<RateLimit>,
    pub slow: Option<SlowResponse>,
    pub attempts: HedgingPolicy,
    pub reach: ToolReach,
    /// In live sessions.
    pub delivery: ResultDelivery,
}

/// By which way a model comes to a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolReach {
    /// It is listed, and called by its name.
    #[default]
    Direct,
    /// A program that the model writes calls it; it is listed only where there is no code mode.
    Code,
    /// It is one of the means of code mode: listed where something is called in code.
    Means,
}

/// Whether a live model waits for a result, and what it does with one that comes while it talks on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultDelivery {
    /// It waits.
    #[default]
    Wait,
    /// It talks on, and speaks of the result when nobody speaks.
    WhenIdle,
    /// It talks on, and breaks off for the result.
    Interrupt,
    /// It talks on, and knows the result from then on.
    Silent,
}

/// Whose a kept answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheScope {
    /// The principal's who asked.
    #[default]
    Private,
    /// Everybody's: only a trusted server can say so.
    Public,
}

/// How many attempts of one call may run at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HedgingPolicy {
    One,
    /// A second starts when the first is slower than usual. Only for what may be repeated.
    Hedged,
}

/// What is said while a call takes long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowResponse {
    pub threshold: Duration,
    pub message: Arc<str>,
}

/// What a call does to the world, as far as it is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    ReadOnly,
    Mutating,
    Destructive,
}

/// What becomes of a destructive call in a turn that has read what an untrusted server said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaintRule {
    Off,
    /// A person has to agree.
    #[default]
    Ask,
    Deny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApprovalMode {
    #[default]
    Auto,
    Always,
    Never,
}

/// How a result becomes a sentence: template first, then field, then the text itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpeechTemplate {
    pub template: Option<String>,
    pub field: Option<String>,
}

/// What the config says of one tool. `None` leaves the server's word, where that counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOverride {
    pub expose_as: Option<ExposedName>,
    pub description: Option<String>,
    pub speech: SpeechTemplate,
    pub estimated: Option<Duration>,
    pub max: Option<Duration>,
    pub idempotent: Option<bool>,
    pub cacheable: Option<Duration>,
    pub probe: Option<Value>,
    pub rate_limit: Option<RateLimit>,
    pub approval: Option<ApprovalMode>,
    pub hedge: Option<bool>,
    /// What calls do to the world; annotations then say nothing of it.
    pub effect: Option<ToolEffect>,
    pub delivery: Option<ResultDelivery>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash(pub [u8; 32]);

impl ContentHash {
    pub fn of(text: &str) -> Self {
        Self(digest::DigestBuilder::default().with(text).finish())
    }
}

/// From its spelling; `None` if it is none.
impl ContentHash {
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.as_bytes();
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() {
            return None;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            *byte = digit(pair[0])? * 16 + digit(pair[1])?;
        }
        Some(Self(bytes))
    }
}

impl std::fmt::Display for ContentHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&digest::hex(&self.0))
    }
}

impl std::fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}
