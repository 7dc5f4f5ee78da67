//! Imports Bifrost's `config.json`: `mcp.client_configs`, and `providers` with lists of keys. A
//! value may be `env.NAME`, or a map with its source.

use serde_json::{Map, Value, json};

use super::collector::ImportCollector;
use super::common_keys::{ImportedTransport, UNSPOKEN, is_spoken};
use super::provider::{self, ImportedProvider};
use super::server_draft::ServerDraft;
use super::source_map::SourceMap;
use super::variable_syntax::VariableSyntax;

pub(super) fn read(mut top: SourceMap, sheet: &mut ImportCollector<'_>) {
    sheet.spelling = VariableSyntax::Dotted;
    // Before version 2 an empty list of tools meant all of them.
    let empty = match top.take("version").and_then(|it| it.as_u64()) {
        Some(1) => EmptyListMeaning::All,
        _ => EmptyListMeaning::None,
    };
    if let Some(mut mcp) = top.inner("mcp") {
        let timeout = manager(&mut mcp, sheet);
        for (name, client) in mcp.named_maps("client_configs") {
            import_server(&name, client, empty, timeout, sheet);
        }
        sheet.leave(mcp);
    }
    for (name, provider) in top.named_maps("providers") {
        self::provider(&name, provider, sheet);
    }
    top.drop(
        "governance",
        "create keys with `tollgate keys create`; limits are `rate_limit` of keys",
    );
    for key in ["virtual_keys", "auth_config", "encryption_key"] {
        top.drop(key, "create keys with `tollgate keys create`");
    }
    top.drop("config_store", "the file is the only configuration");
    for key in ["logs_store", "vector_store", "plugins", "client", "framework", "server"] {
        top.drop(key, "has no equivalent");
    }
    top.forget(&["env_label", "source_of_truth"]);
    sheet.leave(top);
}

/// Meaning of an empty list of tools.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EmptyListMeaning {
    All,
    None,
}

/// Call timeout in milliseconds.
fn manager(mcp: &mut SourceMap, sheet: &mut ImportCollector<'_>) -> Option<f64> {
    let mut manager = mcp.inner("tool_manager_config")?;
    let timeout = manager.take("tool_execution_timeout").and_then(|value| span(&value));
    manager.drop("max_agent_depth", "write `max_depth` of agents");
    manager.drop("code_mode_binding_level", "write `code: { files: … }`");
    sheet.leave(manager);
    timeout
}

/// `"30s"`, `"1m"`, `"500ms"`, seconds, or Go's nanoseconds.
fn span(value: &Value) -> Option<f64> {
    if let Some(number) = value.as_f64() {
        return Some(if number >= 1e6 { number / 1e6 } else { number * 1_000.0 });
    }
    let text = value.as_str()?;
    let at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let number: f64 = text[..at].trim().parse().ok()?;
    match &text[at..] {
        "ms" => Some(number),
        "s" => Some(number * 1_000.0),
        "m" => Some(number * 60_000.0),
        _ => None,
    }
}

fn import_server(
    name: &str,
    mut source: SourceMap,
    empty: EmptyListMeaning,
    timeout: Option<f64>,
    sheet: &mut ImportCollector<'_>,
) {
    let mut draft = ServerDraft::new(sheet, name);
    let kind = source.text("connection_type").unwrap_or_default();
    match ImportedTransport::of(&kind) {
        ImportedTransport::Command => {
            let Some(mut stdio) = source.inner("stdio_config") else {
                sheet.drop(&source.at, "it has no `stdio_config`");
                return;
            };
            let command = stdio.text("command").into_iter();
            let words: Vec<String> =
                command.chain(stdio.texts("args").unwrap_or_default()).collect();
            draft.command(sheet, &words);
            let env = stdio.table("envs");
            draft.env(sheet, env);
            sheet.leave(stdio);
        }
        transport @ (ImportedTransport::Http | ImportedTransport::Sse) => {
            let Some(url) = source.take("connection_string").and_then(|it| text_or_reference(&it))
            else {
                sheet.drop(&source.at, "it has no `connection_string`");
                return;
            };
            if !is_spoken(&url, sheet) {
                sheet.drop(&source.at, UNSPOKEN);
                return;
            }
            let sse = (transport == ImportedTransport::Sse).then_some("sse");
            draft.url(sheet, &url, sse);
            if let Some(mut headers) = source.inner("headers") {
                let pairs = headers.everything().into_iter();
                let pairs = pairs.filter_map(|(name, value)| {
                    let (value, _) = super::variable_syntax::rewrite_variables(
                        &text_or_reference(&value)?,
                        VariableSyntax::Dotted,
                    );
                    Some((name, value))
                });
                draft.headers(sheet, pairs.collect());
            }
        }
        ImportedTransport::Strange => {
            let kind = super::name::shorten_name(&kind);
            sheet.drop(&source.at, format!("`{kind}` runs inside Bifrost"));
            return;
        }
    }
    if source.flag("is_code_mode_client") == Some(true) {
        draft.put("code_mode", true);
    }
    if source.flag("disabled") == Some(true) {
        draft.put("enabled", false);
    }
    tools(&mut source, &mut draft, empty);
    let oauth = source.peek("auth_type").as_str().is_some_and(|it| it.contains("oauth"));
    if oauth && draft.is_authorized() {
        source.drop("auth_type", "it authenticates with a header, which was imported");
    } else if oauth {
        draft.login();
        source.forget(&["oauth_config_id"]);
    }
    timeout.into_iter().for_each(|timeout| draft.timeout_ms(timeout));
    source.forget(&["name", "client_id", "id", "auth_type", "is_ping_available", "state"]);
    source.drop("tool_sync_interval", "tools are synchronised automatically");
    sheet.leave(source);
    sheet.server(draft.into_found());
}

