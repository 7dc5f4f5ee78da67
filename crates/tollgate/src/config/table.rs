//! Every key of the config, once: its place, its kind, its default, what it is for. The reader,
//! the did-you-mean, the JSON Schema and `docs/configuration.md` are all made from these tables.

mod agent;
mod audit;
mod auth;
mod builtin;
mod code;
mod memory;
mod server;
mod telemetry;
mod trust;
mod web;

use agent::{AGENT, BUDGET, KEY, MODEL, PROVIDER};
use audit::{AUDIT, SECRETS};
use auth::AUTH;
use builtin::BUILTIN;
use code::CODE;
use memory::MEMORY;
use server::SERVER;
use telemetry::TELEMETRY;
use trust::TRUST;

/// A place in the config with keys of its own.
#[derive(Debug)]
pub(super) struct SectionSpec {
    /// What a reader of the manual calls it.
    pub title: &'static str,
    pub keys: &'static [KeySpec],
    /// Words of other products, and what is written here instead.
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
    /// May be left out; the text says what holds then.
    Default(&'static str),
}

/// What may stand behind a key.
#[derive(Debug)]
pub(super) enum KeyKind {
    Text(TextKind),
    Flag,
    Whole(KeyRange),
    Choice(&'static [&'static str]),
    /// A command line: a list of words, or one text that is split like a shell does.
    Words,
    List(&'static Self),
    /// Names of the user's own, each with such a value.
    Table(&'static Self),
    Section(&'static SectionSpec),
    /// A section, or this word in its place.
    SectionOr(&'static SectionSpec, &'static str),
    /// Names of the user's own, each with such a section; or a list whose entries have a `name`.
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
    /// For people and models to read; a `$` is a `$`.
    Prose,
    /// Expanded, and never shown.
    Secret,
}

/// Whole numbers, both ends included.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyRange {
    pub least: u64,
    pub most: u64,
    /// What is counted: `milliseconds`. Empty where the name says it.
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
            "Address and port. Anything but loopback needs keys or `auth`. Port 0 lets the system choose",
        ),
        key(
            "hosts",
            PLAINS,
            "the address of `listen`",
            "Names and addresses, beside loopback, under which clients may ask. Others get 403",
        ),
        key(
            "trusted_proxies",
            PLAINS,
            "none",
            "Addresses and networks (`10.0.0.7`, `10.0.0.0/8`, `fd00::/8`) of proxies before the gateway. Only what they say in `x-forwarded-for` or `forwarded` counts as a client's address, for limits per address, the log and the audit trail",
        ),
        key("environment", PLAIN, "default", "Measurements are kept per environment"),
        key("data", PLAIN, "./.tollgate", "Directory for what outlasts the process; created"),
        key(
            "tls",
            KeyKind::Section(&TLS),
            "plain HTTP",
            "Serve HTTPS with this certificate; both files are read again when they change. `tollgate serve --tls` makes one instead",
        ),
        key(
            "database",
            SECRET,
            "sqlite",
            "Where the memory is: `sqlite` (in the data directory) or `postgres://user@host/db`. Keys, the audit trail and measurements are in the data directory in any case",
        ),
        key(
            "redis",
            SECRET,
            "none",
            "`redis://host:port`, for limits and caches that replicas share; without effect yet",
        ),
        key(
            "names",
            KeyKind::Section(&NAMES),
            "`{server}_{tool}`",
            "How tools are called towards models",
        ),
        key(
            "limits",
            KeyKind::Section(&LIMITS),
            "see there",
            "What holds for every call and every request",
        ),
        key("shutdown", KeyKind::Section(&SHUTDOWN), "see there", "Shutdown on SIGTERM"),
        key(
            "approvals",
            KeyKind::Section(&APPROVALS),
            "see there",
            "How calls wait for a person's leave",
        ),
        key(
            "builtin",
            KeyKind::Section(&BUILTIN),
            "see there",
            "Where the built-in tools may work",
        ),
        key(
            "servers",
            KeyKind::Named(&SERVER),
            "none",
            "MCP servers, by id. The order decides who keeps a name that two want",
        ),
        key(
            "tools",
            KeyKind::Section(&HOUSE),
            "all of them",
            "Which tools there are at all, for anybody; every level after this one only takes away",
        ),
        key(
            "trust",
            KeyKind::Section(&TRUST),
            "see there",
            "Tools that others wrote: new, changed and suspicious ones. Each server may say otherwise",
        ),
        key(
            "budget",
            KeyKind::Section(&BUDGET),
            "see there",
            "Latency tiers and how they are chosen",
        ),
        key(
            "code",
            KeyKind::Section(&CODE),
            "see there",
            "How programs that models write are run; `code_mode` of servers and agents says for which tools",
        ),
        key(
            "memory",
            KeyKind::Section(&MEMORY),
            "see there",
            "What is remembered of conversations, and how it is found; `memory` of agents says whose",
        ),
        key(
            "audit",
            KeyKind::Section(&AUDIT),
            "see there",
            "What is kept of calls, and for how long",
        ),
        key(
            "telemetry",
            KeyKind::Section(&TELEMETRY),
            "see there",
            "What is told of calls to those who follow them",
        ),
        key("secrets", KeyKind::Section(&SECRETS), "see there", "What becomes of secrets in calls"),
        key(
            "registry",
            KeyKind::Section(&REGISTRY),
            "the official one",
            "Where `tollgate servers search` and the page look for MCP servers",
        ),
        key("providers", KeyKind::Named(&PROVIDER), "none", "Where models are served"),
        key(
            "models",
            KeyKind::Named(&MODEL),
            "`offline`",
            "Models that agents and requests may name",
        ),
        key("default_agent", PLAIN, "the first", "The agent of a request that names none"),
        key(
            "agents",
            KeyKind::Named(&AGENT),
            "one agent `default` that sees every tool",
            "Who uses tools, and which",
        ),
        key(
            "auth",
            KeyKind::Section(&AUTH),
            "no tokens",
            "Tokens of an OpenID Connect issuer let in as well as keys",
        ),
        key("keys", KeyKind::Entries(&KEY), "none: open on loopback only", "API keys of clients"),
    ],
    elsewhere: &[
        ("mcp", "write what is under `mcp` at the top level: `servers:`"),
        ("mcpServers", "write `servers:`; `command`, `args`, `env` and `url` keep their names"),
        ("mcp_servers", "write `servers:`"),
        ("npcs", "write `agents:`"),
        ("contexts", "write `agents:`"),
        ("port", "write `listen: 127.0.0.1:8655`"),
        ("host", "write `listen: 127.0.0.1:8655`"),
    ],
};

