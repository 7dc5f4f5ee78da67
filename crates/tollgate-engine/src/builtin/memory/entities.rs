//! `query_entities` and `get_summary`: who and what there is, and all about one of them.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tollgate_core::memory::{Entity, EntityId, LONGEST_NAME, Link, Scope, Snapshot};
use tollgate_core::text::shortened;
use tollgate_store::memory::{Page, Wanted};

use super::{LONGEST_SHOWN, looks, text};
use crate::builtin::{Asker, Failure, Reply, Tool, latency_outside, text_argument};
use crate::memory::Mind;

/// Found at once; whoever wants others says a name.
const MOST_ENTITIES: usize = 20;
/// Of one entity, told at once.
const MOST_LINKS: usize = 50;
/// Named to whoever asked for one that is not there.
const MOST_HINTS: usize = 5;

pub(super) struct QueryEntities(pub(super) Arc<Mind>);
pub(super) struct GetSummary(pub(super) Arc<Mind>);

#[async_trait]
impl Tool for QueryEntities {
    fn definition(&self) -> Value {
        json!({
            "name": "query_entities",
            "title": "Find people, places and things",
            "description": "Finds entities that are known by name, by type, or both: npc, player, \
                location, item, faction, event, quest, concept. `get_summary` then tells all about \
                one.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "name": {
                        "type": "string",
                        "description": "All or part of a name",
                        "maxLength": LONGEST_NAME,
                    },
                    "type": {
                        "type": "string",
                        "description": "For example `npc` or `location`",
                        "maxLength": LONGEST_NAME,
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
                            },
                            "required": ["id", "type", "name"],
                        },
                    },
                    "more": { "type": "boolean", "description": "There are others; say more of the name" },
                },
                "required": ["entities", "more"],
            },
            "annotations": looks("Find people, places and things"),
            "_meta": latency_outside(50, 200),
        })
    }

    async fn call(&self, arguments: &Map<String, Value>, asker: &Asker) -> Result<Reply, Failure> {
        let given = |name| text(arguments, name).map(str::trim).filter(|text| !text.is_empty());
        let wanted = Wanted {
            name: given("name").map(str::to_owned),
            kind: given("type").map(str::to_owned),
        };
        let page = Page { skip: 0, most: MOST_ENTITIES + 1 };
        let mut found = self.0.store().find_entities(&asker.scope, &wanted, page).await?;
        let more = found.len() > MOST_ENTITIES;
        found.truncate(MOST_ENTITIES);
        let shown: Vec<Value> = found.iter().map(shown).collect();
        let lines: Vec<String> = found.iter().map(line).collect();
        let text = match (lines.is_empty(), more) {
            (true, _) => "Nobody and nothing like that is known.".to_owned(),
            (false, false) => lines.join("\n"),
            (false, true) => format!("{}\nand others", lines.join("\n")),
        };
        Ok(Reply { text, structured: Some(json!({ "entities": shown, "more": more })) })
    }
}

#[async_trait]
impl Tool for GetSummary {
    fn definition(&self) -> Value {
        json!({
            "name": "get_summary",
            "title": "All about one of them",
            "description": "Tells all that is known of an entity: what it is, its attributes, and \
                its relations to others. Takes an id that `query_entities` gave, or an exact name.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "entity_id": {
                        "type": "string",
                        "description": "For example `npc-mira-voss`",
                        "minLength": 1,
                        "maxLength": LONGEST_NAME,
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
                    "left_out": { "type": "integer" },
                },
                "required": ["entity", "relations", "left_out"],
            },
            "annotations": looks("All about one of them"),
            "_meta": latency_outside(80, 300),
        })
    }

    async fn call(&self, arguments: &Map<String, Value>, asker: &Asker) -> Result<Reply, Failure> {
        let named = text_argument(arguments, "entity_id")?;
        let id = EntityId::parse(named)?;
        let store = self.0.store();
        let snapshot = match store.snapshot(&asker.scope, &id, MOST_LINKS).await? {
            Some(snapshot) => snapshot,
            None => {
                let entity = known(&self.0, &asker.scope, named).await?;
                let found = store.snapshot(&asker.scope, &entity.id, MOST_LINKS).await?;
                found.ok_or_else(|| Failure::new(format!("`{named}` was just forgotten")))?
            }
        };
        let relations: Vec<Value> = snapshot.links.iter().map(|it| linked(&snapshot, it)).collect();
        let structured = json!({
            "entity": shown(&snapshot.entity),
            "relations": relations,
            "left_out": snapshot.left_out,
        });
        Ok(Reply { text: told(&snapshot), structured: Some(structured) })
    }
}

