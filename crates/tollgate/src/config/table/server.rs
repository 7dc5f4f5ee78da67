//! Config keys of a server and of its tools.

use super::trust::SERVER_TRUST;
use super::{
    KeyKind, MILLISECONDS, PLAIN, PLAINS, PROSE, SECRET, SectionSpec, key, required_key, whole,
};

pub(super) const SERVER: SectionSpec = SectionSpec {
    title: "servers.ID",
    keys: &[
        key(
            "transport",
            KeyKind::Choice(&["stdio", "streamable-http", "sse"]),
            "`stdio` with `command`, `streamable-http` with `url`",
            "How the server is reached",
        ),
        key(
            "command",
            KeyKind::Words,
            "",
            "Program and arguments: a list, or one text split like a shell does. No shell runs it",
        ),
        key("args", PLAINS, "[]", "Appended to `command`"),
        key(
            "env",
            KeyKind::Table(&SECRET),
            "{}",
            "Added to a clean environment (PATH, HOME, LANG, TMPDIR)",
        ),
        key("cwd", PLAIN, "the gateway's", "Working directory of the process"),
        key(
            "sandbox",
            KeyKind::SectionOr(&SANDBOX, "none"),
            "see there",
            "What the process may do. Always closed: the gateway's config, secret files and data directory. `none`: no limits, and nothing is closed",
        ),
        key("url", PLAIN, "", "Endpoint, http or https, without user and password"),
        key("headers", KeyKind::Table(&SECRET), "{}", "Sent with every request"),
        key("auth", KeyKind::Section(&AUTH), "none", "How we prove who we are"),
        key(
            "protocol",
            KeyKind::Choice(&[
                "auto",
                "2024-11-05",
                "2025-03-26",
                "2025-06-18",
                "2025-11-25",
                "2026-07-28",
            ]),
            "auto",
            "Ask the server, or pin a revision",
        ),
        key(
            "trusted",
            KeyKind::Flag,
            "false",
            "May its annotations allow retries, caching and probes, and are its results free of orders by strangers?",
        ),
        key(
            "trust",
            KeyKind::Section(&SERVER_TRUST),
            "as `trust` says for all",
            "New, changed and suspicious tools of this server",
        ),
        key(
            "results",
            KeyKind::Choice(&["clean", "raw"]),
            "clean",
            "`clean`: without terminal sequences, control, bidirectional and invisible characters. `raw`: as it sends them",
        ),
        key("enabled", KeyKind::Flag, "true", "`false` keeps the entry and starts nothing"),
        key(
            "start",
            KeyKind::Choice(&["eager", "lazy"]),
            "eager",
            "With the gateway, or on first use (the very first time at once, to learn its tools)",
        ),
        key(
            "restart",
            KeyKind::Section(&RESTART),
            "see there",
            "What happens after a command ended; URLs are tried every 1.5 s, after 5 minutes every 15 s",
        ),
        key(
            "code_mode",
            KeyKind::Flag,
            "false",
            "Models call its tools in programs that they write, instead of one by one (docs/code.md)",
        ),
        key(
            "calibrate",
            KeyKind::Flag,
            "true",
            "Measure its tools on connect, while idle, and when they might be better again; only those with `probe`, or read-only on a trusted server. `false`: never by itself",
        ),
        key("category", PLAIN, "none", "Groups the leaderboard"),
        key("limits", KeyKind::Section(&SLOTS), "see there", "How many calls it gets at a time"),
        key("defaults", KeyKind::Section(&DEFAULTS), "see there", "For every tool of this server"),
        key(
            "allow",
            PLAINS,
            "[\"*\"]",
            "Tools offered at all: names as the server says them, globs",
        ),
        key("deny", PLAINS, "[]", "Tools never offered; wins over `allow`"),
        key(
            "tools",
            KeyKind::Named(&TOOL),
            "{}",
            "What you know better than the server, by its own tool names",
        ),
    ],
    elsewhere: &[
        (
            "apiKey",
            "write `auth: { apiKey: … }` for the header x-api-key, `auth: { token: … }` for a bearer token",
        ),
        (
            "api_key",
            "write `auth: { apiKey: … }` for the header x-api-key, `auth: { token: … }` for a bearer token",
        ),
        ("type", "write `transport:`"),
        ("id", "in a list of servers the id is called `name`"),
        ("disabled", "write `enabled: false`"),
    ],
};

const SANDBOX: SectionSpec = SectionSpec {
    title: "servers.ID.sandbox",
    keys: &[
        key(
            "memory_mb",
            whole(0, 1 << 30, "megabytes"),
            "4096",
            "Memory of its own that each process may write to (RLIMIT_DATA); 0: no limit",
        ),
        key(
            "cpu_s",
            whole(0, 1 << 30, "seconds"),
            "0",
            "CPU time of each process, over its whole life; 0: no limit",
        ),
        key(
            "open_files",
            whole(0, 1 << 30, "files"),
            "1024",
            "Files and connections that each process may have open; 0: no limit",
        ),
        key(
            "processes",
            whole(0, 1 << 30, "processes"),
            "0",
            "Processes and threads. The kernel counts all of the gateway's user, and never stops root; 0: no limit",
        ),
        key(
            "file_size_mb",
            whole(0, 1 << 30, "megabytes"),
            "4096",
            "Size of any file it writes; 0: no limit",
        ),
        key(
            "read",
            PLAINS,
            "[]: no file rules",
            "What it may read and run. With `read` or `write` all other files are closed, but for `/usr` and what any program needs; it starts in `/` unless `cwd` says otherwise",
        ),
        key("write", PLAINS, "[]", "What it may read and change, but not run"),
        key(
            "network",
            KeyKind::Choice(&["allow", "deny"]),
            "allow",
            "`deny`: it can make no socket, not even to this machine",
        ),
        key(
            "no_new_privileges",
            KeyKind::Flag,
            "true",
            "No `sudo`, no powers of root beyond files, and hands off other processes",
        ),
    ],
    elsewhere: &[
        ("memory", "write `memory_mb:`"),
        ("cpu", "write `cpu_s:`, in seconds"),
        ("files", "write `read:` and `write:` for paths, `open_files:` for a number"),
    ],
};

