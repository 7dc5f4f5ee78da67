//! Tools that run in this process. A tool is a definition and a handler; `table` lists the
//! servers that ship. Called by the executor only, after the gate let the call through.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tollgate_core::id::AgentId;
use tollgate_core::memory::{Audience, MemoryName, MemoryScope, Namespace};
use tollgate_core::turn::{Principal, Turn};

use crate::memory::MemoryService;
use crate::notices::Notices;

pub(crate) mod backend;
pub mod dice;
pub mod document;
pub mod files;
pub mod images;
pub mod memory;
pub mod music;
pub mod rules;
pub mod shipped_servers;
pub mod stamp;
pub mod web;

#[cfg(test)]
mod scratch;

/// A tool in process. Also the door for tools of an embedding program.
#[async_trait]
pub trait BuiltinTool: Send + Sync {
    /// The MCP tool object: name, description, schemas, annotations, `_meta` with latencies.
    fn definition(&self) -> Value;

    /// Runs one call. The arguments were checked against the input schema.
    async fn call(
        &self,
        arguments: &Map<String, Value>,
        asker: &BuiltinToolContext,
    ) -> Result<Reply, BuiltinToolError>;
}

/// On whose behalf a tool runs, and until when.
#[derive(Debug, Clone)]
pub struct BuiltinToolContext {
    pub principal: Principal,
    /// What of the memory they see.
    pub scope: MemoryScope,
    /// For whom they keep what they want kept.
    pub audience: Audience,
    /// An answer that comes later is of no use; `None`: whenever.
    pub until: Option<Instant>,
}

impl BuiltinToolContext {
    fn of(turn: &Turn, until: Option<Instant>) -> Self {
        let (scope, audience) = (turn.scope(), turn.audience());
        Self { principal: turn.principal.clone(), scope, audience, until }
    }

    /// Whoever runs a tool by hand, for as long as it takes.
    pub fn local() -> Self {
        let agent = AgentId::parse("default").expect("a valid name");
        let scope = MemoryScope::of_agent(Namespace::of(None, &MemoryName::usual()), agent);
        Self { principal: Principal::local(), scope, audience: Audience::Shared, until: None }
    }
}

/// What a tool has to say.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// For people and models, speakable.
    pub text: String,
    /// The same as data; must fit the output schema if there is one.
    pub structured: Option<Value>,
}

/// A call that did not work out: an answer for the model, not a fault of the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltinToolError {
    /// Says what was wrong and what to do instead.
    pub message: String,
}

impl BuiltinToolError {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// A named set of tools in process, shown as one server.
pub struct Server {
    pub name: &'static str,
    pub tools: Vec<Box<dyn BuiltinTool>>,
}

/// What tools in process have of the engine around them. It outlasts the settings they are made by.
#[derive(Clone, Default)]
pub struct BuiltinDeps {
    pub(crate) mind: Option<Arc<MemoryService>>,
    pub(crate) notices: Notices,
    pub(crate) playing: music::NowPlaying,
}

/// A text among the arguments; for tools whose schema asks for it.
fn text_argument<'a>(
    arguments: &'a Map<String, Value>,
    name: &str,
) -> Result<&'a str, BuiltinToolError> {
    arguments
        .get(name)
        .and_then(Value::as_str)
        .ok_or_else(|| BuiltinToolError::new(format!("`{name}` is required and must be a string")))
}

/// The `_meta` of a tool that declares how long it takes, in milliseconds.
fn latency(estimated: u32, longest: u32) -> Value {
    json!({
        "dev.tollgate/latency": { "estimatedDurationMs": estimated, "maxDurationMs": longest },
    })
}

/// The same, for a tool that asks somebody else, on the net or in a database: nobody does so only to
/// measure it, unless the operator says with what.
fn latency_outside(estimated: u32, longest: u32) -> Value {
    let mut meta = latency(estimated, longest);
    meta["dev.tollgate/latency"]["probe"] = false.into();
    meta
}
