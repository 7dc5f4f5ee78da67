//! Where models are served, and what they can take.

use std::time::Duration;

use tollgate_core::agent::OFFLINE;
use tollgate_core::secret::Secret;
use tollgate_llm::settings::{Api, Model, Patience, Provider, ProviderKind, ToolMode};

use super::super::diagnostic::Problems;
use super::super::raw::Fields;
use super::{endpoint, unknown_name};

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
                Some("deepgram") => ProviderKind::Deepgram,
                Some("offline") => ProviderKind::Offline,
                _ => ProviderKind::OpenAi,
            },
            base_url: base_url.flatten(),
            api_key: api_key.map(|text| Secret::new(text.value)),
            headers: endpoint::headers(fields, problems).into_iter().collect(),
            patience: patience(fields),
            concurrent: small(fields, "concurrent").unwrap_or(Provider::CONCURRENT),
            retries: small(fields, "retries").unwrap_or(Provider::RETRIES),
        });
    }
    providers
}

fn patience(fields: &Fields) -> Patience {
    let usual = Patience::default();
    let span = |key: &str, usual: Duration| {
        fields.whole(key).map_or(usual, |it| Duration::from_millis(it.value))
    };
    Patience {
        answer: span("timeout_ms", usual.answer),
        silence: span("idle_timeout_ms", usual.silence),
    }
}

pub(crate) fn models(top: &Fields, providers: &[Provider], problems: &mut Problems) -> Vec<Model> {
    let known: Vec<&str> = providers.iter().map(|provider| provider.name.as_str()).collect();
    let mut models = Vec::new();
    for (name, fields) in top.named("models") {
        let provider = fields.text("provider");
        if let Some(provider) = provider
            && !known.contains(&provider.value)
        {
            unknown_name(provider, (&fields.path("provider"), "provider"), &known, problems);
        }
        let served = provider.and_then(|named| providers.iter().find(|it| it.name == named.value));
        let window = small(fields, "context_window").unwrap_or(8_192);
        let max_output = small(fields, "max_output").unwrap_or((window / 4).min(4_096));
        if max_output >= window {
            let message =
                format!("`max_output` ({max_output}) leaves nothing of the window ({window})");
            problems
                .error(fields.place("max_output"), &fields.path("max_output"), message)
                .help("it is a part of `context_window`");
        }
        models.push(Model {
            name: name.value.clone(),
            id: fields.text("id").map_or(&*name.value, |text| text.value).to_owned(),
            provider: provider.map(|text| text.value.to_owned()),
            context_window: window,
            max_output,
            tool_mode: match fields.text("tool_mode").map(|text| text.value) {
                Some("native") => ToolMode::Native,
                Some("schema") => ToolMode::Schema,
                _ => ToolMode::Auto,
            },
            api: api(fields, served, problems),
        });
    }
    if models.iter().all(|model| model.name != OFFLINE) {
        models.push(Model::offline());
    }
    models
}

/// Which of its provider's APIs, if that has it.
fn api(fields: &Fields, served: Option<&Provider>, problems: &mut Problems) -> Api {
    let api = match fields.text("api").map(|text| text.value) {
        Some("responses") => Api::Responses,
        Some("realtime") => Api::Realtime,
        _ => Api::Chat,
    };
    let help = match (api, served.map(|provider| provider.kind)) {
        (Api::Realtime, Some(ProviderKind::Anthropic | ProviderKind::Offline)) => {
            "live sessions are for providers of kind `openai`, `gemini` and `deepgram`"
        }
        (Api::Chat | Api::Responses, Some(ProviderKind::Deepgram)) if fields.has("api") => {
            "providers of kind `deepgram` have live sessions only: leave `api` out"
        }
        _ => return api,
    };
    if let (Some(named), Some(served)) = (fields.text("api"), served) {
        let message = format!("provider `{}` has no API `{}`", served.name, named.value);
        problems.error(named.at, &fields.path("api"), message).help(help);
    }
    api
}

fn small(fields: &Fields, key: &str) -> Option<u32> {
    fields.whole(key).map(|it| u32::try_from(it.value).expect("the table says at most 10^8"))
}
