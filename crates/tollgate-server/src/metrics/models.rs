//! Metrics of models: tokens, and rounds per agent turn.

use tollgate_llm::agent::{ChatService, ROUND_BUCKETS};

use super::table::{ITERATIONS, MODEL_ANSWERS, MODEL_CACHED, MODEL_TOKENS};
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
