//! The server `memory`: tools with which agents search their memory and add to it. Scopes and
//! authors come from the caller's context, never from the arguments.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tollgate_core::memory::{AuthorTrust, MemoryAuthor, MemoryInputError, MemoryTarget, SessionId};
use tollgate_store::memory::MemoryError;

use super::{BuiltinTool, BuiltinToolContext, BuiltinToolError};
use crate::memory::MemoryService;

mod entities;
mod facts;
mod history;
mod relate;
mod sessions;

/// Names of all memory tools, also for config checks.
pub const NAMES: &[&str] = &[
    "search_sessions",
    "query_entities",
    "get_summary",
    "search_facts",
    "remember",
    "relate",
    "get_session_summary",
    "search_history",
];

/// Bytes of a query; a longer one is not a meaningful search.
const MAX_QUERY_BYTES: usize = 16 << 10;
/// Default number of hits.
const USUAL_HITS: usize = 10;
/// Characters of a text in a result; the full text can be requested.
const MAX_SHOWN_CHARS: usize = 600;

pub fn tools(memory_service: &Arc<MemoryService>) -> Vec<Box<dyn BuiltinTool>> {
    vec![
        Box::new(sessions::SearchSessions(Arc::clone(memory_service))),
        Box::new(entities::QueryEntities(Arc::clone(memory_service))),
        Box::new(entities::GetSummary(Arc::clone(memory_service))),
        Box::new(facts::SearchFacts(Arc::clone(memory_service))),
        Box::new(facts::Remember(Arc::clone(memory_service))),
        Box::new(relate::Relate(Arc::clone(memory_service))),
    ]
}

/// The server `sessions`: whole conversations.
pub fn session_tools(memory_service: &Arc<MemoryService>) -> Vec<Box<dyn BuiltinTool>> {
    vec![
        Box::new(history::GetSessionSummary(Arc::clone(memory_service))),
        Box::new(history::SearchHistory(Arc::clone(memory_service))),
    ]
}

impl From<MemoryError> for BuiltinToolError {
    fn from(trouble: MemoryError) -> Self {
        Self::new(trouble.to_string())
    }
}

impl From<MemoryInputError> for BuiltinToolError {
    fn from(invalid: MemoryInputError) -> Self {
        Self::new(invalid.to_string())
    }
}

/// Namespace, audience and author of what a tool of that name stores.
fn place(asker: &BuiltinToolContext, tool: &str) -> MemoryTarget {
    MemoryTarget {
        namespace: asker.scope.namespace.clone(),
        audience: asker.audience.clone(),
        author: MemoryAuthor {
            name: asker.principal.as_str().to_owned(),
            via: tool.to_owned(),
            trust: AuthorTrust::Agent,
        },
    }
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str)
}

/// Missing and empty mean the same: models fill in fields they do not need.
fn session(arguments: &Map<String, Value>) -> Result<Option<SessionId>, MemoryInputError> {
    let named = text(arguments, "session_id").filter(|text| !text.trim().is_empty());
    named.map(SessionId::parse).transpose()
}

fn query_property(what: &str) -> Value {
    json!({
        "type": "string",
        "description": what,
        "minLength": 1,
        "maxLength": MAX_QUERY_BYTES,
    })
}

/// Read-only; the results contain text by other authors.
fn looks(title: &str) -> Value {
    json!({
        "title": title,
        "readOnlyHint": true,
        "destructiveHint": false,
        "idempotentHint": true,
        "openWorldHint": false,
    })
}

/// Adds to the memory; idempotent.
fn adds(title: &str) -> Value {
    json!({
        "title": title,
        "readOnlyHint": false,
        "destructiveHint": false,
        "idempotentHint": true,
        "openWorldHint": false,
    })
}
