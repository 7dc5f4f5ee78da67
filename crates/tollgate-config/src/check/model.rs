//! Model providers, and the capabilities of models.

use std::time::Duration;

use tollgate_core::agent::OFFLINE;
use tollgate_core::secret::Secret;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::model_capabilities::ModelCapabilities;
use tollgate_llm::settings::{
    EndpointSettings, ModelSettings, ProviderApi, ProviderKind, ProviderSettings, ProviderTimeouts,
    ToolMode,
};

use super::super::diagnostic::Problems;
use super::super::expand::Environment;
use super::super::raw::SectionFields;
use super::{endpoint, unknown_name};

mod cloud;
mod pool;

pub(crate) fn providers(
    top: &SectionFields,
    environment: &dyn Environment,
    problems: &mut Problems,
) -> Vec<ProviderSettings> {
    let mut providers = Vec::new();
    for (name, fields) in top.named_sections("providers") {
        let base_url = fields
            .text("base_url")
            .map(|text| endpoint::url(text, &fields.path("base_url"), problems));
        let api_key = fields.text("api_key").filter(|text| !text.value.is_empty());
        providers.push(ProviderSettings {
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
            cloud: cloud::cloud(fields, environment, problems),
            endpoints: endpoints(fields, problems),
            headers: endpoint::headers(fields, problems).into_iter().collect(),
            patience: patience(fields),
            concurrent: small(fields, "concurrent")
                .unwrap_or(ProviderSettings::DEFAULT_CONCURRENCY),
            retries: small(fields, "retries").unwrap_or(ProviderSettings::DEFAULT_RETRIES),
        });
    }
    providers
}

fn endpoints(fields: &SectionFields, problems: &mut Problems) -> Vec<EndpointSettings> {
    let mut endpoints: Vec<EndpointSettings> = Vec::new();
    for (number, entry) in (1..).zip(fields.entries("endpoints")) {
        let name = ["name", "region"].into_iter().filter_map(|key| entry.text(key));
        let mut name = name.map(|text| text.value.trim().to_owned()).filter(|it| !it.is_empty());
        let name = name.next().unwrap_or_else(|| number.to_string());
        if endpoints.iter().any(|endpoint| endpoint.name == name) {
            let message = format!("there are two endpoints `{name}`");
            problems
                .error(entry.place("name"), &entry.path("name"), message)
                .help("their metrics could not be told apart");
        }
        let base_url = entry.text("base_url");
        let base_url =
            base_url.and_then(|text| endpoint::url(text, &entry.path("base_url"), problems));
        let api_key = entry.text("api_key").filter(|text| !text.value.is_empty());
        let region = entry.text("region").filter(|text| !text.value.trim().is_empty());
        if let Some(region) = region {
            cloud::check_endpoint_region(fields, region, &entry.path("region"), problems);
        }
        endpoints.push(EndpointSettings {
            name,
            region: region.map(|text| text.value.trim().to_owned()),
            base_url,
            api_key: api_key.map(|text| Secret::new(text.value)),
            weight: small(entry, "weight").unwrap_or(EndpointSettings::DEFAULT_WEIGHT),
        });
    }
    endpoints
}

fn patience(fields: &SectionFields) -> ProviderTimeouts {
    let usual = ProviderTimeouts::default();
    let span = |key: &str, usual: Duration| {
        fields.whole(key).map_or(usual, |it| Duration::from_millis(it.value))
    };
    ProviderTimeouts {
        answer: span("timeout_ms", usual.answer),
        silence: span("idle_timeout_ms", usual.silence),
        connect: span("connect_timeout_ms", usual.connect),
    }
}

