//! Terminal output of memory records.

use serde_json::Value;

use super::MemoryCommandRun;
use crate::command_error::CommandError;
use crate::commands::tools::{items, text};
use crate::gateway::memory::path;
use crate::output::{OutputFormat, TextTable, clean};

/// Entries per request.
const PAGE: usize = 1_000;

/// `tollgate memory show ID`: an entity, or otherwise a session.
pub(super) async fn run(session: &MemoryCommandRun<'_>, id: &str) -> Result<(), CommandError> {
    let query = session.query();
    if let Some(found) = session.gateway.recall(&path("entities", id), &query).await? {
        match session.output.form {
            OutputFormat::Json => session.output.json(&found),
            OutputFormat::Text => session.output.line(&clean(&snapshot(&found))),
        }
        return Ok(());
    }
    if transcript(session, id).await? {
        Ok(())
    } else {
        Err(CommandError::new(format!("there is neither an entity nor a session `{id}`")))
    }
}

/// Returns whether the session exists.
async fn transcript(session: &MemoryCommandRun<'_>, id: &str) -> Result<bool, CommandError> {
    let place = path("sessions", id);
    let limit = ("limit", PAGE.to_string());
    let first = session.gateway.recall(&place, &session.with(std::slice::from_ref(&limit))).await?;
    let Some(mut page) = first else { return Ok(false) };
    let about = page["session"].clone();
    let mut all = Vec::new();
    if session.output.form == OutputFormat::Text {
        session.output.line(&clean(&session_header(&about)));
    }
    loop {
        match session.output.form {
            OutputFormat::Json => all.extend_from_slice(items(&page, "entries")),
            OutputFormat::Text => {
                let lines = items(&page, "entries").iter().map(entry_line);
                lines.for_each(|line| session.output.line(&clean(&line)));
            }
        }
        let Some(next) = page["next"].as_u64() else { break };
        let query = session.with(&[limit.clone(), ("after", next.to_string())]);
        page = session.gateway.get_memory(&place, &query).await?;
    }
    if session.output.form == OutputFormat::Json {
        session.output.json(&serde_json::json!({ "session": about, "entries": all }));
    }
    Ok(true)
}

fn session_header(session: &Value) -> String {
    let entries = describe_counts(&serde_json::json!({ "entries": session["entries"] }));
    let head = format!("{}, {entries}, from {}", text(session, "id"), text(session, "began"));
    match session["summary"].as_str() {
        Some(summary) => format!("{head}\n{summary}\n"),
        None => format!("{head}\n"),
    }
}

fn entry_line(entry: &Value) -> String {
    format!("{}  {}: {}", day(entry, "at"), text(entry, "speaker"), text(entry, "text"))
}

/// `Mira Voss, npc (id npc-mira-voss)`, then one line per attribute, relation and fact.
fn snapshot(found: &Value) -> String {
    let entity = &found["entity"];
    let id = text(entity, "id");
    let kind = text(entity, "type");
    let name = text(entity, "name");
    let mut lines = vec![format!("{name}, {kind} (id {id})")];
    for (key, value) in entity["attributes"].as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        lines.push(format!("  {}: {value}", key.replace('_', " ")));
    }
    for relation in items(found, "relations") {
        let kind = text(relation, "type").replace('_', " ");
        let other = &relation["neighbour"];
        let other = format!("{} (id {})", text(other, "name"), text(other, "id"));
        let sentence = if text(relation, "source") == id {
            format!("  {name} {kind} {other}")
        } else {
            format!("  {other} {kind} {name}")
        };
        lines.push(match relation["confidence"].as_f64() {
            Some(sure) if sure < 0.7 => format!("{sentence}, perhaps"),
            _ => sentence,
        });
    }
    if let Some(more) = found["left_out"].as_u64().filter(|more| *more > 0) {
        lines.push(format!("  and {more} more relations"));
    }
    for fact in items(found, "facts") {
        lines.push(format!("  {}", text(fact, "text")));
    }
    lines.join("\n")
}

pub(super) fn entities(found: &[Value]) -> TextTable {
    let mut table = TextTable::new(&["ID", "TYPE", "NAME", "KNOWN"]);
    for entity in found {
        let known: Vec<String> = entity["attributes"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, value)| match value.as_str() {
                Some(value) => format!("{key}={value}"),
                None => format!("{key}={value}"),
            })
            .collect();
        table.row(vec![
            text(entity, "id"),
            text(entity, "type"),
            text(entity, "name"),
            if known.is_empty() { "–".to_owned() } else { known.join(" ") },
        ]);
    }
    table
}

/// Search hits, best first.
pub(super) fn hits(found: &[Value]) -> TextTable {
    let mut table = TextTable::new(&["WHERE", "WHEN", "WHO", "WHAT"]);
    for hit in found {
        let place = match (hit["session"].as_str(), hit["id"].as_u64()) {
            (Some(session), _) => session.to_owned(),
            (None, Some(fact)) => format!("fact {fact}"),
            (None, None) => "–".to_owned(),
        };
        let who = hit["speaker"].as_str().or_else(|| hit["about"].as_str()).unwrap_or("–");
        let what = text(hit, "snippet").replace("**", "").replace('\n', " ");
        table.row(vec![place, day(hit, "at"), who.to_owned(), what]);
    }
    table
}

/// `2026-01-05 19:00`
pub(super) fn day(value: &Value, key: &str) -> String {
    let at = text(value, key);
    at.get(..16).map_or_else(|| at.clone(), |minute| minute.replace('T', " "))
}

/// `2 sessions, 34 entries`
pub(super) fn describe_counts(counts: &Value) -> String {
    let kinds = [
        ("sessions", "session", "sessions"),
        ("entries", "entry", "entries"),
        ("facts", "fact", "facts"),
        ("entities", "entity", "entities"),
        ("relations", "relation", "relations"),
    ];
    let counted = kinds.iter().filter_map(|(key, one, many)| match counts[*key].as_u64() {
        None | Some(0) => None,
        Some(1) => Some(format!("1 {one}")),
        Some(count) => Some(format!("{count} {many}")),
    });
    let counted: Vec<String> = counted.collect();
    if counted.is_empty() { "nothing".to_owned() } else { counted.join(", ") }
}
