//! `relate`: stores a relation between two entities. Unknown entities are created.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tollgate_core::memory::{EntityId, MAX_NAME_BYTES, NewEntity, NewRelation, Provenance};

use super::{adds, entities, place, session, text};
use crate::builtin::{
    BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError, latency_outside, text_argument,
};
use crate::memory::MemoryService;

/// Kind of an entity that was created by a relation.
const UNKNOWN_KIND: &str = "concept";

pub(super) struct Relate(pub(super) Arc<MemoryService>);

/// One end of the relation, as given by the model.
struct RelationEnd<'a> {
    name: &'a str,
    kind: Option<&'a str>,
}

#[async_trait]
impl BuiltinTool for Relate {
    fn definition(&self) -> Value {
        let name = |what: &str| json!({ "type": "string", "description": what, "minLength": 1, "maxLength": MAX_NAME_BYTES });
        json!({
            "name": "relate",
            "title": "Relate two entities",
            "description": "Saves how one person, place or thing is related to another: `Mira \
                            Voss` `owns` `The Gilded Eel`. Unknown entities are added.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "source": name("Id or name of the first"),
                    "relation": name("What the first is to the second, for example `owns`, `fears`, `brother_of`"),
                    "target": name("Id or name of the second"),
                    "source_type": name("Type of the first, if it is new: npc, location, item, …"),
                    "target_type": name("Type of the second, if it is new"),
                    "confidence": {
                        "type": "number",
                        "description": "How sure it is, from 0 to 1",
                        "minimum": 0,
                        "maximum": 1,
                        "default": 1,
                    },
                    "session_id": { "type": "string", "description": "Where it came up", "maxLength": MAX_NAME_BYTES },
                },
                "required": ["source", "relation", "target"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "source_id": { "type": "string" },
                    "target_id": { "type": "string" },
                    "added": { "type": "array", "items": { "type": "string" } },
                },
                "required": ["source_id", "target_id", "added"],
            },
            "annotations": adds("Relate two entities"),
            "_meta": latency_outside(50, 300),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        asker: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let end = |name, kind| -> Result<RelationEnd<'_>, BuiltinToolError> {
            Ok(RelationEnd { name: text_argument(arguments, name)?, kind: text(arguments, kind) })
        };
        let mut added = Vec::new();
        let source = self.end(&end("source", "source_type")?, asker, &mut added).await?;
        let target = self.end(&end("target", "target_type")?, asker, &mut added).await?;
        let confidence = arguments.get("confidence").and_then(Value::as_f64).unwrap_or(1.0);
        let provenance = Provenance { session: session(arguments)?, confidence: confidence as f32 };
        let kind = text_argument(arguments, "relation")?;
        let relation = NewRelation::new(source.clone(), kind, target.clone(), self.0.now())?;
        let relations = vec![relation.with_provenance(provenance)?];
        self.0.store().relate(&place(asker, "relate"), relations).await?;
        let structured = json!({
            "source_id": source.as_str(),
            "target_id": target.as_str(),
            "added": added,
        });
        Ok(BuiltinReply { text: "I will remember that.".to_owned(), structured: Some(structured) })
    }
}

impl Relate {
    /// The entity; created if it does not exist.
    async fn end(
        &self,
        end: &RelationEnd<'_>,
        asker: &BuiltinToolContext,
        added: &mut Vec<String>,
    ) -> Result<EntityId, BuiltinToolError> {
        if let Some(entity) = entities::find(&self.0, &asker.scope, end.name).await? {
            return Ok(entity.id);
        }
        let kind = end.kind.filter(|kind| !kind.trim().is_empty()).unwrap_or(UNKNOWN_KIND);
        let id = EntityId::made_of(kind, end.name)?;
        let entity = NewEntity::new(id.clone(), kind, end.name, self.0.now())?;
        self.0.store().put_entities(&place(asker, "relate"), vec![entity]).await?;
        added.push(id.to_string());
        Ok(id)
    }
}
