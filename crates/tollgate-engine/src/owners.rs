//! Remembers who owns which exposed name over restarts, in one small file of the data directory.
//! Losing it is harmless: the rules then decide anew.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tollgate_core::id::{ExposedName, ServerId, ToolId, ToolName};
use tollgate_core::names::{Kind, Owned, Owners};

use crate::disk;

pub(crate) fn load(file: &Path) -> Owners {
    let Ok(text) = fs::read_to_string(file) else { return Owners::default() };
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
    rows.iter().filter_map(read).collect()
}

pub(crate) fn save(file: &Path, owners: &Owners) {
    let rows: Vec<Value> = owners.iter().map(write).collect();
    if let Err(error) = disk::write_beside(file, &Value::Array(rows).to_string()) {
        tracing::warn!(file = %file.display(), %error, "cannot remember who owns which name");
    }
}

fn write(owned: &Owned) -> Value {
    let kind = match owned.kind {
        Kind::Tool => "tool",
        Kind::Prompt => "prompt",
    };
    json!({
        "kind": kind,
        "name": owned.exposed.as_str(),
        "server": owned.owner.server.as_str(),
        "owner": owned.owner.tool.as_str(),
    })
}

fn read(row: &Value) -> Option<Owned> {
    let text = |key: &str| row.get(key).and_then(Value::as_str);
    let kind = match text("kind")? {
        "tool" => Kind::Tool,
        "prompt" => Kind::Prompt,
        _ => return None,
    };
    let exposed = text("name")?;
    let exposed = ExposedName::parse(exposed).or_else(|_| ExposedName::passed_through(exposed));
    let server = ServerId::parse(text("server")?).ok()?;
    let owner = ToolId { server, tool: ToolName::new(text("owner")?) };
    Some(Owned { kind, exposed: exposed.ok()?, owner })
}
