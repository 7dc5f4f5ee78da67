//! Table of all metric families: both `/metrics` and `docs/metrics.md` are generated from it. Names
//! and labels are stable for dashboards.

/// One metric family.
#[derive(Debug)]
pub(super) struct MetricFamily {
    pub(super) name: &'static str,
    pub(super) kind: MetricFamilyKind,
    /// One line, without backslashes.
    pub(super) help: &'static str,
    pub(super) labels: &'static [&'static str],
    /// Further text for the reference.
    pub(super) about: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricFamilyKind {
    Counter,
    Gauge,
    Histogram,
}

pub(super) const TOOL_CALLS: MetricFamily = MetricFamily {
    name: "tollgate_tool_calls_total",
    kind: MetricFamilyKind::Counter,
    help: "Tool calls, by how they ended.",
    labels: &["server", "tool", "status"],
    about: "`status` is the outcome of the call (`ok`, `no_results`, `error`, `timeout`, \
              `pending`, `denied`, `invalid_arguments`, `rate_limited`, `offline`, and \
              `cancelled`, `revoked`, `failed`, `input_required`, `task`). Only tools that there are; \
              names that nobody has are in `tollgate_calls_total`. The gateway's own probes \
              count. Beyond 2,000 tools, in the order of their first calls, all further ones \
              are `server=\"\"`, `tool=\"other\"`.",
};
pub(super) const TOOL_LATENCY: MetricFamily = MetricFamily {
    name: "tollgate_tool_latency_seconds",
    kind: MetricFamilyKind::Histogram,
    help: "How long tool calls took that reached their server.",
    labels: &["server", "tool"],
    about: "From the caller's side: waiting for the server and second attempts included, \
              waiting for a person and answers from the cache not. Only tools that were \
              called; the bound of 2,000 tools is the same. 0.5, 1.5 and 4 s are bounds, as \
              the usual ceilings of the tiers are.",
};
pub(super) const CALLS: MetricFamily = MetricFamily {
    name: "tollgate_calls_total",
    kind: MetricFamilyKind::Counter,
    help: "Calls of every MCP method, by how they ended.",
    labels: &["method", "outcome"],
    about: "Calls that were refused (`refused`: there is no such tool) and other methods \
              than `tools/call` (`resources/read`, `prompts/get`, …) included.",
};
pub(super) const CALLS_IN_FLIGHT: MetricFamily = MetricFamily {
    name: "tollgate_calls_in_flight",
    kind: MetricFamilyKind::Gauge,
    help: "Calls that run or wait now.",
    labels: &[],
    about: "",
};
pub(super) const CALL_LATENCY: MetricFamily = MetricFamily {
    name: "tollgate_call_latency_seconds",
    kind: MetricFamilyKind::Histogram,
    help: "How long calls took, by the tier of their turn.",
    labels: &["tier"],
    about: "The same spans as `tollgate_tool_latency_seconds`, of all methods.",
};
pub(super) const BUDGET_MISSES: MetricFamily = MetricFamily {
    name: "tollgate_budget_misses_total",
    kind: MetricFamilyKind::Counter,
    help: "Calls that were not done when the time of their turn was over.",
    labels: &["tier"],
    about: "Live sessions count their own as well: `tollgate_live_budget_misses_total`.",
};
pub(super) const CLIENT_OPERATION: MetricFamily = MetricFamily {
    name: "mcp_client_operation_duration_seconds",
    kind: MetricFamilyKind::Histogram,
    help: "How long requests took at MCP servers.",
    labels: &["mcp_method_name", "error_type"],
    about: "OpenTelemetry's `mcp.client.operation.duration` with its bounds: each attempt by \
              itself, from when it left to when it was back. By method only, since the tools \
              have histograms of their own. `error_type` is empty, or `tool_error` for attempts \
              that broke or ran out of time, and for answers that were errors.",
};
pub(super) const CACHE_LOOKUPS: MetricFamily = MetricFamily {
    name: "tollgate_cache_lookups_total",
    kind: MetricFamilyKind::Counter,
    help: "Calls whose answer may be kept, by what there was for them.",
    labels: &["result"],
    about: "`hit`: an answer from before; `shared`: the same call was under way; `miss`: \
              the server was asked.",
};
pub(super) const RESULTS_CLEANED: MetricFamily = MetricFamily {
    name: "tollgate_results_cleaned_total",
    kind: MetricFamilyKind::Counter,
    help: "What was taken out of what servers answered, before anybody read it.",
    labels: &["kind"],
    about: "Characters, or whole escape sequences: `control`, `tag`, `bidi`, `zero_width`, \
              `variation_selector`, `private_use`, `combining`, `surrogate`.",
};
pub(super) const TAINTED_CALLS: MetricFamily = MetricFamily {
    name: "tollgate_tainted_calls_total",
    kind: MetricFamilyKind::Counter,
    help: "Destructive calls after a result of an untrusted server, in the same turn.",
    labels: &["action"],
    about: "`asked`: a person had to agree; `refused`: `trust.taint` is `deny`, or a program \
              does not wait for people.",
};

