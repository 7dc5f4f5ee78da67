//! Config keys of agents, models, budgets and clients.

use super::memory::{AGENT_MEMORY, TENANT};
use super::{
    KeyKind, KeySpec, MILLISECONDS, PLAIN, PLAINS, PROSE, PROSES, SECRET, SectionSpec, TIERS, key,
    required_key, whole,
};

pub(super) const BUDGET: SectionSpec = SectionSpec {
    title: "budget",
    keys: &[
        key(
            "tiers",
            KeyKind::Section(&CEILINGS),
            "see there",
            "How long the tools of a turn may take",
        ),
        key(
            "percentile",
            whole(1, 99, ""),
            "50",
            "Which measured percentile decides a tool's tier",
        ),
        key("min_samples", whole(1, 100, "calls"), "5", "Below this the declared latency counts"),
        key(
            "recovery_s",
            whole(1, 86_400, "seconds"),
            "600",
            "A tool that stands too high and must not be probed gets a trial after this long without a call",
        ),
        key(
            "hold_s",
            whole(0, 86_400, "seconds"),
            "30",
            "A tool changes its tier at most once in this time; lists that change cost prompt caches",
        ),
        key(
            "calibrate_interval_s",
            whole(0, 86_400, "seconds"),
            "300",
            "How often tools that may be probed are measured while nobody calls them; 0: never. Measuring on connect and probing tools that stand too high go on; `servers.ID.calibrate: false` stops all of it",
        ),
        key(
            "deep_interval_s",
            whole(0, 86_400, "seconds"),
            "30",
            "A second deep turn sooner than this is a standard one",
        ),
        key(
            "keywords",
            KeyKind::Section(&KEYWORDS),
            "the built-in ones",
            "Words that ask for more time, for every agent",
        ),
    ],
    elsewhere: &[],
};

