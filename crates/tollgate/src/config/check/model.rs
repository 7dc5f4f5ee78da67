//! Where models are served, and what they can take.

use tollgate_core::agent::OFFLINE;
use tollgate_core::secret::Secret;

use super::super::diagnostic::Problems;
use super::super::raw::Fields;
use super::{endpoint, unknown_name};

#[derive(Debug, Clone)]
pub struct Provider {
    pub name: String,
    pub kind: ProviderKind,
    /// `None`: the vendor's own.
    pub base_url: Option<String>,
    pub api_key: Option<Secret>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// Any API that speaks like OpenAI's.
    OpenAi,
    Anthropic,
    Gemini,
    Offline,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    pub name: String,
    /// `None`: in process.
    pub provider: Option<String>,
    /// Tokens.
    pub context_window: u32,
    /// Tokens reserved for the answer.
    pub max_output: u32,
    pub tool_mode: ToolMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolMode {
    Native,
    /// Through constrained JSON, for models that cannot call tools reliably.
    Schema,
    Auto,
}

pub(crate) fn providers(top: &Fields, problems: &mut Problems) -> Vec<Provider> {
    let mut providers = Vec::new();
    for (name, fields) in top.named("providers") {
        let base_url = fields
            .text("base_url")
            .map(|text| endpoint::url(text, &fields.path("base_url"), problems));
        let api_key = fields.text("api_key").filter(|text| !text.value.is_empty());
        providers.push(Provider {
            name: name.value.clone(),
            kind: match fields.text("kind").map(|text| text.value) {
                Some("anthropic") => ProviderKind::Anthropic,
                Some("gemini") => ProviderKind::Gemini,
                Some("offline") => ProviderKind::Offline,
                _ => ProviderKind::OpenAi,
            },
            base_url: base_url.flatten(),
            api_key: api_key.map(|text| Secret::new(text.value)),
        });
    }
    providers
}

pub(crate) fn models(top: &Fields, problems: &mut Problems) -> Vec<Model> {
    let providers: Vec<&str> =
        top.named("providers").iter().map(|(name, _)| name.value.as_str()).collect();
    let mut models = Vec::new();
    for (name, fields) in top.named("models") {
        let provider = fields.text("provider");
        if let Some(provider) = provider
            && !providers.contains(&provider.value)
        {
            unknown_name(provider, (&fields.path("provider"), "provider"), &providers, problems);
        }
        let window = tokens(fields, "context_window").unwrap_or(8_192);
        let max_output = tokens(fields, "max_output").unwrap_or((window / 4).min(4_096));
        if max_output >= window {
            let message =
                format!("`max_output` ({max_output}) leaves nothing of the window ({window})");
            problems
                .error(fields.place("max_output"), &fields.path("max_output"), message)
                .help("it is a part of `context_window`");
        }
        models.push(Model {
            name: name.value.clone(),
            provider: provider.map(|text| text.value.to_owned()),
            context_window: window,
            max_output,
            tool_mode: match fields.text("tool_mode").map(|text| text.value) {
                Some("native") => ToolMode::Native,
                Some("schema") => ToolMode::Schema,
                _ => ToolMode::Auto,
            },
        });
    }
    if models.iter().all(|model| model.name != OFFLINE) {
        models.push(Model {
            name: OFFLINE.to_owned(),
            provider: None,
            context_window: 8_192,
            max_output: 2_048,
            tool_mode: ToolMode::Native,
        });
    }
    models
}

fn tokens(fields: &Fields, key: &str) -> Option<u32> {
    fields.whole(key).map(|it| u32::try_from(it.value).expect("the table says at most 10^8"))
}