pub(super) const TIER_SELECTED: MetricFamily = MetricFamily {
    name: "tollgate_tier_selected_total",
    kind: MetricFamilyKind::Counter,
    help: "Turns whose tier was chosen from what was said.",
    labels: &["tier", "rule"],
    about: "`rule` is `forced` (somebody insisted), `said` (a keyword), `said_too_soon` (a \
              deep one, too soon after another), `crowd` (turns were waiting), `first_turn`, \
              `nothing` (no reason for more) or `ceiling` (more was chosen than the agent \
              gets). What was said is no label.",
};
pub(super) const TOOLS_HIDDEN: MetricFamily = MetricFamily {
    name: "tollgate_tools_hidden",
    kind: MetricFamilyKind::Gauge,
    help: "Tools that turns of a tier do without, by why they stand higher.",
    labels: &["tier", "reason"],
    about: "`reason` is `slow` (measured), `declared` (said to be slow), `unmeasured`, \
              `failing`, `overrunning` or `trial`.",
};

pub(super) const TOOLS: MetricFamily = MetricFamily {
    name: "tollgate_tools",
    kind: MetricFamilyKind::Gauge,
    help: "Tools, by whether anybody can see them.",
    labels: &["state"],
    about: "`served`, `withheld` (not trusted, or left out) or `away` (their server is).",
};
pub(super) const SERVER_UP: MetricFamily = MetricFamily {
    name: "tollgate_server_up",
    kind: MetricFamilyKind::Gauge,
    help: "Whether the server is in service.",
    labels: &["server"],
    about: "1 also for a server with trouble (`degraded`).",
};
pub(super) const SERVER_STATE: MetricFamily = MetricFamily {
    name: "tollgate_server_state",
    kind: MetricFamilyKind::Gauge,
    help: "The state of the server: 1 for the one it is in.",
    labels: &["server", "state"],
    about: "`starting`, `ready`, `degraded`, `offline`, `failed` or `disabled`.",
};
pub(super) const SERVER_RESTARTS: MetricFamily = MetricFamily {
    name: "tollgate_server_restarts_total",
    kind: MetricFamilyKind::Counter,
    help: "How often the server was started again.",
    labels: &["server"],
    about: "",
};
pub(super) const SERVER_IN_FLIGHT: MetricFamily = MetricFamily {
    name: "tollgate_server_calls_in_flight",
    kind: MetricFamilyKind::Gauge,
    help: "Calls that are at the server now.",
    labels: &["server"],
    about: "Not of servers in process.",
};
pub(super) const SERVER_QUEUE: MetricFamily = MetricFamily {
    name: "tollgate_server_queue",
    kind: MetricFamilyKind::Gauge,
    help: "Calls that wait for room at the server.",
    labels: &["server"],
    about: "Not of servers in process.",
};
pub(super) const SERVER_LATE: MetricFamily = MetricFamily {
    name: "tollgate_server_late_answers_total",
    kind: MetricFamilyKind::Counter,
    help: "Answers that came when nobody waited for them any more.",
    labels: &["server"],
    about: "",
};

