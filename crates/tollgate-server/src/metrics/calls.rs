//! Metrics of calls, tools and tiers.

use std::collections::BTreeMap;

use tollgate_core::budget::Tier;
use tollgate_core::id::ToolId;
use tollgate_core::tier_assignment::{AssignedTier, TierBasis, TierLift, ToolHealth};
use tollgate_engine::calls::{CallCounts, OPERATION_BUCKETS, TOOL_BUCKETS as SPANS};
use tollgate_engine::gate::{Gate, TierChoiceCount};

use super::table::{
    BUDGET_MISSES, CACHE_LOOKUPS, CALL_LATENCY, CALLS, CALLS_IN_FLIGHT, CLIENT_OPERATION,
    RESULTS_CLEANED, TAINTED_CALLS, TIER_SELECTED, TOOL_CALLS, TOOL_LATENCY, TOOLS, TOOLS_HIDDEN,
};
use super::text::{HistogramBuckets, MetricLabels, PrometheusText, seconds};

/// Label for all tools without a series of their own.
const OTHER: &str = "other";

pub(super) fn write(text: &mut PrometheusText, gate: &Gate) {
    let counts = gate.calls().counts();
    tools(text, counts);
    methods(text, counts);
    text.single(&CALLS_IN_FLIGHT, gate.calls().in_flight());
    tiers(text, counts);
    let looked_up = gate.cache_stats();
    text.family(&CACHE_LOOKUPS);
    for (result, count) in
        [("hit", looked_up.hits), ("miss", looked_up.misses), ("shared", looked_up.shared)]
    {
        text.sample(&CACHE_LOOKUPS, &MetricLabels::of(&CACHE_LOOKUPS, &[result]), count);
    }
    text.family(&RESULTS_CLEANED);
    for (kind, count) in gate.removed_counts() {
        text.sample(&RESULTS_CLEANED, &MetricLabels::of(&RESULTS_CLEANED, &[kind.as_str()]), count);
    }
    text.family(&TAINTED_CALLS);
    for (action, count) in gate.tainted_calls() {
        text.sample(&TAINTED_CALLS, &MetricLabels::of(&TAINTED_CALLS, &[action]), count);
    }
    text.family(&TIER_SELECTED);
    for TierChoiceCount { tier, rule, count } in gate.choices() {
        let labels = MetricLabels::of(&TIER_SELECTED, &[tier.as_str(), rule]);
        text.sample(&TIER_SELECTED, &labels, count);
    }
    catalog(text, gate);
}

fn tools(text: &mut PrometheusText, counts: &CallCounts) {
    let tools = counts.tools();
    let bounds = seconds(SPANS);
    text.family(&TOOL_CALLS);
    for (id, of_tool) in &tools {
        let (server, tool) = tool_labels(id.as_ref());
        for (end, count) in of_tool.ends() {
            let labels = MetricLabels::of(&TOOL_CALLS, &[server, tool, end.as_str()]);
            text.sample(&TOOL_CALLS, &labels, count);
        }
    }
    text.family(&TOOL_LATENCY);
    for (id, of_tool) in &tools {
        let (server, tool) = tool_labels(id.as_ref());
        let spans = of_tool.spans.read();
        if spans.count > 0 {
            let labels = MetricLabels::of(&TOOL_LATENCY, &[server, tool]);
            text.histogram(&TOOL_LATENCY, &labels, &HistogramBuckets::of(&spans, &bounds));
        }
    }
}

fn tool_labels(id: Option<&ToolId>) -> (&str, &str) {
    id.map_or(("", OTHER), |id| (id.server.as_str(), id.tool.as_str()))
}

fn methods(text: &mut PrometheusText, counts: &CallCounts) {
    text.family(&CALLS);
    for (method, of_method) in counts.methods() {
        for (end, count) in of_method.ends() {
            text.sample(&CALLS, &MetricLabels::of(&CALLS, &[method, end.as_str()]), count);
        }
    }
    let bounds = seconds(OPERATION_BUCKETS);
    text.family(&CLIENT_OPERATION);
    for (method, of_method) in counts.methods() {
        for (error, spans) in [("", &of_method.answered), ("tool_error", &of_method.failed)] {
            let spans = spans.read();
            if spans.count > 0 {
                let labels = MetricLabels::of(&CLIENT_OPERATION, &[method, error]);
                text.histogram(&CLIENT_OPERATION, &labels, &HistogramBuckets::of(&spans, &bounds));
            }
        }
    }
}

fn tiers(text: &mut PrometheusText, counts: &CallCounts) {
    let bounds = seconds(SPANS);
    text.family(&CALL_LATENCY);
    for (tier, of_tier) in counts.tiers() {
        let labels = MetricLabels::of(&CALL_LATENCY, &[tier.as_str()]);
        text.histogram(
            &CALL_LATENCY,
            &labels,
            &HistogramBuckets::of(&of_tier.spans.read(), &bounds),
        );
    }
    text.family(&BUDGET_MISSES);
    for (tier, of_tier) in counts.tiers() {
        let labels = MetricLabels::of(&BUDGET_MISSES, &[tier.as_str()]);
        text.sample(&BUDGET_MISSES, &labels, of_tier.misses());
    }
}

fn catalog(text: &mut PrometheusText, gate: &Gate) {
    let catalog = gate.catalog();
    text.family(&TOOLS);
    for (state, count) in [
        ("served", catalog.tools.len()),
        ("withheld", catalog.withheld.len()),
        ("away", catalog.away.len()),
    ] {
        text.sample(&TOOLS, &MetricLabels::of(&TOOLS, &[state]), count);
    }
    let mut hidden: BTreeMap<(Tier, &'static str), u64> = BTreeMap::new();
    for (tool, stands) in catalog.tools.iter().zip(&catalog.tiers) {
        if *stands == Tier::Fast {
            continue;
        }
        let reason = gate.reading(&tool.id).map_or("unmeasured", |it| reason(&it.assigned));
        for tier in Tier::ALL.into_iter().filter(|tier| tier < stands) {
            *hidden.entry((tier, reason)).or_default() += 1;
        }
    }
    text.family(&TOOLS_HIDDEN);
    for ((tier, reason), count) in hidden {
        let labels = MetricLabels::of(&TOOLS_HIDDEN, &[tier.as_str(), reason]);
        text.sample(&TOOLS_HIDDEN, &labels, count);
    }
}

/// Why a tool has its tier, as a label.
fn reason(assigned: &AssignedTier) -> &'static str {
    if assigned.cause.trouble.is_some_and(|trouble| trouble.lift == TierLift::OneUp)
        && assigned.health != ToolHealth::Healthy
    {
        return assigned.health.as_str();
    }
    match assigned.cause.basis {
        TierBasis::Unknown { .. } => "unmeasured",
        TierBasis::Declared(_) => "declared",
        TierBasis::Measured { .. } | TierBasis::Earlier => "slow",
        TierBasis::Trial { .. } => "trial",
    }
}
