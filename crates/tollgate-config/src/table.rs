//! Tables of all config keys: position, kind, default, description. The parser, the did-you-mean
//! suggestions, the JSON Schema and `docs/configuration.md` are all generated from them.

mod agent;
mod audit;
mod auth;
mod builtin;
mod code;
mod incoming_call;
mod limits;
mod memory;
mod model_usage;
mod provider;
mod server;
mod telemetry;
mod telephony;
mod trust;
mod web;

use agent::{AGENT, BUDGET, KEY, MODEL};
use audit::{AUDIT, SECRETS};
use auth::AUTH;
use builtin::BUILTIN;
use code::CODE;
use incoming_call::INCOMING_CALL;
use limits::LIMITS;
use memory::MEMORY;
use model_usage::PRICE;
use provider::PROVIDER;
use server::SERVER;
use telemetry::TELEMETRY;
use telephony::TELEPHONY;
use trust::TRUST;

/// A section of the config with its own keys.
#[derive(Debug)]
pub(super) struct SectionSpec {
    /// Title in the manual.
    pub title: &'static str,
    pub keys: &'static [KeySpec],
    /// Keys of other products, and their equivalents here.
    pub elsewhere: &'static [(&'static str, &'static str)],
}

#[derive(Debug)]
pub(super) struct KeySpec {
    pub name: &'static str,
    pub kind: KeyKind,
    pub need: KeyPresence,
    pub about: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyPresence {
    Required,
    /// Optional. The text describes the default.
    Default(&'static str),
}

/// Kind of a key's value.
#[derive(Debug)]
pub(super) enum KeyKind {
    Text(TextKind),
    Flag,
    Whole(KeyRange),
    Choice(&'static [&'static str]),
    /// A command line: a list of words, or one string that is split like in a shell.
    Words,
    List(&'static Self),
    /// User-defined names, each with such a value.
    Table(&'static Self),
    Section(&'static SectionSpec),
    /// A section, or this word instead.
    SectionOr(&'static SectionSpec, &'static str),
    /// User-defined names, each with such a section, or a list of entries with a `name`.
    Named(&'static SectionSpec),
    /// A list of such sections.
    Entries(&'static SectionSpec),
    /// Any value.
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// `${VAR}` is expanded.
    Plain,
    /// Text for people and models. `$` has no special meaning.
    Prose,
    /// Expanded, and never shown.
    Secret,
}

/// Range of integers, inclusive.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyRange {
    pub least: u64,
    pub most: u64,
    /// Unit: `milliseconds`. Empty where the name says it.
    pub unit: &'static str,
}

const PLAIN: KeyKind = KeyKind::Text(TextKind::Plain);
const PROSE: KeyKind = KeyKind::Text(TextKind::Prose);
const SECRET: KeyKind = KeyKind::Text(TextKind::Secret);
const PLAINS: KeyKind = KeyKind::List(&PLAIN);
const PROSES: KeyKind = KeyKind::List(&PROSE);
const MILLISECONDS: KeyKind = whole(1, 3_600_000, "milliseconds");
const TIERS: KeyKind = KeyKind::Choice(&["fast", "standard", "deep"]);

const fn whole(least: u64, most: u64, unit: &'static str) -> KeyKind {
    KeyKind::Whole(KeyRange { least, most, unit })
}

const fn required_key(name: &'static str, kind: KeyKind, about: &'static str) -> KeySpec {
    KeySpec { name, kind, need: KeyPresence::Required, about }
}

const fn key(
    name: &'static str,
    kind: KeyKind,
    default: &'static str,
    about: &'static str,
) -> KeySpec {
    KeySpec { name, kind, need: KeyPresence::Default(default), about }
}

pub(super) const TOP: SectionSpec = SectionSpec {
    title: "The file",
    keys: &[
        key(
            "listen",
            PLAIN,
            "127.0.0.1:8655",
            "Address and port. Any address but loopback requires keys or `auth`. With port 0 the \
             system chooses a port",
        ),
        key(
            "hosts",
            PLAINS,
            "the address of `listen`",
            "Allowed `host` names and addresses, in addition to loopback. Others get 403",
        ),
        key(
            "origins",
            PLAINS,
            "none",
            "Origins of web pages that may open live sessions with a client secret: \
             `https://app.example.com`. Pages of other hosts than the gateway's get 403",
        ),
        key(
            "trusted_proxies",
            PLAINS,
            "none",
            "Addresses and networks (`10.0.0.7`, `10.0.0.0/8`, `fd00::/8`) of proxies in front of \
             the gateway. Only their `x-forwarded-for` or `forwarded` headers set the client's \
             address, which is used in limits per address, the log and the audit trail",
        ),
        key(
            "environment",
            PLAIN,
            "default",
            "Name of the environment. Latency measurements are stored per environment",
        ),
        key("data", PLAIN, "./.tollgate", "Data directory; created if missing"),
        key(
            "tls",
            KeyKind::Section(&TLS),
            "plain HTTP",
            "Serve HTTPS with this certificate; both files are reloaded when they change. \
             `tollgate serve --tls` creates a certificate instead",
        ),
        key(
            "database",
            SECRET,
            "sqlite",
            "Database of the memory: `sqlite` (in the data directory) or \
             `postgres://user@host/db`. Keys, the audit trail and measurements are always in the \
             data directory",
        ),
        key(
            "redis",
            SECRET,
            "none",
            "`redis://host:port`, for limits and caches shared by replicas; not implemented yet",
        ),
        key(
            "names",
            KeyKind::Section(&NAMES),
            "`{server}_{tool}`",
            "Names of tools as models see them",
        ),
        key("limits", KeyKind::Section(&LIMITS), "see there", "Limits of calls and requests"),
        key("shutdown", KeyKind::Section(&SHUTDOWN), "see there", "Shutdown on SIGTERM"),
        key("approvals", KeyKind::Section(&APPROVALS), "see there", "Approval of calls"),
        key("builtin", KeyKind::Section(&BUILTIN), "see there", "Built-in tools"),
        key(
            "servers",
            KeyKind::Named(&SERVER),
            "none",
            "MCP servers, by id. If two tools have the same exposed name, the first server in this \
             order keeps it",
        ),
        key(
            "tools",
            KeyKind::Section(&GLOBAL_TOOL_RULES),
            "all of them",
            "Tools that exist for anybody; all later levels can only remove tools",
        ),
        key(
            "trust",
            KeyKind::Section(&TRUST),
            "see there",
            "Handling of new, changed and suspicious tools. Servers can override it",
        ),
        key("budget", KeyKind::Section(&BUDGET), "see there", "Latency tiers and their selection"),
        key(
            "code",
            KeyKind::Section(&CODE),
            "see there",
            "Execution of programs written by models; `code_mode` of servers and agents selects \
             the tools",
        ),
        key(
            "memory",
            KeyKind::Section(&MEMORY),
            "see there",
            "Memory of conversations and its search; `memory` of agents assigns it",
        ),
        key("audit", KeyKind::Section(&AUDIT), "see there", "Audit trail: content and retention"),
        key("telemetry", KeyKind::Section(&TELEMETRY), "see there", "Traces and metrics over OTLP"),
        key(
            "telephony",
            KeyKind::Section(&TELEPHONY),
            "none",
            "Phone lines, and voice platforms that call tools",
        ),
        key("secrets", KeyKind::Section(&SECRETS), "see there", "Handling of secrets in calls"),
        key(
            "registry",
            KeyKind::Section(&REGISTRY),
            "the official one",
            "Registry that `tollgate servers search` and the admin UI use",
        ),
        key("providers", KeyKind::Named(&PROVIDER), "none", "Providers of models"),
        key("models", KeyKind::Named(&MODEL), "`offline`", "Models for agents and requests"),
        key(
            "prices",
            KeyKind::Named(&PRICE),
            "built-in list prices",
            "Prices of models, by name or id",
        ),
        key(
            "incoming_calls",
            KeyKind::Named(&INCOMING_CALL),
            "none",
            "Webhooks for telephone calls (SIP), which an agent answers",
        ),
        key("default_agent", PLAIN, "the first", "Default agent, for requests that name none"),
        key(
            "agents",
            KeyKind::Named(&AGENT),
            "one agent `default` that sees every tool",
            "Agents and their tools",
        ),
        key(
            "auth",
            KeyKind::Section(&AUTH),
            "no tokens",
            "Accept tokens of an OpenID Connect issuer, in addition to keys",
        ),
        key("keys", KeyKind::Entries(&KEY), "none: open on loopback only", "API keys of clients"),
    ],
    elsewhere: &[
        ("mcp", "move the keys under `mcp` to the top level: `servers:`"),
        ("mcpServers", "write `servers:`; `command`, `args`, `env` and `url` keep their names"),
        ("mcp_servers", "write `servers:`"),
        ("npcs", "write `agents:`"),
        ("contexts", "write `agents:`"),
        ("port", "write `listen: 127.0.0.1:8655`"),
        ("host", "write `listen: 127.0.0.1:8655`"),
    ],
};

const GLOBAL_TOOL_RULES: SectionSpec = SectionSpec {
    title: "tools",
    keys: &[
        key("enabled", KeyKind::Flag, "true", "`false`: disables all tools"),
        ALLOW,
        DENY,
        key(
            "environments",
            KeyKind::Named(&ENVIRONMENT),
            "none",
            "Additional rules by `environment`; those of this installation's environment apply as \
             well",
        ),
    ],
    elsewhere: &[("disabled", "write `enabled: false`, or `deny:` with names")],
};

const ENVIRONMENT: SectionSpec =
    SectionSpec { title: "tools.environments.NAME", keys: &[ALLOW, DENY], elsewhere: &[] };

const ALLOW: KeySpec =
    key("allow", PLAINS, "[\"*\"]", "Exposed names and globs; tools not listed are hidden");
const DENY: KeySpec =
    key("deny", PLAINS, "[]", "Exposed names and globs; takes precedence over `allow`");

const TLS: SectionSpec = SectionSpec {
    title: "tls",
    keys: &[
        required_key(
            "cert",
            PLAIN,
            "PEM file with the certificate chain, starting with the server's certificate",
        ),
        required_key("key", PLAIN, "PEM file with the private key"),
    ],
    elsewhere: &[],
};

const REGISTRY: SectionSpec = SectionSpec {
    title: "registry",
    keys: &[key(
        "url",
        PLAIN,
        super::OFFICIAL_REGISTRY,
        "URL of an MCP registry with the official API (`/v0.1/servers`)",
    )],
    elsewhere: &[],
};

const NAMES: SectionSpec = SectionSpec {
    title: "names",
    keys: &[key(
        "pattern",
        PLAIN,
        "{server}_{tool}",
        "`{tool}` alone keeps the names of a single server",
    )],
    elsewhere: &[],
};

const SHUTDOWN: SectionSpec = SectionSpec {
    title: "shutdown",
    keys: &[
        key(
            "grace_s",
            whole(0, 3_600, "seconds"),
            "2",
            "Drain time: `/readyz` reports `stopping`, and requests are still answered, with \
             `connection: close`. Ctrl-C skips it",
        ),
        key(
            "drain_s",
            whole(0, 3_600, "seconds"),
            "30",
            "Grace period for running calls and live turns after that; new requests get 503",
        ),
    ],
    elsewhere: &[],
};

const APPROVALS: SectionSpec = SectionSpec {
    title: "approvals",
    keys: &[
        key(
            "timeout_s",
            whole(1, 86_400, "seconds"),
            "120",
            "Timeout of an approval; then the call is denied",
        ),
        key(
            "waiting",
            whole(1, 10_000, "calls"),
            "256",
            "Calls awaiting approval at the same time; at most half of them for one principal",
        ),
    ],
    elsewhere: &[],
};

impl SectionSpec {
    pub(super) fn key(&self, name: &str) -> Option<&'static KeySpec> {
        self.keys.iter().find(|key| key.name == name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|key| key.name)
    }
}

impl KeyKind {
    /// An empty value counts as absent.
    pub(super) fn is_collection(&self) -> bool {
        matches!(
            self,
            Self::List(_)
                | Self::Table(_)
                | Self::Section(_)
                | Self::SectionOr(..)
                | Self::Named(_)
                | Self::Entries(_)
        )
    }

    pub(super) fn holds_secrets(&self) -> bool {
        match self {
            Self::Text(text) => *text == TextKind::Secret,
            Self::List(inner) | Self::Table(inner) => inner.holds_secrets(),
            Self::Section(section)
            | Self::SectionOr(section, _)
            | Self::Named(section)
            | Self::Entries(section) => section.keys.iter().any(|key| key.kind.holds_secrets()),
            Self::Flag | Self::Whole(_) | Self::Choice(_) | Self::Words | Self::Json => false,
        }
    }
}

impl KeySpec {
    pub(super) fn is_secret(&self) -> bool {
        matches!(self.kind, KeyKind::Text(TextKind::Secret))
    }
}