pub(super) const APPROVALS_WAITING: MetricFamily = MetricFamily {
    name: "tollgate_approvals_waiting",
    kind: MetricFamilyKind::Gauge,
    help: "Calls that wait for a person's leave.",
    labels: &[],
    about: "",
};
pub(super) const APPROVALS: MetricFamily = MetricFamily {
    name: "tollgate_approvals_total",
    kind: MetricFamilyKind::Counter,
    help: "Calls that waited for a person's leave, by what came of it.",
    labels: &["outcome"],
    about: "`approved`, `denied`, `expired` (nobody decided in time), `withdrawn` \
              (the caller went away) or `revoked` (the caller or the tool was).",
};

pub(super) const MODEL_TOKENS: MetricFamily = MetricFamily {
    name: "tollgate_model_tokens_total",
    kind: MetricFamilyKind::Counter,
    help: "Tokens, as providers count them.",
    labels: &["model", "direction"],
    about: "`direction` is `input` (what came from the provider's cache included) or \
              `output`. Live sessions are not counted, nor are streams of which the provider \
              does not say it. Beyond 200 models all further ones are `other`.",
};
pub(super) const MODEL_CACHED: MetricFamily = MetricFamily {
    name: "tollgate_model_cached_tokens_total",
    kind: MetricFamilyKind::Counter,
    help: "Of the input tokens, what came from the provider's cache.",
    labels: &["model"],
    about: "",
};
pub(super) const MODEL_ANSWERS: MetricFamily = MetricFamily {
    name: "tollgate_model_answers_total",
    kind: MetricFamilyKind::Counter,
    help: "Answers of models: each round of an agent is one.",
    labels: &["model"],
    about: "",
};
pub(super) const ITERATIONS: MetricFamily = MetricFamily {
    name: "tollgate_agent_iterations",
    kind: MetricFamilyKind::Histogram,
    help: "Rounds that an agent's answer took.",
    labels: &["agent"],
    about: "One round is one answer of a model; every round but the last called tools.",
};

pub(super) const SESSIONS: MetricFamily = MetricFamily {
    name: "tollgate_sessions",
    kind: MetricFamilyKind::Gauge,
    help: "Sessions that are held.",
    labels: &["kind"],
    about: "`mcp` (of clients of the older protocol) or `live` (speech).",
};
pub(super) const LIVE_SESSIONS: MetricFamily = MetricFamily {
    name: "tollgate_live_sessions",
    kind: MetricFamilyKind::Gauge,
    help: "Live sessions that are held.",
    labels: &["dialect"],
    about: "",
};
pub(super) const LIVE_SESSIONS_TOTAL: MetricFamily = MetricFamily {
    name: "tollgate_live_sessions_total",
    kind: MetricFamilyKind::Counter,
    help: "Live sessions.",
    labels: &["dialect"],
    about: "",
};
pub(super) const LIVE_TURNS: MetricFamily = MetricFamily {
    name: "tollgate_live_turns_total",
    kind: MetricFamilyKind::Counter,
    help: "Turns of live sessions.",
    labels: &["dialect"],
    about: "",
};
pub(super) const LIVE_INTERRUPTED: MetricFamily = MetricFamily {
    name: "tollgate_live_interrupted_turns_total",
    kind: MetricFamilyKind::Counter,
    help: "Turns that the caller broke off.",
    labels: &["dialect"],
    about: "",
};
pub(super) const LIVE_TURN_SECONDS: MetricFamily = MetricFamily {
    name: "tollgate_live_turn_seconds_total",
    kind: MetricFamilyKind::Counter,
    help: "How long the turns of live sessions took.",
    labels: &["dialect"],
    about: "",
};
pub(super) const LIVE_TOOL_SECONDS: MetricFamily = MetricFamily {
    name: "tollgate_live_tool_seconds_total",
    kind: MetricFamilyKind::Counter,
    help: "Of that, with tools.",
    labels: &["dialect"],
    about: "",
};
pub(super) const LIVE_CALLS: MetricFamily = MetricFamily {
    name: "tollgate_live_calls_total",
    kind: MetricFamilyKind::Counter,
    help: "Tool calls in turns of live sessions.",
    labels: &["dialect"],
    about: "",
};
pub(super) const LIVE_MISSES: MetricFamily = MetricFamily {
    name: "tollgate_live_budget_misses_total",
    kind: MetricFamilyKind::Counter,
    help: "Calls that were not done when the time of their live turn was over.",
    labels: &["dialect"],
    about: "",
};
pub(super) const LIVE_ANNOUNCEMENTS: MetricFamily = MetricFamily {
    name: "tollgate_live_announcements_total",
    kind: MetricFamilyKind::Counter,
    help: "Words for slow calls that were said.",
    labels: &["dialect"],
    about: "",
};
pub(super) const LIVE_CANCELLATIONS: MetricFamily = MetricFamily {
    name: "tollgate_live_cancellations_total",
    kind: MetricFamilyKind::Counter,
    help: "Calls that nobody waited for any more.",
    labels: &["dialect"],
    about: "",
};
pub(super) const LIVE_LATE: MetricFamily = MetricFamily {
    name: "tollgate_live_late_results_total",
    kind: MetricFamilyKind::Counter,
    help: "Results that came after their turn.",
    labels: &["dialect"],
    about: "",
};

