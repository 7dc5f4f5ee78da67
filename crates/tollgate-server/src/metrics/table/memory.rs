//! Families of memory: its pressure, and what large answers use.

use super::{MetricFamily, MetricFamilyKind};

pub(in crate::metrics) const MEMORY_PRESSURE: MetricFamily = MetricFamily {
    name: "tollgate_memory_pressure",
    kind: MetricFamilyKind::Gauge,
    help: "Memory pressure, from 0 (none) to 3.",
    labels: &[],
    about: "1: no new streams; 2: no new requests; 3: no new connections.",
};
pub(in crate::metrics) const CONNECTIONS_RESET: MetricFamily = MetricFamily {
    name: "tollgate_connections_reset_total",
    kind: MetricFamilyKind::Counter,
    help: "Connections reset to free memory.",
    labels: &[],
    about: "While `tollgate_memory_pressure` is 3. The log has their addresses.",
};
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
