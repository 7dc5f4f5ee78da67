//! Semantic validation of the config: all rules that concern more than one value. Reports all
//! mistakes. Returns a config only if there are none.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use tollgate_core::agent::Agent;
use tollgate_core::budget::Limits;
use tollgate_core::call::UntrustedMarking;
use tollgate_core::filter::GlobalRules;
use tollgate_core::id::AgentId;
use tollgate_core::json::JsonBounds;
use tollgate_core::names::NamePattern;
use tollgate_engine::settings::{ApprovalLimits, BuiltinSettings, EngineSettings};
use tollgate_server::MemoryLimit;

use super::diagnostic::{DiagnosticLocation, Problems};
use super::expand::Environment;
use super::raw::{SectionFields, Spanned};
use super::suggest::nearest;
use super::wording::last;
use super::{Config, ConfigOrigin, ConfigRequest, OFFICIAL_REGISTRY, SecretValues};

pub(super) mod access;
pub(super) mod agent;
mod audit;
mod budget;
mod builtin;
mod code;
mod command;
mod endpoint;
mod global_rules;
mod hosts;
mod images;
mod incoming_call;
mod jwt_auth;
mod memory;
pub(super) mod model;
mod model_usage;
mod rate;
mod sandbox;
mod server;
mod telemetry;
mod telephony;
mod tool;
mod trust;
pub(super) mod unimplemented_keys;
mod unmatched_names;
mod web;

/// Normalizes a name for the comparison of similar names: any case, `-` as `_`.
fn fold_name(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}

pub(super) fn check(
    fields: &SectionFields,
    origin: ConfigOrigin,
    request: &ConfigRequest,
    variables: &dyn Environment,
    problems: &mut Problems,
) -> Option<Config> {
    let listen = access::listen(fields, request, problems);
    let hosts = hosts::hosts(fields, listen, request, problems);
    let origins = hosts::origins(fields, problems);
    let trusted_proxies = hosts::trusted_proxies(fields, problems);
    let keys = access::keys(fields, problems);
    let auth = jwt_auth::auth(fields, problems);
    let data = data(fields, request, problems);
    let servers = server::servers(fields, problems);
    let names = names(fields, problems);
    let providers = model::providers(fields, variables, problems);
    let models = model::models(fields, &providers, problems);
    let llm = tollgate_llm::settings::LlmSettings { providers, models };
    let agents = agent::agents(fields, &llm, problems);
    let default_agent = default_agent(fields, &agents, problems);
    let telephony = telephony::telephony(fields, &agents, &llm, problems);
    let incoming_calls = incoming_call::incoming_calls(fields, &agents, &llm, problems);
    unmatched_names::warn_of_names_nobody_has(fields, &llm.providers, problems);
    let environment = environment(fields);
    let global = global_rules::read_global_rules(fields, &environment, problems);
    let global = GlobalRules { code_from: code::least_tier(fields, global.code_from), ..global };
    code::warn_of_turns_too_short(fields, &agents, &global, problems);
    let budget = budget::budget(fields, problems);
    let code = code::code(fields, problems);
    let builtin = builtin::builtin(fields, &data, problems);
    let secrets = audit::secrets(fields, problems);
    let images = images::images(fields, &llm.providers, problems);
    let tls = access::tls(fields, request, problems);
    let memory = memory::memory(fields, problems);
    let embedding = memory::embedding(fields, problems);
    let redis = access::redis(fields, problems);
    let otlp = telemetry::otlp(fields, problems);
    let registry = registry(fields, problems);
    let model_usage = model_usage::model_usage(fields, problems);
    if problems.has_errors() {
        return None;
    }
    let settings = EngineSettings {
        audit: audit::audit(fields),
        secrets,
        telemetry: telemetry::telemetry(fields),
        trust: trust::usual(fields),
        mark: trust::mark(fields, UntrustedMarking::Off),
        environment,
        data: data.clone(),
        names: names?,
        limits: limits(fields),
        approvals: approvals(fields),
        budget,
        servers,
        builtin: BuiltinSettings { images, ..builtin },
        code,
        memory: memory?,
        model_usage,
        global,
        agents,
        default_agent,
    };
    Some(Config {
        origin,
        listen: listen?,
        hosts,
        origins,
        trusted_proxies,
        data,
        settings,
        front: front(fields),
        tls,
        redis,
        llm,
        incoming_calls,
        embedding,
        otlp,
        registry: registry?,
        keys,
        auth,
        telephony,
        secret_files: Vec::new(),
        secrets: SecretValues::default(),
    })
}

