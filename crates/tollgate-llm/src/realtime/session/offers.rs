//! Offers of a realtime session: the tools of the agent's view at the session's tier.

use std::sync::Arc;

use tollgate_core::template::{self, PlaceholderValues};
use tollgate_core::turn::Turn;
use tollgate_engine::gate::UnknownAgentError;

use super::super::events::{DialectEvent, RealtimeOffer, RecallChannel};
use super::super::session_registry::RealtimeSessionRegistry;
use super::super::session_request::SessionRequest;
use super::super::tool_declarations::declare_tools;
use super::RealtimeSession;
use super::turns::SessionTurnState;

impl RealtimeSession {
    /// The agent, its tools or its tier may have changed: sends a new offer if it differs.
    pub(in super::super) fn refresh(&mut self, now: std::time::Instant) {
        self.reload_agent();
        let offer = self.current_offer();
        if offer != self.offer {
            self.offer = offer.clone();
            let tools = offer.tools.len();
            self.session_registry.update_status(&self.facts, |standing| standing.tools = tools);
            self.send_event(DialectEvent::Offer(offer), now);
        }
        self.update_hold(now);
    }

    pub(super) fn current_offer(&self) -> RealtimeOffer {
        let turn_request = self
            .session_request
            .party
            .turn_request(self.call_progress.wish(&self.session_request.party));
        let prompt = match self.machine.recall_channel() {
            RecallChannel::Prompt => self.recall.extend_prompt(self.prompt.clone()),
            RecallChannel::Item | RecallChannel::None => self.prompt.clone(),
        };
        // A removed agent has no tools; its session may continue.
        match self.session_registry.gate.turn(turn_request) {
            Ok(turn) => offer(&self.session_request, &turn, prompt),
            Err(_) => RealtimeOffer { tools: Vec::new(), prompt },
        }
    }

    /// A removed agent stays as it was. The prompt is rendered again only if its text was edited:
    /// the time in it must not change the prompt in the middle of a conversation.
    fn reload_agent(&mut self) {
        let Ok(agent) = self.session_registry.gate.agent(&self.session_request.party.agent) else {
            return;
        };
        let before = std::mem::replace(&mut self.session_request.agent, agent);
        if before.persona.prompt != self.session_request.agent.persona.prompt {
            self.prompt = render_prompt(&self.session_request, &self.facts.id);
        }
    }
}

/// The agent's prompt with the session's values in it.
pub(super) fn render_prompt(session_request: &SessionRequest, call_id: &str) -> Option<Arc<str>> {
    let agent = &session_request.agent;
    let values = PlaceholderValues { request: &session_request.variables, agent, call_id };
    let prompt = agent.persona.prompt.as_ref()?;
    Some(template::render(prompt, &values).into())
}

/// The offer of a session that is still to begin.
pub(in super::super) fn first_offer(
    session_registry: &RealtimeSessionRegistry,
    session_request: &SessionRequest,
    call_id: &str,
) -> Result<RealtimeOffer, UnknownAgentError> {
    let state = SessionTurnState::begin(session_registry, session_request);
    let party = &session_request.party;
    let turn = session_registry.gate.turn(party.turn_request(state.wish(party)))?;
    let prompt = render_prompt(session_request, call_id);
    Ok(offer(session_request, &turn, prompt))
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
