//! JSON Lines format of memory records: written by an export, read by an import.

use std::time::SystemTime;

use serde_json::{Map, Value, json};
use tollgate_core::date;
use tollgate_core::id::AgentId;
use tollgate_core::json::Object;
use tollgate_core::memory::{
    Audience, AuthorTrust, EntityId, MAX_NAME_BYTES, MAX_TEXT_BYTES, MemoryAuthor, Namespace,
    NewEntity, NewEntry, NewFact, NewRelation, Provenance, SessionId, normalize_text,
};
use tollgate_store::memory::{MemoryRecord, RecordContent};

use super::memory_json;
use crate::api_error::ApiError;
use crate::fields::{BodyFields, bad};

/// Keys of every line.
const COMMON: &[&str] = &["kind", "namespace", "agent", "author"];
const KINDS: &[(&str, &[&str])] = &[
    ("entry", &["session", "speaker", "text", "at"]),
    ("summary", &["session", "text"]),
    ("fact", &["text", "at", "session", "about", "topic"]),
    ("entity", &["id", "type", "name", "attributes", "at"]),
    ("relation", &["source", "type", "target", "attributes", "session", "confidence", "at"]),
];

/// Defaults for lines without a namespace, audience or author.
pub(super) struct MemoryImportDefaults {
    pub(super) namespace: Namespace,
    pub(super) audience: Audience,
    /// Whether the default overrides the value of the line.
    pub(super) namespaces: ImportPrecedence,
    pub(super) audiences: ImportPrecedence,
    pub(super) author: MemoryAuthor,
    pub(super) now: SystemTime,
}

/// Whether the value of a line or the default of the import wins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ImportPrecedence {
    LineFirst,
    Everything,
}

pub(super) fn encode(namespace: &Namespace, record: &MemoryRecord) -> String {
    let mut line = match &record.content {
        RecordContent::Utterance(entry) => json!({
            "kind": "entry",
            "session": entry.session.as_str(),
            "speaker": entry.speaker,
            "text": entry.text,
            "at": date::format_rfc3339_millis(entry.at),
        }),
        RecordContent::Summary { session, text } => {
            json!({ "kind": "summary", "session": session.as_str(), "text": text })
        }
        RecordContent::Fact(fact) => json!({
            "kind": "fact",
            "text": fact.text,
            "at": date::format_rfc3339_millis(fact.at),
            "session": fact.session.as_ref().map(|it| it.as_str()),
            "about": fact.entity.as_ref().map(|it| it.as_str()),
            "topic": fact.topic,
        }),
        RecordContent::Entity(entity) => json!({
            "kind": "entity",
            "id": entity.id.as_str(),
            "type": entity.kind,
            "name": entity.name,
            "attributes": entity.attributes,
            "at": date::format_rfc3339_millis(entity.at),
        }),
        RecordContent::Relation(relation) => json!({
            "kind": "relation",
            "source": relation.source.as_str(),
            "type": relation.kind,
            "target": relation.target.as_str(),
            "attributes": relation.attributes,
            "session": relation.provenance.session.as_ref().map(|it| it.as_str()),
            "confidence": relation.provenance.decimal_confidence(),
            "at": date::format_rfc3339_millis(relation.at),
        }),
    };
    line["namespace"] = json!(namespace.as_str());
    line["agent"] = json!(record.audience.owner().map(|agent| agent.as_str()));
    line["author"] = memory_json::author(&record.author);
    if let Value::Object(fields) = &mut line {
        fields.retain(|_, value| !value.is_null());
    }
    line.to_string()
}

pub(super) fn read(
    line: &[u8],
    usual: &MemoryImportDefaults,
) -> Result<(Namespace, MemoryRecord), ApiError> {
    let (kind, keys) = kind(line)?;
    let known: Vec<&str> = COMMON.iter().chain(keys).copied().collect();
    let fields = BodyFields::read(line, &known)?;
    let namespace = match (fields.text("namespace")?, usual.namespaces) {
        (Some(text), ImportPrecedence::LineFirst) => {
            Namespace::parse(&text).map_err(|error| bad(format!("`namespace`: {error}")))?
        }
        _ => usual.namespace.clone(),
    };
    let audience = match (fields.text("agent")?, usual.audiences) {
        (Some(text), ImportPrecedence::LineFirst) => {
            let agent = AgentId::parse(&text);
            Audience::Only(agent.map_err(|error| bad(format!("`agent`: {error}")))?)
        }
        _ => usual.audience.clone(),
    };
    let content = parse_content(kind, &fields, usual.now)?;
    let author = match fields.raw("author") {
        Some(raw) => author(raw.get().as_bytes())?,
        None => MemoryAuthor { trust: trust(&content), ..usual.author.clone() },
    };
    Ok((namespace, MemoryRecord { audience, author, content }))
}

