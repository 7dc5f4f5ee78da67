//! JSON representation of memory records in responses.

use serde_json::{Value, json};
use tollgate_core::date;
use tollgate_core::digest::{DigestBuilder, hex};
use tollgate_core::memory::{
    Audience, Entity, EntityLink, Fact, FactSource, MemoryAuthor, MemoryHit, Relation,
    TranscriptEntry, TranscriptSession,
};

pub(super) fn session(session: &TranscriptSession) -> Value {
    json!({
        "id": session.id.as_str(),
        "agent": owner(&session.audience),
        "entries": session.entries,
        "began": date::format_rfc3339_millis(session.began),
        "last": date::format_rfc3339_millis(session.last),
        "summary": session.summary,
    })
}

pub(super) fn entry(entry: &TranscriptEntry) -> Value {
    json!({
        "id": entry.id.0,
        "session": entry.session.as_str(),
        "speaker": entry.speaker,
        "text": entry.text,
        "at": date::format_rfc3339_millis(entry.at),
        "author": author(&entry.author),
    })
}

pub(super) fn fact(fact: &Fact) -> Value {
    let source = match fact.source {
        FactSource::Stated => "stated",
        FactSource::Transcript { .. } => "heard",
    };
    json!({
        "id": fact.id.0,
        "text": fact.text,
        "at": date::format_rfc3339_millis(fact.at),
        "source": source,
        "session": fact.session.as_ref().map(|it| it.as_str()),
        "about": fact.entity.as_ref().map(|it| it.as_str()),
        "topic": fact.topic,
        "agent": owner(&fact.audience),
        "author": author(&fact.author),
    })
}

pub(super) fn entity(entity: &Entity) -> Value {
    json!({
        "id": entity.id.as_str(),
        "type": entity.kind,
        "name": entity.name,
        "attributes": entity.attributes,
        "agent": owner(&entity.audience),
        "author": author(&entity.author),
        "changed": date::format_rfc3339_millis(entity.changed),
    })
}

pub(super) fn relation(relation: &Relation) -> Value {
    json!({
        "source": relation.source.as_str(),
        "type": relation.kind,
        "target": relation.target.as_str(),
        "attributes": relation.attributes,
        "session": relation.provenance.session.as_ref().map(|it| it.as_str()),
        "confidence": relation.provenance.decimal_confidence(),
        "agent": owner(&relation.audience),
        "author": author(&relation.author),
        "changed": date::format_rfc3339_millis(relation.changed),
    })
}

/// A relation as seen from one of its ends.
pub(super) fn link(link: &EntityLink) -> Value {
    let mut shown = relation(&link.relation);
    let neighbour = &link.neighbour;
    shown["neighbour"] = json!({
        "id": neighbour.id.as_str(),
        "type": neighbour.kind,
        "name": neighbour.name,
    });
    shown
}

/// A search hit with its score.
pub(super) fn hit<T>(mut shown: Value, hit: &MemoryHit<T>) -> Value {
    shown["score"] = json!(hit.score);
    shown["snippet"] = json!(hit.snippet);
    shown
}

/// Changes with every change of the entity.
pub(super) fn version(entity: &Entity) -> String {
    let shown = self::entity(entity).to_string();
    hex(&DigestBuilder::default().with(shown).finish()[..8])
}

fn owner(audience: &Audience) -> Option<&str> {
    audience.owner().map(|agent| agent.as_str())
}

pub(super) fn author(author: &MemoryAuthor) -> Value {
    json!({ "name": author.name, "via": author.via, "trust": author.trust.as_str() })
}
