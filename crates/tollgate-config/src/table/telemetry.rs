//! Config keys of the telemetry export.

use super::{KeyKind, MILLISECONDS, PLAIN, SECRET, SectionSpec, key, whole};

pub(super) const TELEMETRY: SectionSpec = SectionSpec {
    title: "telemetry",
    keys: &[
        key(
            "otlp",
            KeyKind::Section(&OTLP),
            "from `OTEL_EXPORTER_OTLP_ENDPOINT` and related variables",
            "Collector for spans and histograms",
        ),
        key(
            "sample_percent",
            whole(0, 100, "percent"),
            "100, or from `OTEL_TRACES_SAMPLER`",
            "Sampling rate of traces that begin here; the decision of a client takes precedence",
        ),
        key(
            "service_name",
            PLAIN,
            "tollgate, or from `OTEL_SERVICE_NAME`",
            "Service name in traces and metrics",
        ),
        key(
            "resource",
            KeyKind::Table(&PLAIN),
            "from `OTEL_RESOURCE_ATTRIBUTES`",
            "Additional resource attributes: `deployment.environment.name: staging`",
        ),
        key(
            "capture",
            KeyKind::Choice(&["none", "redacted"]),
            "none",
            "Whether spans contain arguments and results of tools, and error messages of servers \
             and providers. `redacted`: up to 16 KB of each, without secrets",
        ),
        key(
            "baggage",
            KeyKind::Choice(&["drop", "pass"]),
            "drop",
            "Handling of the W3C `baggage` of clients. `pass`: forwarded to MCP servers unchanged, \
             never to model providers",
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
            "Base URL of a collector, such as `http://127.0.0.1:4318`; `/v1/traces` and \
             `/v1/metrics` are appended",
        ),
        key("headers", KeyKind::Table(&SECRET), "none", "Sent with every request"),
        key(
            "protocol",
            KeyKind::Choice(&["http/protobuf", "http/json"]),
            "http/protobuf",
            "Encoding",
        ),
        key("timeout_ms", MILLISECONDS, "10000", "Timeout of one request"),
        key("spans_every_ms", MILLISECONDS, "5000", "Maximum delay of a batch of spans"),
        key("metrics_every_ms", MILLISECONDS, "60000", "Interval of histograms"),
    ],
    elsewhere: &[("url", "write `endpoint:`")],
};
