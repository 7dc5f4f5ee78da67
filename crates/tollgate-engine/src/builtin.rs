//! Built-in tools, which run in this process. A tool is a definition and a handler;
//! `shipped_servers` lists the servers that ship. Called by the executor only, after the gate has
//! admitted the call.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tollgate_core::id::AgentId;
use tollgate_core::lease::RevocableLease;
use tollgate_core::memory::{Audience, MemoryName, MemoryScope, Namespace};
use tollgate_core::turn::{Actor, Principal, Turn};

use file_links::FileLinks;

use crate::memory::MemoryService;
use crate::notices::Notices;

pub(crate) mod backend;
pub mod dice;
pub mod document;
pub mod file_links;
pub mod files;
mod image_format;
pub mod images;
pub mod memory;
pub mod music;
pub(crate) mod result_pictures;
pub mod rules;
pub mod shipped_servers;
pub mod stamp;
pub mod web;

#[cfg(test)]
mod scratch;

/// An in-process tool. Embedding programs implement this trait for their own tools.
#[async_trait]
pub trait BuiltinTool: Send + Sync {
    /// The MCP tool object: name, description, schemas, annotations, `_meta` with latencies.
    fn definition(&self) -> Value;

    /// Runs one call. The arguments were validated against the input schema.
    async fn call(
        &self,
        arguments: &Map<String, Value>,
        asker: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError>;
}

/// The caller that a tool runs for, and its deadline.
#[derive(Debug, Clone)]
pub struct BuiltinToolContext {
    pub principal: Principal,
    /// Until when the caller may act.
    pub lease: RevocableLease,
    /// The part of the memory that the caller can see.
    pub scope: MemoryScope,
    /// Audience of what the caller stores in the memory.
    pub audience: Audience,
    /// A later answer is useless; `None`: no deadline.
    pub until: Option<Instant>,
}

impl BuiltinToolContext {
    fn of(turn: &Turn, until: Option<Instant>) -> Self {
        let scope = turn.scope();
        let audience = turn.audience();
        let Actor { principal, lease } = turn.actor();
        Self { principal, lease, scope, audience, until }
    }

    /// For running a tool by hand, without a deadline.
    pub fn local() -> Self {
        let agent = AgentId::parse("default").expect("a valid name");
        let scope = MemoryScope::of_agent(Namespace::of(None, &MemoryName::usual()), agent);
        let Actor { principal, lease } = Actor::endless(Principal::local());
        Self { principal, lease, scope, audience: Audience::Shared, until: None }
    }
}

/// The result of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct BuiltinReply {
    /// For people and models; can be read aloud.
    pub text: String,
    /// The same as data; must match the output schema if there is one.
    pub structured: Option<Value>,
}

/// A failed call: a result for the model, not a gateway error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltinToolError {
    /// Says what is wrong and what to do instead.
    pub message: String,
}

impl BuiltinToolError {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// A named set of in-process tools, exposed as one server.
pub struct Server {
    pub name: &'static str,
    pub tools: Vec<Box<dyn BuiltinTool>>,
}

/// Engine services that in-process tools use. They outlive the settings the tools are built from.
#[derive(Clone, Default)]
pub struct BuiltinDeps {
    pub(crate) memory_service: Option<Arc<MemoryService>>,
    pub(crate) notices: Notices,
    pub(crate) playing: music::NowPlaying,
    pub(crate) links: Arc<FileLinks>,
}

/// A required string argument; for tools whose schema asks for one.
fn text_argument<'a>(
    arguments: &'a Map<String, Value>,
    name: &str,
) -> Result<&'a str, BuiltinToolError> {
    arguments
        .get(name)
        .and_then(Value::as_str)
        .ok_or_else(|| BuiltinToolError::new(format!("`{name}` is required and must be a string")))
}

/// The `_meta` of a tool that declares its latency, in milliseconds.
fn latency(estimated: u32, longest: u32) -> Value {
    json!({
        "dev.tollgate/latency": { "estimatedDurationMs": estimated, "maxDurationMs": longest },
    })
}

/// The same for a tool that uses the network or a database: it is not probed unless the operator
/// configures arguments for it.
fn latency_outside(estimated: u32, longest: u32) -> Value {
    let mut meta = latency(estimated, longest);
    meta["dev.tollgate/latency"]["probe"] = false.into();
    meta
}