const HOUSE: SectionSpec = SectionSpec {
    title: "tools",
    keys: &[
        key("enabled", KeyKind::Flag, "true", "`false`: nobody sees or calls any tool"),
        ALLOW,
        DENY,
        key(
            "environments",
            KeyKind::Named(&ENVIRONMENT),
            "none",
            "More of the same by name of an `environment`; those of this installation's hold as well",
        ),
    ],
    elsewhere: &[("disabled", "write `enabled: false`, or `deny:` with names")],
};

const ENVIRONMENT: SectionSpec =
    SectionSpec { title: "tools.environments.NAME", keys: &[ALLOW, DENY], elsewhere: &[] };

const ALLOW: KeySpec =
    key("allow", PLAINS, "[\"*\"]", "Exposed names and globs; what is not listed is not there");
const DENY: KeySpec = key("deny", PLAINS, "[]", "Exposed names and globs; wins over `allow`");

const TLS: SectionSpec = SectionSpec {
    title: "tls",
    keys: &[
        required_key("cert", PLAIN, "PEM file with the certificate chain, the server's own first"),
        required_key("key", PLAIN, "PEM file with the private key"),
    ],
    elsewhere: &[],
};

const REGISTRY: SectionSpec = SectionSpec {
    title: "registry",
    keys: &[key(
        "url",
        PLAIN,
        crate::mcp_registry::OFFICIAL,
        "An MCP registry, by the API of the official one (`/v0.1/servers`)",
    )],
    elsewhere: &[],
};

