//! Imports Codex: `[mcp_servers.NAME]` in TOML, with names of variables instead of values.

use serde_json::{Value, json};

use super::collector::ImportCollector;
use super::common_keys;
use super::source_map::SourceMap;
use crate::client_apps::ClientApp;

pub(super) fn read(mut top: SourceMap, sheet: &mut ImportCollector<'_>) {
    // Even if another program was named: the units of its timeouts are those of Codex.
    sheet.client = ClientApp::find("codex");
    for (name, server) in top.named_maps("mcp_servers") {
        import_server(&name, server, sheet);
    }
    sheet.blame(top);
}

fn import_server(name: &str, mut source: SourceMap, sheet: &mut ImportCollector<'_>) {
    let forwarded = forwarded_variables(&mut source);
    source.merge("env", forwarded.into_iter().map(|name| (name.clone(), reference(&name))));
    let headers = source.table("http_headers");
    source.merge("headers", headers.into_iter().map(|(name, value)| (name, json!(value))));
    let named = source.table("env_http_headers");
    source.merge("headers", named.into_iter().map(|(name, from)| (name, reference(&from))));
    if let Some(variable) = source.text("bearer_token_env_var") {
        let bearer = json!(format!("Bearer ${{{variable}}}"));
        source.merge("headers", [("Authorization".to_owned(), bearer)]);
    }
    if let Some(seconds) = source.number("tool_timeout_sec") {
        source.put("timeout", json!(seconds * 1_000.0));
    }
    source.rename("enabled_tools", "includeTools");
    source.rename("disabled_tools", "excludeTools");
    source.drop("startup_timeout_sec", "a server that is slow to start does not block here");
    source.drop("startup_timeout_ms", "a server that is slow to start does not block here");
    common_keys::server(name, source, sheet);
}

/// Names of forwarded variables.
fn forwarded_variables(source: &mut SourceMap) -> Vec<String> {
    let Some(Value::Array(names)) = source.take("env_vars") else { return Vec::new() };
    let name = |item: &Value| match item {
        Value::String(name) => Some(name.clone()),
        other => other.get("name").and_then(Value::as_str).map(str::to_owned),
    };
    names.iter().filter_map(name).filter(|name| tollgate_config::is_variable(name)).collect()
}

fn reference(name: &str) -> Value {
    json!(format!("${{{name}}}"))
}