const AUTH: SectionSpec = SectionSpec {
    title: "servers.ID.auth",
    keys: &[
        key(
            "token",
            SECRET,
            "none",
            "Sent as `authorization: Bearer …`; with or without that word",
        ),
        key("apiKey", SECRET, "none", "Sent as `x-api-key`"),
        key(
            "oauth",
            KeyKind::Section(&OAUTH),
            "none",
            "OAuth 2.1 client credentials; wins over `token`",
        ),
        key(
            "login",
            KeyKind::Flag,
            "false",
            "OAuth 2.1 with a person's consent, given once by `tollgate servers login ID`",
        ),
        key("client_id", PLAIN, "the gateway registers itself", "For `login`: who we are"),
        key("client_secret", SECRET, "none", "For `login`: how we prove it"),
        key(
            "issuer",
            PLAIN,
            "whichever the server names; with a secret the one of the first login",
            "For `login`: the authorization server that it must be",
        ),
        key("scopes", PLAINS, "what the server asks for", "For `login`: what to ask for"),
    ],
    elsewhere: &[],
};

const OAUTH: SectionSpec = SectionSpec {
    title: "servers.ID.auth.oauth",
    keys: &[
        required_key("client_id", PLAIN, "Who we are"),
        required_key("client_secret", SECRET, "How we prove it"),
        key("token_url", PLAIN, "found by discovery", "Where tokens are issued"),
        key("scopes", PLAINS, "[]", "What to ask for"),
    ],
    elsewhere: &[],
};

const RESTART: SectionSpec = SectionSpec {
    title: "servers.ID.restart",
    keys: &[
        key("enabled", KeyKind::Flag, "true", "Start it again after it ended by itself"),
        key(
            "max_restarts",
            whole(0, 1000, "restarts"),
            "5",
            "Within a minute; after that it is tried once a minute",
        ),
        key(
            "backoff_ms",
            whole(1, 600_000, "milliseconds"),
            "1000",
            "The first pause; doubles up to 30 s",
        ),
    ],
    elsewhere: &[],
};

const SLOTS: SectionSpec = SectionSpec {
    title: "servers.ID.limits",
    keys: &[
        key("concurrent", whole(1, 10_000, "calls"), "64", "Calls that run at the same time"),
        key(
            "queue",
            whole(0, 100_000, "calls"),
            "128",
            "Calls that wait for one of those to end; more are refused, and so is one that would wait in vain",
        ),
    ],
    elsewhere: &[],
};

const DEFAULTS: SectionSpec = SectionSpec {
    title: "servers.ID.defaults",
    keys: &[
        key(
            "timeout_ms",
            MILLISECONDS,
            "10000",
            "For every call; the smallest of this, the tool's `max_duration_ms` and `limits.timeout_ms` counts",
        ),
        key(
            "slow_response_threshold_ms",
            MILLISECONDS,
            "2000",
            "After this the message below is spoken",
        ),
        key(
            "slow_response_message",
            PROSE,
            "none: nothing is said",
            "What to say while a tool takes long",
        ),
    ],
    elsewhere: &[],
};

const TOOL: SectionSpec = SectionSpec {
    title: "servers.ID.tools.NAME",
    keys: &[
        key("expose_as", PLAIN, "by `names.pattern`", "The name towards models"),
        key("description", PROSE, "the server's", "What models read"),
        key("speech_field", PLAIN, "none", "The field of the result that is spoken"),
        key(
            "speech_template",
            PROSE,
            "none",
            "A sentence with `{fields}` of the result; dotted paths",
        ),
        key(
            "estimated_duration_ms",
            MILLISECONDS,
            "the server's word, or standard",
            "Half of the calls are faster",
        ),
        key("max_duration_ms", MILLISECONDS, "the server's word", "Hard limit"),
        key(
            "idempotent",
            KeyKind::Flag,
            "the word of a trusted server",
            "May the same call be sent twice?",
        ),
        key(
            "cacheable_seconds",
            whole(0, 31_536_000, "seconds"),
            "0",
            "How long a result stays good",
        ),
        key(
            "probe",
            KeyKind::Json,
            "never probed",
            "Arguments of a call that measures and changes nothing",
        ),
        key(
            "hedge",
            KeyKind::Flag,
            "false",
            "Send a second attempt when the first is slower than usual; for idempotent tools",
        ),
        key(
            "delivery",
            KeyKind::Choice(&["wait", "when_idle", "interrupt", "silent"]),
            "wait",
            "In live sessions: whether the model waits for the result or talks on, and what then",
        ),
        key(
            "rate_limit",
            PLAIN,
            "none",
            "So many calls per time: `30/min`; `s`, `min`, `h`, `day`",
        ),
        key(
            "effect",
            KeyKind::Choice(&["read_only", "mutating", "destructive"]),
            "by its annotations, where trusted",
            "What calls do to the world. Annotations of the server then say nothing of it",
        ),
        key(
            "approval",
            KeyKind::Choice(&["auto", "always", "never"]),
            "auto",
            "Must a person agree? `auto` asks nobody about calls that a client made itself; `auto_execute` and destructive hints count for calls that a model of the gateway decided",
        ),
    ],
    elsewhere: &[],
};
