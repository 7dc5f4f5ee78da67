//! Config keys of agents, models, budgets and clients.

use super::memory::{AGENT_MEMORY, TENANT};
use super::model_usage;
use super::{
    KeyKind, KeySpec, MILLISECONDS, PLAIN, PLAINS, PROSE, PROSES, SECRET, SectionSpec, TIERS, key,
    required_key, whole,
};

pub(super) const BUDGET: SectionSpec = SectionSpec {
    title: "budget",
    keys: &[
        key("tiers", KeyKind::Section(&CEILINGS), "see there", "Time for the tools of a turn"),
        key(
            "percentile",
            whole(1, 99, ""),
            "50",
            "The measured percentile that decides a tool's tier",
        ),
        key(
            "min_samples",
            whole(1, 100, "calls"),
            "5",
            "Minimum number of calls; below it the declared latency is used",
        ),
        key(
            "recovery_s",
            whole(1, 86_400, "seconds"),
            "600",
            "A tool in too high a tier that must not be probed gets a trial after this time \
             without a call",
        ),
        key(
            "hold_s",
            whole(0, 86_400, "seconds"),
            "30",
            "Minimum time between two tier changes of a tool; changed tool lists invalidate prompt \
             caches",
        ),
        key(
            "calibrate_interval_s",
            whole(0, 86_400, "seconds"),
            "300",
            "Interval of probes of idle tools that may be probed; 0: never. Measuring on connect \
             and probing tools in too high a tier continue; `servers.ID.calibrate: false` stops \
             all probes",
        ),
        key(
            "deep_interval_s",
            whole(0, 86_400, "seconds"),
            "30",
            "Minimum time between two deep turns; a sooner one becomes standard",
        ),
        key(
            "keywords",
            KeyKind::Section(&KEYWORDS),
            "the built-in ones",
            "Keywords that request more time, for every agent",
        ),
    ],
    elsewhere: &[],
};

const CEILINGS: SectionSpec = SectionSpec {
    title: "budget.tiers",
    keys: &[
        key("fast_ms", MILLISECONDS, "500", "Total time for the tools of a fast turn"),
        key("standard_ms", MILLISECONDS, "1500", "… of a standard one"),
        key("deep_ms", MILLISECONDS, "4000", "… of a deep one"),
    ],
    elsewhere: &[
        ("fast", "write `fast_ms:`"),
        ("standard", "write `standard_ms:`"),
        ("deep", "write `deep_ms:`"),
    ],
};

const KEYWORDS: SectionSpec =
    SectionSpec { title: "budget.keywords", keys: KEYWORD_LISTS, elsewhere: &[] };

const AGENT_KEYWORDS: SectionSpec =
    SectionSpec { title: "agents.NAME.keywords", keys: KEYWORD_LISTS, elsewhere: &[] };

const KEYWORD_LISTS: &[KeySpec] = &[
    key("deep", PROSES, "[]", "Whole words or phrases that make a turn deep, in any case"),
    key("standard", PROSES, "[]", "Whole words or phrases that make a turn standard, in any case"),
    key("replace", KeyKind::Flag, "false", "Ignore the built-in keywords"),
    key(
        "languages",
        KeyKind::List(&KeyKind::Choice(&["de", "en"])),
        "all of them",
        "The built-in lists in use",
    ),
];

const MODEL_PROVIDER: SectionSpec = SectionSpec {
    title: "models.NAME.providers",
    keys: &[
        required_key("provider", PLAIN, "One of `providers`"),
        key("id", PLAIN, "that of the model", "The provider's name of the model"),
        key(
            "weight",
            whole(0, 1_000, ""),
            "1",
            "Share of the requests, relative to the others; for `route: weight`",
        ),
        key(
            "price",
            PLAIN,
            "unknown, and so the last",
            "What a million tokens of usual requests cost, such as `3.75`; for `route: cost`",
        ),
    ],
    elsewhere: &[("model", "write `id:`")],
};

