//! The tier of a turn, from what was said.

use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::budget::Tier;
use tollgate_core::tier_selector::{TierChoice, TierReason, TranscriptStage, Utterance};
use tollgate_core::turn::Principal;

use super::{Gate, UnknownAgentError};
use crate::conversations::SelectorRequest;

/// Something that was said to an agent, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct TierRequest<'a> {
    pub principal: &'a Principal,
    /// `None`: the default agent.
    pub agent: Option<&'a str>,
    pub conversation: Option<&'a str>,
    pub utterance: Utterance<'a>,
}

/// How often each rule chose each tier.
#[derive(Default)]
pub(crate) struct TierChoiceCounts([[AtomicU64; TierReason::RULES.len()]; Tier::ALL.len()]);

impl TierChoiceCounts {
    fn count(&self, choice: &TierChoice) {
        self.0[choice.tier as usize][choice.reason.rule()].fetch_add(1, Ordering::Relaxed);
    }
}

/// How often one rule chose one tier.
#[derive(Debug, Clone, Copy)]
pub struct TierChoiceCount {
    pub tier: Tier,
    pub rule: &'static str,
    pub count: u64,
}

impl Gate {
    /// How often each tier was chosen, and by which rule; only those that were.
    pub fn choices(&self) -> Vec<TierChoiceCount> {
        let of_tier = |(tier, counts): (Tier, &[AtomicU64; TierReason::RULES.len()])| {
            let counts = counts.iter().map(|count| count.load(Ordering::Relaxed));
            let named = TierReason::RULES.into_iter().zip(counts);
            named
                .map(move |(rule, count)| TierChoiceCount { tier, rule, count })
                .collect::<Vec<_>>()
        };
        let all = Tier::ALL.into_iter().zip(&self.choices.0).flat_map(of_tier);
        all.filter(|it| it.count > 0).collect()
    }

    /// Chooses the tier of a turn. A final utterance counts as a turn of its conversation.
    pub fn choose(&self, spoke: &TierRequest<'_>) -> Result<TierChoice, UnknownAgentError> {
        let current = self.registry.current();
        let policy = &current.policy;
        let at = policy.find(spoke.agent)?;
        let request = SelectorRequest {
            principal: spoke.principal,
            conversation: spoke.conversation,
            utterance: spoke.utterance,
            selector: policy.selector(at),
            rules: &policy.choosing,
            ceiling: policy.agents[at].ceiling,
        };
        let choice = self.conversations.choose(&request, self.clock.now());
        // A transcript that still grows is no turn yet.
        if spoke.utterance.form == TranscriptStage::Final {
            self.choices.count(&choice);
        }
        Ok(choice)
    }
}