/// URL of the MCP registry.
fn registry(fields: &SectionFields, problems: &mut Problems) -> Option<String> {
    let section = fields.section("registry");
    match section.and_then(|section| Some((section, section.text("url")?))) {
        Some((section, text)) => endpoint::url(text, &section.path("url"), problems),
        None => Some(OFFICIAL_REGISTRY.to_owned()),
    }
}

fn environment(fields: &SectionFields) -> String {
    fields.text("environment").map_or("default", |text| text.value).to_owned()
}

/// Limits of the fronts.
fn front(fields: &SectionFields) -> tollgate_server::Limits {
    let usual = tollgate_server::Limits::default();
    let section = fields.section("limits");
    let whole = |key: &str| section.and_then(|limits| limits.whole(key)).map(|it| it.value);
    let many = |key: &str, usual: usize| {
        whole(key).map_or(usual, |most| usize::try_from(most).unwrap_or(usize::MAX))
    };
    let some = |key: &str, usual: u32| {
        whole(key).map_or(usual, |most| u32::try_from(most).unwrap_or(u32::MAX))
    };
    let live_sessions = many("live_sessions", usual.live_sessions);
    // Each realtime session holds a connection. Enough must remain for requests.
    let needed = usual.connections.max(live_sessions.saturating_add(usual.in_flight));
    let connections = many("connections", needed);
    let shutdown = fields.section("shutdown");
    let seconds = |key: &str, usual: Duration| {
        let given = shutdown.and_then(|section| section.whole(key));
        given.map_or(usual, |it| Duration::from_secs(it.value))
    };
    tollgate_server::Limits {
        in_flight: many("in_flight", usual.in_flight),
        per_key: some("per_key", usual.per_key),
        live_sessions,
        live_per_key: some("live_per_key", usual.live_per_key),
        connections,
        connections_per_address: many("connections_per_address", connections.div_ceil(2)),
        sessions: many("sessions", usual.sessions),
        sessions_per_key: many("sessions_per_key", usual.sessions_per_key),
        sessions_per_address: many("sessions_per_address", usual.sessions_per_address),
        streams: connections.div_ceil(2),
        streams_per_key: some("streams_per_key", usual.streams_per_key),
        grace: seconds("grace_s", usual.grace),
        drain: seconds("drain_s", usual.drain),
        body_bytes_per_s: some("body_bytes_per_s", usual.body_bytes_per_s),
        json: JsonBounds {
            values: many("json_values", usual.json.values),
            depth: many("json_depth", usual.json.depth),
        },
        memory: match whole("memory_mb") {
            None | Some(0) => MemoryLimit::of_control_group(),
            Some(megabytes) => MemoryLimit::with_limit(megabytes << 20),
        },
        ..usual
    }
}

fn approvals(fields: &SectionFields) -> ApprovalLimits {
    let whole = |key: &str| fields.section("approvals").and_then(|section| section.whole(key));
    let usual = ApprovalLimits::default();
    ApprovalLimits {
        timeout: whole("timeout_s").map_or(usual.timeout, |it| Duration::from_secs(it.value)),
        waiting: whole("waiting")
            .map_or(usual.waiting, |it| usize::try_from(it.value).unwrap_or(usize::MAX)),
    }
}

fn limits(fields: &SectionFields) -> Limits {
    let section = fields.section("limits");
    let whole = |key: &str| section.and_then(|limits| limits.whole(key));
    let usual = Limits::default();
    Limits {
        global: whole("timeout_ms").map_or(usual.global, milliseconds),
        argument_values: whole("argument_values").map_or(usual.argument_values, |most| {
            usize::try_from(most.value).unwrap_or(usize::MAX)
        }),
    }
}

