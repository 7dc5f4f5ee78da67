//! Parses entries of a registry response. Invalid ones are skipped.

use serde_json::Value;

use super::untrusted_text::sanitize_text;
use super::{McpRegistryEntry, McpRegistryPage, install_option};

const MAX_ENTRIES: usize = 100;
const MAX_INSTALL_OPTIONS: usize = 12;
const MAX_NAME_LEN: usize = 200;

pub(super) fn page(body: &Value) -> Option<McpRegistryPage> {
    let listed = body.get("servers")?.as_array()?;
    let servers = listed.iter().take(MAX_ENTRIES).filter_map(entry).collect();
    let metadata = &body["metadata"];
    let next = metadata.get("nextCursor").or(metadata.get("next_cursor"));
    let next = next.and_then(Value::as_str).filter(|next| !next.is_empty() && next.len() < 2_048);
    Some(McpRegistryPage { servers, next: next.map(str::to_owned) })
}

/// `{server, _meta}`, or the server itself in older registries.
pub(super) fn entry(listed: &Value) -> Option<McpRegistryEntry> {
    let server = listed.get("server").unwrap_or(listed);
    let name = server.get("name")?.as_str()?;
    if !is_name(name) || is_deleted(listed) {
        return None;
    }
    let text = |key: &str| server.get(key).and_then(Value::as_str).map(sanitize_text);
    let packages = server.get("packages").and_then(Value::as_array);
    let remotes = server.get("remotes").and_then(Value::as_array);
    let own = super::short_name(name);
    let remotes = remotes.into_iter().flatten().filter_map(|it| install_option::remote(&own, it));
    let packages =
        packages.into_iter().flatten().filter_map(|it| install_option::package(&own, it));
    let website = server.get("websiteUrl").and_then(Value::as_str).filter(|it| is_website(it));
    Some(McpRegistryEntry {
        name: name.to_owned(),
        title: text("title").filter(|title| !title.is_empty()),
        description: text("description").unwrap_or_default(),
        version: text("version").unwrap_or_default(),
        website: website.map(str::to_owned),
        choices: packages.chain(remotes).take(MAX_INSTALL_OPTIONS).collect(),
    })
}

/// `namespace/name`
fn is_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    (3..=MAX_NAME_LEN).contains(&name.len())
        && name.chars().all(letter)
        && name.matches('/').count() == 1
}

fn is_deleted(listed: &Value) -> bool {
    let official = &listed["_meta"]["io.modelcontextprotocol.registry/official"];
    official["status"] == "deleted"
}

/// A link that a person may open.
fn is_website(url: &str) -> bool {
    let rest = url.strip_prefix("https://").unwrap_or_default();
    let odd = |c: char| c.is_control() || c.is_whitespace() || "\"'<>\\`".contains(c);
    !rest.is_empty() && url.len() < 500 && !rest.contains(odd) && !rest.starts_with('/')
}
