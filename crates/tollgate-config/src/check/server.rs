//! Upstream servers: unambiguous ids, exactly one transport each, and no `expose_as` collision
//! between their tools.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate_core::call::UntrustedMarking;
use tollgate_core::glob::Glob;
use tollgate_core::id::ServerId;
use tollgate_core::tool::{SlowResponse, ToolReach};
use tollgate_core::trust::TrustPolicy;
use tollgate_engine::settings::{
    ConcurrencySettings, ProtocolSelection, RestartPolicy, RestartSettings, ResultForm, Server,
    ServerCalibration, ServerDesiredState, ServerTransport, StartMode,
};
use tollgate_mcp::Revision;

use super::super::diagnostic::Problems;
use super::super::raw::{SectionFields, Spanned};
use super::{command, endpoint, fold_name, is_new, milliseconds, tool, trust};

pub(super) fn servers(top: &SectionFields, problems: &mut Problems) -> Vec<Server> {
    let mut servers = Vec::new();
    let mut seen = BTreeSet::new();
    let mut exposed = BTreeSet::new();
    let usual = trust::usual(top);
    let usual_mark = trust::mark(top, UntrustedMarking::Off);
    for (name, fields) in top.named_sections("servers") {
        let id = id(name, fields, problems);
        let is_new = is_new(&mut seen, &fields.path, "server", name, problems);
        exposed_once(fields, &mut exposed, problems);
        let server = id.and_then(|id| server(id, name, fields, problems));
        let Some(server) = server.filter(|_| is_new) else { continue };
        let mark = trust::mark(fields, usual_mark);
        servers.push(Server { trust: trust::policy(fields, usual), mark, ..server });
    }
    servers
}

fn id(name: &Spanned<String>, fields: &SectionFields, problems: &mut Problems) -> Option<ServerId> {
    match ServerId::parse(&name.value) {
        Ok(id) => Some(id),
        Err(error) => {
            problems
                .error(name.at, &fields.path, format!("invalid server id: {error}"))
                .help("like `world_search`: at most 64 characters");
            None
        }
    }
}

fn server(
    id: ServerId,
    name: &Spanned<String>,
    fields: &SectionFields,
    problems: &mut Problems,
) -> Option<Server> {
    let transport = transport(name, fields, problems);
    let tools = tool::tools(fields, problems);
    let globs = |key: &str| -> Vec<Glob> {
        fields.texts(key).iter().map(|text| Glob::new(text.value)).collect()
    };
    let allow = if fields.has("allow") { globs("allow") } else { vec![Glob::new("*")] };
    let defaults = fields.section("defaults");
    let timeout = defaults.and_then(|defaults| defaults.whole("timeout_ms"));
    Some(Server {
        id,
        transport: transport?,
        protocol: fields
            .text("protocol")
            .and_then(|text| Revision::parse(text.value))
            .map_or(ProtocolSelection::Auto, ProtocolSelection::Pinned),
        trusted: fields.flag("trusted").unwrap_or(false),
        trust: TrustPolicy::default(),
        results: match fields.text("results").map(|text| text.value) {
            Some("raw") => ResultForm::Raw,
            _ => ResultForm::Clean,
        },
        mark: UntrustedMarking::Off,
        calibrate: match fields.flag("calibrate") {
            Some(false) => ServerCalibration::OnCommand,
            Some(true) | None => ServerCalibration::ByItself,
        },
        state: match fields.flag("enabled") {
            Some(false) => ServerDesiredState::Disabled,
            Some(true) | None => ServerDesiredState::Enabled,
        },
        start: match fields.text("start").map(|text| text.value) {
            Some("lazy") => StartMode::Lazy,
            _ => StartMode::Eager,
        },
        restart: restart(fields),
        timeout: timeout.map_or(Duration::from_secs(10), milliseconds),
        slow_response: defaults.and_then(slow_response),
        allow,
        deny: globs("deny"),
        tools,
        category: fields.text("category").map(|text| text.value.to_owned()),
        slots: slots(fields),
        reach: match fields.flag("code_mode") {
            Some(true) => ToolReach::Code,
            Some(false) | None => ToolReach::Direct,
        },
    })
}

