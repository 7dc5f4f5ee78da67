//! Config keys of the telemetry export.

use super::{KeyKind, MILLISECONDS, PLAIN, SECRET, SectionSpec, key, whole};

pub(super) const TELEMETRY: SectionSpec = SectionSpec {
    title: "telemetry",
    keys: &[
        key(
            "otlp",
            KeyKind::Section(&OTLP),
            "as `OTEL_EXPORTER_OTLP_ENDPOINT` and its like say",
            "Where spans and histograms are sent",
        ),
        key(
            "sample_percent",
            whole(0, 100, "percent"),
            "100, or as `OTEL_TRACES_SAMPLER` says",
            "Of traces that begin here, so many are kept; where a client has decided, that holds",
        ),
        key(
            "service_name",
            PLAIN,
            "tollgate, or as `OTEL_SERVICE_NAME` says",
            "How the gateway is called in traces and metrics",
        ),
        key(
            "resource",
            KeyKind::Table(&PLAIN),
            "as `OTEL_RESOURCE_ATTRIBUTES` says",
            "What else is said of the gateway: `deployment.environment.name: staging`",
        ),
        key(
            "capture",
            KeyKind::Choice(&["none", "redacted"]),
            "none",
            "Whether spans hold arguments and results of tools, and what servers and providers say of errors. `redacted`: up to 16 KB of each, without secrets",
        ),
        key(
            "baggage",
            KeyKind::Choice(&["drop", "pass"]),
            "drop",
            "What becomes of the W3C `baggage` of clients. `pass`: MCP servers get it, whatever it says; \
             models' providers never do",
        ),
    ],
    elsewhere: &[("endpoint", "write it under `otlp:`"), ("headers", "write them under `otlp:`")],
};

const OTLP: SectionSpec = SectionSpec {
    title: "telemetry.otlp",
    keys: &[
        key(
            "endpoint",
            PLAIN,
            "none: nothing is sent",
            "Base URL of a collector, such as `http://127.0.0.1:4318`; `/v1/traces` and `/v1/metrics` are put behind it",
        ),
        key("headers", KeyKind::Table(&SECRET), "none", "Sent with every request"),
        key(
            "protocol",
            KeyKind::Choice(&["http/protobuf", "http/json"]),
            "http/protobuf",
            "How it is written",
        ),
        key("timeout_ms", MILLISECONDS, "10000", "For one request"),
        key("spans_every_ms", MILLISECONDS, "5000", "How long spans wait for others at most"),
        key("metrics_every_ms", MILLISECONDS, "60000", "How often histograms are sent"),
    ],
    elsewhere: &[("url", "write `endpoint:`")],
};
