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
            "Transport",
        ),
        key(
            "command",
            KeyKind::Words,
            "",
            "Program and arguments: a list, or one text, split like in a shell. It is not run by a \
             shell",
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
            "Sandbox of the process. It never has access to the gateway's config, secret files and \
             data directory. `none`: no limits and no sandbox",
        ),
        key("url", PLAIN, "", "Endpoint, http or https, without user and password"),
        key("headers", KeyKind::Table(&SECRET), "{}", "Sent with every request"),
        key("auth", KeyKind::Section(&AUTH), "none", "Credentials for the server"),
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
            "Protocol revision: negotiated, or pinned",
        ),
        key(
            "trusted",
            KeyKind::Flag,
            "false",
            "Trust its annotations (they allow retries, caching and probes) and its results (they \
             contain no third-party instructions)",
        ),
        key(
            "trust",
            KeyKind::Section(&SERVER_TRUST),
            "as in `trust`",
            "Handling of new, changed and suspicious tools of this server",
        ),
        key(
            "results",
            KeyKind::Choice(&["clean", "raw"]),
            "clean",
            "`clean`: removes terminal sequences, control, bidirectional and invisible characters. \
             `raw`: unchanged",
        ),
        key(
            "enabled",
            KeyKind::Flag,
            "true",
            "`false` keeps the entry but does not start the server",
        ),
        key(
            "start",
            KeyKind::Choice(&["eager", "lazy"]),
            "eager",
            "Start with the gateway, or on first use (the first time at once, to list its tools)",
        ),
        key(
            "restart",
            KeyKind::Section(&RESTART),
            "see there",
            "Restart of a command after its exit; URLs are retried every 1.5 s, after 5 minutes \
             every 15 s",
        ),
        key(
            "code_mode",
            KeyKind::Flag,
            "false",
            "Code mode: models call its tools from programs (docs/code.md)",
        ),
        key(
            "calibrate",
            KeyKind::Flag,
            "true",
            "Measure its tools on connect, while idle, and when they may have recovered; only \
             those with `probe`, or read-only on a trusted server. `false`: never automatically",
        ),
        key("category", PLAIN, "none", "Category in the leaderboard"),
        key("limits", KeyKind::Section(&SLOTS), "see there", "Concurrency limit"),
        key(
            "defaults",
            KeyKind::Section(&DEFAULTS),
            "see there",
            "Defaults for every tool of this server",
        ),
        key("allow", PLAINS, "[\"*\"]", "Offered tools: the server's names, globs"),
        key("deny", PLAINS, "[]", "Tools never offered; takes precedence over `allow`"),
        key("tools", KeyKind::Named(&TOOL), "{}", "Overrides of tools, by the server's tool names"),
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
            "Private writable memory of each process (RLIMIT_DATA); 0: no limit",
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
            "Open files and connections of each process; 0: no limit",
        ),
        key(
            "processes",
            whole(0, 1 << 30, "processes"),
            "0",
            "Processes and threads. The kernel counts all of the gateway's user, and does not \
             limit root; 0: no limit",
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
            "Paths that it may read and execute. With `read` or `write` it has no access to other \
             files, except `/usr` and files that every program needs; it starts in `/` unless \
             `cwd` is set",
        ),
        key("write", PLAINS, "[]", "Paths that it may read and change, but not execute"),
        key(
            "network",
            KeyKind::Choice(&["allow", "deny"]),
            "allow",
            "`deny`: it cannot create sockets, not even to this machine",
        ),
        key(
            "no_new_privileges",
            KeyKind::Flag,
            "true",
            "Disables `sudo`, root privileges other than file access, and access to other \
             processes",
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
            "Sent as `authorization: Bearer …`; with or without the word `Bearer`",
        ),
        key("apiKey", SECRET, "none", "Sent as `x-api-key`"),
        key(
            "oauth",
            KeyKind::Section(&OAUTH),
            "none",
            "OAuth 2.1 client credentials; takes precedence over `token`",
        ),
        key(
            "login",
            KeyKind::Flag,
            "false",
            "OAuth 2.1 with user consent, given once with `tollgate servers login ID`",
        ),
        key("client_id", PLAIN, "the gateway registers itself", "For `login`: client id"),
        key("client_secret", SECRET, "none", "For `login`: client secret"),
        key(
            "issuer",
            PLAIN,
            "the one the server names; with a secret, the one of the first login",
            "For `login`: the required authorization server",
        ),
        key("scopes", PLAINS, "the scopes the server requests", "For `login`: requested scopes"),
    ],
    elsewhere: &[],
};

