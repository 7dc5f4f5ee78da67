//! Remembers the owner of each exposed name over restarts, so that an `expose_as` collision is
//! resolved in the same way. Stored in one small file of the data directory.
//!
//! Losing the file is harmless: the rules then decide again.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tollgate_core::id::{ExposedName, ServerId, ToolId, ToolName};
use tollgate_core::names::{NameKind, NameOwners, OwnedName};

use crate::disk;

pub(crate) fn load(file: &Path) -> NameOwners {
    let Ok(text) = fs::read_to_string(file) else { return NameOwners::default() };
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
    rows.iter().filter_map(read).collect()
}

pub(crate) fn save(file: &Path, owners: &NameOwners) {
    let rows: Vec<Value> = owners.iter().map(write).collect();
    if let Err(error) = disk::write_beside(file, &Value::Array(rows).to_string()) {
        tracing::warn!(file = %file.display(), %error, "cannot save the owners of tool names");
    }
}

fn write(owned: &OwnedName) -> Value {
    let kind = match owned.kind {
        NameKind::Tool => "tool",
        NameKind::Prompt => "prompt",
    };
    json!({
        "kind": kind,
        "name": owned.exposed.as_str(),
        "server": owned.owner.server.as_str(),
        "owner": owned.owner.tool.as_str(),
    })
}

fn read(row: &Value) -> Option<OwnedName> {
    let text = |key: &str| row.get(key).and_then(Value::as_str);
    let kind = match text("kind")? {
        "tool" => NameKind::Tool,
        "prompt" => NameKind::Prompt,
        _ => return None,
    };
    let exposed = text("name")?;
    let exposed = ExposedName::parse(exposed).or_else(|_| ExposedName::passed_through(exposed));
    let server = ServerId::parse(text("server")?).ok()?;
    let owner = ToolId { server, tool: ToolName::new(text("owner")?) };
    Some(OwnedName { kind, exposed: exposed.ok()?, owner })
}
