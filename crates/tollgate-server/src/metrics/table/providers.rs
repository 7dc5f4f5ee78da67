//! Families of model providers, by endpoint and model.

use super::{MetricFamily, MetricFamilyKind};

pub(in crate::metrics) const PROVIDER_REQUESTS: MetricFamily = MetricFamily {
    name: "tollgate_provider_requests_total",
    kind: MetricFamilyKind::Counter,
    help: "Requests to model providers, by what became of them.",
    labels: &["provider", "endpoint", "model", "outcome"],
    about: "`endpoint` is empty for a provider with one; `model` is the provider's name of it, \
            `other` for all that are not in the config. `outcome` is `answered` (a stream that \
            began counts), `rejected` (the request is at fault), `rate_limited`, `failed` or \
            `cancelled` (another was faster, or the client left).",
};
pub(in crate::metrics) const PROVIDER_INTERRUPTED: MetricFamily = MetricFamily {
    name: "tollgate_provider_interrupted_total",
    kind: MetricFamilyKind::Counter,
    help: "Streams that broke off after their first token.",
    labels: &["provider", "endpoint", "model"],
    about: "",
};
pub(in crate::metrics) const PROVIDER_HEDGES: MetricFamily = MetricFamily {
    name: "tollgate_provider_hedges_total",
    kind: MetricFamilyKind::Counter,
    help: "Requests sent beside a slow one at another provider.",
    labels: &["provider", "endpoint", "model", "outcome"],
    about: "`outcome` is `won` or `lost`; one that still runs counts as lost.",
};
pub(in crate::metrics) const PROVIDER_FIRST_TOKEN: MetricFamily = MetricFamily {
    name: "tollgate_provider_first_token_seconds",
    kind: MetricFamilyKind::Histogram,
    help: "Time from a streamed request to its first token.",
    labels: &["provider", "endpoint", "model"],
    about: "",
};
pub(in crate::metrics) const PROVIDER_IN_FLIGHT: MetricFamily = MetricFamily {
    name: "tollgate_provider_requests_in_flight",
    kind: MetricFamilyKind::Gauge,
    help: "Requests to model providers that are not over.",
    labels: &["provider", "endpoint", "model"],
    about: "",
};
pub(in crate::metrics) const PROVIDER_BREAKER: MetricFamily = MetricFamily {
    name: "tollgate_provider_breaker",
    kind: MetricFamilyKind::Gauge,
    help: "1 for the state of the circuit breaker, 0 for the others.",
    labels: &["provider", "endpoint", "model", "state"],
    about: "`state` is `closed`, `open` or `half_open`.",
};
