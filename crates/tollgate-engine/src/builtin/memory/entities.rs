//! `query_entities` and `get_summary`: list entities, and summarize one of them.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tollgate_core::date;
use tollgate_core::memory::{
    Entity, EntityId, EntityLink, EntitySnapshot, Fact, MAX_NAME_BYTES, MemoryScope, fold_text,
};
use tollgate_core::text::truncate_chars;
use tollgate_store::memory::{EntityFilter, Page};

use super::{MAX_SHOWN_CHARS, looks, text};
use crate::builtin::{
    BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError, latency_outside, text_argument,
};
use crate::memory::MemoryService;

/// Entities per answer; a name narrows the search.
const MAX_ENTITIES: usize = 20;
/// Relations of one entity per answer.
const MAX_LINKS: usize = 50;
/// Facts about one entity per answer, the newest.
const MAX_FACTS: usize = 20;
/// Suggestions if an entity is not found.
const MAX_HINTS: usize = 5;

pub(super) struct QueryEntities(pub(super) Arc<MemoryService>);
pub(super) struct GetSummary(pub(super) Arc<MemoryService>);

#[async_trait]
impl BuiltinTool for QueryEntities {
    fn definition(&self) -> Value {
        json!({
            "name": "query_entities",
            "title": "Find people, places and things",
            "description": "Finds entities that are known by name, by type, or both: npc, player, \
                            location, item, faction, event, quest, concept. Misspelt and misheard \
                            names are found too. `get_summary` then returns all about one.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "name": {
                        "type": "string",
                        "description": "All or part of a name",
                        "maxLength": MAX_NAME_BYTES,
                    },
                    "type": {
                        "type": "string",
                        "description": "For example `npc` or `location`",
                        "maxLength": MAX_NAME_BYTES,
                    },
                },
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "entities": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "id": { "type": "string" },
                                "type": { "type": "string" },
                                "name": { "type": "string" },
                                "attributes": { "type": "object" },
                                "close_match": { "type": "boolean", "description": "It has another \
                                                                                   name, which is \
                                                                                   close" },
                            },
                            "required": ["id", "type", "name"],
                        },
                    },
                    "more": { "type": "boolean", "description": "There are more; give more of the \
                                                                 name" },
                },
                "required": ["entities", "more"],
            },
            "annotations": looks("Find people, places and things"),
            "_meta": latency_outside(50, 200),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        asker: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let given = |name| text(arguments, name).map(str::trim).filter(|text| !text.is_empty());
        let filter = EntityFilter {
            name: given("name").map(str::to_owned),
            kind: given("type").map(str::to_owned),
        };
        let page = Page { skip: 0, most: MAX_ENTITIES + 1 };
        let mut found = self.0.store().find_entities(&asker.scope, &filter, page).await?;
        let close = close_entities(&self.0, &asker.scope, &filter, &found).await?;
        found.retain(|entity| close.iter().all(|it| it.id != entity.id));
        let more = close.len() + found.len() > MAX_ENTITIES;
        found.truncate(MAX_ENTITIES - close.len());
        let mut shown: Vec<Value> = close.iter().chain(&found).map(entity_json).collect();
        for entity in &mut shown[..close.len()] {
            entity["close_match"] = json!(true);
        }
        let mut lines: Vec<String> = close.iter().chain(&found).map(entity_line).collect();
        if let (Some(name), false) = (&filter.name, close.is_empty()) {
            lines.insert(0, format!("Nothing is called {}; close:", truncate_chars(name, 64)));
        }
        let text = match (lines.is_empty(), more) {
            (true, _) => "No matching entities.".to_owned(),
            (false, false) => lines.join("\n"),
            (false, true) => format!("{}\nand others", lines.join("\n")),
        };
        Ok(BuiltinReply { text, structured: Some(json!({ "entities": shown, "more": more })) })
    }
}