/// `transport` is optional: `command` or `url` imply it.
fn transport(
    name: &Spanned<String>,
    fields: &SectionFields,
    problems: &mut Problems,
) -> Option<ServerTransport> {
    let requested = fields.text("transport").map(|text| text.value);
    let is_command = fields.has("command");
    let is_url = fields.has("url");
    let server = &name.value;
    let (wrong, help) = match (is_command, is_url, requested) {
        (true, true, _) => (
            format!("server `{server}` has both `command` and `url`"),
            "keep `command` for a process, `url` for an endpoint",
        ),
        (false, false, _) => (
            format!("server `{server}` needs either `url` or `command`"),
            "`command: [\"program\", \"argument\"]` or `url: https://tools.example.com/mcp`",
        ),
        (true, false, Some("streamable-http" | "sse")) => (
            format!("server `{server}` has a `command`, but not `transport: stdio`"),
            "remove `transport`, or set `url` instead",
        ),
        (false, true, Some("stdio")) => (
            format!("server `{server}` has a `url`, but `transport: stdio`"),
            "remove `transport`, or set `command` instead",
        ),
        (true, false, _) => {
            warn_of_idle(fields, &["headers", "auth"], problems);
            return command::command(fields, problems).map(ServerTransport::Stdio);
        }
        (false, true, _) => {
            warn_of_idle(fields, &["args", "env", "cwd", "sandbox"], problems);
            let endpoint = endpoint::endpoint(fields, problems)?;
            return Some(match requested {
                Some("sse") => ServerTransport::Sse(endpoint),
                _ => ServerTransport::StreamableHttp(endpoint),
            });
        }
    };
    problems.error(name.at, &fields.path, wrong).help(help);
    None
}

fn warn_of_idle(fields: &SectionFields, keys: &[&str], problems: &mut Problems) {
    for key in keys {
        if fields.has(key) {
            let other = if fields.has("url") { "command" } else { "url" };
            problems
                .warning(
                    fields.place(key),
                    &fields.path(key),
                    format!("`{key}` has no effect here"),
                )
                .help(format!("it is for servers with a `{other}`"));
        }
    }
}

/// No two tools may have the same configured name. Names given by servers are checked by the
/// engine's registry.
fn exposed_once(fields: &SectionFields, seen: &mut BTreeSet<String>, problems: &mut Problems) {
    for (_, tool) in fields.named_sections("tools") {
        if let Some(name) = tool.text("expose_as")
            && !seen.insert(fold_name(name.value))
        {
            let message = format!("another tool is already named `{}`", name.value);
            problems
                .error(name.at, &tool.path("expose_as"), message)
                .help("names must differ in more than case");
        }
    }
}

fn restart(fields: &SectionFields) -> RestartSettings {
    let section = fields.section("restart");
    let whole = |key: &str| section.and_then(|section| section.whole(key));
    let usual = RestartSettings::default();
    RestartSettings {
        policy: match section.and_then(|section| section.flag("enabled")) {
            Some(false) => RestartPolicy::Never,
            Some(true) => RestartPolicy::Always,
            None => usual.policy,
        },
        max_restarts: whole("max_restarts").map_or(usual.max_restarts, |count| {
            u32::try_from(count.value).expect("the table says at most 1000")
        }),
        backoff: whole("backoff_ms").map_or(usual.backoff, milliseconds),
    }
}

fn slots(fields: &SectionFields) -> ConcurrencySettings {
    let section = fields.section("limits");
    let whole = |key: &str, usual: usize| {
        let count = section.and_then(|section| section.whole(key));
        count.map_or(usual, |count| usize::try_from(count.value).unwrap_or(usize::MAX))
    };
    let usual = ConcurrencySettings::default();
    ConcurrencySettings {
        concurrent: whole("concurrent", usual.concurrent),
        queue: whole("queue", usual.queue),
    }
}

fn slow_response(defaults: &SectionFields) -> Option<SlowResponse> {
    let threshold = defaults.whole("slow_response_threshold_ms");
    let message = defaults.text("slow_response_message").filter(|text| !text.value.is_empty())?;
    Some(SlowResponse {
        threshold: threshold.map_or(Duration::from_secs(2), milliseconds),
        message: message.value.into(),
    })
}
