//! How fast a tool is and where that puts it, as every front shows it.

use std::time::Duration;

use serde::Serialize;
use tollgate_core::latency::Figures;
use tollgate_core::score::{self, Badge};
use tollgate_core::standing::Assigned;

#[derive(Debug, Serialize)]
pub(crate) struct StandingJson {
    tier: &'static str,
    reason: String,
    health: &'static str,
    bimodal: bool,
    badge: Option<&'static str>,
    compatibility: &'static str,
    measured: Option<FiguresJson>,
}

impl From<&Assigned> for StandingJson {
    fn from(assigned: &Assigned) -> Self {
        let figures = &assigned.figures;
        Self {
            tier: assigned.tier.as_str(),
            reason: assigned.cause.to_string(),
            health: assigned.health.as_str(),
            bimodal: assigned.bimodal,
            badge: figures.p50().map(|p50| Badge::of(p50).as_str()),
            compatibility: score::compatibility(assigned.tier),
            measured: (figures.count > 0).then(|| FiguresJson::from(figures)),
        }
    }
}

/// The same where a row has reasons of another kind as well.
#[derive(Debug, Serialize)]
pub(crate) struct TieredJson {
    tier: &'static str,
    tier_reason: String,
    health: &'static str,
    bimodal: bool,
    badge: Option<&'static str>,
    measured: Option<FiguresJson>,
}

impl From<StandingJson> for TieredJson {
    fn from(standing: StandingJson) -> Self {
        let StandingJson { tier, reason, health, bimodal, badge, measured, .. } = standing;
        Self { tier, tier_reason: reason, health, bimodal, badge, measured }
    }
}

/// Of the calls that count.
#[derive(Debug, Serialize)]
pub(crate) struct FiguresJson {
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
    calls: usize,
    /// From 0 to 1.
    error_rate: f64,
}

impl From<&Figures> for FiguresJson {
    fn from(figures: &Figures) -> Self {
        Self {
            p50_ms: figures.p50().map(milliseconds),
            p95_ms: figures.p95().map(milliseconds),
            p99_ms: figures.p99().map(milliseconds),
            calls: figures.count,
            error_rate: figures.error_rate() / 100.0,
        }
    }
}

/// To the microsecond: tools in process take no longer.
pub(crate) fn milliseconds(span: Duration) -> f64 {
    span.as_micros() as f64 / 1_000.0
}