#[async_trait]
impl BuiltinTool for GetSummary {
    fn definition(&self) -> Value {
        json!({
            "name": "get_summary",
            "title": "Get an entity",
            "description": "Returns all that is known about an entity: its type, attributes, \
                            relations and the newest facts about it. Takes an id from \
                            `query_entities`, or a name; of a misspelt or misheard name the \
                            closest.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "entity_id": {
                        "type": "string",
                        "description": "For example `npc-mira-voss`",
                        "minLength": 1,
                        "maxLength": MAX_NAME_BYTES,
                    },
                },
                "required": ["entity_id"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "entity": { "type": "object" },
                    "relations": { "type": "array", "items": { "type": "object" } },
                    "left_out": { "type": "integer", "description": "Further relations" },
                    "facts": {
                        "type": "array",
                        "description": "What was remembered about it, newest first",
                        "items": {
                            "type": "object",
                            "properties": {
                                "text": { "type": "string" },
                                "at": { "type": "string", "format": "date-time" },
                                "topic": { "type": ["string", "null"] },
                                "session_id": { "type": ["string", "null"] },
                                "written_by": { "type": "string" },
                                "trust": {
                                    "type": "string",
                                    "enum": ["agent", "heard", "operator"],
                                },
                            },
                            "required": ["text", "at", "written_by", "trust"],
                        },
                    },
                    "more_facts": { "type": "boolean", "description": "`search_facts` finds them" },
                    "close_match": {
                        "type": "boolean",
                        "description": "It has another name than the given one, which is close",
                    },
                },
                "required": [
                    "entity", "relations", "left_out", "facts", "more_facts", "close_match",
                ],
            },
            "annotations": looks("Get an entity"),
            "_meta": latency_outside(80, 300),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        asker: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let named = text_argument(arguments, "entity_id")?;
        let id = EntityId::parse(named)?;
        let store = self.0.store();
        let scope = &asker.scope;
        let mut close_match = false;
        let snapshot = match store.snapshot(scope, &id, MAX_LINKS).await? {
            Some(snapshot) => snapshot,
            None => {
                let entity = match look_up_entity(&self.0, scope, named).await? {
                    EntityLookup::Found(entity) => *entity,
                    EntityLookup::Several(alike) => return Err(ambiguous_name(named, &alike)),
                    EntityLookup::Missing(similar) => {
                        let mut close = close_to(&self.0, scope, named, &similar).await?;
                        if close.is_empty() {
                            return Err(unknown_entity(named, &similar));
                        }
                        close_match = true;
                        close.swap_remove(0)
                    }
                };
                let found = store.snapshot(scope, &entity.id, MAX_LINKS).await?;
                found.ok_or_else(|| BuiltinToolError::new(format!("`{named}` was just deleted")))?
            }
        };
        let page = Page { skip: 0, most: MAX_FACTS + 1 };
        let mut facts = store.facts_about(scope, &snapshot.entity.id, page).await?;
        let more_facts = facts.len() > MAX_FACTS;
        facts.truncate(MAX_FACTS);
        let relations: Vec<Value> =
            snapshot.links.iter().map(|it| relation_json(&snapshot, it)).collect();
        let structured = json!({
            "entity": entity_json(&snapshot.entity),
            "relations": relations,
            "left_out": snapshot.left_out,
            "facts": facts.iter().map(fact_json).collect::<Vec<_>>(),
            "more_facts": more_facts,
            "close_match": close_match,
        });
        let mut lines = Vec::new();
        if close_match {
            let named = truncate_chars(named, 64);
            lines.push(format!("Nothing is called {named}; the closest name:"));
        }
        lines.extend(snapshot_lines(&snapshot));
        lines.extend(facts.iter().map(|fact| truncate_chars(&fact.text, MAX_SHOWN_CHARS)));
        if more_facts {
            lines.push("and more facts, which `search_facts` finds".to_owned());
        }
        Ok(BuiltinReply { text: lines.join("\n"), structured: Some(structured) })
    }
}

/// The entity with that id or name; `None`: not found. An error if the name is ambiguous.
pub(super) async fn find(
    memory_service: &MemoryService,
    scope: &MemoryScope,
    named: &str,
) -> Result<Option<Entity>, BuiltinToolError> {
    match look_up_entity(memory_service, scope, named).await? {
        EntityLookup::Found(entity) => Ok(Some(*entity)),
        EntityLookup::Several(alike) => Err(ambiguous_name(named, &alike)),
        EntityLookup::Missing(_) => Ok(None),
    }
}

/// The same if the entity must exist: the error suggests similar names. What is written about an
/// entity is never given to one whose name is only close.
pub(super) async fn require_entity(
    memory_service: &MemoryService,
    scope: &MemoryScope,
    named: &str,
) -> Result<Entity, BuiltinToolError> {
    match look_up_entity(memory_service, scope, named).await? {
        EntityLookup::Found(entity) => Ok(*entity),
        EntityLookup::Several(alike) => Err(ambiguous_name(named, &alike)),
        EntityLookup::Missing(similar) => {
            let close = close_to(memory_service, scope, named, &similar).await?;
            Err(unknown_entity(named, if close.is_empty() { &similar } else { &close }))
        }
    }
}

enum EntityLookup {
    Found(Box<Entity>),
    Several(Vec<Entity>),
    /// Not found; entities whose names have words of it.
    Missing(Vec<Entity>),
}

async fn look_up_entity(
    memory_service: &MemoryService,
    scope: &MemoryScope,
    named: &str,
) -> Result<EntityLookup, BuiltinToolError> {
    let id = EntityId::parse(named)?;
    if let Some(snapshot) = memory_service.store().snapshot(scope, &id, 0).await? {
        return Ok(EntityLookup::Found(Box::new(snapshot.entity)));
    }
    let page = Page { skip: 0, most: MAX_HINTS };
    let found = memory_service.store().find_entities(scope, &named_filter(named), page).await?;
    let lowered = named.trim().to_lowercase();
    let is_same = |entity: &Entity| entity.name.to_lowercase() == lowered;
    let (mut same, others): (Vec<_>, Vec<_>) = found.into_iter().partition(is_same);
    Ok(match same.len() {
        0 => EntityLookup::Missing(others),
        1 => EntityLookup::Found(Box::new(same.remove(0))),
        _ => EntityLookup::Several(same),
    })
}

