//! Table of all metric families: both `/metrics` and `docs/metrics.md` are generated from it. Names
//! and labels are stable for dashboards.

mod memory;
mod model_usage;
mod providers;

pub(super) use memory::{
    ANSWER_MEMORY_LIMIT, ANSWER_MEMORY_RESERVED, ANSWERS_REFUSED, CONNECTIONS_RESET,
    MEMORY_PRESSURE,
};
pub(super) use model_usage::{
    MODEL_ANSWERS, MODEL_AUDIO_SECONDS, MODEL_AUDIO_TOKENS, MODEL_CACHED, MODEL_COST,
    MODEL_LIMITED, MODEL_LIVE_SECONDS, MODEL_REQUESTS, MODEL_TOKENS, MODEL_UNPRICED,
    MODEL_USED_TOKENS, MODELS,
};
pub(super) use providers::{
    PROVIDER_BREAKER, PROVIDER_FIRST_TOKEN, PROVIDER_HEDGES, PROVIDER_IN_FLIGHT,
    PROVIDER_INTERRUPTED, PROVIDER_REQUESTS,
};

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
    help: "Tool calls, by outcome.",
    labels: &["server", "tool", "status"],
    about: "`status` is the outcome of the call (`ok`, `no_results`, `error`, `timeout`, \
            `pending`, `denied`, `invalid_arguments`, `rate_limited`, `offline`, and `cancelled`, \
            `revoked`, `failed`, `input_required`, `task`). Only existing tools; calls of unknown \
            names are in `tollgate_calls_total`. The gateway's own probes count. Beyond 2,000 \
            tools, in the order of their first calls, all further ones are `server=\"\"`, \
            `tool=\"other\"`.",
};
pub(super) const TOOL_LATENCY: MetricFamily = MetricFamily {
    name: "tollgate_tool_latency_seconds",
    kind: MetricFamilyKind::Histogram,
    help: "Latency of tool calls that reached their server.",
    labels: &["server", "tool"],
    about: "As seen by the caller: includes queueing and retries, but not approvals and cached \
            results. Only for called tools; the same limit of 2,000 tools applies. 0.5, 1.5 and 4 \
            s are bounds because they are the default ceilings of the tiers.",
};
pub(super) const CALLS: MetricFamily = MetricFamily {
    name: "tollgate_calls_total",
    kind: MetricFamilyKind::Counter,
    help: "Calls of every MCP method, by outcome.",
    labels: &["method", "outcome"],
    about: "Includes refused calls (`refused`: there is no such tool) and methods other than \
            `tools/call` (`resources/read`, `prompts/get`, …).",
};
pub(super) const CALLS_IN_FLIGHT: MetricFamily = MetricFamily {
    name: "tollgate_calls_in_flight",
    kind: MetricFamilyKind::Gauge,
    help: "Running and queued calls.",
    labels: &[],
    about: "",
};
pub(super) const CALL_LATENCY: MetricFamily = MetricFamily {
    name: "tollgate_call_latency_seconds",
    kind: MetricFamilyKind::Histogram,
    help: "Latency of calls, by the tier of their turn.",
    labels: &["tier"],
    about: "Measured like `tollgate_tool_latency_seconds`, for all methods.",
};
pub(super) const BUDGET_MISSES: MetricFamily = MetricFamily {
    name: "tollgate_budget_misses_total",
    kind: MetricFamilyKind::Counter,
    help: "Calls that missed the deadline of their turn.",
    labels: &["tier"],
    about: "Live sessions also have a counter of their own: `tollgate_live_budget_misses_total`.",
};
pub(super) const CLIENT_OPERATION: MetricFamily = MetricFamily {
    name: "mcp_client_operation_duration_seconds",
    kind: MetricFamilyKind::Histogram,
    help: "Duration of requests to MCP servers.",
    labels: &["mcp_method_name", "error_type"],
    about: "OpenTelemetry's `mcp.client.operation.duration` with its bounds: each attempt \
            separately, from sending to the response. By method only, because tools have \
            histograms of their own. `error_type` is empty, or `tool_error` for attempts that \
            failed or timed out, and for error responses.",
};
pub(super) const CACHE_LOOKUPS: MetricFamily = MetricFamily {
    name: "tollgate_cache_lookups_total",
    kind: MetricFamilyKind::Counter,
    help: "Cacheable calls, by cache result.",
    labels: &["result"],
    about: "`hit`: answered from the cache; `shared`: joined an identical call in flight; `miss`: \
            sent to the server.",
};
pub(super) const RESULTS_CLEANED: MetricFamily = MetricFamily {
    name: "tollgate_results_cleaned_total",
    kind: MetricFamilyKind::Counter,
    help: "Hidden characters removed from results of servers.",
    labels: &["kind"],
    about: "Characters, or whole escape sequences: `control`, `tag`, `bidi`, `zero_width`, \
              `variation_selector`, `private_use`, `combining`, `surrogate`.",
};
pub(super) const TAINTED_CALLS: MetricFamily = MetricFamily {
    name: "tollgate_tainted_calls_total",
    kind: MetricFamilyKind::Counter,
    help: "Destructive calls in a turn that had read a result of an untrusted server.",
    labels: &["action"],
    about: "`asked`: approval was required; `refused`: `trust.taint` is `deny`, or the caller was \
            a program, which does not wait for approval.",
};

