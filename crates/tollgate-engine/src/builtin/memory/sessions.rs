//! `search_sessions`: full-text search in transcripts.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tollgate_core::date;
use tollgate_core::memory::{EntryId, MemoryHit, TranscriptEntry};
use tollgate_core::text::truncate_chars;
use tollgate_store::memory::EntryContext;

use super::{MAX_SHOWN_CHARS, USUAL_HITS, looks, query_property, session};
use crate::builtin::{
    BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError, latency_outside, text_argument,
};
use crate::memory::MemoryService;

/// Lines before and after each hit.
const MAX_CONTEXT: usize = 5;
const USUAL_CONTEXT: usize = 1;
/// Characters of such a line.
const MAX_CONTEXT_LINE_LEN: usize = 200;

pub(super) struct SearchSessions(pub(super) Arc<MemoryService>);

#[async_trait]
impl BuiltinTool for SearchSessions {
    fn definition(&self) -> Value {
        let neighbours = |which: &str| {
            json!({
                "type": "array",
                "description": format!("What was said {which}, in order"),
                "items": {
                    "type": "object",
                    "properties": {
                        "speaker": { "type": "string" },
                        "text": { "type": "string" },
                    },
                    "required": ["speaker", "text"],
                },
            })
        };
        json!({
            "name": "search_sessions",
            "title": "Search transcripts",
            "description": "Searches the transcripts of earlier conversations by words and returns \
                            who said what and when, best match first, with what was said before \
                            and after. Give the words that matter: names, places, things.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": query_property("Words to look for, for example `silver key lighthouse`"),
                    "session_id": {
                        "type": "string",
                        "description": "Only in this session",
                        "maxLength": 256,
                    },
                    "context": {
                        "type": "integer",
                        "description": "Lines of the same session before and after each result",
                        "minimum": 0,
                        "maximum": MAX_CONTEXT,
                        "default": USUAL_CONTEXT,
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
                                "before": neighbours("before it"),
                                "after": neighbours("after it"),
                            },
                            "required": [
                                "session_id", "speaker", "text", "at", "snippet", "before", "after",
                            ],
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
        let reach = arguments.get("context").and_then(Value::as_u64);
        let reach = reach.map_or(USUAL_CONTEXT, |it| usize::try_from(it).unwrap_or(MAX_CONTEXT));
        let ids: Vec<EntryId> = hits.iter().map(|hit| hit.found.id).collect();
        let store = self.0.store();
        let contexts = match reach.min(MAX_CONTEXT) {
            0 => vec![EntryContext::default(); hits.len()],
            reach => store.entries_around(&asker.scope, &ids, reach).await?,
        };
        let hits: Vec<_> = hits.into_iter().zip(contexts).collect();
        let results: Vec<Value> = hits.iter().map(|(hit, near)| entry_json(hit, near)).collect();
        Ok(BuiltinReply {
            text: entries_text(&hits),
            structured: Some(json!({ "results": results })),
        })
    }
}

fn entry_json(hit: &MemoryHit<TranscriptEntry>, near: &EntryContext) -> Value {
    let entry = &hit.found;
    let line = |entry: &TranscriptEntry| {
        json!({
            "speaker": entry.speaker,
            "text": truncate_chars(&entry.text, MAX_CONTEXT_LINE_LEN),
        })
    };
    json!({
        "session_id": entry.session.as_str(),
        "speaker": entry.speaker,
        "text": truncate_chars(&entry.text, MAX_SHOWN_CHARS),
        "at": date::format_rfc3339(entry.at),
        "snippet": hit.snippet,
        "before": near.before.iter().map(line).collect::<Vec<_>>(),
        "after": near.after.iter().map(line).collect::<Vec<_>>(),
    })
}

/// The hits with their neighbours, no line twice.
fn entries_text(hits: &[(MemoryHit<TranscriptEntry>, EntryContext)]) -> String {
    if hits.is_empty() {
        return "No matching passages.".to_owned();
    }
    let mut known: HashSet<EntryId> = hits.iter().map(|(hit, _)| hit.found.id).collect();
    let mut lines = Vec::new();
    for (hit, near) in hits {
        let is_new = |entry: &&TranscriptEntry| known.insert(entry.id);
        let mut neighbours = near.before.iter().chain(&near.after).filter(is_new).peekable();
        let is_before = |entry: &&TranscriptEntry| entry.id < hit.found.id;
        while let Some(entry) = neighbours.next_if(is_before) {
            lines.push(neighbour_line(entry));
        }
        lines.push(entry_line(&hit.found));
        lines.extend(neighbours.map(neighbour_line));
    }
    lines.join("\n")
}

/// `  Tom: where is the key?`, indented below and above the line that was found.
fn neighbour_line(entry: &TranscriptEntry) -> String {
    format!("  {}: {}", entry.speaker, truncate_chars(&entry.text, MAX_CONTEXT_LINE_LEN))
}

/// `In harbour-03, Mira: the key is under the third step.`
pub(super) fn entry_line(entry: &TranscriptEntry) -> String {
    let text = truncate_chars(&entry.text, MAX_SHOWN_CHARS);
    format!("In {}, {}: {text}", entry.session.as_str(), entry.speaker)
}
