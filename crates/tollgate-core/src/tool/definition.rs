//! Intake of one tool as a stranger's server says it: strict reading, caps, hidden text.
//! Called by the catalogue only. Knows nothing of the operator's rules.

use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::id::ToolName;
use crate::json::{Malformed, Object};
use crate::tool::ContentHash;

/// One tool in the words of its server, after hidden text was taken out.
#[derive(Debug)]
pub struct Definition {
    pub name: ToolName,
    pub title: Option<String>,
    pub description: Option<String>,
    pub input_schema: Value,
    pub output_schema: Option<Value>,
    pub annotations: Annotations,
    pub declared: Declared,
    /// Arguments that travel as `Mcp-Param-*` headers too.
    pub headers: Vec<HeaderParameter>,
    pub findings: Vec<Finding>,
    /// Every field, known or not, in the order in which it came.
    pub fields: Object<'static>,
    pub hash: ContentHash,
}

/// The hints of MCP, as far as they were given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Annotations {
    pub title: Option<String>,
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
}

/// What the server says of its own speed, in `_meta`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Declared {
    pub estimated: Option<Duration>,
    pub max: Option<Duration>,
    pub cacheable: Option<Duration>,
}

/// An argument that a client repeats as the header `Mcp-Param-{header}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderParameter {
    /// JSON pointer into the arguments.
    pub pointer: String,
    pub header: String,
    pub kind: HeaderKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderKind {
    String,
    Integer,
    Boolean,
}

/// Something in a definition that was taken out or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    /// JSON pointer into the definition.
    pub at: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    Control,
    Tag,
    Bidi,
    ZeroWidth,
    VariationSelector,
    PrivateUse,
    /// A description over the limit was cut.
    Cut,
    /// A declared value of ours that cannot be used was ignored.
    Ignored,
}

/// Why a definition cannot be served at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    #[error("not a tool definition: {0}")]
    Malformed(#[from] Malformed),
}

impl Definition {
    pub fn intake(raw: &RawValue) -> Result<Self, Rejected> {
        let _ = raw;
        Err(Rejected::Malformed(Malformed("not yet".to_owned())))
    }
}
