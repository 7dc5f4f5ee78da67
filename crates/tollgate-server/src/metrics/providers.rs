//! Metrics of model providers: what became of requests, time to first token, circuit breakers.

use tollgate_core::circuit_breaker::BreakerState;
use tollgate_llm::provider::{FIRST_TOKEN_BUCKETS, TargetCounts, TargetReport};

use super::table::{
    MetricFamily, PROVIDER_BREAKER, PROVIDER_FIRST_TOKEN, PROVIDER_HEDGES, PROVIDER_IN_FLIGHT,
    PROVIDER_INTERRUPTED, PROVIDER_REQUESTS,
};
use super::text::{HistogramBuckets, MetricLabels, PrometheusText, seconds};

/// Label of the models that are not in the config.
const OTHER_MODELS: &str = "other";

pub(super) fn write(text: &mut PrometheusText, targets: &[TargetReport]) {
    write_by_outcome(text, &PROVIDER_REQUESTS, targets, |counts| {
        vec![
            ("answered", counts.answered),
            ("rejected", counts.rejected),
            ("rate_limited", counts.rate_limited),
            ("failed", counts.failed),
            ("cancelled", counts.cancelled),
        ]
    });
    text.family(&PROVIDER_INTERRUPTED);
    for target in targets {
        let count = target.status.counts.interrupted;
        text.sample(&PROVIDER_INTERRUPTED, &labels(&PROVIDER_INTERRUPTED, target, ""), count);
    }
    write_by_outcome(text, &PROVIDER_HEDGES, targets, |counts| {
        let lost = counts.hedges.saturating_sub(counts.hedges_won);
        vec![("won", counts.hedges_won), ("lost", lost)]
    });
    text.family(&PROVIDER_FIRST_TOKEN);
    let bounds = seconds(&FIRST_TOKEN_BUCKETS.map(|millis| millis * 1_000));
    for target in targets {
        let times = &target.status.first_tokens;
        let counts: Vec<(u64, u64)> = FIRST_TOKEN_BUCKETS.into_iter().zip(times.up_to).collect();
        let sum = times.sum.as_secs_f64();
        let buckets =
            HistogramBuckets { counts: &counts, bounds: &bounds, count: times.count, sum };
        text.histogram(&PROVIDER_FIRST_TOKEN, &labels(&PROVIDER_FIRST_TOKEN, target, ""), &buckets);
    }
    text.family(&PROVIDER_IN_FLIGHT);
    for target in targets {
        let labels = labels(&PROVIDER_IN_FLIGHT, target, "");
        text.sample(&PROVIDER_IN_FLIGHT, &labels, target.status.running);
    }
    text.family(&PROVIDER_BREAKER);
    for target in targets {
        for state in BreakerState::ALL {
            let labels = labels(&PROVIDER_BREAKER, target, state.as_str());
            text.sample(&PROVIDER_BREAKER, &labels, u8::from(target.status.breaker == state));
        }
    }
}

fn write_by_outcome(
    text: &mut PrometheusText,
    family: &MetricFamily,
    targets: &[TargetReport],
    outcomes: impl Fn(&TargetCounts) -> Vec<(&'static str, u64)>,
) {
    text.family(family);
    for target in targets {
        for (outcome, count) in outcomes(&target.status.counts) {
            text.sample(family, &labels(family, target, outcome), count);
        }
    }
}

/// `last` is the value of a fourth label, if the family has one.
fn labels(family: &MetricFamily, target: &TargetReport, last: &str) -> MetricLabels {
    let endpoint = target.endpoint.as_deref().unwrap_or_default();
    let model = target.id.as_deref().unwrap_or(OTHER_MODELS);
    MetricLabels::of(family, &[&target.provider, endpoint, model, last])
}
