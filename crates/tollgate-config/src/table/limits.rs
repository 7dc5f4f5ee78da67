//! Config keys of limits on calls, requests and connections.

use super::{MILLISECONDS, SectionSpec, key, model_usage, whole};

pub(super) const LIMITS: SectionSpec = SectionSpec {
    title: "limits",
    keys: &[
        key("timeout_ms", MILLISECONDS, "30000", "Upper bound for the timeout of every call"),
        key(
            "in_flight",
            whole(1, 1_000_000, "requests"),
            "1024",
            "Concurrent requests; more get 503. Listening streams are not counted",
        ),
        key(
            "per_key",
            whole(1, 1_000_000, "requests"),
            "64",
            "Concurrent requests of one key; more get 429",
        ),
        key(
            "streams_per_key",
            whole(1, 1_000_000, "streams"),
            "1000",
            "Listening streams of one key; more get 429. All keys together are limited to half of \
             `connections`",
        ),
        key(
            "live_sessions",
            whole(1, 1_000_000, "sessions"),
            "2000",
            "Concurrent live speech sessions; more get 503",
        ),
        key(
            "live_per_key",
            whole(1, 1_000_000, "sessions"),
            "1000",
            "Concurrent live sessions of one key; more get 429",
        ),
        model_usage::OF_EVERY_KEY,
        key(
            "connections",
            whole(16, 1_000_000, "connections"),
            "4096, or what live sessions need",
            "Concurrent connections. The oldest idle one is closed for a new one; if all are busy, \
             the new one gets 503",
        ),
        key(
            "connections_per_address",
            whole(16, 1_000_000, "connections"),
            "half of `connections`",
            "Concurrent connections of one address. Addresses of this machine are not limited",
        ),
        key(
            "sessions",
            whole(1, 10_000_000, "sessions"),
            "10000",
            "Sessions of MCP clients before revision 2026-07-28. If full, the oldest idle session \
             of the client with the most sessions is closed",
        ),
        key(
            "sessions_per_key",
            whole(1, 10_000_000, "sessions"),
            "1000",
            "Sessions of one key. If full, its oldest idle one is closed; if all are in use, the \
             new one gets 429",
        ),
        key(
            "sessions_per_address",
            whole(1, 10_000_000, "sessions"),
            "5000",
            "Sessions of one address, likewise",
        ),
        key(
            "body_bytes_per_s",
            whole(0, 1_048_576, "bytes"),
            "1024",
            "Mean rate of a request's body, counted after its first five seconds; slower ones get \
             408. 0: only the timeout of 30 s counts",
        ),
        key(
            "json_values",
            whole(1_000, 10_000_000, "values"),
            "400000",
            "JSON values in one request body or message; more get 413. Each takes up to 250 bytes \
             while it is parsed",
        ),
        key(
            "json_depth",
            whole(8, 128, "levels"),
            "128",
            "Nesting depth of JSON; deeper values get 400",
        ),
        key(
            "argument_values",
            whole(100, 10_000_000, "values"),
            "100000",
            "JSON values in the arguments of one call; more are rejected as invalid params",
        ),
        key(
            "memory_mb",
            whole(0, 1_048_576, "megabytes"),
            "0: the limit of the control group, if any",
            "Memory limit. At 80 % idle sessions are closed and new streams and live sessions are \
             refused, at 90 % requests get 503, at 95 % connections are refused and the largest \
             one is reset. An eighth is reserved for request bodies, a quarter for large answers \
             of servers and models; what has no space within two seconds gets 503",
        ),
    ],
    elsewhere: &[],
};
