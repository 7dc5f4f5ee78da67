//! Imports AVA's YAML: `mcp.servers` as a map with nearly our keys, and `contexts`.

use serde_json::{Map, Value, json};

use super::collector::ImportCollector;
use super::common_keys::{ImportedTransport, command_words};
use super::provider::{self, ImportedProvider};
use super::server_draft::ServerDraft;
use super::source_map::SourceMap;
use super::{ImportedEntry, common_keys};

/// Keys with the same meaning here.
const SAME: &[&str] = &["restart", "defaults"];

pub(super) fn read(mut top: SourceMap, sheet: &mut ImportCollector<'_>) {
    let mut tools = AvaToolNames::default();
    if let Some(mut mcp) = top.inner("mcp") {
        let enabled = mcp.flag("enabled").unwrap_or(true);
        for (name, server) in mcp.named_maps("servers") {
            import_server(&name, server, &mut tools, sheet);
            if !enabled {
                sheet.last_key("enabled", json!(false));
            }
        }
        sheet.leave(mcp);
    }
    let models = providers(&mut top, sheet);
    for (name, context) in top.named_maps("contexts") {
        agent(&name, context, &tools, &models, sheet);
    }
    for key in ["audio_transport", "audiosocket", "asterisk", "barge_in", "external_media", "llm"] {
        top.drop(key, "telephony and speech are not supported");
    }
    top.forget(&["config_version"]);
    sheet.leave(top);
}

/// How contexts refer to the tools of servers.
#[derive(Default)]
struct AvaToolNames {
    servers: Vec<String>,
    exposed: Vec<String>,
}

fn import_server(
    name: &str,
    mut source: SourceMap,
    tools: &mut AvaToolNames,
    sheet: &mut ImportCollector<'_>,
) {
    let kind = source.peek("transport").as_str().map(ImportedTransport::of);
    if kind != Some(ImportedTransport::Command) && !source.has("command") {
        source.forget_empty("tools");
        common_keys::server(name, source, sheet);
        tools.servers.push(name.to_owned());
        return;
    }
    let mut draft = ServerDraft::new(sheet, name);
    let command = source.texts("command").unwrap_or_default();
    let words = command_words(command, source.texts("args"));
    if words.is_empty() {
        sheet.drop(&source.at, "it has neither a command nor a URL");
        return;
    }
    draft.command(sheet, &words);
    let env = source.table("env");
    draft.env(sheet, env);
    if let Some(cwd) = source.text("cwd") {
        draft.put("cwd", cwd);
    }
    for key in SAME {
        if let Some(value) = source.take(key).filter(Value::is_object) {
            draft.put(key, value);
        }
    }
    let mut described = Map::new();
    for (tool, mut keys) in source.named_maps("tools") {
        keys.forget(&["name"]);
        let known = ["expose_as", "description", "speech_field", "speech_template"];
        let texts =
            known.iter().filter_map(|key| Some(((*key).to_owned(), json!(keys.text(key)?))));
        let written: Map<String, Value> = texts.collect();
        tools.exposed.extend(written.get("expose_as").and_then(Value::as_str).map(str::to_owned));
        sheet.leave(keys);
        described.insert(tool, Value::Object(written));
    }
    if !described.is_empty() {
        let names: Vec<String> = described.keys().cloned().collect();
        draft.put("allow", names);
        draft.put("tools", Value::Object(described));
    }
    tools.servers.push(draft.name.clone());
    source.forget(&["transport", "enabled"]);
    sheet.leave(source);
    sheet.server(draft.into_found());
}

/// The realtime model of each provider, by AVA's name of the provider.
fn providers(top: &mut SourceMap, sheet: &mut ImportCollector<'_>) -> Vec<(String, String)> {
    let mut models = Vec::new();
    for (name, mut source) in top.named_maps("providers") {
        let key = source.any_text(&["api_key", "apiKey"]);
        let id = source.any_text(&["model", "llm_model", "agent_model"]);
        let is_live = ["realtime", "live", "deepgram"].iter().any(|word| name.contains(word));
        let (Some(id), true) = (id, is_live) else {
            sheet.drop(source.at, "only live models are imported; write `providers:`");
            continue;
        };
        let named = ImportedProvider { name: &name, base_url: None, key, more: Map::new() };
        match provider::put(named, sheet) {
            Some(ours) => {
                let api = (!name.contains("deepgram")).then_some("realtime");
                let model = provider::model(&ours, &id, api, sheet);
                models.push((name, model));
                sheet.drop(source.at, "its audio settings are not supported");
            }
            None => sheet.drop(source.at, "its API is not supported"),
        }
    }
    models
}

fn agent(
    name: &str,
    mut context: SourceMap,
    tools: &AvaToolNames,
    models: &[(String, String)],
    sheet: &mut ImportCollector<'_>,
) {
    let (id, note) = sheet.id("agents", name);
    let mut keys = Map::new();
    for key in ["prompt", "greeting"] {
        if let Some(text) = context.text(key) {
            keys.insert(key.to_owned(), json!(text.trim_end()));
        }
    }
    let provider = context.text("provider");
    let model = models.iter().find(|(name, _)| Some(name) == provider.as_ref());
    if let Some((_, model)) = model {
        keys.insert("models".to_owned(), json!([model]));
        keys.insert("engine".to_owned(), json!("s2s"));
    } else if let Some(provider) = provider {
        let provider = super::name::shorten_name(&provider);
        sheet.drop(format!("contexts.{name}.provider"), format!("`{provider}` has no model"));
    }
    let mut ours = Vec::new();
    for tool in context.texts("tools").unwrap_or_default() {
        match tools.here(&tool) {
            Some(tool) => ours.push(tool),
            None => sheet.drop(format!("contexts.{name}.tools: {tool}"), "is a tool of AVA itself"),
        }
    }
    if !ours.is_empty() {
        keys.insert("tools".to_owned(), json!(ours));
        keys.insert("auto_execute".to_owned(), json!(ours));
    }
    for key in ["profile", "pipeline", "audio_profile"] {
        context.drop(key, "telephony and speech are not supported");
    }
    sheet.leave(context);
    sheet.other("agents", ImportedEntry { name: id, keys, notes: note.into_iter().collect() });
}

impl AvaToolNames {
    /// The name of a tool here: AVA puts `mcp_` before the server.
    fn here(&self, tool: &str) -> Option<String> {
        if self.exposed.iter().any(|name| name == tool) {
            return Some(tool.to_owned());
        }
        let bare = tool.strip_prefix("mcp_")?;
        let is_ours = |server: &String| {
            bare.strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with('_'))
        };
        self.servers.iter().any(is_ours).then(|| bare.to_owned())
    }
}