pub(super) const MODEL: SectionSpec = SectionSpec {
    title: "models.NAME",
    keys: &[
        key("provider", PLAIN, "none: needs `providers`", "One of `providers`"),
        key(
            "providers",
            KeyKind::Entries(&MODEL_PROVIDER),
            "the one of `provider`",
            "Several providers of the same model. If one fails before its first token, the next is \
             asked",
        ),
        key(
            "route",
            KeyKind::Choice(&["order", "weight", "latency", "cost"]),
            "`order` with `providers`, else `weight`",
            "Which provider or endpoint is asked first: as listed, by chance according to the \
             weights, the fastest by time to first token and tokens per second, or the cheapest",
        ),
        key(
            "hedge_after_ms",
            whole(1, 600_000, "milliseconds"),
            "never",
            "If a stream has no token by then, a second provider or endpoint is asked as well; the \
             slower one is cancelled. For at most a fifth of the requests",
        ),
        key("id", PLAIN, "the name", "The provider's name of the model"),
        key(
            "api",
            KeyKind::Choice(&["chat", "responses", "realtime"]),
            "chat",
            "The API of its provider: `responses` for kind `openai`; `realtime` for live sessions",
        ),
        key(
            "context_window",
            whole(256, 100_000_000, "tokens"),
            "8192",
            "Context window in tokens, including the answer",
        ),
        key(
            "max_output",
            whole(1, 100_000_000, "tokens"),
            "a quarter of the window, at most 4096",
            "Tokens reserved for the answer",
        ),
        key(
            "tool_mode",
            KeyKind::Choice(&["native", "schema", "auto"]),
            "auto",
            "`schema` provides tools to small models through constrained JSON",
        ),
        key(
            "behaves_like",
            PLAIN,
            "`id`",
            "Name of a model whose options this one takes, for a deployment whose own name does not \
             tell: `gpt-5.5`, `claude-opus-4-8`, `gemini-3.8-flash`",
        ),
        key(
            "store",
            KeyKind::Flag,
            "false",
            "Whether the provider may keep conversations; for `api: responses`. Requests that are \
             passed through unchanged keep their own `store`",
        ),
        model_usage::OF_MODEL,
    ],
    elsewhere: &[],
};

pub(super) const AGENT: SectionSpec = SectionSpec {
    title: "agents.NAME",
    keys: &[
        key("description", PROSE, "", "Shown to people and in lists of models"),
        key("prompt", PROSE, "none", "System prompt with `{placeholders}`"),
        key("greeting", PROSE, "none", "Greeting with `{placeholders}`"),
        key(
            "failover_message",
            PROSE,
            "none: nothing is said",
            "Spoken once by the next realtime model when one fails in a live session, in the \
             caller's language: \"One moment, please.\"",
        ),
        key("models", PLAINS, "[offline]", "In order of preference"),
        key(
            "engine",
            KeyKind::Choice(&["cascaded", "sentence_cascade", "s2s"]),
            "cascaded",
            "How turns are answered. `s2s`: live sessions use a realtime model, which must be in \
             `models`; deep turns use the first model without `api: realtime`, if there is one",
        ),
        key(
            "realtime",
            KeyKind::Section(&AGENT_REALTIME),
            "see there",
            "Deep turns of live sessions; for `engine: s2s`",
        ),
        key("opener_model", PLAIN, "none", "Model for the first sentence; for `sentence_cascade`"),
        key("tools", PLAINS, "[]: none", "Exposed names and globs. An empty list allows no tools"),
        key(
            "auto_execute",
            PLAINS,
            "[]: none",
            "Tools that the model may call without approval: names and globs. Calls of other tools \
             are returned to the client",
        ),
        key(
            "budget_tier",
            TIERS,
            "none: no budget",
            "The highest tier of its turns. Without it every tool is visible, and only the limits \
             of each call apply",
        ),
        key(
            "keywords",
            KeyKind::Section(&AGENT_KEYWORDS),
            "none of its own",
            "Keywords that request more time, in addition to `budget.keywords`",
        ),
        key("max_depth", whole(1, 100, "rounds"), "10", "Maximum rounds of tool calls in one turn"),
        key(
            "max_calls",
            whole(1, 10_000, "calls"),
            "32",
            "Maximum tool calls in one turn, over all rounds. Calls made by programs count as \
             well; each program is also limited by `code.max_calls`",
        ),
        key(
            "max_tools",
            whole(1, 1000, "tools"),
            "64",
            "Maximum number of tools shown to the model, the most relevant ones. Tools sent by the \
             client do not count",
        ),
        key(
            "pinned_tools",
            PLAINS,
            "[]: none",
            "Tools out of `tools` that are always shown: names and globs",
        ),
        key(
            "tool_search",
            KeyKind::Choice(&["off", "auto", "always"]),
            "off",
            "Show the model its pinned tools and a tool that searches the others, which are added \
             when found. `auto`: if there are more than `max_tools`, or they do not fit into the \
             context window",
        ),
        key(
            "mixed_response",
            KeyKind::Choice(&["native", "inline"]),
            "native",
            "Format of an answer with both executed calls and calls for the client: tool calls of \
             the API, or `inline` as JSON in the text",
        ),
        key(
            "code_mode",
            KeyKind::Flag,
            "false",
            "Code mode: the model calls its tools from programs (docs/code.md)",
        ),
        key(
            "memory",
            KeyKind::Section(&AGENT_MEMORY),
            "see there",
            "Its memory, and automatic recording (docs/memory.md)",
        ),
        key("variables", KeyKind::Table(&PLAIN), "{}", "Defaults of placeholders"),
        key(
            "rate_limit",
            PLAIN,
            "none",
            "Rate limit of calls of this agent, over all keys: `600/min`",
        ),
        model_usage::OF_AGENT,
        key("limits", KeyKind::Section(&AGENT_LIMITS), "none", "Concurrency limit"),
    ],
    elsewhere: &[
        ("model", "write a list: `models: [name]`"),
        ("personality", "write `prompt:`"),
        ("tier", "write `budget_tier:`"),
    ],
};