fn data(fields: &SectionFields, request: &ConfigRequest, problems: &mut Problems) -> PathBuf {
    let (path, place) = match (&request.data, fields.text("data")) {
        (Some(path), _) => (path.clone(), DiagnosticLocation::Flag("--data")),
        (None, Some(text)) => (PathBuf::from(text.value), DiagnosticLocation::At(text.at)),
        (None, None) => (PathBuf::from("./.tollgate"), DiagnosticLocation::File),
    };
    if path.as_os_str().is_empty() {
        problems
            .error(place, "data", "`data` is empty")
            .help("name a directory, or remove the key");
    }
    path
}

fn names(fields: &SectionFields, problems: &mut Problems) -> Option<NamePattern> {
    let Some(names) = fields.section("names") else { return Some(NamePattern::default()) };
    let Some(pattern) = names.text("pattern") else { return Some(NamePattern::default()) };
    if !pattern.value.contains("{tool}") {
        problems
            .error(pattern.at, "names.pattern", "the pattern must contain `{tool}`")
            .help("otherwise all tools of a server would have one name: `{server}_{tool}`");
        return None;
    }
    match NamePattern::parse(pattern.value) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            problems
                .error(pattern.at, "names.pattern", error.to_string())
                .help("letters, digits and `_` around `{server}` and `{tool}`");
            None
        }
    }
}

fn default_agent(
    fields: &SectionFields,
    agents: &[Agent],
    problems: &mut Problems,
) -> Option<AgentId> {
    let default_name = fields.text("default_agent")?;
    let known: Vec<&str> = agents.iter().map(|agent| agent.id.as_str()).collect();
    match agents.iter().find(|agent| agent.id.as_str() == default_name.value) {
        Some(agent) => Some(agent.id.clone()),
        None if fields
            .named_sections("agents")
            .iter()
            .any(|(name, _)| name.value == default_name.value) =>
        {
            None
        }
        None => {
            unknown_name(default_name, "default_agent", "agent", &known, problems);
            None
        }
    }
}

/// Reports a name that is not one of `known`.
fn unknown_name(
    found: Spanned<&str>,
    path: &str,
    what: &str,
    known: &[&str],
    problems: &mut Problems,
) {
    let near = nearest(found.value, known.iter().copied());
    let diagnostic =
        problems.error(found.at, path, format!("there is no {what} `{}`", found.value));
    if let Some(near) = near {
        diagnostic.help(format!("did you mean `{near}`?"));
    }
    if known.is_empty() {
        diagnostic.help(format!("no {what} is configured"));
    } else {
        diagnostic.help(format!("there are: {}", known.join(", ")));
    }
}

/// Reports names of one kind that could be confused. True when `name` is new.
fn is_new(
    seen: &mut BTreeSet<String>,
    path: &str,
    what: &str,
    name: &Spanned<String>,
    problems: &mut Problems,
) -> bool {
    let new = seen.insert(fold_name(&name.value));
    if !new {
        problems
            .error(name.at, path, format!("another {what} has a name like `{}`", name.value))
            .help("names must differ in more than case, `-` and `_`");
    }
    new
}

fn milliseconds(value: Spanned<u64>) -> Duration {
    Duration::from_millis(value.value)
}

/// A path of the config, relative to the gateway's directory.
fn absolute(text: Spanned<&str>, path: &str, problems: &mut Problems) -> Option<PathBuf> {
    let key = last(path);
    if text.value.starts_with("~/") {
        problems
            .warning(text.at, path, format!("`~` in `{}` is not expanded", text.value))
            .help("write `${HOME}` instead");
    }
    match std::path::absolute(text.value) {
        Ok(absolute) if !text.value.contains('\0') => Some(absolute),
        Ok(_) | Err(_) => {
            problems
                .error(text.at, path, format!("`{key}` has an invalid path"))
                .help("name a file or a directory");
            None
        }
    }
}
