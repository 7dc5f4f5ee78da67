//! Telemetry that installations share. Names and counts only: no servers, no arguments, no keys.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{LatencyAggregate, SpeedBadge};

/// The only version so far.
pub const FORMAT: &str = "tollgate-telemetry/1";

/// Identity of a tool across installations: its kind, and the name given by its server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TelemetryToolName {
    pub category: Option<String>,
    pub tool: String,
}

/// The document. Merged figures have no single `environment`.
pub fn render_document(
    tools: &BTreeMap<TelemetryToolName, LatencyAggregate>,
    environment: Option<&str>,
) -> Value {
    let tools: Vec<Value> = tools.iter().map(|(name, figures)| tool(name, figures)).collect();
    let mut file = json!({ "format": FORMAT, "tools": tools });
    if let Some(environment) = environment {
        file["environment"] = environment.into();
    }
    file
}

/// Histogram buckets: upper bound in microseconds, and number of calls.
fn tool(name: &TelemetryToolName, figures: &LatencyAggregate) -> Value {
    let steps: Vec<[u64; 2]> = figures.steps().map(|(micros, count)| [micros, count]).collect();
    json!({
        "category": name.category,
        "tool": name.tool,
        "calls": figures.calls(),
        "errors": figures.errors(),
        "badge": figures.p50().map(|p50| SpeedBadge::of(p50).as_str()),
        "histogram": steps,
    })
}