fn tools(source: &mut SourceMap, draft: &mut ServerDraft, empty: EmptyListMeaning) {
    let prefix = format!("{}-", draft.name);
    let bare = |name: String| name.strip_prefix(&prefix).map(str::to_owned).unwrap_or(name);
    match source.texts("tools_to_execute") {
        Some(names) if names.is_empty() && empty == EmptyListMeaning::None => {
            draft.put("deny", json!(["*"]));
            draft.note("all of its tools are disabled there");
        }
        Some(names) if !names.is_empty() && names != ["*"] => {
            draft.put("allow", names.into_iter().map(bare).collect::<Vec<_>>());
        }
        _ => {}
    }
    source.drop(
        "tools_to_auto_execute",
        "set `auto_execute` of an agent for tools that run without approval",
    );
}

fn provider(name: &str, mut source: SourceMap, sheet: &mut ImportCollector<'_>) {
    let mut keys = source.named_maps("keys");
    let mut models = Vec::new();
    let mut key = None;
    let more = keys.len().saturating_sub(1);
    if let Some((_, first)) = keys.first_mut() {
        key = first.take("value").and_then(|it| text_or_reference(&it));
        models = first.texts("models").unwrap_or_default();
    }
    if more > 0 {
        let what = format!("{} of `{name}`", crate::output::pluralize(more, "further key"));
        sheet.drop(what, "a provider has only one key");
    }
    let mut network = source.inner("network_config");
    let base =
        network.as_mut().and_then(|it| it.take("base_url")).and_then(|it| text_or_reference(&it));
    let mut settings = Map::new();
    if let Some(network) = &mut network {
        if let Some(seconds) = network.number("default_request_timeout_in_seconds") {
            let milliseconds = (seconds * 1_000.0).clamp(100.0, 3_600_000.0).round();
            settings.insert("timeout_ms".to_owned(), json!(milliseconds as u64));
        }
        if let Some(retries) = network.take("max_retries").and_then(|it| it.as_u64()) {
            settings.insert("retries".to_owned(), json!(retries.min(10)));
        }
    }
    let buffers = source.inner("concurrency_and_buffer_size");
    if let Some(concurrent) = buffers.and_then(|mut buffers| buffers.number("concurrency")) {
        settings.insert("concurrent".to_owned(), json!((concurrent as u64).min(100_000)));
    }
    source.forget(&["custom_provider_config"]);
    let base = base.map(|base| with_version(name, base));
    let named = ImportedProvider { name, base_url: base, key, more: settings };
    match provider::put(named, sheet) {
        Some(ours) => {
            for id in models.iter().filter(|id| *id != "*") {
                provider::model(&ours, id, None, sheet);
            }
            network.into_iter().for_each(|network| sheet.leave(network));
            sheet.leave(source);
        }
        None => sheet.drop(&source.at, "its API is not supported"),
    }
}

/// Bifrost appends `/v1` to the address itself.
fn with_version(name: &str, base: String) -> String {
    let is_named = ["anthropic", "gemini"].contains(&name);
    if is_named || base.trim_end_matches('/').ends_with("/v1") || base.starts_with("env.") {
        base
    } else {
        format!("{}/v1", base.trim_end_matches('/'))
    }
}

/// A value, or a reference to its source.
fn text_or_reference(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(map) => {
            let variable = ["env_var", "ref"].iter().find_map(|key| map.get(*key)?.as_str());
            let variable = variable.filter(|it| !it.is_empty());
            let variable = variable.map(|it| format!("env.{}", it.trim_start_matches("env.")));
            variable.or_else(|| map.get("value")?.as_str().map(str::to_owned))
        }
        _ => None,
    }
}
