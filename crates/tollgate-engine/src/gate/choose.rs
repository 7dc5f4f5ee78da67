//! The tier of a turn, from what was said.

use tollgate_core::agent::Agent;
use tollgate_core::selector::{self, Choice, Selector, Utterance};
use tollgate_core::turn::Principal;

use super::{Gate, UnknownAgent};
use crate::conversations::{Conversations, Said};
use crate::settings::Budget;

/// Something that was said to an agent, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct Spoke<'a> {
    pub principal: &'a Principal,
    /// `None`: the default agent.
    pub agent: Option<&'a str>,
    pub conversation: Option<&'a str>,
    pub utterance: Utterance<'a>,
}

/// What chooses tiers.
pub(crate) struct Choosing {
    rules: selector::Rules,
    /// One for each agent, in their order.
    selectors: Vec<Selector>,
    conversations: Conversations,
}

impl Choosing {
    pub(crate) fn new(budget: &Budget, agents: &[Agent]) -> Self {
        let selector = |agent: &Agent| Selector::new(&[&budget.keywords, &agent.keywords]);
        let usual = selector::Rules::default();
        Self {
            rules: selector::Rules { deep_interval: budget.deep_interval, ..usual },
            selectors: agents.iter().map(selector).collect(),
            conversations: Conversations::default(),
        }
    }
}

impl Gate {
    /// Chooses the tier of a turn. A final utterance counts as a turn of its conversation.
    pub fn choose(&self, spoke: &Spoke<'_>) -> Result<Choice, UnknownAgent> {
        let name = spoke.agent.unwrap_or_else(|| self.default_agent.as_str());
        let at = self.agents.iter().position(|agent| agent.id.as_str() == name);
        let at = at.ok_or_else(|| self.unknown(name))?;
        let said = Said {
            principal: spoke.principal,
            conversation: spoke.conversation,
            utterance: spoke.utterance,
            selector: &self.choosing.selectors[at],
            rules: &self.choosing.rules,
            ceiling: self.agents[at].ceiling,
        };
        Ok(self.choosing.conversations.choose(&said, self.clock.now()))
    }
}
