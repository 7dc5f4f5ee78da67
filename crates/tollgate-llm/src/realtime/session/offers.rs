//! Offers of a realtime session: the tools of the agent's view at the session's tier.

use std::sync::Arc;

use tollgate_core::turn::Turn;

use super::super::events::{DialectEvent, RealtimeOffer};
use super::super::session_request::SessionRequest;
use super::super::tool_declarations::declare_tools;
use super::RealtimeSession;

impl RealtimeSession {
    /// Tools or tier may have changed: sends a new offer if it differs.
    pub(in super::super) fn refresh(&mut self, now: std::time::Instant) {
        let turn_request = self
            .session_request
            .party
            .turn_request(self.call_progress.wish(&self.session_request.party));
        // A removed agent has no tools; its session may continue.
        let offer = match self.session_registry.gate.turn(turn_request) {
            Ok(turn) => offer(&self.session_request, &turn, self.prompt.clone()),
            Err(_) => RealtimeOffer { tools: Vec::new(), prompt: self.prompt.clone() },
        };
        if offer != self.offer {
            self.offer = offer.clone();
            let tools = offer.tools.len();
            self.session_registry.update_status(&self.facts, |standing| standing.tools = tools);
            self.send_event(DialectEvent::Offer(offer), now);
        }
    }
}

pub(super) fn offer(
    session_request: &SessionRequest,
    turn: &Turn,
    prompt: Option<Arc<str>>,
) -> RealtimeOffer {
    RealtimeOffer {
        tools: declare_tools(&session_request.agent, turn, session_request.live),
        prompt,
    }
}
