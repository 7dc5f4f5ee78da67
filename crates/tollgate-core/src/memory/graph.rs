//! L3: who and what there is, and how they are related. Cycles are fine; nothing here walks
//! further than from an entity to its neighbours.

use std::fmt;
use std::time::SystemTime;

use serde_json::{Map, Value};

use super::{
    Audience, LONGEST_ATTRIBUTES, LONGEST_NAME, MemoryAuthor, MemoryInputError, SessionId,
    kept_text,
};

/// Chosen by whoever writes an entity, or made of its kind and name. Its own in each namespace and
/// for each audience; what is an agent's own goes before what is shared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntityId(String);

/// An entity to be kept, in the place of one of the same id if there is one.
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

/// That one entity has to do with another. Kept in the place of one of the same kind between the
/// same two.
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

/// Where a relation is known from, and how surely.
#[derive(Debug, Clone, PartialEq)]
pub struct Provenance {
    pub session: Option<SessionId>,
    /// From 0 to 1.
    pub confidence: f32,
}

/// An entity, and all it has to do with.
#[derive(Debug, Clone, PartialEq)]
pub struct EntitySnapshot {
    pub entity: Entity,
    /// The surest first.
    pub links: Vec<EntityLink>,
    /// How many there are beside those.
    pub left_out: u64,
}

/// A relation of an entity, and who stands at its other end.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityLink {
    pub relation: Relation,
    pub neighbour: Entity,
}

impl EntityId {
    pub fn parse(text: &str) -> Result<Self, MemoryInputError> {
        kept_text("entity_id", text, LONGEST_NAME).map(Self)
    }

    /// `npc-elara-of-the-vale`, for whoever gave none.
    pub fn made_of(kind: &str, name: &str) -> Result<Self, MemoryInputError> {
        let mut id = String::new();
        for word in [kind, name].into_iter().flat_map(|it| it.split(|c: char| !c.is_alphanumeric()))
        {
            if !word.is_empty() {
                id.push_str(if id.is_empty() { "" } else { "-" });
                id.extend(word.chars().flat_map(char::to_lowercase));
            }
        }
        let end = id.floor_char_boundary(LONGEST_NAME);
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
        let kind = kept_text("type", kind, LONGEST_NAME)?.to_lowercase();
        let name = kept_text("name", name, LONGEST_NAME)?;
        Ok(Self { id, kind, name, attributes: Map::new(), at })
    }

    pub fn with(self, attributes: Map<String, Value>) -> Result<Self, MemoryInputError> {
        Ok(Self { attributes: kept_attributes(attributes)?, ..self })
    }
}

impl NewRelation {
    pub fn new(
        source: EntityId,
        kind: &str,
        target: EntityId,
        at: SystemTime,
    ) -> Result<Self, MemoryInputError> {
        let kind = kept_text("type", kind, LONGEST_NAME)?.to_lowercase();
        let provenance = Provenance { session: None, confidence: 1.0 };
        Ok(Self { source, kind, target, attributes: Map::new(), provenance, at })
    }

    pub fn with(self, attributes: Map<String, Value>) -> Result<Self, MemoryInputError> {
        Ok(Self { attributes: kept_attributes(attributes)?, ..self })
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

fn kept_attributes(attributes: Map<String, Value>) -> Result<Map<String, Value>, MemoryInputError> {
    let (field, most) = ("attributes", LONGEST_ATTRIBUTES);
    let kept = without_nul(Value::Object(attributes));
    match (kept.to_string().len(), kept) {
        (found, _) if found > most => Err(MemoryInputError::TooLong { field, found, most }),
        (_, Value::Object(kept)) => Ok(kept),
        _ => Ok(Map::new()),
    }
}

/// No database takes a NUL in a text.
fn without_nul(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace('\0', "")),
        Value::Array(items) => items.into_iter().map(without_nul).collect(),
        Value::Object(fields) => {
            let kept =
                |(name, value): (String, Value)| (name.replace('\0', ""), without_nul(value));
            fields.into_iter().map(kept).collect()
        }
        other => other,
    }
}
