//! Parses a document, and detects the program it belongs to by its structure.

use std::path::Path;

use serde_json::{Map, Value, json};
use tollgate_config as config;

use super::collector::ImportCollector;
use super::source_map::SourceMap;
use super::{
    ImportContext, ImportError, ava, bifrost, codex, common_keys, frugalroute, glyphoxa, goose,
    jsonc, mcp_servers, opencode, tollgate_yaml, toml, vscode, zed,
};

pub(super) fn read(
    text: &str,
    context: &ImportContext<'_>,
    sheet: &mut ImportCollector<'_>,
) -> Result<(), ImportError> {
    let mut top =
        SourceMap::of("", parse_document(text, context.file)?).ok_or(ImportError::Unknown)?;
    top.forget(&["$schema"]);
    given_to(top, context, sheet)
}

/// Parses JSON with comments, TOML or YAML.
pub fn parse_document(text: &str, file: Option<&Path>) -> Result<Value, ImportError> {
    match DocumentSyntax::of(text, file) {
        DocumentSyntax::Json => jsonc::parse(text),
        // A pasted `"name": { … }` lacks its braces.
        DocumentSyntax::Pair => jsonc::parse(&format!("{{{}}}", text.trim_end_matches(','))),
        DocumentSyntax::Toml => toml::parse(text),
        DocumentSyntax::Yaml => {
            config::yaml(text).map_err(|error| ImportError::Syntax(error.to_string()))
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DocumentSyntax {
    Json,
    Pair,
    Toml,
    Yaml,
}

impl DocumentSyntax {
    fn of(text: &str, file: Option<&Path>) -> Self {
        let ending = file.and_then(Path::extension).and_then(|it| it.to_str()).unwrap_or_default();
        match ending {
            "json" | "jsonc" | "json5" => return Self::Json,
            "toml" => return Self::Toml,
            "yaml" | "yml" => return Self::Yaml,
            _ => {}
        }
        let mut lines = text.lines().map(str::trim);
        let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
        let first = first.unwrap_or_default();
        let is_header = first.starts_with('[') && first.ends_with(']') && !first.contains('"');
        match first.chars().next() {
            Some('[') if is_header => Self::Toml,
            Some('{' | '[') => Self::Json,
            Some('/') if first.starts_with("//") || first.starts_with("/*") => Self::Json,
            Some('"') if text.contains('{') => Self::Pair,
            _ if is_assignment(first) => Self::Toml,
            _ => Self::Yaml,
        }
    }
}

/// `key = value`
fn is_assignment(line: &str) -> bool {
    let key = line.split_once('=').map_or("", |(key, _)| key.trim());
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

type FormatReader = fn(SourceMap, &mut ImportCollector<'_>);

fn given_to(
    top: SourceMap,
    context: &ImportContext<'_>,
    sheet: &mut ImportCollector<'_>,
) -> Result<(), ImportError> {
    let Some((format, read)) = author(&top) else { return loose(top, context, sheet) };
    sheet.format(format);
    read(top, sheet);
    Ok(())
}

/// The program that writes such files.
fn author(top: &SourceMap) -> Option<(&'static str, FormatReader)> {
    let mcp = top.peek("mcp");
    let servers = top.peek("servers");
    Some(match () {
        () if top.peek("mcp_servers").is_object() => ("Codex", codex::read),
        () if top.peek("context_servers").is_object() => ("Zed", zed::read),
        () if mcp.get("client_configs").is_some() || is_bifrost(top) => ("Bifrost", bifrost::read),
        () if mcp.get("servers").is_some_and(Value::is_array) || top.has("npcs") => {
            ("Glyphoxa", glyphoxa::read)
        }
        () if top.has("contexts") || mcp.get("servers").is_some_and(is_ava) => ("AVA", ava::read),
        () if mcp.get("servers").is_some_and(Value::is_object) => {
            ("VS Code", vscode::read_settings)
        }
        () if top.peek("mcpServers").is_array() => ("FrugalRoute", frugalroute::read),
        () if top.peek("mcpServers").is_object() || top.peek("projects").is_object() => {
            ("mcpServers", mcp_servers::read)
        }
        () if any(mcp, |it| it.get("type").is_some() || it.get("url").is_some()) => {
            ("opencode", opencode::read)
        }
        () if any(top.peek("extensions"), |it| it.get("type").is_some()) => ("Goose", goose::read),
        () if top.peek("inputs").is_array() || any(servers, |it| it.get("type").is_some()) => {
            ("VS Code", vscode::read)
        }
        () if servers.is_object() || servers.is_array() => ("Tollgate", tollgate_yaml::read),
        () => return None,
    })
}

/// Servers without an enclosing list: one, or a map of several.
fn loose(
    mut top: SourceMap,
    context: &ImportContext<'_>,
    sheet: &mut ImportCollector<'_>,
) -> Result<(), ImportError> {
    sheet.format("mcpServers");
    if is_server(&top) {
        let words: Vec<String> =
            [top.peek("command"), top.peek("args")].into_iter().flat_map(texts).collect();
        let url = ["url", "httpUrl", "serverUrl"].iter().find_map(|key| top.peek(key).as_str());
        let text = context
            .name
            .map(str::to_owned)
            .or_else(|| top.peek("name").as_str().filter(|it| !it.is_empty()).map(str::to_owned));
        let name = text.unwrap_or_else(|| common_keys::name_of(&words, url));
        top.at.clone_from(&name);
        common_keys::server(&name, top, sheet);
        return Ok(());
    }
    let entries = top.everything();
    let looks = |it: &Value| {
        ["command", "url", "httpUrl", "serverUrl"].iter().any(|key| it.get(key).is_some())
    };
    if entries.is_empty() || !entries.iter().any(|(_, it)| looks(it)) {
        return Err(ImportError::Unknown);
    }
    let wrapped = json!({ "mcpServers": Map::from_iter(entries) });
    let top = SourceMap::of("", wrapped).ok_or(ImportError::Unknown)?;
    mcp_servers::read(top, sheet);
    Ok(())
}

fn is_server(top: &SourceMap) -> bool {
    let words = top.peek("command");
    let is_command = words.is_string() || words.is_array();
    is_command || ["url", "httpUrl", "serverUrl"].iter().any(|key| top.peek(key).is_string())
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// AVA's map of servers has `transport` where editors have `type`.
fn is_ava(servers: &Value) -> bool {
    any(servers, |it| it.get("transport").is_some() && it.get("type").is_none())
}

/// Providers of Bifrost have lists of keys.
fn is_bifrost(top: &SourceMap) -> bool {
    any(top.peek("providers"), |it| it.get("keys").is_some_and(Value::is_array))
}

fn any(map: &Value, what: impl Fn(&Value) -> bool) -> bool {
    map.as_object().is_some_and(|map| map.values().any(what))
}