const NAMES: SectionSpec = SectionSpec {
    title: "names",
    keys: &[key(
        "pattern",
        PLAIN,
        "{server}_{tool}",
        "`{tool}` alone passes the names of a single server through",
    )],
    elsewhere: &[],
};

const LIMITS: SectionSpec = SectionSpec {
    title: "limits",
    keys: &[
        key(
            "timeout_ms",
            MILLISECONDS,
            "30000",
            "No call takes longer, whatever its server or tool says",
        ),
        key(
            "in_flight",
            whole(1, 1_000_000, "requests"),
            "1024",
            "Requests that are answered at the same time; more get 503. Listening streams are not counted",
        ),
        key(
            "per_key",
            whole(1, 1_000_000, "requests"),
            "64",
            "Of those, requests of one key; more get 429",
        ),
        key(
            "streams_per_key",
            whole(1, 1_000_000, "streams"),
            "1000",
            "Streams on which one key listens for changes; more get 429. All keys together have half of `connections`",
        ),
        key(
            "live_sessions",
            whole(1, 1_000_000, "sessions"),
            "2000",
            "Live speech sessions that are held at the same time; more get 503",
        ),
        key(
            "live_per_key",
            whole(1, 1_000_000, "sessions"),
            "1000",
            "Of those, sessions of one key; more get 429",
        ),
        key(
            "connections",
            whole(16, 1_000_000, "connections"),
            "4096, or what live sessions need",
            "Connections that are served at the same time. The oldest idle one makes room for a new one; if all are busy, it gets 503",
        ),
        key(
            "connections_per_address",
            whole(16, 1_000_000, "connections"),
            "half of `connections`",
            "Of those, connections of one address. Addresses of this machine have no limit of their own",
        ),
        key(
            "sessions",
            whole(1, 10_000_000, "sessions"),
            "10000",
            "Sessions of MCP clients that need one (before 2026-07-28). The oldest idle one of whoever has most makes room",
        ),
        key(
            "sessions_per_key",
            whole(1, 10_000_000, "sessions"),
            "1000",
            "Of those, sessions of one key. Its oldest idle one makes room; if all are in use, it gets 429",
        ),
        key(
            "sessions_per_address",
            whole(1, 10_000_000, "sessions"),
            "5000",
            "Of those, sessions of one address; the same",
        ),
        key(
            "json_values",
            whole(1_000, 10_000_000, "values"),
            "400000",
            "JSON values in the body of one request or in one message; more get 413. Each costs up to 250 bytes while it is read",
        ),
        key(
            "json_depth",
            whole(8, 128, "levels"),
            "128",
            "Of lists and objects in one another; deeper ones get 400",
        ),
        key(
            "argument_values",
            whole(100, 10_000_000, "values"),
            "100000",
            "JSON values in the arguments of one call; more are refused as wrong parameters",
        ),
        key(
            "memory_mb",
            whole(0, 1_048_576, "megabytes"),
            "0: what the control group allows, if anything",
            "At 80 % of it idle sessions end and no streams and live sessions begin, at 90 % requests get 503, at 95 % connections are refused. An eighth of it is for bodies of requests that are being answered; those for which there is no room within two seconds get 503",
        ),
    ],
    elsewhere: &[],
};

const SHUTDOWN: SectionSpec = SectionSpec {
    title: "shutdown",
    keys: &[
        key(
            "grace_s",
            whole(0, 3_600, "seconds"),
            "2",
            "So long `/readyz` says `stopping` and requests are still answered, each with `connection: close`. Ctrl-C skips it",
        ),
        key(
            "drain_s",
            whole(0, 3_600, "seconds"),
            "30",
            "So long after that calls and live turns that run may take to end; new requests get 503",
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
            "A call to which nobody has agreed by then is denied",
        ),
        key(
            "waiting",
            whole(1, 10_000, "calls"),
            "256",
            "Calls that wait at the same time; one principal has at most half of them",
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
    /// Left empty, it counts as left out.
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
