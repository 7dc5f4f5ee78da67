//! Metrics of sessions: legacy MCP sessions, and realtime sessions by dialect. Tool seconds divided
//! by turn seconds is the tools' share of the turns.

use tollgate_llm::realtime::SessionTotals;
use tollgate_llm::realtime::silence::{SILENCE_BUCKETS, SilencePart};

use super::table::{
    LIVE_ANNOUNCEMENTS, LIVE_CALLS, LIVE_CANCELLATIONS, LIVE_FAILOVERS, LIVE_INTERRUPTED,
    LIVE_LATE, LIVE_MISSES, LIVE_SESSIONS, LIVE_SESSIONS_TOTAL, LIVE_SILENCE, LIVE_TOOL_SECONDS,
    LIVE_TURN_SECONDS, LIVE_TURNS, MetricFamily, SESSIONS,
};
use super::text::{HistogramBuckets, MetricLabels, PrometheusText, seconds};
use crate::app_state::AppState;

type SessionMetric = fn(&SessionTotals) -> f64;

#[expect(clippy::cast_precision_loss, reason = "nobody counts so far")]
const FIGURES: &[(&MetricFamily, SessionMetric)] = &[
    (&LIVE_SESSIONS, |it| it.open as f64),
    (&LIVE_SESSIONS_TOTAL, |it| it.sessions as f64),
    (&LIVE_TURNS, |it| it.turns as f64),
    (&LIVE_INTERRUPTED, |it| it.interrupted as f64),
    (&LIVE_TURN_SECONDS, |it| it.took.as_secs_f64()),
    (&LIVE_TOOL_SECONDS, |it| it.tools.as_secs_f64()),
    (&LIVE_CALLS, |it| it.calls as f64),
    (&LIVE_MISSES, |it| it.missed as f64),
    (&LIVE_ANNOUNCEMENTS, |it| it.announced as f64),
    (&LIVE_CANCELLATIONS, |it| it.cancelled as f64),
    (&LIVE_LATE, |it| it.late as f64),
    (&LIVE_FAILOVERS, |it| it.failovers as f64),
];

pub(super) fn write(text: &mut PrometheusText, front: &AppState) {
    let sums = front.realtime_sessions.sums();
    let live: u64 = sums.iter().map(|(_, sums)| sums.open).sum();
    text.family(&SESSIONS);
    text.sample(&SESSIONS, &MetricLabels::of(&SESSIONS, &["mcp"]), front.sessions.count());
    text.sample(&SESSIONS, &MetricLabels::of(&SESSIONS, &["live"]), live);
    for (family, figure) in FIGURES {
        text.family(family);
        for (dialect, sums) in &sums {
            text.sample(family, &MetricLabels::of(family, &[dialect]), figure(sums));
        }
    }
    let silences = front.realtime_sessions.silences();
    let parts = SilencePart::ALL.map(|part| (part.as_str(), silences.of(part)));
    let bounds = seconds(SILENCE_BUCKETS);
    text.family(&LIVE_SILENCE);
    for (part, spans) in parts.into_iter().chain([("total", silences.total())]) {
        let labels = MetricLabels::of(&LIVE_SILENCE, &[part]);
        text.histogram(&LIVE_SILENCE, &labels, &HistogramBuckets::of(&spans, &bounds));
    }
}
