//! The tier of a turn, from what was said.

use tollgate_core::selector::{Choice, Utterance};
use tollgate_core::turn::Principal;

use super::{Gate, UnknownAgent};
use crate::conversations::Said;

/// Something that was said to an agent, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct Spoke<'a> {
    pub principal: &'a Principal,
    /// `None`: the default agent.
    pub agent: Option<&'a str>,
    pub conversation: Option<&'a str>,
    pub utterance: Utterance<'a>,
}

impl Gate {
    /// Chooses the tier of a turn. A final utterance counts as a turn of its conversation.
    pub fn choose(&self, spoke: &Spoke<'_>) -> Result<Choice, UnknownAgent> {
        let current = self.registry.current();
        let charter = &current.charter;
        let at = charter.find(spoke.agent)?;
        let said = Said {
            principal: spoke.principal,
            conversation: spoke.conversation,
            utterance: spoke.utterance,
            selector: charter.selector(at),
            rules: &charter.choosing,
            ceiling: charter.agents[at].ceiling,
        };
        Ok(self.conversations.choose(&said, self.clock.now()))
    }
}
