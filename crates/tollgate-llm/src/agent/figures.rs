//! What models and agents have spent since the start, for whoever collects figures. Noted once for
//! each answer of a model, beside what that takes.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tollgate_core::id::AgentId;

use crate::conversation::Usage;

/// Models that are counted by name; all others together.
const MOST_MODELS: usize = 200;
const OTHER: &str = "other";

/// Up to how many rounds answers are counted.
pub const ROUNDS: [u32; 7] = [1, 2, 3, 5, 8, 13, 21];

#[derive(Default)]
pub struct Figures {
    models: Mutex<BTreeMap<String, Spent>>,
    agents: Mutex<BTreeMap<AgentId, Rounds>>,
}

/// Tokens of one model, as its provider counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub answers: u64,
    pub input: u64,
    pub output: u64,
    /// Of the input, what came from the provider's cache.
    pub cached: u64,
}

/// How many rounds answers of one agent took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rounds {
    /// For each of [`ROUNDS`]: how many took no more.
    pub up_to: [u64; ROUNDS.len()],
    pub count: u64,
    pub sum: u64,
}

impl Figures {
    /// One answer of the model, and what it cost.
    pub fn spent(&self, model: &str, usage: &Usage) {
        let mut models = self.models.lock();
        let is_known = models.contains_key(model) || models.len() < MOST_MODELS;
        let spent = models.entry(if is_known { model } else { OTHER }.to_owned()).or_default();
        spent.answers += 1;
        spent.input = spent.input.saturating_add(usage.input);
        spent.output = spent.output.saturating_add(usage.output);
        spent.cached = spent.cached.saturating_add(usage.cache_read);
    }

    pub(super) fn took(&self, agent: &AgentId, rounds: u32) {
        let mut agents = self.agents.lock();
        let took = agents.entry(agent.clone()).or_default();
        took.count += 1;
        took.sum += u64::from(rounds);
        for (count, bound) in took.up_to.iter_mut().zip(ROUNDS) {
            *count += u64::from(rounds <= bound);
        }
    }

    pub fn models(&self) -> Vec<(String, Spent)> {
        self.models.lock().iter().map(|(model, spent)| (model.clone(), *spent)).collect()
    }

    pub fn agents(&self) -> Vec<(AgentId, Rounds)> {
        self.agents.lock().iter().map(|(agent, rounds)| (agent.clone(), *rounds)).collect()
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::id::AgentId;

    use super::{Figures, MOST_MODELS, OTHER};
    use crate::conversation::Usage;

    #[test]
    fn tokens_add_up_by_model_and_too_many_models_are_one() {
        let figures = Figures::default();
        let usage = Usage { input: 10, output: 3, cache_read: 4, ..Usage::default() };
        for at in 0..MOST_MODELS + 5 {
            figures.spent(&format!("m{at}"), &usage);
        }
        figures.spent("m0", &usage);
        let models = figures.models();
        assert_eq!(models.len(), MOST_MODELS + 1);
        let of = |name: &str| models.iter().find(|(model, _)| model == name).unwrap().1;
        assert_eq!((of("m0").answers, of("m0").input, of("m0").output), (2, 20, 6));
        assert_eq!((of(OTHER).answers, of(OTHER).cached), (5, 20));
    }

    #[test]
    fn rounds_count_in_all_that_are_no_fewer() {
        let figures = Figures::default();
        let agent = AgentId::parse("gm").unwrap();
        for rounds in [1, 4, 40] {
            figures.took(&agent, rounds);
        }
        let [(_, rounds)] = figures.agents()[..] else { panic!("one agent") };
        assert_eq!((rounds.up_to, rounds.count, rounds.sum), ([1, 1, 1, 2, 2, 2, 2], 3, 45));
    }
}
