//! Families of the memory for large answers.

use super::{MetricFamily, MetricFamilyKind};

pub(in crate::metrics) const ANSWER_MEMORY_RESERVED: MetricFamily = MetricFamily {
    name: "tollgate_answer_memory_reserved_bytes",
    kind: MetricFamilyKind::Gauge,
    help: "Memory reserved for large answers of servers and models.",
    labels: &[],
    about: "From the first byte read until the client has the answer. Four times the size of an \
            answer while it is processed, its size while it is sent. Answers up to 64 KiB reserve \
            nothing.",
};
pub(in crate::metrics) const ANSWER_MEMORY_LIMIT: MetricFamily = MetricFamily {
    name: "tollgate_answer_memory_limit_bytes",
    kind: MetricFamilyKind::Gauge,
    help: "Limit of the memory for large answers.",
    labels: &[],
    about: "A quarter of the memory limit (`limits.memory_mb`, or that of the control group).",
};
pub(in crate::metrics) const ANSWERS_REFUSED: MetricFamily = MetricFamily {
    name: "tollgate_answers_refused_total",
    kind: MetricFamilyKind::Counter,
    help: "Large answers that were not read or not sent for lack of memory.",
    labels: &[],
    about: "Each had waited for two seconds.",
};
