//! L3: entities and their relations. Cycles are allowed; traversal never goes beyond direct
//! neighbours.

use std::fmt;
use std::time::SystemTime;

use serde_json::{Map, Value};

use super::{
    Audience, MAX_ATTRIBUTES_BYTES, MAX_NAME_BYTES, MemoryAuthor, MemoryInputError, SessionId,
    normalize_text,
};

/// Chosen by the writer of an entity, or derived from its kind and name. Unique per namespace and
/// audience; an agent's own entity takes precedence over a shared one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntityId(String);

/// An entity to be stored; replaces an entity with the same id.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEntity {
    pub id: EntityId,
    /// `npc`, `player`, `location`, `item`, `faction`, `event`, `quest`, `concept`, or any other.
    pub kind: String,
    pub name: String,
    pub attributes: Map<String, Value>,
    pub at: SystemTime,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    pub id: EntityId,
    pub kind: String,
    pub name: String,
    pub attributes: Map<String, Value>,
    pub audience: Audience,
    pub author: MemoryAuthor,
    pub changed: SystemTime,
}

/// A relation between two entities. Replaces a relation of the same kind between the same two.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRelation {
    pub source: EntityId,
    pub kind: String,
    pub target: EntityId,
    pub attributes: Map<String, Value>,
    pub provenance: Provenance,
    pub at: SystemTime,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Relation {
    pub source: EntityId,
    pub kind: String,
    pub target: EntityId,
    pub attributes: Map<String, Value>,
    pub provenance: Provenance,
    pub audience: Audience,
    pub author: MemoryAuthor,
    pub changed: SystemTime,
}

/// The source of a relation and its confidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Provenance {
    pub session: Option<SessionId>,
    /// In 0..=1.
    pub confidence: f32,
}

impl Provenance {
    /// The confidence as it was written: 0.9, where widening the number gives 0.8999999761581421.
    pub fn decimal_confidence(&self) -> f64 {
        self.confidence.to_string().parse().unwrap_or(f64::from(self.confidence))
    }
}

/// An entity with its relations.
#[derive(Debug, Clone, PartialEq)]
pub struct EntitySnapshot {
    pub entity: Entity,
    /// Highest confidence first.
    pub links: Vec<EntityLink>,
    /// Number of further relations.
    pub left_out: u64,
}

/// A relation of an entity, with the entity at its other end.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityLink {
    pub relation: Relation,
    pub neighbour: Entity,
}

impl EntityId {
    pub fn parse(text: &str) -> Result<Self, MemoryInputError> {
        normalize_text("entity_id", text, MAX_NAME_BYTES).map(Self)
    }

    /// `npc-elara-of-the-vale`, if no id was given.
    pub fn made_of(kind: &str, name: &str) -> Result<Self, MemoryInputError> {
        let mut id = String::new();
        for word in [kind, name].into_iter().flat_map(|it| it.split(|c: char| !c.is_alphanumeric()))
        {
            if !word.is_empty() {
                id.push_str(if id.is_empty() { "" } else { "-" });
                id.extend(word.chars().flat_map(char::to_lowercase));
            }
        }
        let end = id.floor_char_boundary(MAX_NAME_BYTES);
        id.truncate(end);
        Self::parse(&id)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl NewEntity {
    pub fn new(
        id: EntityId,
        kind: &str,
        name: &str,
        at: SystemTime,
    ) -> Result<Self, MemoryInputError> {
        let kind = normalize_text("type", kind, MAX_NAME_BYTES)?.to_lowercase();
        let name = normalize_text("name", name, MAX_NAME_BYTES)?;
        Ok(Self { id, kind, name, attributes: Map::new(), at })
    }

    pub fn with(self, attributes: Map<String, Value>) -> Result<Self, MemoryInputError> {
        Ok(Self { attributes: normalize_attributes(attributes)?, ..self })
    }
}

impl NewRelation {
    pub fn new(
        source: EntityId,
        kind: &str,
        target: EntityId,
        at: SystemTime,
    ) -> Result<Self, MemoryInputError> {
        let kind = normalize_text("type", kind, MAX_NAME_BYTES)?.to_lowercase();
        let provenance = Provenance { session: None, confidence: 1.0 };
        Ok(Self { source, kind, target, attributes: Map::new(), provenance, at })
    }

    pub fn with(self, attributes: Map<String, Value>) -> Result<Self, MemoryInputError> {
        Ok(Self { attributes: normalize_attributes(attributes)?, ..self })
    }

    pub fn with_provenance(self, provenance: Provenance) -> Result<Self, MemoryInputError> {
        if !(0.0..=1.0).contains(&provenance.confidence) {
            return Err(MemoryInputError::Range {
                field: "confidence",
                found: provenance.confidence.to_string(),
                least: "0".to_owned(),
                most: "1".to_owned(),
            });
        }
        Ok(Self { provenance, ..self })
    }
}

fn normalize_attributes(
    attributes: Map<String, Value>,
) -> Result<Map<String, Value>, MemoryInputError> {
    let field = "attributes";
    let most = MAX_ATTRIBUTES_BYTES;
    let stored = without_nul(Value::Object(attributes));
    match (stored.to_string().len(), stored) {
        (found, _) if found > most => Err(MemoryInputError::TooLong { field, found, most }),
        (_, Value::Object(stored)) => Ok(stored),
        _ => Ok(Map::new()),
    }
}

/// Databases reject NUL in text.
fn without_nul(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace('\0', "")),
        Value::Array(items) => items.into_iter().map(without_nul).collect(),
        Value::Object(fields) => {
            let retain =
                |(name, value): (String, Value)| (name.replace('\0', ""), without_nul(value));
            fields.into_iter().map(retain).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
