//! Imports Glyphoxa's YAML: `mcp.servers` as a list, `npcs`, and one provider per stage.

use serde_json::{Map, Value, json};

use super::ImportedEntry;
use super::collector::ImportCollector;
use super::common_keys;
use super::provider::{self, ImportedProvider};
use super::source_map::SourceMap;

pub(super) fn read(mut top: SourceMap, sheet: &mut ImportCollector<'_>) {
    if let Some(mut mcp) = top.inner("mcp") {
        for (name, server) in mcp.named_maps("servers") {
            import_server(&name, server, sheet);
        }
        sheet.leave(mcp);
    }
    let models = providers(&mut top, sheet);
    for (name, npc) in top.named_maps("npcs") {
        agent(&name, npc, &models, sheet);
    }
    top.drop("memory", "write `database:` and `memory:`");
    top.drop("server", "write `listen:`");
    sheet.leave(top);
}

fn import_server(name: &str, mut source: SourceMap, sheet: &mut ImportCollector<'_>) {
    let Some(mut auth) = source.inner("auth") else {
        return common_keys::server(name, source, sheet);
    };
    let oauth = auth.take("oauth");
    if let (None, Some(token)) = (&oauth, auth.text("token")) {
        let word = if token.to_ascii_lowercase().starts_with("bearer ") { "" } else { "Bearer " };
        let header = ("Authorization".to_owned(), json!(format!("{word}{token}")));
        source.merge("headers", [header]);
    }
    auth.forget(&["token"]);
    sheet.leave(auth);
    common_keys::server(name, source, sheet);
    if let Some(oauth) = oauth.and_then(|it| SourceMap::of(format!("{name}.auth.oauth"), it)) {
        credentials(oauth, sheet);
    }
}

/// OAuth client credentials of the last server.
fn credentials(mut oauth: SourceMap, sheet: &mut ImportCollector<'_>) {
    let secret = oauth.text("client_secret").unwrap_or_default();
    let Some(owner) = sheet.last_server() else { return };
    let hidden = sheet.externalize_secret(&owner, "CLIENT_SECRET", &secret);
    let mut keys = Map::new();
    keys.insert("client_id".to_owned(), json!(oauth.text("client_id").unwrap_or_default()));
    keys.insert("client_secret".to_owned(), json!(hidden));
    if let Some(url) = oauth.text("token_url") {
        keys.insert("token_url".to_owned(), json!(url));
    }
    if let Some(scopes) = oauth.texts("scopes").filter(|it| !it.is_empty()) {
        keys.insert("scopes".to_owned(), json!(scopes));
    }
    sheet.last_key("auth", json!({ "oauth": keys }));
    sheet.leave(oauth);
}

/// Names of the models for agents, by engine.
#[derive(Default)]
struct GlyphoxaModels {
    cascaded: Option<String>,
    live: Option<String>,
}

fn providers(top: &mut SourceMap, sheet: &mut ImportCollector<'_>) -> GlyphoxaModels {
    let mut models = GlyphoxaModels::default();
    let Some(mut stages) = top.inner("providers") else { return models };
    for (stage, api) in [("llm", None), ("s2s", Some("realtime"))] {
        let Some(mut source) = stages.inner(stage) else { continue };
        let Some(name) = source.text("name") else { continue };
        let base_url = source.text("base_url");
        let key = source.text("api_key");
        let model = source.text("model");
        let named = ImportedProvider { name: &name, base_url, key, more: Map::new() };
        let Some(ours) = provider::put(named, sheet) else {
            sheet.drop(source.at, "its API is not supported");
            continue;
        };
        let model = model.map(|id| provider::model(&ours, &id, api, sheet));
        match api {
            None => models.cascaded = model,
            Some(_) => models.live = model,
        }
        sheet.leave(source);
    }
    for stage in ["stt", "tts", "vad", "audio"] {
        stages.drop(stage, "speech input and output are not supported");
    }
    stages.drop("embeddings", "write `memory: { embedding: … }`");
    sheet.leave(stages);
    models
}

fn agent(name: &str, mut npc: SourceMap, models: &GlyphoxaModels, sheet: &mut ImportCollector<'_>) {
    let (id, note) = sheet.id("agents", name);
    let mut keys = Map::new();
    let mut put = |key: &str, value: Value| drop(keys.insert(key.to_owned(), value));
    put("description", json!(name));
    if let Some(prompt) = npc.text("personality") {
        put("prompt", json!(prompt.trim_end()));
    }
    let engine = npc.text("engine");
    let live = engine.as_deref() == Some("s2s");
    let mut notes: Vec<String> = note.into_iter().collect();
    match (engine.as_deref(), &models.live, &models.cascaded) {
        (Some("s2s"), None, _) => {
            notes.push("`engine: s2s` needs a realtime model; it was left out".to_owned());
        }
        (Some(engine @ ("cascaded" | "s2s")), ..) => put("engine", json!(engine)),
        (Some("sentence_cascade"), _, Some(model)) => {
            put("engine", json!("sentence_cascade"));
            put("opener_model", json!(model));
        }
        _ => {}
    }
    let live_model = models.live.iter().filter(|_| live);
    let models: Vec<&String> = live_model.chain(&models.cascaded).collect();
    if !models.is_empty() {
        put("models", json!(models));
    }
    if let Some(tools) = npc.texts("tools").filter(|tools| !tools.is_empty()) {
        put("auto_execute", json!(tools));
        put("tools", json!(tools));
        notes.push("tools of a server are named SERVER_TOOL".to_owned());
    }
    let tier = npc.text("budget_tier").map(|tier| tier.to_ascii_lowercase());
    if let Some(tier) = tier.filter(|it| ["fast", "standard", "deep"].contains(&it.as_str())) {
        put("budget_tier", json!(tier));
    }
    npc.drop("voice", "speech output is not supported");
    npc.drop("knowledge_scope", "write it into `prompt`");
    npc.forget(&["name"]);
    sheet.leave(npc);
    sheet.other("agents", ImportedEntry { name: id, keys, notes });
}