const OAUTH: SectionSpec = SectionSpec {
    title: "servers.ID.auth.oauth",
    keys: &[
        required_key("client_id", PLAIN, "Client id"),
        required_key("client_secret", SECRET, "Client secret"),
        key("token_url", PLAIN, "found by discovery", "Token endpoint"),
        key("scopes", PLAINS, "[]", "Requested scopes"),
    ],
    elsewhere: &[],
};

const RESTART: SectionSpec = SectionSpec {
    title: "servers.ID.restart",
    keys: &[
        key("enabled", KeyKind::Flag, "true", "Restart it after an exit"),
        key(
            "max_restarts",
            whole(0, 1000, "restarts"),
            "5",
            "Restarts within a minute; after that, once a minute",
        ),
        key(
            "backoff_ms",
            whole(1, 600_000, "milliseconds"),
            "1000",
            "Initial backoff; doubles up to 30 s",
        ),
    ],
    elsewhere: &[],
};

const SLOTS: SectionSpec = SectionSpec {
    title: "servers.ID.limits",
    keys: &[
        key("concurrent", whole(1, 10_000, "calls"), "64", "Concurrent calls"),
        key(
            "queue",
            whole(0, 100_000, "calls"),
            "128",
            "Queued calls; more are rejected, and so is a call that would miss its deadline in the \
             queue",
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
            "Timeout of every call; the smallest of this, the tool's `max_duration_ms` and \
             `limits.timeout_ms` applies",
        ),
        key(
            "slow_response_threshold_ms",
            MILLISECONDS,
            "2000",
            "Delay before the message below is spoken",
        ),
        key(
            "slow_response_message",
            PROSE,
            "none: no message",
            "Message spoken while a tool is slow",
        ),
    ],
    elsewhere: &[],
};

const TOOL: SectionSpec = SectionSpec {
    title: "servers.ID.tools.NAME",
    keys: &[
        key("expose_as", PLAIN, "by `names.pattern`", "The exposed name"),
        key("description", PROSE, "the server's", "Description for models"),
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
            "declared by the server, or standard",
            "Median latency",
        ),
        key("max_duration_ms", MILLISECONDS, "declared by the server", "Hard limit"),
        key(
            "idempotent",
            KeyKind::Flag,
            "declared by a trusted server",
            "Whether the same call may be sent twice",
        ),
        key(
            "cacheable_seconds",
            whole(0, 31_536_000, "seconds"),
            "0",
            "Cache lifetime of a result",
        ),
        key(
            "probe",
            KeyKind::Json,
            "never probed",
            "Arguments of probe calls, which must not change anything",
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
            "In live sessions: whether the model waits for the result or continues to talk, and \
             how a late result is delivered",
        ),
        key("rate_limit", PLAIN, "none", "Rate limit: `30/min`; `s`, `min`, `h`, `day`"),
        key(
            "effect",
            KeyKind::Choice(&["read_only", "mutating", "destructive"]),
            "by its annotations, if trusted",
            "Side effects of calls; overrides the server's annotations",
        ),
        key(
            "approval",
            KeyKind::Choice(&["auto", "always", "never"]),
            "auto",
            "Approval. `auto`: not for calls that a client makes itself; for calls decided by a \
             model of the gateway, `auto_execute` and destructive hints decide",
        ),
    ],
    elsewhere: &[],
};
