//! Families of model usage, by model and by agent.

use super::{
    ITERATIONS, MetricFamily, MetricFamilyKind, PROVIDER_BREAKER, PROVIDER_FIRST_TOKEN,
    PROVIDER_HEDGES, PROVIDER_IN_FLIGHT, PROVIDER_INTERRUPTED, PROVIDER_REQUESTS,
};

pub(in crate::metrics) const MODEL_TOKENS: MetricFamily = MetricFamily {
    name: "tollgate_model_tokens_total",
    kind: MetricFamilyKind::Counter,
    help: "Tokens, as counted by providers.",
    labels: &["model", "direction"],
    about: "`direction` is `input` (including cached tokens) or `output`. Live sessions (they \
            are in `tollgate_model_used_tokens_total`) and streams without usage data are not \
            counted. Beyond 200 models, all further ones are \
            `other`.",
};
pub(in crate::metrics) const MODEL_CACHED: MetricFamily = MetricFamily {
    name: "tollgate_model_cached_tokens_total",
    kind: MetricFamilyKind::Counter,
    help: "Input tokens read from the provider's cache.",
    labels: &["model"],
    about: "",
};
pub(in crate::metrics) const MODEL_ANSWERS: MetricFamily = MetricFamily {
    name: "tollgate_model_answers_total",
    kind: MetricFamilyKind::Counter,
    help: "Model responses; each round of an agent is one.",
    labels: &["model"],
    about: "",
};
pub(in crate::metrics) const MODEL_REQUESTS: MetricFamily = MetricFamily {
    name: "tollgate_model_requests_total",
    kind: MetricFamilyKind::Counter,
    help: "Requests to models, by agent.",
    labels: &["model", "agent"],
    about: "Each round of an agent is one, also if it failed, and each response of a live session. `agent` is empty if the model was \
            asked directly. Beyond 500 pairs, further ones are `other`.",
};
pub(in crate::metrics) const MODEL_USED_TOKENS: MetricFamily = MetricFamily {
    name: "tollgate_model_used_tokens_total",
    kind: MetricFamilyKind::Counter,
    help: "Tokens of requests to models, by agent.",
    labels: &["model", "agent", "direction"],
    about: "`direction` is `input` or `output`. As counted by the provider; estimated for an answer \
            that was cut, or that its provider did not count.",
};
pub(in crate::metrics) const MODEL_AUDIO_TOKENS: MetricFamily = MetricFamily {
    name: "tollgate_model_audio_tokens_total",
    kind: MetricFamilyKind::Counter,
    help: "Of the used tokens, those of audio in live sessions.",
    labels: &["model", "agent", "direction"],
    about: "`direction` is `input` or `output`.",
};
pub(in crate::metrics) const MODEL_AUDIO_SECONDS: MetricFamily = MetricFamily {
    name: "tollgate_model_audio_seconds_total",
    kind: MetricFamilyKind::Counter,
    help: "Audio that passed in live sessions.",
    labels: &["model", "agent", "direction"],
    about: "`direction` is `input` (the model hears) or `output`.",
};
pub(in crate::metrics) const MODEL_LIVE_SECONDS: MetricFamily = MetricFamily {
    name: "tollgate_model_live_seconds_total",
    kind: MetricFamilyKind::Counter,
    help: "Time of live sessions.",
    labels: &["model", "agent"],
    about: "Also audio files that a price by the minute is charged for.",
};
pub(in crate::metrics) const MODEL_COST: MetricFamily = MetricFamily {
    name: "tollgate_model_cost_dollars_total",
    kind: MetricFamilyKind::Counter,
    help: "Cost of requests to models, by agent.",
    labels: &["model", "agent"],
    about: "By `prices` of the config, or the built-in list prices. Without the requests of \
            `tollgate_model_unpriced_requests_total`.",
};
pub(in crate::metrics) const MODEL_UNPRICED: MetricFamily = MetricFamily {
    name: "tollgate_model_unpriced_requests_total",
    kind: MetricFamilyKind::Counter,
    help: "Requests to models whose price is unknown.",
    labels: &["model", "agent"],
    about: "",
};
pub(in crate::metrics) const MODEL_LIMITED: MetricFamily = MetricFamily {
    name: "tollgate_model_limit_refusals_total",
    kind: MetricFamilyKind::Counter,
    help: "Requests to models that were not sent, by the limit that was reached.",
    labels: &["scope"],
    about: "`scope` is `key`, `agent` or `model`: whose `model_limits`.",
};

/// All families of models, in the order of the reference.
pub(in crate::metrics) const MODELS: &[&MetricFamily] = &[
    &MODEL_TOKENS,
    &MODEL_CACHED,
    &MODEL_ANSWERS,
    &MODEL_REQUESTS,
    &MODEL_USED_TOKENS,
    &MODEL_AUDIO_TOKENS,
    &MODEL_AUDIO_SECONDS,
    &MODEL_LIVE_SECONDS,
    &MODEL_COST,
    &MODEL_UNPRICED,
    &MODEL_LIMITED,
    &PROVIDER_REQUESTS,
    &PROVIDER_INTERRUPTED,
    &PROVIDER_HEDGES,
    &PROVIDER_FIRST_TOKEN,
    &PROVIDER_IN_FLIGHT,
    &PROVIDER_BREAKER,
    &ITERATIONS,
];