pub(super) const TIER_SELECTED: MetricFamily = MetricFamily {
    name: "tollgate_tier_selected_total",
    kind: MetricFamilyKind::Counter,
    help: "Turns by the rule that selected their tier.",
    labels: &["tier", "rule"],
    about: "`rule` is `forced` (requested explicitly), `said` (a keyword), `said_too_soon` (a \
            keyword for deep, too soon after another deep turn), `crowd` (turns were waiting), \
            `first_turn`, `nothing` (no reason for a higher tier) or `ceiling` (limited by the \
            agent's ceiling). The text is not a label.",
};
pub(super) const TOOLS_HIDDEN: MetricFamily = MetricFamily {
    name: "tollgate_tools_hidden",
    kind: MetricFamilyKind::Gauge,
    help: "Tools not available to a tier, by the reason for their higher tier.",
    labels: &["tier", "reason"],
    about: "`reason` is `slow` (measured), `declared` (declared slow), `unmeasured`, `failing`, \
            `overrunning` or `trial`.",
};

pub(super) const TOOLS: MetricFamily = MetricFamily {
    name: "tollgate_tools",
    kind: MetricFamilyKind::Gauge,
    help: "Tools, by availability.",
    labels: &["state"],
    about: "`served`, `withheld` (not trusted, or left out) or `away` (their server is \
            unavailable).",
};
pub(super) const SERVER_UP: MetricFamily = MetricFamily {
    name: "tollgate_server_up",
    kind: MetricFamilyKind::Gauge,
    help: "Whether the server is available.",
    labels: &["server"],
    about: "1 also for a `degraded` server.",
};
pub(super) const SERVER_STATE: MetricFamily = MetricFamily {
    name: "tollgate_server_state",
    kind: MetricFamilyKind::Gauge,
    help: "The state of the server: 1 for the current state.",
    labels: &["server", "state"],
    about: "`starting`, `ready`, `degraded`, `offline`, `failed` or `disabled`.",
};
pub(super) const SERVER_RESTARTS: MetricFamily = MetricFamily {
    name: "tollgate_server_restarts_total",
    kind: MetricFamilyKind::Counter,
    help: "Restarts of the server.",
    labels: &["server"],
    about: "",
};
pub(super) const SERVER_IN_FLIGHT: MetricFamily = MetricFamily {
    name: "tollgate_server_calls_in_flight",
    kind: MetricFamilyKind::Gauge,
    help: "Calls in flight at the server.",
    labels: &["server"],
    about: "Not for in-process servers.",
};
pub(super) const SERVER_QUEUE: MetricFamily = MetricFamily {
    name: "tollgate_server_queue",
    kind: MetricFamilyKind::Gauge,
    help: "Calls queued for the server.",
    labels: &["server"],
    about: "Not for in-process servers.",
};
pub(super) const SERVER_LATE: MetricFamily = MetricFamily {
    name: "tollgate_server_late_answers_total",
    kind: MetricFamilyKind::Counter,
    help: "Late responses that no caller was waiting for.",
    labels: &["server"],
    about: "",
};

