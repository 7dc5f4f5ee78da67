//! `search_sessions`: full-text search in transcripts.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tollgate_core::date;
use tollgate_core::memory::{MemoryHit, TranscriptEntry};
use tollgate_core::text::truncate_chars;

use super::{LONGEST_SHOWN, USUAL_HITS, looks, query_property, session};
use crate::builtin::{
    BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError, latency_outside, text_argument,
};
use crate::memory::MemoryService;

pub(super) struct SearchSessions(pub(super) Arc<MemoryService>);

#[async_trait]
impl BuiltinTool for SearchSessions {
    fn definition(&self) -> Value {
        json!({
            "name": "search_sessions",
            "title": "Search transcripts",
            "description": "Searches the transcripts of earlier conversations by words and returns \
                            who said what and when, best match first. Give the words that matter: \
                            names, places, things.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": query_property("Words to look for, for example `silver key lighthouse`"),
                    "session_id": {
                        "type": "string",
                        "description": "Only in this session",
                        "maxLength": 256,
                    },
                },
                "required": ["query"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "session_id": { "type": "string" },
                                "speaker": { "type": "string" },
                                "text": { "type": "string" },
                                "at": { "type": "string", "format": "date-time" },
                                "snippet": { "type": "string" },
                            },
                            "required": ["session_id", "speaker", "text", "at", "snippet"],
                        },
                    },
                },
                "required": ["results"],
            },
            "annotations": looks("Search transcripts"),
            "_meta": latency_outside(100, 500),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        asker: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let query = text_argument(arguments, "query")?;
        let session = session(arguments)?;
        let hits = self.0.search_entries(&asker.scope, query, session.as_ref(), USUAL_HITS).await?;
        let results: Vec<Value> = hits.iter().map(entry_json).collect();
        Ok(BuiltinReply {
            text: entries_text(&hits),
            structured: Some(json!({ "results": results })),
        })
    }
}

fn entry_json(hit: &MemoryHit<TranscriptEntry>) -> Value {
    let entry = &hit.found;
    json!({
        "session_id": entry.session.as_str(),
        "speaker": entry.speaker,
        "text": truncate_chars(&entry.text, LONGEST_SHOWN),
        "at": date::format_rfc3339(entry.at),
        "snippet": hit.snippet,
    })
}

fn entries_text(hits: &[MemoryHit<TranscriptEntry>]) -> String {
    if hits.is_empty() {
        return "No matching passages.".to_owned();
    }
    let lines = hits.iter().map(|hit| entry_line(&hit.found));
    lines.collect::<Vec<_>>().join("\n")
}

/// `In harbour-03, Mira: the key is under the third step.`
pub(super) fn entry_line(entry: &TranscriptEntry) -> String {
    let text = truncate_chars(&entry.text, LONGEST_SHOWN);
    format!("In {}, {}: {text}", entry.session.as_str(), entry.speaker)
}