pub(super) const BUILD_INFO: MetricFamily = MetricFamily {
    name: "tollgate_build_info",
    kind: MetricFamilyKind::Gauge,
    help: "Which gateway this is; always 1.",
    labels: &["version"],
    about: "",
};
pub(super) const REQUESTS_IN_FLIGHT: MetricFamily = MetricFamily {
    name: "tollgate_requests_in_flight",
    kind: MetricFamilyKind::Gauge,
    help: "HTTP requests that are being answered.",
    labels: &[],
    about: "",
};
pub(super) const PANICS: MetricFamily = MetricFamily {
    name: "tollgate_panics_total",
    kind: MetricFamilyKind::Counter,
    help: "Faults of the gateway that were contained.",
    labels: &[],
    about: "Each cost one request, stream or background task, and stands in the log. Anything above 0 is \
              worth a report.",
};
pub(super) const CONFIG_RELOADS: MetricFamily = MetricFamily {
    name: "tollgate_config_reloads_total",
    kind: MetricFamilyKind::Counter,
    help: "Readings of the config.",
    labels: &["outcome"],
    about: "`applied` or `refused`.",
};
pub(super) const CONFIG_GOOD: MetricFamily = MetricFamily {
    name: "tollgate_config_good",
    kind: MetricFamilyKind::Gauge,
    help: "Whether the config file, as last read, runs.",
    labels: &[],
    about: "",
};
pub(super) const AUDIT_WRITABLE: MetricFamily = MetricFamily {
    name: "tollgate_audit_writable",
    kind: MetricFamilyKind::Gauge,
    help: "Whether the audit trail can be written.",
    labels: &[],
    about: "",
};
pub(super) const ACCESS_REFUSED: MetricFamily = MetricFamily {
    name: "tollgate_access_refused_total",
    kind: MetricFamilyKind::Counter,
    help: "Requests that were refused for who asks or from where.",
    labels: &["reason"],
    about: "`reason` is `no_key`, `wrong_key`, `expired_key`, `bad_token` (of the issuer of `auth`), \
              `malformed_credentials` (two keys, or one in a URL), `failed_login`, `no_csrf`, \
              `no_right` (also: not the key's agent), `bad_host` or `bad_origin`. Addresses are in \
              the log and in the audit trail, not here.",
};
pub(super) const WRONG_KEYS_THROTTLED: MetricFamily = MetricFamily {
    name: "tollgate_wrong_keys_throttled_total",
    kind: MetricFamilyKind::Counter,
    help: "Wrong keys and tokens that were answered with 429, since their address sent too many.",
    labels: &[],
    about: "They are in `tollgate_access_refused_total` as well.",
};
pub(super) const MEMORY_PRESSURE: MetricFamily = MetricFamily {
    name: "tollgate_memory_pressure",
    kind: MetricFamilyKind::Gauge,
    help: "How short of memory it is, from 0 (calm) to 3.",
    labels: &[],
    about: "1: no new streams; 2: no new requests; 3: no new connections.",
};
pub(super) const CONNECTIONS_RESET: MetricFamily = MetricFamily {
    name: "tollgate_connections_reset_total",
    kind: MetricFamilyKind::Counter,
    help: "Connections that were reset for the memory that they held.",
    labels: &[],
    about: "While `tollgate_memory_pressure` is 3. The log says whose they were.",
};
pub(super) const PROCESS_START: MetricFamily = MetricFamily {
    name: "process_start_time_seconds",
    kind: MetricFamilyKind::Gauge,
    help: "When the process began, in seconds since 1970.",
    labels: &[],
    about: "",
};
pub(super) const PROCESS_CPU: MetricFamily = MetricFamily {
    name: "process_cpu_seconds_total",
    kind: MetricFamilyKind::Counter,
    help: "CPU time of the process, in seconds.",
    labels: &[],
    about: "Only on Linux, as all that follow.",
};
pub(super) const PROCESS_MEMORY: MetricFamily = MetricFamily {
    name: "process_resident_memory_bytes",
    kind: MetricFamilyKind::Gauge,
    help: "Memory that the process has resident, in bytes.",
    labels: &[],
    about: "",
};
pub(super) const PROCESS_FILES: MetricFamily = MetricFamily {
    name: "process_open_fds",
    kind: MetricFamilyKind::Gauge,
    help: "Files and sockets that the process has open.",
    labels: &[],
    about: "",
};
pub(super) const PROCESS_MOST_FILES: MetricFamily = MetricFamily {
    name: "process_max_fds",
    kind: MetricFamilyKind::Gauge,
    help: "Files and sockets that it may have open.",
    labels: &[],
    about: "",
};

