//! What a live session is offered: the tools of the agent's view at the session's tier.

use std::sync::Arc;

use tollgate_core::glob;
use tollgate_core::tool::Tool;
use tollgate_core::turn::Turn;

use super::super::events::{Declared, News, Offer};
use super::super::visit::Visit;
use super::Session;
use crate::tools;

impl Session {
    /// Tools or tier may have changed: declares what is new, if it is.
    pub(in super::super) fn refresh(&mut self, now: std::time::Instant) {
        let asked = self.visit.party.asked(self.course.wish(&self.visit.party));
        // An agent that was taken away has nothing any more; its session may go on talking.
        let offer = match self.hall.gate.turn(asked) {
            Ok(turn) => offer(&self.visit, &turn, self.prompt.clone()),
            Err(_) => Offer { tools: Vec::new(), prompt: self.prompt.clone() },
        };
        if offer != self.offer {
            self.offer = offer.clone();
            let tools = offer.tools.len();
            self.hall.stands(&self.facts, |standing| standing.tools = tools);
            self.news(News::Offer(offer), now);
        }
    }
}

pub(super) fn offer(visit: &Visit, turn: &Turn, prompt: Option<Arc<str>>) -> Offer {
    let persona = &visit.agent.persona;
    let (mut pinned, rest): (Vec<&Arc<Tool>>, Vec<&Arc<Tool>>) = turn
        .view
        .tools()
        .iter()
        .partition(|tool| glob::any(&persona.pinned_tools, tool.exposed.as_str()));
    pinned.extend(rest);
    let most = usize::try_from(persona.max_tools).unwrap_or(usize::MAX);
    let mut shown: Vec<&Arc<Tool>> = pinned.into_iter().take(most).collect();
    // In the order of the view, which stays the same: caches of prompts live by it.
    shown.sort_by(|one, other| one.exposed.as_str().cmp(other.exposed.as_str()));
    let form = visit.live.form();
    let declared = |tool: &&Arc<Tool>| {
        let offered = tools::offered(tool, form);
        Declared {
            name: offered.function.name.clone(),
            definition: offered.definition(form),
            delivery: tool.terms.delivery,
            effect: tool.terms.effect,
        }
    };
    Offer { tools: shown.iter().map(declared).collect(), prompt }
}
