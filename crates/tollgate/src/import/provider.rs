//! Imports model providers of the four supported gateways.

use serde_json::{Map, Value, json};

use super::ImportedEntry;
use super::collector::ImportCollector;
use super::variable_syntax::rewrite_variables;

/// A provider of another gateway.
pub(super) struct ImportedProvider<'a> {
    /// Its name there: `openai`, `google_live`.
    pub(super) name: &'a str,
    pub(super) base_url: Option<String>,
    pub(super) key: Option<String>,
    pub(super) more: Map<String, Value>,
}

/// Part of `name`, kind of provider here, default base URL.
const KINDS: &[(&str, &str, Option<&str>)] = &[
    ("groq", "openai", Some("https://api.groq.com/openai/v1")),
    ("openrouter", "openai", Some("https://openrouter.ai/api/v1")),
    ("mistral", "openai", Some("https://api.mistral.ai/v1")),
    ("ollama", "openai", Some("http://127.0.0.1:11434/v1")),
    ("cerebras", "openai", Some("https://api.cerebras.ai/v1")),
    ("xai", "openai", Some("https://api.x.ai/v1")),
    ("openai", "openai", None),
    ("anthropic", "anthropic", None),
    ("claude", "anthropic", None),
    ("gemini", "gemini", None),
    ("google", "gemini", None),
    ("deepgram", "deepgram", None),
];

/// Adds the provider. `None` if its API is not supported here.
pub(super) fn put(named: ImportedProvider<'_>, sheet: &mut ImportCollector<'_>) -> Option<String> {
    let lower = named.name.to_ascii_lowercase();
    let known = KINDS.iter().find(|(word, _, _)| lower.contains(word));
    // An unknown provider with its own URL is most likely OpenAI-compatible.
    let (kind, usual) = match (known, &named.base_url) {
        (Some((_, kind, usual)), _) => (*kind, *usual),
        (None, Some(_)) => ("openai", None),
        (None, None) => return None,
    };
    let (name, note) = sheet.id("providers", named.name);
    let mut keys = Map::from_iter([("kind".to_owned(), json!(kind))]);
    let base = named.base_url.filter(|url| !url.is_empty()).or(usual.map(str::to_owned));
    if let Some(base) = base {
        keys.insert("base_url".to_owned(), json!(rewrite_variables(&base, sheet.spelling).0));
    }
    if let Some(key) = named.key.filter(|key| !key.is_empty()) {
        let (key, _) = rewrite_variables(&key, sheet.spelling);
        keys.insert("api_key".to_owned(), json!(sheet.externalize_secret(&name, "API_KEY", &key)));
    }
    keys.extend(named.more);
    let notes = note.into_iter().collect();
    sheet.other("providers", ImportedEntry { name: name.clone(), keys, notes });
    Some(name)
}

/// Adds a model of a provider. Returns its name for agents.
pub(super) fn model(
    provider: &str,
    id: &str,
    api: Option<&str>,
    sheet: &mut ImportCollector<'_>,
) -> String {
    let name = sheet.free("models", id);
    let mut keys = Map::from_iter([("provider".to_owned(), json!(provider))]);
    if name != id {
        keys.insert("id".to_owned(), json!(id));
    }
    if let Some(api) = api {
        keys.insert("api".to_owned(), json!(api));
    }
    let note = "set its `context_window`: 8192 tokens are assumed".to_owned();
    let notes = if api.is_none() { vec![note] } else { Vec::new() };
    sheet.other("models", ImportedEntry { name: name.clone(), keys, notes });
    name
}
