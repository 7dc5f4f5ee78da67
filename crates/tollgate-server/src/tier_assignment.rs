//! Latency figures and tier of a tool, as every front shows them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::latency::LatencyStats;
use tollgate_core::score::{self, SpeedBadge};
use tollgate_core::tier_assignment::AssignedTier;

use crate::wire_schema::{BadgeWord, HealthWord, TierWord};

#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct TierAssignmentJson {
    #[schemars(with = "TierWord")]
    tier: &'static str,
    reason: String,
    #[schemars(with = "HealthWord")]
    health: &'static str,
    bimodal: bool,
    #[schemars(with = "Option<BadgeWord>")]
    badge: Option<&'static str>,
    compatibility: &'static str,
    measured: Option<LatencyFiguresJson>,
}

impl From<&AssignedTier> for TierAssignmentJson {
    fn from(assigned: &AssignedTier) -> Self {
        let figures = &assigned.figures;
        Self {
            tier: assigned.tier.as_str(),
            reason: assigned.cause.to_string(),
            health: assigned.health.as_str(),
            bimodal: assigned.bimodal,
            badge: figures.p50().map(|p50| SpeedBadge::of(p50).as_str()),
            compatibility: score::compatibility(assigned.tier),
            measured: (figures.count > 0).then(|| LatencyFiguresJson::from(figures)),
        }
    }
}

/// The same for rows that contain reasons of another kind as well.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct ToolTierJson {
    #[schemars(with = "TierWord")]
    tier: &'static str,
    tier_reason: String,
    #[schemars(with = "HealthWord")]
    health: &'static str,
    bimodal: bool,
    #[schemars(with = "Option<BadgeWord>")]
    badge: Option<&'static str>,
    measured: Option<LatencyFiguresJson>,
}

impl From<TierAssignmentJson> for ToolTierJson {
    fn from(standing: TierAssignmentJson) -> Self {
        let TierAssignmentJson { tier, reason, health, bimodal, badge, measured, .. } = standing;
        Self { tier, tier_reason: reason, health, bimodal, badge, measured }
    }
}

/// Over the calls that count.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct LatencyFiguresJson {
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
    calls: usize,
    /// From 0 to 1.
    error_rate: f64,
}

impl From<&LatencyStats> for LatencyFiguresJson {
    fn from(figures: &LatencyStats) -> Self {
        Self {
            p50_ms: figures.p50().map(milliseconds),
            p95_ms: figures.p95().map(milliseconds),
            p99_ms: figures.p99().map(milliseconds),
            calls: figures.count,
            error_rate: figures.error_rate() / 100.0,
        }
    }
}

/// With microseconds: in-process tools take no longer.
pub(crate) fn milliseconds(span: Duration) -> f64 {
    span.as_micros() as f64 / 1_000.0
}
