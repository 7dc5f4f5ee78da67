//! Memory settings: database, embedding model, namespaces.

use std::time::Duration;

use tollgate_core::agent::{self, RecallPolicy, RecordPolicy};
use tollgate_core::memory::MemoryName;
use tollgate_core::secret::Secret;
use tollgate_engine::settings::{MemoryDatabaseSettings, MemorySettings};
use tollgate_llm::settings::{EmbeddingSettings, RemoteEmbeddingSettings};

use super::super::diagnostic::Problems;
use super::super::raw::{SectionFields, Spanned};
use super::endpoint::has_scheme;
use super::{absolute, unknown_name};

const DAY: u64 = 24 * 3_600;
/// Kinds of providers with an embedding API.
const EMBEDDING_PROVIDER_KINDS: &[&str] = &["openai", "gemini"];

pub(super) fn memory(top: &SectionFields, problems: &mut Problems) -> Option<MemorySettings> {
    let database = database(top, problems)?;
    let days = top.section("memory").and_then(|section| section.whole("keep_days"));
    let days = days.map_or(0, |days| days.value);
    Some(MemorySettings { database, keep: (days > 0).then(|| Duration::from_secs(days * DAY)) })
}

fn database(top: &SectionFields, problems: &mut Problems) -> Option<MemoryDatabaseSettings> {
    let Some(text) = top.text("database") else {
        return (!top.has("database")).then_some(MemoryDatabaseSettings::Sqlite);
    };
    if text.value == "sqlite" {
        return Some(MemoryDatabaseSettings::Sqlite);
    }
    if has_scheme(text.value, &["postgres", "postgresql"]) {
        return Some(MemoryDatabaseSettings::Postgres(Secret::new(text.value)));
    }
    problems
        .error(text.at, "database", "`database` must be `sqlite` or begin with postgres://")
        .help("like `postgres://user@host/db`");
    None
}

/// The embedding model. `None` without an error: not configured.
pub(super) fn embedding(top: &SectionFields, problems: &mut Problems) -> Option<EmbeddingSettings> {
    let fields = top.section("memory")?.section("embedding")?;
    match (fields.text("provider"), fields.text("local")) {
        (Some(provider), None) => check_served_embedding(top, fields, provider, problems),
        (None, Some(path)) => local(fields, path, problems),
        (Some(_), Some(local)) => {
            problems
                .error(local.at, &fields.path("local"), "`provider` and `local` exclude each other")
                .help("remove one of them");
            None
        }
        // Present but invalid, and reported already.
        (None, None) if fields.has("provider") || fields.has("local") => None,
        (None, None) => {
            problems
                .error(fields.at, &fields.path, "`embedding` needs `provider` or `local`")
                .help("like `{ provider: openai, model: text-embedding-3-small }`");
            None
        }
    }
}

fn check_served_embedding(
    top: &SectionFields,
    fields: &SectionFields,
    provider: Spanned<&str>,
    problems: &mut Problems,
) -> Option<EmbeddingSettings> {
    let providers = top.named_sections("providers");
    let path = fields.path("provider");
    let Some((_, found)) = providers.iter().find(|(name, _)| name.value == provider.value) else {
        let known: Vec<&str> = providers.iter().map(|(name, _)| name.value.as_str()).collect();
        unknown_name(provider, &path, "provider", &known, problems);
        return None;
    };
    let kind = found.text("kind").map_or(EMBEDDING_PROVIDER_KINDS[0], |text| text.value);
    if !EMBEDDING_PROVIDER_KINDS.contains(&kind) {
        let message = format!("`{}` is of kind `{kind}`, which has no embeddings", provider.value);
        problems
            .error(provider.at, &path, message)
            .help("use one of kind `openai`, which is any compatible API, or `gemini`");
        return None;
    }
    if let Some(cloud) = ["vertex", "bedrock"].into_iter().find(|cloud| found.has(cloud)) {
        let message =
            format!("`{}` has `{cloud}`, whose embeddings are not supported", provider.value);
        problems
            .error(provider.at, &path, message)
            .help("use one without it, or a model in a directory: `local`");
        return None;
    }
    let model = match fields.text("model").filter(|model| !model.value.trim().is_empty()) {
        Some(model) => model.value.trim().to_owned(),
        None => {
            problems
                .error(fields.place("model"), &fields.path("model"), "`model` is missing")
                .help("the provider's name of the model, like `text-embedding-3-small`");
            return None;
        }
    };
    let dimensions = fields.whole("dimensions").and_then(|it| u32::try_from(it.value).ok());
    let prefix = |key: &str| fields.text(key).map_or("", |text| text.value).to_owned();
    Some(EmbeddingSettings::Served(RemoteEmbeddingSettings {
        provider: provider.value.to_owned(),
        model,
        dimensions,
        passage_prefix: prefix("passage_prefix"),
        question_prefix: prefix("question_prefix"),
    }))
}

fn local(
    fields: &SectionFields,
    typed: Spanned<&str>,
    problems: &mut Problems,
) -> Option<EmbeddingSettings> {
    let served = ["model", "dimensions", "passage_prefix", "question_prefix"];
    for key in served.into_iter().filter(|key| fields.has(key)) {
        let message = format!("`{key}` has no effect with `local`");
        problems
            .error(fields.place(key), &fields.path(key), message)
            .help("the directory selects the model; remove it");
    }
    let path = absolute(typed, &fields.path("local"), problems)?;
    if !path.exists() {
        problems
            .warning(
                typed.at,
                &fields.path("local"),
                format!("`{}` does not exist", path.display()),
            )
            .help("the gateway does not start without the model");
    }
    Some(EmbeddingSettings::Local(path))
}

/// The memory of an agent.
pub(super) fn of_agent(agent: &SectionFields, problems: &mut Problems) -> agent::AgentMemoryPolicy {
    let usual = agent::AgentMemoryPolicy::default();
    let Some(fields) = agent.section("memory") else { return usual };
    let record = match fields.text("record").map(|text| text.value) {
        Some("own") => RecordPolicy::Own,
        Some("shared") => RecordPolicy::Shared,
        _ => RecordPolicy::Nothing,
    };
    if record == RecordPolicy::Shared && !fields.has("namespace") {
        let message = "conversations are shared with every agent without a `namespace`";
        problems
            .warning(fields.place("record"), &fields.path("record"), message)
            .help("name one: `memory: { namespace: waterdeep, record: shared }`");
    }
    agent::AgentMemoryPolicy {
        namespace: name(fields, "namespace", problems).unwrap_or(usual.namespace),
        record,
        recall: if fields.flag("recall") == Some(true) {
            RecallPolicy::On
        } else {
            RecallPolicy::Off
        },
    }
}

/// The tenant of a key, or of a rule for tokens.
pub(super) fn tenant(fields: &SectionFields, problems: &mut Problems) -> Option<MemoryName> {
    name(fields, "tenant", problems)
}

fn name(fields: &SectionFields, key: &str, problems: &mut Problems) -> Option<MemoryName> {
    let text = fields.text(key)?;
    match MemoryName::parse(text.value) {
        Ok(name) => Some(name),
        Err(error) => {
            problems
                .error(text.at, &fields.path(key), format!("invalid {key}: {error}"))
                .help("like `waterdeep`: at most 64 characters");
            None
        }
    }
}
