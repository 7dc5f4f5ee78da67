//! `get_session_summary` and `search_history`: whole conversations, and those that mention
//! something.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tollgate_core::date;
use tollgate_core::memory::{self, MAX_NAME_BYTES, SessionId};
use tollgate_core::text::truncate_chars;
use tollgate_store::memory::{Page, RecalledSession, TranscriptPage};

use super::sessions::entry_line;
use super::{MAX_SHOWN_CHARS, USUAL_HITS, looks, query_property};
use crate::builtin::{
    BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError, latency_outside, text_argument,
};
use crate::memory::MemoryService;

/// Entries read for a summary; of a longer conversation, the beginning and the end.
const MAX_ENTRIES_READ: usize = 2_000;
/// Characters of a summary.
const MAX_SUMMARY_CHARS: usize = 1_500;
/// Suggestions if a session is not found.
const MAX_HINTS: usize = 5;

pub(super) struct GetSessionSummary(pub(super) Arc<MemoryService>);
pub(super) struct SearchHistory(pub(super) Arc<MemoryService>);

#[async_trait]
impl BuiltinTool for GetSessionSummary {
    fn definition(&self) -> Value {
        json!({
            "name": "get_session_summary",
            "title": "Summarize a session",
            "description": "Summarizes one earlier conversation: who spoke, when, and what \
                            mattered.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "session_id": {
                        "type": "string",
                        "description": "Name from `search_sessions` or `search_history`",
                        "minLength": 1,
                        "maxLength": MAX_NAME_BYTES,
                    },
                },
                "required": ["session_id"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "session_id": { "type": "string" },
                    "began": { "type": "string", "format": "date-time" },
                    "last": { "type": "string", "format": "date-time" },
                    "entries": { "type": "integer" },
                    "summary": { "type": "string" },
                    "written": { "type": "boolean", "description": "True if the summary was \
                                                                    written; false if it was \
                                                                    generated from the \
                                                                    transcript" },
                },
                "required": ["session_id", "began", "last", "entries", "summary", "written"],
            },
            "annotations": looks("Summarize a session"),
            "_meta": latency_outside(100, 300),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        asker: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let id = SessionId::parse(text_argument(arguments, "session_id")?)?;
        let store = self.0.store();
        let Some(session) = store.session(&asker.scope, &id).await? else {
            return Err(self.unknown(&id, asker).await);
        };
        let (summary, written) = match &session.summary {
            Some(summary) => (summary.clone(), true),
            None => {
                let page = TranscriptPage { after: None, most: MAX_ENTRIES_READ };
                let entries = store.entries(&asker.scope, &id, page).await?;
                (memory::summary(&entries, MAX_SUMMARY_CHARS), false)
            }
        };
        let structured = json!({
            "session_id": session.id.as_str(),
            "began": date::format_rfc3339(session.began),
            "last": date::format_rfc3339(session.last),
            "entries": session.entries,
            "summary": summary,
            "written": written,
        });
        Ok(BuiltinReply { text: summary, structured: Some(structured) })
    }
}

impl GetSessionSummary {
    async fn unknown(&self, id: &SessionId, asker: &BuiltinToolContext) -> BuiltinToolError {
        let page = Page { skip: 0, most: MAX_HINTS };
        let known = self.0.store().sessions(&asker.scope, page).await.unwrap_or_default();
        let names: Vec<String> = known.iter().map(|it| format!("`{}`", it.id.as_str())).collect();
        let id = truncate_chars(id.as_str(), 64);
        BuiltinToolError::new(if names.is_empty() {
            format!("there is no session `{id}`, and there are no others")
        } else {
            format!("there is no session `{id}`; the latest are {}", names.join(", "))
        })
    }
}

#[async_trait]
impl BuiltinTool for SearchHistory {
    fn definition(&self) -> Value {
        json!({
            "name": "search_history",
            "title": "Search the history",
            "description": "Finds the earlier conversations in which something came up, with the \
                            best matching passages, best match first.",
            "inputSchema": {
                "type": "object",
                "properties": { "query": query_property("Words to look for") },
                "required": ["query"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "sessions": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "session_id": { "type": "string" },
                                "began": { "type": "string", "format": "date-time" },
                                "entries": { "type": "integer" },
                                "said": { "type": "array", "items": { "type": "object" } },
                            },
                            "required": ["session_id", "began", "entries", "said"],
                        },
                    },
                },
                "required": ["sessions"],
            },
            "annotations": looks("Search the history"),
            "_meta": latency_outside(100, 300),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        asker: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let query = text_argument(arguments, "query")?;
        let found = self.0.search_history(&asker.scope, query, USUAL_HITS).await?;
        let shown: Vec<Value> = found.iter().map(conversation_json).collect();
        let lines: Vec<String> = found.iter().flat_map(lines).collect();
        let text = if lines.is_empty() {
            "No matching conversations.".to_owned()
        } else {
            lines.join("\n")
        };
        Ok(BuiltinReply { text, structured: Some(json!({ "sessions": shown })) })
    }
}

fn conversation_json(recalled: &RecalledSession) -> Value {
    let lines = recalled.hits.iter().map(|hit| {
        let entry = &hit.found;
        json!({
            "speaker": entry.speaker,
            "text": truncate_chars(&entry.text, MAX_SHOWN_CHARS),
            "at": date::format_rfc3339(entry.at),
        })
    });
    json!({
        "session_id": recalled.session.id.as_str(),
        "began": date::format_rfc3339(recalled.session.began),
        "entries": recalled.session.entries,
        "said": lines.collect::<Vec<_>>(),
    })
}

fn lines(recalled: &RecalledSession) -> impl Iterator<Item = String> {
    recalled.hits.iter().map(|hit| entry_line(&hit.found))
}