fn kind(line: &[u8]) -> Result<(&'static str, &'static [&'static str]), ApiError> {
    let object = Object::parse_bytes(line).map_err(|error| bad(format!("not JSON: {error}")))?;
    let text = object.get("kind").and_then(tollgate_core::json::string);
    let found = KINDS.iter().find(|(kind, _)| text.as_deref() == Some(*kind));
    found.copied().ok_or_else(|| {
        let kinds: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
        bad(format!("`kind` is one of {}", kinds.join(", ")))
    })
}

fn parse_content(
    kind: &str,
    fields: &BodyFields<'_>,
    now: SystemTime,
) -> Result<RecordContent, ApiError> {
    let session = || fields.needed_text("session").and_then(|text| Ok(SessionId::parse(&text)?));
    let at = match kind {
        "summary" => now,
        _ => moment(fields, "at")?.unwrap_or(now),
    };
    Ok(match kind {
        "entry" => {
            let speaker = fields.needed_text("speaker")?;
            let text = fields.needed_text("text")?;
            RecordContent::Utterance(NewEntry::new(session()?, &speaker, &text, at)?)
        }
        "summary" => {
            let text = normalize_text("text", &fields.needed_text("text")?, MAX_TEXT_BYTES)?;
            RecordContent::Summary { session: session()?, text }
        }
        "fact" => RecordContent::Fact(fact(fields, at)?),
        "entity" => {
            let kind = fields.needed_text("type")?;
            let name = fields.needed_text("name")?;
            let id = match fields.text("id")? {
                Some(id) => EntityId::parse(&id)?,
                None => EntityId::made_of(&kind, &name)?,
            };
            RecordContent::Entity(NewEntity::new(id, &kind, &name, at)?.with(attributes(fields)?)?)
        }
        _ => {
            let source = EntityId::parse(&fields.needed_text("source")?)?;
            let target = EntityId::parse(&fields.needed_text("target")?)?;
            let relation = NewRelation::new(source, &fields.needed_text("type")?, target, at)?;
            RecordContent::Relation(
                relation.with(attributes(fields)?)?.with_provenance(provenance(fields)?)?,
            )
        }
    })
}

/// A stated fact, from `text`, `about`, `topic` and `session`.
pub(super) fn fact(fields: &BodyFields<'_>, at: SystemTime) -> Result<NewFact, ApiError> {
    let fact = NewFact::from_statement(&fields.needed_text("text")?, at)?;
    let fact = match fields.text("topic")? {
        Some(topic) => fact.on(&topic)?,
        None => fact,
    };
    let session = fields.text("session")?.map(|text| SessionId::parse(&text)).transpose()?;
    let entity = fields.text("about")?.map(|text| EntityId::parse(&text)).transpose()?;
    Ok(NewFact { session, entity, ..fact })
}

fn author(json: &[u8]) -> Result<MemoryAuthor, ApiError> {
    let fields = BodyFields::read(json, &["name", "via", "trust"])?;
    let trust = fields.needed_text("trust")?;
    Ok(MemoryAuthor {
        name: normalize_text("author", &fields.needed_text("name")?, MAX_NAME_BYTES)?,
        via: normalize_text("via", &fields.needed_text("via")?, MAX_NAME_BYTES)?,
        trust: AuthorTrust::parse(&trust)
            .ok_or_else(|| bad("`trust` is agent, heard or operator".to_owned()))?,
    })
}

/// A transcript has the trust of speech, whoever imports it.
fn trust(content: &RecordContent) -> AuthorTrust {
    match content {
        RecordContent::Utterance(_) => AuthorTrust::Conversation,
        RecordContent::Summary { .. }
        | RecordContent::Fact(_)
        | RecordContent::Entity(_)
        | RecordContent::Relation(_) => AuthorTrust::Operator,
    }
}

pub(super) fn attributes(fields: &BodyFields<'_>) -> Result<Map<String, Value>, ApiError> {
    let Some(raw) = fields.raw("attributes") else { return Ok(Map::new()) };
    serde_json::from_str(raw.get()).map_err(|_| bad("`attributes` must be an object".to_owned()))
}

pub(super) fn provenance(fields: &BodyFields<'_>) -> Result<Provenance, ApiError> {
    let session = fields.text("session")?.map(|text| SessionId::parse(&text)).transpose()?;
    let confidence = fields.fraction("confidence")?.unwrap_or(1.0);
    Ok(Provenance { session, confidence })
}

pub(super) fn moment(fields: &BodyFields<'_>, key: &str) -> Result<Option<SystemTime>, ApiError> {
    let wrong = || bad(format!("`{key}` is a time, like `2026-11-15T10:00:00Z`"));
    fields.text(key)?.map(|text| date::parse(&text).ok_or_else(wrong)).transpose()
}