/// By section of the reference.
pub(super) const SECTIONS: &[(&str, &[&MetricFamily])] = &[
    (
        "Calls",
        &[
            &TOOL_CALLS,
            &TOOL_LATENCY,
            &CALLS,
            &CALLS_IN_FLIGHT,
            &CALL_LATENCY,
            &BUDGET_MISSES,
            &CLIENT_OPERATION,
            &CACHE_LOOKUPS,
            &RESULTS_CLEANED,
            &TAINTED_CALLS,
        ],
    ),
    ("Tiers", &[&TIER_SELECTED, &TOOLS_HIDDEN]),
    (
        "Tools and servers",
        &[
            &TOOLS,
            &SERVER_UP,
            &SERVER_STATE,
            &SERVER_RESTARTS,
            &SERVER_IN_FLIGHT,
            &SERVER_QUEUE,
            &SERVER_LATE,
        ],
    ),
    ("People", &[&APPROVALS_WAITING, &APPROVALS]),
    ("Models", &[&MODEL_TOKENS, &MODEL_CACHED, &MODEL_ANSWERS, &ITERATIONS]),
    (
        "Sessions",
        &[
            &SESSIONS,
            &LIVE_SESSIONS,
            &LIVE_SESSIONS_TOTAL,
            &LIVE_TURNS,
            &LIVE_INTERRUPTED,
            &LIVE_TURN_SECONDS,
            &LIVE_TOOL_SECONDS,
            &LIVE_CALLS,
            &LIVE_MISSES,
            &LIVE_ANNOUNCEMENTS,
            &LIVE_CANCELLATIONS,
            &LIVE_LATE,
        ],
    ),
    (
        "The gateway",
        &[
            &BUILD_INFO,
            &REQUESTS_IN_FLIGHT,
            &PANICS,
            &CONFIG_RELOADS,
            &CONFIG_GOOD,
            &AUDIT_WRITABLE,
            &ACCESS_REFUSED,
            &WRONG_KEYS_THROTTLED,
            &MEMORY_PRESSURE,
            &CONNECTIONS_RESET,
            &PROCESS_START,
            &PROCESS_CPU,
            &PROCESS_MEMORY,
            &PROCESS_FILES,
            &PROCESS_MOST_FILES,
        ],
    ),
];
