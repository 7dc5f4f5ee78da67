//! Usage metrics: tokens per model and rounds per agent since the start. Recorded once per model
//! answer, at negligible cost beside the answer itself.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tollgate_core::id::AgentId;

use crate::conversation::TokenUsage;

/// Models counted by name; the rest is counted together.
const MAX_COUNTED_MODELS: usize = 200;
const OTHER_MODELS: &str = "other";

/// Upper bounds of the histogram of rounds per answer.
pub const ROUND_BUCKETS: [u32; 7] = [1, 2, 3, 5, 8, 13, 21];

#[derive(Default)]
pub struct ChatUsageMetrics {
    models: Mutex<BTreeMap<String, ModelTokenTotals>>,
    agents: Mutex<BTreeMap<AgentId, RoundHistogram>>,
}

/// Tokens of one model, as counted by its provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelTokenTotals {
    pub answers: u64,
    pub input: u64,
    pub output: u64,
    /// The part of the input that came from the provider's cache.
    pub cached: u64,
}

/// Histogram of rounds per answer of one agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoundHistogram {
    /// For each of [`ROUND_BUCKETS`]: number of answers with at most that many rounds.
    pub up_to: [u64; ROUND_BUCKETS.len()],
    pub count: u64,
    pub sum: u64,
}

impl ChatUsageMetrics {
    /// Records one answer of the model and its tokens.
    pub fn record_usage(&self, model: &str, usage: &TokenUsage) {
        let mut models = self.models.lock();
        let is_known = models.contains_key(model) || models.len() < MAX_COUNTED_MODELS;
        let spent =
            models.entry(if is_known { model } else { OTHER_MODELS }.to_owned()).or_default();
        spent.answers += 1;
        spent.input = spent.input.saturating_add(usage.input);
        spent.output = spent.output.saturating_add(usage.output);
        spent.cached = spent.cached.saturating_add(usage.cache_read);
    }

    pub(super) fn record_rounds(&self, agent: &AgentId, rounds: u32) {
        let mut agents = self.agents.lock();
        let took = agents.entry(agent.clone()).or_default();
        took.count += 1;
        took.sum += u64::from(rounds);
        for (count, bound) in took.up_to.iter_mut().zip(ROUND_BUCKETS) {
            *count += u64::from(rounds <= bound);
        }
    }

    pub fn models(&self) -> Vec<(String, ModelTokenTotals)> {
        self.models.lock().iter().map(|(model, spent)| (model.clone(), *spent)).collect()
    }

    pub fn agents(&self) -> Vec<(AgentId, RoundHistogram)> {
        self.agents.lock().iter().map(|(agent, rounds)| (agent.clone(), *rounds)).collect()
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::id::AgentId;

    use super::{ChatUsageMetrics, MAX_COUNTED_MODELS, OTHER_MODELS};
    use crate::conversation::TokenUsage;

    #[test]
    fn tokens_add_up_by_model_and_too_many_models_are_one() {
        let figures = ChatUsageMetrics::default();
        let usage = TokenUsage { input: 10, output: 3, cache_read: 4, ..TokenUsage::default() };
        for at in 0..MAX_COUNTED_MODELS + 5 {
            figures.record_usage(&format!("m{at}"), &usage);
        }
        figures.record_usage("m0", &usage);
        let models = figures.models();
        assert_eq!(models.len(), MAX_COUNTED_MODELS + 1);
        let of = |name: &str| models.iter().find(|(model, _)| model == name).unwrap().1;
        assert_eq!((of("m0").answers, of("m0").input, of("m0").output), (2, 20, 6));
        assert_eq!((of(OTHER_MODELS).answers, of(OTHER_MODELS).cached), (5, 20));
    }

    #[test]
    fn rounds_count_in_all_that_are_no_fewer() {
        let figures = ChatUsageMetrics::default();
        let agent = AgentId::parse("gm").unwrap();
        for rounds in [1, 4, 40] {
            figures.record_rounds(&agent, rounds);
        }
        let [(_, rounds)] = figures.agents()[..] else { panic!("one agent") };
        assert_eq!((rounds.up_to, rounds.count, rounds.sum), ([1, 1, 1, 2, 2, 2, 2], 3, 45));
    }
}
