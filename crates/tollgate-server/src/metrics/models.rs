//! Metrics of models: tokens, and rounds per agent turn.

use std::time::Duration;

use tollgate_core::model_usage::UsageTotals;
use tollgate_engine::model_usage::{AgentModel, ModelUsageMeter};
use tollgate_llm::agent::{ChatService, ROUND_BUCKETS};

use super::table::{
    ITERATIONS, MODEL_ANSWERS, MODEL_AUDIO_SECONDS, MODEL_AUDIO_TOKENS, MODEL_CACHED, MODEL_COST,
    MODEL_LIMITED, MODEL_LIVE_SECONDS, MODEL_REQUESTS, MODEL_TOKENS, MODEL_UNPRICED,
    MODEL_USED_TOKENS,
};
use super::text::{HistogramBuckets, MetricLabels, PrometheusText};

pub(super) fn write(text: &mut PrometheusText, chat: &ChatService) {
    let models = chat.figures().models();
    text.family(&MODEL_TOKENS);
    for (model, spent) in &models {
        for (direction, count) in [("input", spent.input), ("output", spent.output)] {
            text.sample(
                &MODEL_TOKENS,
                &MetricLabels::of(&MODEL_TOKENS, &[model, direction]),
                count,
            );
        }
    }
    text.family(&MODEL_CACHED);
    for (model, spent) in &models {
        text.sample(&MODEL_CACHED, &MetricLabels::of(&MODEL_CACHED, &[model]), spent.cached);
    }
    text.family(&MODEL_ANSWERS);
    for (model, spent) in &models {
        text.sample(&MODEL_ANSWERS, &MetricLabels::of(&MODEL_ANSWERS, &[model]), spent.answers);
    }
    text.family(&ITERATIONS);
    let bounds: Vec<String> = ROUND_BUCKETS.iter().map(ToString::to_string).collect();
    for (agent, rounds) in chat.figures().agents() {
        let counts: Vec<(u64, u64)> =
            ROUND_BUCKETS.into_iter().map(u64::from).zip(rounds.up_to).collect();
        #[expect(clippy::cast_precision_loss, reason = "nobody counts so far")]
        let sum = rounds.sum as f64;
        let buckets =
            HistogramBuckets { counts: &counts, bounds: &bounds, count: rounds.count, sum };
        text.histogram(&ITERATIONS, &MetricLabels::of(&ITERATIONS, &[agent.as_str()]), &buckets);
    }
}

fn write_speech(text: &mut PrometheusText, totals: &[(AgentModel, UsageTotals)]) {
    let seconds = |ms: u64| Duration::from_millis(ms).as_secs_f64();
    text.family(&MODEL_AUDIO_TOKENS);
    for (by, used) in totals {
        let speech = &used.speech;
        for (direction, count) in [("input", speech.audio_input), ("output", speech.audio_output)] {
            let labels = MetricLabels::of(&MODEL_AUDIO_TOKENS, &[&by.model, &by.agent, direction]);
            text.sample(&MODEL_AUDIO_TOKENS, &labels, count);
        }
    }
    text.family(&MODEL_AUDIO_SECONDS);
    for (by, used) in totals {
        let speech = &used.speech;
        for (direction, ms) in [("input", speech.heard_ms), ("output", speech.spoken_ms)] {
            let labels = MetricLabels::of(&MODEL_AUDIO_SECONDS, &[&by.model, &by.agent, direction]);
            text.sample(&MODEL_AUDIO_SECONDS, &labels, seconds(ms));
        }
    }
    text.family(&MODEL_LIVE_SECONDS);
    for (by, used) in totals {
        let labels = MetricLabels::of(&MODEL_LIVE_SECONDS, &[&by.model, &by.agent]);
        text.sample(&MODEL_LIVE_SECONDS, &labels, seconds(used.speech.live_ms));
    }
}

pub(super) fn write_usage(text: &mut PrometheusText, meter: &ModelUsageMeter) {
    let totals = meter.totals_since_start();
    text.family(&MODEL_REQUESTS);
    for (by, used) in &totals {
        let labels = MetricLabels::of(&MODEL_REQUESTS, &[&by.model, &by.agent]);
        text.sample(&MODEL_REQUESTS, &labels, used.requests);
    }
    text.family(&MODEL_USED_TOKENS);
    for (by, used) in &totals {
        for (direction, count) in [("input", used.input), ("output", used.output)] {
            let labels = MetricLabels::of(&MODEL_USED_TOKENS, &[&by.model, &by.agent, direction]);
            text.sample(&MODEL_USED_TOKENS, &labels, count);
        }
    }
    write_speech(text, &totals);
    text.family(&MODEL_COST);
    for (by, used) in &totals {
        let labels = MetricLabels::of(&MODEL_COST, &[&by.model, &by.agent]);
        text.sample(&MODEL_COST, &labels, used.cost.as_usd());
    }
    text.family(&MODEL_UNPRICED);
    for (by, used) in &totals {
        let labels = MetricLabels::of(&MODEL_UNPRICED, &[&by.model, &by.agent]);
        text.sample(&MODEL_UNPRICED, &labels, used.unpriced);
    }
    text.family(&MODEL_LIMITED);
    let refused = meter.refusals();
    for (scope, count) in [("key", refused.key), ("agent", refused.agent), ("model", refused.model)]
    {
        text.sample(&MODEL_LIMITED, &MetricLabels::of(&MODEL_LIMITED, &[scope]), count);
    }
}