pub(crate) fn models(
    top: &SectionFields,
    providers: &[ProviderSettings],
    problems: &mut Problems,
) -> Vec<ModelSettings> {
    let known: Vec<&str> = providers.iter().map(|provider| provider.name.as_str()).collect();
    let mut models = Vec::new();
    for (name, fields) in top.named_sections("models") {
        let id = fields.text("id").map_or(&*name.value, |text| text.value);
        let pool = pool::pool(fields, id, &known, problems);
        let provider = fields.text("provider").or_else(|| pool::first_provider(fields));
        if let Some(provider) = provider
            && fields.has("provider")
            && !known.contains(&provider.value)
        {
            unknown_name(provider, &fields.path("provider"), "provider", &known, problems);
        }
        let first = pool.providers.first();
        let served = provider.and_then(|named| providers.iter().find(|it| it.name == named.value));
        let window = small(fields, "context_window").unwrap_or(8_192);
        let max_output = small(fields, "max_output").unwrap_or((window / 4).min(4_096));
        if max_output >= window {
            let message =
                format!("`max_output` ({max_output}) uses the whole context window ({window})");
            problems
                .error(fields.place("max_output"), &fields.path("max_output"), message)
                .help("it is a part of `context_window`");
        }
        models.push(ModelSettings {
            name: name.value.clone(),
            id: first.map_or_else(|| id.to_owned(), |first| first.id.clone()),
            provider: provider.map(|text| text.value.to_owned()),
            context_window: window,
            max_output,
            tool_mode: match fields.text("tool_mode").map(|text| text.value) {
                Some("native") => ToolMode::Native,
                Some("schema") => ToolMode::Schema,
                _ => ToolMode::Auto,
            },
            api: api(fields, served, problems),
            store: store(fields, problems),
            behaves_like: behaves_like(fields, served, problems),
            pool,
        });
    }
    if models.iter().all(|model| model.name != OFFLINE) {
        models.push(ModelSettings::offline());
    }
    models
}

/// The provider's API to use, if the provider has it.
fn api(
    fields: &SectionFields,
    served: Option<&ProviderSettings>,
    problems: &mut Problems,
) -> ProviderApi {
    let api = match fields.text("api").map(|text| text.value) {
        Some("responses") => ProviderApi::Responses,
        Some("realtime") => ProviderApi::Realtime,
        _ => ProviderApi::Chat,
    };
    if let (Some(named), Some(served)) = (fields.text("api"), served)
        && let Some(help) = cloud::missing_api(api, served)
    {
        let message = format!("provider `{}` has no API `{}`", served.name, named.value);
        problems.error(named.at, &fields.path("api"), message).help(help);
    }
    let help = match (api, served.map(|provider| provider.kind)) {
        (ProviderApi::Realtime, Some(ProviderKind::Anthropic | ProviderKind::Offline)) => {
            "live sessions are for providers of kind `openai`, `gemini` and `deepgram`"
        }
        (ProviderApi::Chat | ProviderApi::Responses, Some(ProviderKind::Deepgram))
            if fields.has("api") =>
        {
            "providers of kind `deepgram` only have live sessions: remove `api`"
        }
        _ => return api,
    };
    if let (Some(named), Some(served)) = (fields.text("api"), served) {
        let message = format!("provider `{}` has no API `{}`", served.name, named.value);
        problems.error(named.at, &fields.path("api"), message).help(help);
    }
    api
}

/// A model of the provider's vendor: others would not tell which options it takes.
fn behaves_like(
    fields: &SectionFields,
    served: Option<&ProviderSettings>,
    problems: &mut Problems,
) -> Option<String> {
    let named = fields.text("behaves_like")?;
    let kind = served.map_or(ProviderKind::OpenAi, |provider| provider.kind);
    let (dialect, examples) = match kind {
        ProviderKind::OpenAi => (Dialect::OpenAiChat, "OpenAI, such as `gpt-5.5` or `gpt-4.1`"),
        ProviderKind::Anthropic => (Dialect::Anthropic, "Anthropic, such as `claude-opus-4-8`"),
        ProviderKind::Gemini => (Dialect::Gemini, "Google, such as `gemini-3.8-flash`"),
        ProviderKind::Deepgram | ProviderKind::Offline => {
            let message = "models of this provider have no options to choose from";
            let problem = problems.error(named.at, &fields.path("behaves_like"), message);
            problem.help("remove `behaves_like`");
            return None;
        }
    };
    if !ModelCapabilities::is_known(dialect, named.value) {
        let message = format!("the options of a model `{}` are not known", named.value);
        problems
            .error(named.at, &fields.path("behaves_like"), message)
            .help(format!("write the name of a model of {examples}"));
    }
    Some(named.value.to_owned())
}

/// Whether the provider may keep conversations, if its API has a choice.
fn store(fields: &SectionFields, problems: &mut Problems) -> bool {
    let store = fields.flag("store") == Some(true);
    if store && fields.text("api").is_none_or(|api| api.value != "responses") {
        problems
            .error(
                fields.place("store"),
                &fields.path("store"),
                "only the Responses API has `store`",
            )
            .help("add `api: responses`, or remove `store`");
    }
    store
}

fn small(fields: &SectionFields, key: &str) -> Option<u32> {
    fields.whole(key).map(|it| u32::try_from(it.value).expect("the table says at most 10^8"))
}