pub(super) const APPROVALS_WAITING: MetricFamily = MetricFamily {
    name: "tollgate_approvals_waiting",
    kind: MetricFamilyKind::Gauge,
    help: "Calls awaiting approval.",
    labels: &[],
    about: "",
};
pub(super) const APPROVALS: MetricFamily = MetricFamily {
    name: "tollgate_approvals_total",
    kind: MetricFamilyKind::Counter,
    help: "Calls that required approval, by decision.",
    labels: &["outcome"],
    about: "`approved`, `denied`, `expired` (nobody decided in time), `withdrawn` (the caller \
            disconnected) or `revoked` (the access of the caller or to the tool was revoked).",
};

pub(super) const ITERATIONS: MetricFamily = MetricFamily {
    name: "tollgate_agent_iterations",
    kind: MetricFamilyKind::Histogram,
    help: "Rounds per answer of an agent.",
    labels: &["agent"],
    about: "One round is one model response; every round but the last calls tools.",
};

pub(super) const SESSIONS: MetricFamily = MetricFamily {
    name: "tollgate_sessions",
    kind: MetricFamilyKind::Gauge,
    help: "Open sessions.",
    labels: &["kind"],
    about: "`mcp` (clients of the older protocol revisions) or `live` (speech).",
};
pub(super) const LIVE_SESSIONS: MetricFamily = MetricFamily {
    name: "tollgate_live_sessions",
    kind: MetricFamilyKind::Gauge,
    help: "Open live sessions.",
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
    help: "Turns interrupted by the caller (barge-in).",
    labels: &["dialect"],
    about: "",
};
pub(super) const LIVE_TURN_SECONDS: MetricFamily = MetricFamily {
    name: "tollgate_live_turn_seconds_total",
    kind: MetricFamilyKind::Counter,
    help: "Duration of turns of live sessions.",
    labels: &["dialect"],
    about: "",
};
pub(super) const LIVE_SILENCE: MetricFamily = MetricFamily {
    name: "tollgate_live_silence_seconds",
    kind: MetricFamilyKind::Histogram,
    help: "Time that callers of live sessions heard nothing before an answer.",
    labels: &["part"],
    about: "From the end of their speech to the first audio for the client. `part` is `total`, or \
            whose time it was: `model`, `tool`, `network` or `gateway` \
            ([realtime.md](realtime.md#silence)).",
};
pub(super) const LIVE_TOOL_SECONDS: MetricFamily = MetricFamily {
    name: "tollgate_live_tool_seconds_total",
    kind: MetricFamilyKind::Counter,
    help: "Of that, time spent in tools.",
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
    help: "Calls that missed the deadline of their live turn.",
    labels: &["dialect"],
    about: "",
};
pub(super) const LIVE_ANNOUNCEMENTS: MetricFamily = MetricFamily {
    name: "tollgate_live_announcements_total",
    kind: MetricFamilyKind::Counter,
    help: "Spoken fillers for slow calls.",
    labels: &["dialect"],
    about: "",
};
pub(super) const LIVE_CANCELLATIONS: MetricFamily = MetricFamily {
    name: "tollgate_live_cancellations_total",
    kind: MetricFamilyKind::Counter,
    help: "Calls that were cancelled.",
    labels: &["dialect"],
    about: "",
};
pub(super) const LIVE_LATE: MetricFamily = MetricFamily {
    name: "tollgate_live_late_results_total",
    kind: MetricFamilyKind::Counter,
    help: "Late results that were passed to the model.",
    labels: &["dialect"],
    about: "",
};

pub(super) const LIVE_FAILOVERS: MetricFamily = MetricFamily {
    name: "tollgate_live_failovers_total",
    kind: MetricFamilyKind::Counter,
    help: "Sessions that went on after their provider had failed.",
    labels: &["dialect"],
    about: "",
};

