//! What is remembered, where, and whose it is.

use std::time::Duration;

use tollgate_core::agent::{self, Recall, Record};
use tollgate_core::memory::Name;
use tollgate_core::secret::Secret;
use tollgate_engine::settings::{Database, Memory};
use tollgate_llm::settings::{Embedding, ServedEmbedding};

use super::super::diagnostic::Problems;
use super::super::raw::{Fields, Marked};
use super::access::has_scheme;
use super::{absolute, unknown_name};

const DAY: u64 = 24 * 3_600;
/// The kinds of providers that have an API for it.
const EMBED: &[&str] = &["openai", "gemini"];

pub(super) fn memory(top: &Fields, problems: &mut Problems) -> Option<Memory> {
    let database = database(top, problems)?;
    let days = top.section("memory").and_then(|section| section.whole("keep_days"));
    let days = days.map_or(0, |days| days.value);
    Some(Memory { database, keep: (days > 0).then(|| Duration::from_secs(days * DAY)) })
}

fn database(top: &Fields, problems: &mut Problems) -> Option<Database> {
    let Some(text) = top.text("database") else {
        return (!top.has("database")).then_some(Database::Sqlite);
    };
    if text.value == "sqlite" {
        return Some(Database::Sqlite);
    }
    if has_scheme(text.value, &["postgres", "postgresql"]) {
        return Some(Database::Postgres(Secret::new(text.value)));
    }
    problems
        .error(text.at, "database", "`database` must be `sqlite` or begin with postgres://")
        .help("like `postgres://user@host/db`");
    None
}

/// What makes numbers of texts; `None` with nothing reported: nothing does.
pub(super) fn embedding(top: &Fields, problems: &mut Problems) -> Option<Embedding> {
    let fields = top.section("memory")?.section("embedding")?;
    match (fields.text("provider"), fields.text("local")) {
        (Some(provider), None) => served(top, (fields, provider), problems),
        (None, Some(path)) => local((fields, path), problems),
        (Some(_), Some(local)) => {
            problems
                .error(local.at, &fields.path("local"), "`provider` and `local` exclude each other")
                .help("leave one of them out");
            None
        }
        // Typed, and reported already.
        (None, None) if fields.has("provider") || fields.has("local") => None,
        (None, None) => {
            problems
                .error(fields.at, &fields.path, "`embedding` needs `provider` or `local`")
                .help("like `{ provider: openai, model: text-embedding-3-small }`");
            None
        }
    }
}

fn served(
    top: &Fields,
    (fields, provider): (&Fields, Marked<&str>),
    problems: &mut Problems,
) -> Option<Embedding> {
    let providers = top.named("providers");
    let path = fields.path("provider");
    let Some((_, found)) = providers.iter().find(|(name, _)| name.value == provider.value) else {
        let known: Vec<&str> = providers.iter().map(|(name, _)| name.value.as_str()).collect();
        unknown_name(provider, (&path, "provider"), &known, problems);
        return None;
    };
    let kind = found.text("kind").map_or(EMBED[0], |text| text.value);
    if !EMBED.contains(&kind) {
        let message = format!("`{}` is of kind `{kind}`, which makes no vectors", provider.value);
        problems
            .error(provider.at, &path, message)
            .help("one of kind `openai`, which is every compatible API, or `gemini` does");
        return None;
    }
    let model = match fields.text("model").filter(|model| !model.value.trim().is_empty()) {
        Some(model) => model.value.trim().to_owned(),
        None => {
            problems
                .error(fields.place("model"), &fields.path("model"), "`model` is missing")
                .help("what the provider calls it, like `text-embedding-3-small`");
            return None;
        }
    };
    let dimensions = fields.whole("dimensions").and_then(|it| u32::try_from(it.value).ok());
    let prefix = |key: &str| fields.text(key).map_or("", |text| text.value).to_owned();
    Some(Embedding::Served(ServedEmbedding {
        provider: provider.value.to_owned(),
        model,
        dimensions,
        passage_prefix: prefix("passage_prefix"),
        question_prefix: prefix("question_prefix"),
    }))
}

fn local((fields, typed): (&Fields, Marked<&str>), problems: &mut Problems) -> Option<Embedding> {
    let served = ["model", "dimensions", "passage_prefix", "question_prefix"];
    for key in served.into_iter().filter(|key| fields.has(key)) {
        let message = format!("`{key}` does nothing with `local`");
        problems
            .error(fields.place(key), &fields.path(key), message)
            .help("the directory says which model it is; take it out");
    }
    let path = absolute(typed, &fields.path("local"), problems)?;
    if !path.exists() {
        problems
            .warning(typed.at, &fields.path("local"), format!("`{}` is not there", path.display()))
            .help("without the model the gateway does not start");
    }
    Some(Embedding::Local(path))
}

/// Which memory an agent has.
pub(super) fn of_agent(agent: &Fields, problems: &mut Problems) -> agent::Memory {
    let usual = agent::Memory::default();
    let Some(fields) = agent.section("memory") else { return usual };
    let record = match fields.text("record").map(|text| text.value) {
        Some("own") => Record::Own,
        Some("shared") => Record::Shared,
        _ => Record::Nothing,
    };
    if record == Record::Shared && !fields.has("namespace") {
        let message = "what is said is shared with every agent that names no `namespace`";
        problems
            .warning(fields.place("record"), &fields.path("record"), message)
            .help("name one: `memory: { namespace: waterdeep, record: shared }`");
    }
    agent::Memory {
        namespace: name(fields, "namespace", problems).unwrap_or(usual.namespace),
        record,
        recall: if fields.flag("recall") == Some(true) { Recall::On } else { Recall::Off },
    }
}

/// Of a key, or of a rule for tokens.
pub(super) fn tenant(fields: &Fields, problems: &mut Problems) -> Option<Name> {
    name(fields, "tenant", problems)
}

fn name(fields: &Fields, key: &str, problems: &mut Problems) -> Option<Name> {
    let text = fields.text(key)?;
    match Name::parse(text.value) {
        Ok(name) => Some(name),
        Err(error) => {
            problems
                .error(text.at, &fields.path(key), format!("not a name for a {key}: {error}"))
                .help("like `waterdeep`: at most 64 characters");
            None
        }
    }
}