/// The one of that id, or of that name; `None`: nobody is called so. Of two that are, nobody can
/// know which is meant.
pub(super) async fn find(
    mind: &Mind,
    scope: &Scope,
    named: &str,
) -> Result<Option<Entity>, Failure> {
    match look(mind, scope, named).await? {
        Looked::Found(entity) => Ok(Some(*entity)),
        Looked::Several(alike) => Err(unknown(named, &alike)),
        Looked::Nobody(_) => Ok(None),
    }
}

/// The same for whoever has to be there: a failure says who else is.
pub(super) async fn known(mind: &Mind, scope: &Scope, named: &str) -> Result<Entity, Failure> {
    match look(mind, scope, named).await? {
        Looked::Found(entity) => Ok(*entity),
        Looked::Several(alike) | Looked::Nobody(alike) => Err(unknown(named, &alike)),
    }
}

enum Looked {
    Found(Box<Entity>),
    Several(Vec<Entity>),
    /// Only names that are like it.
    Nobody(Vec<Entity>),
}

async fn look(mind: &Mind, scope: &Scope, named: &str) -> Result<Looked, Failure> {
    let id = EntityId::parse(named)?;
    if let Some(snapshot) = mind.store().snapshot(scope, &id, 0).await? {
        return Ok(Looked::Found(Box::new(snapshot.entity)));
    }
    let wanted = Wanted { name: Some(named.to_owned()), kind: None };
    let page = Page { skip: 0, most: MOST_HINTS };
    let found = mind.store().find_entities(scope, &wanted, page).await?;
    let lowered = named.trim().to_lowercase();
    let is_same = |entity: &Entity| entity.name.to_lowercase() == lowered;
    let (mut same, others): (Vec<_>, Vec<_>) = found.into_iter().partition(is_same);
    Ok(match same.len() {
        0 => Looked::Nobody(others),
        1 => Looked::Found(Box::new(same.remove(0))),
        _ => Looked::Several(same),
    })
}

fn unknown(named: &str, alike: &[Entity]) -> Failure {
    let named = shortened(named, 64);
    let hints: Vec<String> = alike.iter().map(|it| format!("`{}` ({})", it.id, it.name)).collect();
    Failure::new(match hints.is_empty() {
        true => format!("there is no entity `{named}`; `query_entities` finds those there are"),
        false => format!("there is no one entity `{named}`; did you mean {}?", hints.join(" or ")),
    })
}

fn shown(entity: &Entity) -> Value {
    json!({
        "id": entity.id.as_str(),
        "type": entity.kind,
        "name": entity.name,
        "attributes": entity.attributes,
    })
}

fn linked(snapshot: &Snapshot, link: &Link) -> Value {
    let relation = &link.relation;
    let is_outgoing = relation.source == snapshot.entity.id;
    json!({
        "type": relation.kind,
        "direction": if is_outgoing { "to" } else { "from" },
        "entity": { "id": link.neighbour.id.as_str(), "name": link.neighbour.name,
            "type": link.neighbour.kind },
        "attributes": relation.attributes,
        "confidence": relation.provenance.confidence,
        "session_id": relation.provenance.session.as_ref().map(|it| it.as_str()),
    })
}

/// `Mira Voss is an npc (id npc-mira-voss): age 41; trade smuggler`
fn line(entity: &Entity) -> String {
    let about: Vec<String> =
        entity.attributes.iter().map(|(key, value)| said(key, value)).collect();
    let line = format!("{}, {} (id {})", entity.name, entity.kind, entity.id);
    match about.is_empty() {
        true => line,
        false => shortened(&format!("{line}: {}", about.join("; ")), LONGEST_SHOWN),
    }
}

fn said(key: &str, value: &Value) -> String {
    let key = key.replace('_', " ");
    match value.as_str() {
        Some(text) => format!("{key} {text}"),
        None => format!("{key} {value}"),
    }
}

fn told(snapshot: &Snapshot) -> String {
    let mut lines = vec![line(&snapshot.entity)];
    for link in &snapshot.links {
        let kind = link.relation.kind.replace('_', " ");
        let (own, other) = (&snapshot.entity.name, &link.neighbour.name);
        let sentence = match link.relation.source == snapshot.entity.id {
            true => format!("{own} {kind} {other}"),
            false => format!("{other} {kind} {own}"),
        };
        lines.push(match link.relation.provenance.confidence {
            sure if sure >= 0.7 => sentence,
            _ => format!("{sentence}, perhaps"),
        });
    }
    if snapshot.left_out > 0 {
        lines.push(format!("and {} more relations", snapshot.left_out));
    }
    lines.join("\n")
}