pub(super) const BUILD_INFO: MetricFamily = MetricFamily {
    name: "tollgate_build_info",
    kind: MetricFamilyKind::Gauge,
    help: "Version of the gateway; always 1.",
    labels: &["version"],
    about: "",
};
pub(super) const REQUESTS_IN_FLIGHT: MetricFamily = MetricFamily {
    name: "tollgate_requests_in_flight",
    kind: MetricFamilyKind::Gauge,
    help: "HTTP requests in flight.",
    labels: &[],
    about: "",
};
pub(super) const PANICS: MetricFamily = MetricFamily {
    name: "tollgate_panics_total",
    kind: MetricFamilyKind::Counter,
    help: "Panics of the gateway that were caught.",
    labels: &[],
    about: "Each ended one request, stream or background task, and is in the log. Please report \
            any value above 0.",
};
pub(super) const CONFIG_RELOADS: MetricFamily = MetricFamily {
    name: "tollgate_config_reloads_total",
    kind: MetricFamilyKind::Counter,
    help: "Reloads of the config, by result.",
    labels: &["outcome"],
    about: "`applied` or `refused`.",
};
pub(super) const CONFIG_GOOD: MetricFamily = MetricFamily {
    name: "tollgate_config_good",
    kind: MetricFamilyKind::Gauge,
    help: "Whether the last read config file is in use.",
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
    help: "Requests denied by authentication, authorization or origin checks.",
    labels: &["reason"],
    about: "`reason` is `no_key`, `wrong_key`, `expired_key`, `bad_token` (of the issuer of `auth`), \
              `malformed_credentials` (two keys, or one in a URL), `failed_login`, `no_csrf`, \
              `no_right` (also: not the key's agent), `bad_host`, `bad_origin` or `bad_signature` (of \
              a webhook). Addresses are in the log and in the audit trail, not here.",
};
pub(super) const WRONG_KEYS_THROTTLED: MetricFamily = MetricFamily {
    name: "tollgate_wrong_keys_throttled_total",
    kind: MetricFamilyKind::Counter,
    help: "Wrong keys and tokens answered with 429 because their address had sent too many.",
    labels: &[],
    about: "Also counted in `tollgate_access_refused_total`.",
};
pub(super) const EVENTS_MISSED: MetricFamily = MetricFamily {
    name: "tollgate_events_missed_total",
    kind: MetricFamilyKind::Counter,
    help: "Events that a slow reader of `/api/events` did not get.",
    labels: &[],
    about: "The reader gets `missed` with their number.",
};
pub(super) const PROCESS_START: MetricFamily = MetricFamily {
    name: "process_start_time_seconds",
    kind: MetricFamilyKind::Gauge,
    help: "Start time of the process, in seconds since 1970.",
    labels: &[],
    about: "",
};
pub(super) const PROCESS_CPU: MetricFamily = MetricFamily {
    name: "process_cpu_seconds_total",
    kind: MetricFamilyKind::Counter,
    help: "CPU time of the process, in seconds.",
    labels: &[],
    about: "Only on Linux, like all that follow.",
};
pub(super) const PROCESS_MEMORY: MetricFamily = MetricFamily {
    name: "process_resident_memory_bytes",
    kind: MetricFamilyKind::Gauge,
    help: "Resident memory of the process, in bytes.",
    labels: &[],
    about: "",
};
pub(super) const PROCESS_FILES: MetricFamily = MetricFamily {
    name: "process_open_fds",
    kind: MetricFamilyKind::Gauge,
    help: "Open files and sockets of the process.",
    labels: &[],
    about: "",
};
pub(super) const PROCESS_MAX_FILES: MetricFamily = MetricFamily {
    name: "process_max_fds",
    kind: MetricFamilyKind::Gauge,
    help: "Limit of open files and sockets.",
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
    ("Models", MODELS),
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
            &LIVE_SILENCE,
            &LIVE_CALLS,
            &LIVE_MISSES,
            &LIVE_ANNOUNCEMENTS,
            &LIVE_CANCELLATIONS,
            &LIVE_LATE,
            &LIVE_FAILOVERS,
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
            &ANSWER_MEMORY_RESERVED,
            &ANSWER_MEMORY_LIMIT,
            &ANSWERS_REFUSED,
            &EVENTS_MISSED,
            &PROCESS_START,
            &PROCESS_CPU,
            &PROCESS_MEMORY,
            &PROCESS_FILES,
            &PROCESS_MAX_FILES,
        ],
    ),
];
