//! The server `memory`: what agents look up in their memory, and what they put into it. Scopes and
//! authors come from whoever asks, never from the arguments.

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

/// All of them, also for whoever only wants to know their names.
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

/// Bytes of a query; of a longer one nobody knows what it asks for.
const LONGEST_QUERY: usize = 16 << 10;
/// Found at once where the caller cannot say.
const USUAL_HITS: usize = 10;
/// Characters of a text in an answer; the whole of it can be asked for.
const LONGEST_SHOWN: usize = 600;

pub fn tools(mind: &Arc<MemoryService>) -> Vec<Box<dyn BuiltinTool>> {
    vec![
        Box::new(sessions::SearchSessions(Arc::clone(mind))),
        Box::new(entities::QueryEntities(Arc::clone(mind))),
        Box::new(entities::GetSummary(Arc::clone(mind))),
        Box::new(facts::SearchFacts(Arc::clone(mind))),
        Box::new(facts::Remember(Arc::clone(mind))),
        Box::new(relate::Relate(Arc::clone(mind))),
    ]
}

/// The server `sessions`: whole conversations.
pub fn session_tools(mind: &Arc<MemoryService>) -> Vec<Box<dyn BuiltinTool>> {
    vec![
        Box::new(history::GetSessionSummary(Arc::clone(mind))),
        Box::new(history::SearchHistory(Arc::clone(mind))),
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

/// Where a tool of that name puts what its asker wants kept.
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

/// `None` and empty mean the same: models fill in what they have no use for.
fn session(arguments: &Map<String, Value>) -> Result<Option<SessionId>, MemoryInputError> {
    let named = text(arguments, "session_id").filter(|text| !text.trim().is_empty());
    named.map(SessionId::parse).transpose()
}

fn query_property(what: &str) -> Value {
    json!({
        "type": "string",
        "description": what,
        "minLength": 1,
        "maxLength": LONGEST_QUERY,
    })
}

/// Looks, and changes nothing; what it finds was said by whoever said it.
fn looks(title: &str) -> Value {
    json!({
        "title": title,
        "readOnlyHint": true,
        "destructiveHint": false,
        "idempotentHint": true,
        "openWorldHint": false,
    })
}

/// Adds to the memory; the same once more changes nothing.
fn adds(title: &str) -> Value {
    json!({
        "title": title,
        "readOnlyHint": false,
        "destructiveHint": false,
        "idempotentHint": true,
        "openWorldHint": false,
    })
}
