//! `search_facts` and `remember`: search facts by text and by embedding, and add facts.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tollgate_core::date;
use tollgate_core::memory::{MAX_HITS, MAX_NAME_BYTES, MemoryHit, NewFact};
use tollgate_core::text::truncate_chars;
use tollgate_store::memory::MemoryItem;

use super::sessions::entry_line;
use super::{MAX_SHOWN_CHARS, USUAL_HITS, adds, entities, looks, place, query_property, text};
use crate::builtin::{
    BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError, latency_outside, text_argument,
};
use crate::memory::MemoryService;

/// Characters of one fact.
const MAX_FACT_CHARS: usize = 8_000;

pub(super) struct SearchFacts(pub(super) Arc<MemoryService>);
pub(super) struct Remember(pub(super) Arc<MemoryService>);

#[async_trait]
impl BuiltinTool for SearchFacts {
    fn definition(&self) -> Value {
        json!({
            "name": "search_facts",
            "title": "Search facts",
            "description": "Searches saved facts and transcripts, by meaning and by words, best \
                            match first. Ask in a whole sentence.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": query_property("What to look for, for example `who rules the harbour?`"),
                    "top_k": {
                        "type": "integer",
                        "description": "Maximum number of results",
                        "minimum": 1,
                        "maximum": MAX_HITS,
                        "default": USUAL_HITS,
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
                                "text": { "type": "string" },
                                "at": { "type": "string", "format": "date-time" },
                                "source": {
                                    "type": "string",
                                    "enum": ["fact", "transcript"],
                                },
                                "session_id": { "type": ["string", "null"] },
                                "entity_id": { "type": ["string", "null"] },
                                "written_by": { "type": "string" },
                                "trust": {
                                    "type": "string",
                                    "enum": ["agent", "heard", "operator"],
                                },
                            },
                            "required": ["text", "at", "source", "written_by", "trust"],
                        },
                    },
                },
                "required": ["results"],
            },
            "annotations": looks("Search facts"),
            "_meta": latency_outside(200, 800),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        asker: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let query = text_argument(arguments, "query")?;
        let most = arguments.get("top_k").and_then(Value::as_u64);
        let most = most.map_or(USUAL_HITS, |most| usize::try_from(most).unwrap_or(MAX_HITS));
        let most = most.clamp(1, MAX_HITS);
        let hits = self.0.search_facts(&asker.scope, query, most).await?;
        let results: Vec<Value> = hits.iter().map(|hit| known_json(&hit.found)).collect();
        Ok(BuiltinReply {
            text: facts_text(&hits),
            structured: Some(json!({ "results": results })),
        })
    }
}

fn known_json(known: &MemoryItem) -> Value {
    match known {
        MemoryItem::Fact(fact) => json!({
            "text": truncate_chars(&fact.text, MAX_SHOWN_CHARS),
            "at": date::format_rfc3339(fact.at),
            "source": "fact",
            "session_id": fact.session.as_ref().map(|it| it.as_str()),
            "entity_id": fact.entity.as_ref().map(|it| it.as_str()),
            "written_by": fact.author.name,
            "trust": fact.author.trust.as_str(),
        }),
        MemoryItem::Utterance(entry) => json!({
            "text": truncate_chars(&entry.text, MAX_SHOWN_CHARS),
            "at": date::format_rfc3339(entry.at),
            "source": "transcript",
            "session_id": entry.session.as_str(),
            "entity_id": null,
            "written_by": entry.author.name,
            "trust": entry.author.trust.as_str(),
        }),
    }
}

fn facts_text(hits: &[MemoryHit<MemoryItem>]) -> String {
    if hits.is_empty() {
        return "No matching facts.".to_owned();
    }
    let lines = hits.iter().map(|hit| match &hit.found {
        MemoryItem::Fact(fact) => truncate_chars(&fact.text, MAX_SHOWN_CHARS),
        MemoryItem::Utterance(entry) => entry_line(entry),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[async_trait]
impl BuiltinTool for Remember {
    fn definition(&self) -> Value {
        json!({
            "name": "remember",
            "title": "Remember a fact",
            "description": "Saves a fact so that it can be found later. One fact at a time, as a \
                            whole sentence with names in it, not with `he` or `there`.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "text": {
                        "type": "string",
                        "description": "The fact",
                        "minLength": 1,
                        "maxLength": MAX_FACT_CHARS,
                    },
                    "about": {
                        "type": "string",
                        "description": "Id or name of the entity it is about",
                        "maxLength": MAX_NAME_BYTES,
                    },
                    "topic": {
                        "type": "string",
                        "description": "A word that such facts have in common",
                        "maxLength": MAX_NAME_BYTES,
                    },
                },
                "required": ["text"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "fact_id": { "type": "integer" },
                    "entity_id": { "type": ["string", "null"] },
                },
                "required": ["fact_id"],
            },
            "annotations": adds("Remember a fact"),
            "_meta": latency_outside(50, 300),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        asker: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let mut fact = NewFact::from_statement(text_argument(arguments, "text")?, self.0.now())?;
        if let Some(topic) = text(arguments, "topic").filter(|it| !it.trim().is_empty()) {
            fact = fact.on(topic)?;
        }
        if let Some(about) = text(arguments, "about").filter(|it| !it.trim().is_empty()) {
            let entity = entities::require_entity(&self.0, &asker.scope, about).await?;
            fact.entity = Some(entity.id);
        }
        let entity = fact.entity.clone();
        let retained = self.0.store().remember(&place(asker, "remember"), vec![fact]).await?;
        self.0.wake();
        let id = retained.first().map(|id| id.0);
        let structured = json!({ "fact_id": id, "entity_id": entity.map(|it| it.to_string()) });
        Ok(BuiltinReply { text: "I will remember that.".to_owned(), structured: Some(structured) })
    }
}
