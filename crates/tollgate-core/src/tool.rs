//! One tool: the server's definition, and the operator's settings.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::budget::Estimate;
use crate::digest;
use crate::id::{ExposedName, ToolId};
use crate::rate::RateLimit;
use crate::schema::Schema;
pub use crate::slow_response::SlowResponse;

mod definition;
mod definition_error;
mod finding;
mod headers;
pub mod hidden_text;
mod prompt_injection;
pub(crate) mod scrub;

pub use definition::{DeclaredMeta, ToolAnnotations, ToolDefinition};
pub use definition_error::DefinitionError;
pub use finding::{Finding, FindingKind, InjectionPattern};
pub use headers::{HeaderKind, HeaderParameter};

/// A tool of the catalogue: named, checked, its schema compiled.
#[derive(Debug)]
pub struct Tool {
    pub id: ToolId,
    pub exposed: ExposedName,
    pub definition: Arc<ToolDefinition>,
    /// As listed: the operator's description if there is one, else the server's.
    pub description: Option<String>,
    pub terms: CallTerms,
    pub input: Schema,
    pub output: Option<Schema>,
    /// SHA-256 of the server's definition in canonical form: changes when the server changes it.
    pub hash: ContentHash,
    /// SHA-256 of the exact text sent by the server: equal text is not parsed again.
    pub(crate) source: ContentHash,
    /// The tool as JSON under its exposed name, ready to be listed.
    pub listed: Listed,
}

/// The list entries of a tool for the two protocol eras.
#[derive(Debug)]
pub struct Listed {
    pub modern: Box<str>,
    /// Without features of 2026-07-28 only (an output schema that is not an object).
    pub legacy: Box<str>,
}

/// The terms of calls of this tool, from the operator first, then from the server where trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct CallTerms {
    pub estimated: Option<Estimate>,
    /// Declared p99; also the hard timeout.
    pub max: Option<Duration>,
    /// The server's default timeout.
    pub timeout: Duration,
    pub effect: ToolEffect,
    /// What happens to a call after output of an untrusted server; only for tools declared
    /// destructive.
    pub taint: TaintRule,
    /// Whether the same call may be sent twice. Only an operator or a trusted server can allow it.
    pub idempotent: bool,
    pub cacheable: Duration,
    /// Who may receive a cached answer.
    pub scope: CacheScope,
    pub approval: ApprovalMode,
    pub speech: SpeechTemplate,
    pub probe: Option<Value>,
    pub rate_limit: Option<RateLimit>,
    pub slow: Option<SlowResponse>,
    pub attempts: HedgingPolicy,
    pub reach: ToolReach,
    /// In realtime sessions.
    pub delivery: ResultDelivery,
}

/// How a model reaches a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolReach {
    /// Listed, and called by its name.
    #[default]
    Direct,
    /// Called from programs; listed only without code mode.
    Code,
    /// A meta tool of code mode: listed if tools are called from programs.
    Means,
}

/// Whether a realtime model waits for a result, and how it handles one that arrives while it
/// speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultDelivery {
    /// The model waits.
    #[default]
    Wait,
    /// The model continues, and reports the result when nobody speaks.
    WhenIdle,
    /// The model continues, and interrupts itself for the result.
    Interrupt,
    /// The model continues, and gets the result without reporting it.
    Silent,
}

/// Who a cached answer is shared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheScope {
    /// Only the principal that made the call.
    #[default]
    Private,
    /// All principals: only a trusted server can declare it.
    Public,
}

/// How many attempts of a call may run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HedgingPolicy {
    One,
    /// A second attempt starts when the first is slower than usual. Only for repeatable calls.
    Hedged,
}

/// The side effects of a call, as far as the source is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    ReadOnly,
    Mutating,
    Destructive,
}

/// How a destructive call is handled in a turn that has read output of an untrusted server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaintRule {
    Off,
    /// Approval is required.
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

/// How a result becomes a sentence: the template, else the field, else the text itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpeechTemplate {
    pub template: Option<String>,
    pub field: Option<String>,
}

/// The config of one tool. `None` keeps the server's value, where it is trusted.
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
    /// The side effects of calls; replaces the annotations.
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

/// Parses the hex form; `None` if it is invalid.
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