const CEILINGS: SectionSpec = SectionSpec {
    title: "budget.tiers",
    keys: &[
        key("fast_ms", MILLISECONDS, "500", "All tools of a fast turn together"),
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
    key("replace", KeyKind::Flag, "false", "Forget the built-in words"),
    key(
        "languages",
        KeyKind::List(&KeyKind::Choice(&["de", "en"])),
        "all of them",
        "Which of the built-in lists count",
    ),
];

pub(super) const PROVIDER: SectionSpec = SectionSpec {
    title: "providers.NAME",
    keys: &[
        required_key(
            "kind",
            KeyKind::Choice(&["openai", "anthropic", "gemini", "deepgram", "offline"]),
            "`openai` is every compatible API, `deepgram` its voice agent, `offline` the small model built in",
        ),
        key("base_url", PLAIN, "the vendor's", "Where the API begins"),
        key("api_key", SECRET, "none", "Sent as the API wants it"),
        key("headers", KeyKind::Table(&SECRET), "{}", "Sent with every request"),
        key(
            "timeout_ms",
            whole(100, 3_600_000, "milliseconds"),
            "120000",
            "Until an answer is there, or the first event of one that streams",
        ),
        key(
            "idle_timeout_ms",
            whole(100, 3_600_000, "milliseconds"),
            "60000",
            "Between two events of a stream",
        ),
        key("retries", whole(0, 10, "attempts"), "2", "After a failure that may pass by itself"),
        key("concurrent", whole(1, 100_000, "requests"), "256", "Under way at the same time"),
    ],
    elsewhere: &[("type", "write `kind:`")],
};

pub(super) const MODEL: SectionSpec = SectionSpec {
    title: "models.NAME",
    keys: &[
        required_key("provider", PLAIN, "One of `providers`"),
        key("id", PLAIN, "the name", "What the provider calls it"),
        key(
            "api",
            KeyKind::Choice(&["chat", "responses", "realtime"]),
            "chat",
            "Which API of its provider is used: `responses` of kind `openai`; `realtime` for live sessions",
        ),
        key(
            "context_window",
            whole(256, 100_000_000, "tokens"),
            "8192",
            "What fits in, answer included",
        ),
        key(
            "max_output",
            whole(1, 100_000_000, "tokens"),
            "a quarter of the window, at most 4096",
            "Reserved for the answer",
        ),
        key(
            "tool_mode",
            KeyKind::Choice(&["native", "schema", "auto"]),
            "auto",
            "`schema` gives small models tools through constrained JSON",
        ),
    ],
    elsewhere: &[],
};

pub(super) const AGENT: SectionSpec = SectionSpec {
    title: "agents.NAME",
    keys: &[
        key("description", PROSE, "", "For people and for lists of models"),
        key("prompt", PROSE, "none", "System prompt with `{placeholders}`"),
        key("greeting", PROSE, "none", "First words, with `{placeholders}`"),
        key("models", PLAINS, "[offline]", "In order of preference"),
        key(
            "engine",
            KeyKind::Choice(&["cascaded", "sentence_cascade", "s2s"]),
            "cascaded",
            "How a turn is answered. `s2s`: in live sessions by a realtime model, which must be among `models`; deep turns go to the first one that is none, where there is one",
        ),
        key("opener_model", PLAIN, "none", "Speaks the first sentence; for `sentence_cascade`"),
        key(
            "tools",
            PLAINS,
            "[]: none",
            "Exposed names and globs. Nothing listed, nothing visible",
        ),
        key(
            "auto_execute",
            PLAINS,
            "[]: none",
            "Tools that a model may call without a person's leave: names and globs. Calls of other tools go back to the client",
        ),
        key(
            "budget_tier",
            TIERS,
            "none: no budget",
            "The most time the tools of a turn may take. Without it every tool is seen and only the limits of each call hold",
        ),
        key(
            "keywords",
            KeyKind::Section(&AGENT_KEYWORDS),
            "none of its own",
            "Words that ask for more time, beside those of `budget.keywords`",
        ),
        key("max_depth", whole(1, 100, "rounds"), "10", "Rounds of tool calls in one turn"),
        key(
            "max_calls",
            whole(1, 10_000, "calls"),
            "32",
            "Tool calls in one turn, all rounds together. What the programs of a model call counts as well, within `code.max_calls` each",
        ),
        key(
            "max_tools",
            whole(1, 1000, "tools"),
            "64",
            "Shown to the model at once: those that have most to do with what was said. Tools that the client sends along do not count",
        ),
        key(
            "pinned_tools",
            PLAINS,
            "[]: none",
            "Of `tools`, those that are shown whatever was said: names and globs",
        ),
        key(
            "tool_search",
            KeyKind::Choice(&["off", "auto", "always"]),
            "off",
            "Show the model its pinned tools and one that searches all others, which are added as they are found. `auto`: where they are more than `max_tools`, or do not fit into the model's window",
        ),
        key(
            "mixed_response",
            KeyKind::Choice(&["native", "inline"]),
            "native",
            "An answer in which some calls were run and others wait for the client: as tool calls of the API, or `inline` as JSON in the text",
        ),
        key(
            "code_mode",
            KeyKind::Flag,
            "false",
            "The model calls its tools in programs that it writes, instead of one by one (docs/code.md)",
        ),
        key(
            "memory",
            KeyKind::Section(&AGENT_MEMORY),
            "see there",
            "Which memory it has, and what goes into it by itself (docs/memory.md)",
        ),
        key("variables", KeyKind::Table(&PLAIN), "{}", "Defaults of placeholders"),
        key("rate_limit", PLAIN, "none", "Calls of this agent, by whomever it is used: `600/min`"),
        key(
            "limits",
            KeyKind::Section(&AGENT_LIMITS),
            "none",
            "How much of it there may be at once",
        ),
    ],
    elsewhere: &[
        ("model", "write a list: `models: [name]`"),
        ("personality", "write `prompt:`"),
        ("tier", "write `budget_tier:`"),
    ],
};

const AGENT_LIMITS: SectionSpec = SectionSpec {
    title: "agents.NAME.limits",
    keys: &[key(
        "concurrent",
        whole(1, 10_000, "calls"),
        "as many as there are",
        "Calls of this agent that run at the same time",
    )],
    elsewhere: &[],
};

pub(super) const RIGHTS: KeyKind =
    KeyKind::List(&KeyKind::Choice(&["execute", "override_tier", "approve", "observe", "admin"]));

pub(super) const KEY: SectionSpec = SectionSpec {
    title: "keys[]",
    keys: &[
        required_key("name", PLAIN, "Who holds it; shown in the audit trail"),
        key("key", SECRET, "none: needs `hash`", "The key itself; never empty"),
        key(
            "hash",
            SECRET,
            "none: needs `key`",
            "Instead of the key its SHA-256: `sha256:` and 64 hexadecimal digits",
        ),
        key(
            "role",
            KeyKind::Choice(&["admin", "operator", "caller"]),
            "caller",
            "`admin` has every right; the usual rights of an `operator` are `approve` and `observe`",
        ),
        key("agents", PLAINS, "every agent", "Agents that it may speak for"),
        key(
            "rights",
            RIGHTS,
            "those of the role: [execute] for a caller",
            "What it may do: `execute` calls tools, `override_tier` asks for a tier above an agent's `budget_tier` (one up to it needs no right), `approve` agrees to calls that wait for a person, `observe` sees how the servers are and what happens, `admin` changes what the gateway does",
        ),
        key("tools", PLAINS, "all that its agents see", "Tools that it may use at all; globs"),
        key(
            "rate_limit",
            PLAIN,
            "none",
            "Calls of this key: `600/min`, all at once or one after the other",
        ),
        key(
            "concurrent",
            whole(1, 1_000_000, "calls"),
            "`limits.per_key`",
            "Requests of this key at the same time",
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
