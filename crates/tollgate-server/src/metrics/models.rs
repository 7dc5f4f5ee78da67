//! Models: tokens, and how many rounds agents need.

use tollgate_llm::agent::{Chat, ROUNDS};

use super::table::{ITERATIONS, MODEL_ANSWERS, MODEL_CACHED, MODEL_TOKENS};
use super::text::{Buckets, Labels, Text};

pub(super) fn write(text: &mut Text, chat: &Chat) {
    let models = chat.figures().models();
    text.family(&MODEL_TOKENS);
    for (model, spent) in &models {
        for (direction, count) in [("input", spent.input), ("output", spent.output)] {
            text.sample(&MODEL_TOKENS, &Labels::of(&MODEL_TOKENS, &[model, direction]), count);
        }
    }
    text.family(&MODEL_CACHED);
    for (model, spent) in &models {
        text.sample(&MODEL_CACHED, &Labels::of(&MODEL_CACHED, &[model]), spent.cached);
    }
    text.family(&MODEL_ANSWERS);
    for (model, spent) in &models {
        text.sample(&MODEL_ANSWERS, &Labels::of(&MODEL_ANSWERS, &[model]), spent.answers);
    }
    text.family(&ITERATIONS);
    let bounds: Vec<String> = ROUNDS.iter().map(ToString::to_string).collect();
    for (agent, rounds) in chat.figures().agents() {
        let counts: Vec<(u64, u64)> = ROUNDS.into_iter().map(u64::from).zip(rounds.up_to).collect();
        #[expect(clippy::cast_precision_loss, reason = "nobody counts so far")]
        let sum = rounds.sum as f64;
        let buckets = Buckets { counts: &counts, bounds: &bounds, count: rounds.count, sum };
        text.histogram(&ITERATIONS, &Labels::of(&ITERATIONS, &[agent.as_str()]), &buckets);
    }
}
