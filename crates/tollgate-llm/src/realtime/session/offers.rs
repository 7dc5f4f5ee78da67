//! What a live session is offered: the tools of the agent's view at the session's tier.

use std::sync::Arc;

use tollgate_core::turn::Turn;

use super::super::events::{News, Offer};
use super::super::shown::shown;
use super::super::visit::Visit;
use super::Session;

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
    Offer { tools: shown(&visit.agent, turn, visit.live), prompt }
}