fn named_filter(named: &str) -> EntityFilter {
    EntityFilter { name: Some(named.to_owned()), kind: None }
}

/// Entities whose names are close to one that was not found, closest first.
async fn close_to(
    memory_service: &MemoryService,
    scope: &MemoryScope,
    named: &str,
    similar: &[Entity],
) -> Result<Vec<Entity>, BuiltinToolError> {
    close_entities(memory_service, scope, &named_filter(named), similar).await
}

/// Entities with a name close to that of the filter, if none of those found by its words has all
/// of them: it may be misspelt or misheard.
async fn close_entities(
    memory_service: &MemoryService,
    scope: &MemoryScope,
    filter: &EntityFilter,
    found: &[Entity],
) -> Result<Vec<Entity>, BuiltinToolError> {
    let Some(name) = &filter.name else { return Ok(Vec::new()) };
    let name = fold_text(name);
    let has_all = |entity: &Entity| {
        let known = fold_text(&entity.name);
        name.split(' ').all(|word| known.split(' ').any(|it| it.starts_with(word)))
    };
    if found.iter().any(has_all) {
        return Ok(Vec::new());
    }
    Ok(memory_service.store().find_close_entities(scope, filter, MAX_HINTS).await?)
}

fn ambiguous_name(named: &str, alike: &[Entity]) -> BuiltinToolError {
    let named = truncate_chars(named, 64);
    BuiltinToolError::new(format!("`{named}` is ambiguous; did you mean {}?", hints(alike)))
}

fn unknown_entity(named: &str, alike: &[Entity]) -> BuiltinToolError {
    let named = truncate_chars(named, 64);
    BuiltinToolError::new(if alike.is_empty() {
        format!("there is no entity `{named}`; `query_entities` finds entities")
    } else {
        format!("there is no entity `{named}`; did you mean {}?", hints(alike))
    })
}

fn hints(alike: &[Entity]) -> String {
    let hints: Vec<String> = alike.iter().map(|it| format!("`{}` ({})", it.id, it.name)).collect();
    hints.join(" or ")
}

fn entity_json(entity: &Entity) -> Value {
    json!({
        "id": entity.id.as_str(),
        "type": entity.kind,
        "name": entity.name,
        "attributes": entity.attributes,
    })
}

fn fact_json(fact: &Fact) -> Value {
    json!({
        "text": truncate_chars(&fact.text, MAX_SHOWN_CHARS),
        "at": date::format_rfc3339(fact.at),
        "topic": fact.topic,
        "session_id": fact.session.as_ref().map(|it| it.as_str()),
        "written_by": fact.author.name,
        "trust": fact.author.trust.as_str(),
    })
}

fn relation_json(snapshot: &EntitySnapshot, link: &EntityLink) -> Value {
    let relation = &link.relation;
    let is_outgoing = relation.source == snapshot.entity.id;
    json!({
        "type": relation.kind,
        "direction": if is_outgoing { "to" } else { "from" },
        "entity": { "id": link.neighbour.id.as_str(), "name": link.neighbour.name,
            "type": link.neighbour.kind },
        "attributes": relation.attributes,
        "confidence": relation.provenance.decimal_confidence(),
        "session_id": relation.provenance.session.as_ref().map(|it| it.as_str()),
    })
}

/// `Mira Voss is an npc (id npc-mira-voss): age 41; trade smuggler`
fn entity_line(entity: &Entity) -> String {
    let about: Vec<String> =
        entity.attributes.iter().map(|(key, value)| attribute_text(key, value)).collect();
    let line = format!("{}, {} (id {})", entity.name, entity.kind, entity.id);
    if about.is_empty() {
        line
    } else {
        truncate_chars(&format!("{line}: {}", about.join("; ")), MAX_SHOWN_CHARS)
    }
}

fn attribute_text(key: &str, value: &Value) -> String {
    let key = key.replace('_', " ");
    match value.as_str() {
        Some(text) => format!("{key} {text}"),
        None => format!("{key} {value}"),
    }
}

/// The entity, and each of its relations in a sentence.
fn snapshot_lines(snapshot: &EntitySnapshot) -> Vec<String> {
    let mut lines = vec![entity_line(&snapshot.entity)];
    for link in &snapshot.links {
        let kind = link.relation.kind.replace('_', " ");
        let own = &snapshot.entity.name;
        let other = &link.neighbour.name;
        let sentence = if link.relation.source == snapshot.entity.id {
            format!("{own} {kind} {other}")
        } else {
            format!("{other} {kind} {own}")
        };
        lines.push(match link.relation.provenance.confidence {
            sure if sure >= 0.7 => sentence,
            _ => format!("{sentence}, perhaps"),
        });
    }
    if snapshot.left_out > 0 {
        lines.push(format!("and {} more relations", snapshot.left_out));
    }
    lines
}