const AGENT_REALTIME: SectionSpec = SectionSpec {
    title: "agents.NAME.realtime",
    keys: &[
        key(
            "hold_ms",
            whole(0, 5_000, "milliseconds"),
            "300",
            "How long the realtime model waits for the transcript of an utterance that may have to \
             be answered by the other model; 0: it answers at once, and is stopped if it has not \
             begun to speak when the transcript arrives",
        ),
        key(
            "slow_response_threshold_ms",
            MILLISECONDS,
            "1000",
            "Delay before the message below is spoken",
        ),
        key(
            "slow_response_message",
            PROSE,
            "`One moment, please.`",
            "Message spoken once while the other model works, if no tool of the turn has spoken its \
             own before; empty: only those of tools",
        ),
    ],
    elsewhere: &[],
};

const AGENT_LIMITS: SectionSpec = SectionSpec {
    title: "agents.NAME.limits",
    keys: &[key(
        "concurrent",
        whole(1, 10_000, "calls"),
        "no limit",
        "Concurrent calls of this agent",
    )],
    elsewhere: &[],
};

pub(super) const RIGHTS: KeyKind = KeyKind::List(&KeyKind::Choice(&[
    "execute",
    "override_tier",
    "approve",
    "observe",
    "any_model",
    "admin",
]));

pub(super) const KEY: SectionSpec = SectionSpec {
    title: "keys[]",
    keys: &[
        required_key("name", PLAIN, "Name of the holder; shown in the audit trail"),
        key("key", SECRET, "none: needs `hash`", "The key itself; never empty"),
        key(
            "hash",
            SECRET,
            "none: needs `key`",
            "SHA-256 of the key, instead of the key: `sha256:` and 64 hexadecimal digits",
        ),
        key(
            "role",
            KeyKind::Choice(&["admin", "operator", "caller"]),
            "caller",
            "`admin` has every right; an `operator` has `approve` and `observe` by default",
        ),
        key("agents", PLAINS, "every agent", "Agents that it may use"),
        key(
            "rights",
            RIGHTS,
            "those of the role: [execute] for a caller",
            "Rights: `execute` calls tools, `override_tier` allows a tier above an agent's \
             `budget_tier` (lower tiers need no right), `approve` decides on calls awaiting \
             approval, `observe` reads the state of servers and events, `any_model` asks for models \
             that the config does not list (`PROVIDER/ID`), `admin` changes the gateway",
        ),
        key("tools", PLAINS, "all tools of its agents", "Tools that it may use; globs"),
        key("rate_limit", PLAIN, "none", "Rate limit of calls of this key: `600/min`"),
        model_usage::OF_KEY,
        key(
            "concurrent",
            whole(1, 1_000_000, "calls"),
            "`limits.per_key`",
            "Concurrent requests of this key",
        ),
        TENANT,
        key(
            "expires",
            PLAIN,
            "never",
            "`2027-01-31` (the beginning of that day, UTC) or `2027-01-31T12:00:00Z`",
        ),
    ],
    elsewhere: &[],
};
