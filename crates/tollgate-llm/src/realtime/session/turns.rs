//! Turns of a session: tier selection, turn records, routing of deep turns to another model, and
//! the transcript for memory.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::stream::FuturesOrdered;
use tollgate_core::agent::{Engine, RequestedTier};
use tollgate_core::budget::Tier;
use tollgate_core::call::Outcome;
use tollgate_core::text::truncate_chars;
use tollgate_core::tier_selector::{self, Utterance};
use tollgate_core::turn::{Taint, Turn, TurnId};
use tollgate_engine::gate::{TierRequest, TurnRequest};
use tollgate_engine::memory::TranscriptTurn;
use tollgate_engine::notices::{LiveEnding, LiveEvent, LiveTurn};

use super::super::events::{
    DeepTurnRouting, DialectEvent, NoDeepAnswerError, TurnEvent, UtteranceStage,
};
use super::super::session_registry::RealtimeSessionRegistry;
use super::super::session_request::{SessionParty, SessionRequest};
use super::super::tier_hysteresis::TierHysteresis;
use super::super::turn_time_budget::TurnTimeBudget;
use super::RealtimeSession;
use super::routing::{RoutingProgress, SlowTurnNotices, run_deep_turn};
use tollgate_engine::model_usage::ModelCaller;
use tollgate_mcp::tasks;

use crate::agent::{AgentTurn, CompletionRequest};
use crate::conversation::{
    ChatMessage, ChatRequest, ChatRole, GenerationOptions, MessagePart, ResponseDelivery,
    ToolChoice,
};
use crate::extra::Extra;
use crate::provider::ModelHandle;

/// Maximum bytes of an utterance that are used for tier selection and recorded.
const MAX_UTTERANCE_BYTES: usize = 16 << 10;
/// Transcript lines given to another model.
const MAX_TRANSCRIPT_LINES: usize = 40;
/// Instructions for another model, beside the agent's prompt.
const SPOKEN_ANSWER_PROMPT: &str = "Your answer is spoken to the caller, not read: a few plain sentences, without \
                      lists, markup or links.";

/// Above this tier, turns that need tools go to the other model, if there is one.
const REALTIME_CEILING: Tier = Tier::Standard;

/// Turn state of a session.
pub(super) struct SessionTurnState {
    /// `None`: the realtime model answers all turns.
    pub(super) ceiling: Option<Tier>,
    pub(super) routing: RoutingProgress,
    /// `None`: the agent has no budget.
    hysteresis: Option<TierHysteresis>,
    pub(super) insisted: Option<Tier>,
    began: Option<Instant>,
    /// Number of the current turn.
    pub(super) number: u64,
    /// Id shared by the turn's calls, set by the first one, and the start time.
    pub(super) turn: Option<(TurnId, Instant)>,
    /// Taint by untrusted servers since the last turn ended; `None`: not requested yet.
    taint: Option<Arc<Taint>>,
    pub(super) time_budget: TurnTimeBudget,
    pub(super) figures: LiveTurn,
}

/// Tier above which another model answers; `None`: the realtime model answers all turns.
fn realtime_ceiling(
    session_registry: &RealtimeSessionRegistry,
    session_request: &SessionRequest,
) -> Option<Tier> {
    let is_speech = session_request.agent.persona.engine == Engine::SpeechToSpeech;
    let routes = is_speech
        && session_request.live.can_route()
        && !chain(session_registry, session_request).is_empty();
    routes.then_some(REALTIME_CEILING)
}

impl SessionTurnState {
    pub(super) fn begin(
        session_registry: &RealtimeSessionRegistry,
        session_request: &SessionRequest,
    ) -> Self {
        // Before the first utterance: the same as for the first turn of a conversation.
        let first = session_request.agent.ceiling.map(|ceiling| ceiling.min(Tier::Standard));
        Self {
            ceiling: realtime_ceiling(session_registry, session_request),
            routing: RoutingProgress::default(),
            hysteresis: first.map(TierHysteresis::at),
            insisted: session_request.tier,
            began: None,
            number: 0,
            turn: None,
            taint: None,
            time_budget: TurnTimeBudget::default(),
            figures: LiveTurn::default(),
        }
    }

    /// The session continues in another protocol.
    pub(super) fn change_protocol(
        &mut self,
        session_registry: &RealtimeSessionRegistry,
        session_request: &SessionRequest,
    ) {
        self.ceiling = realtime_ceiling(session_registry, session_request);
        self.routing = RoutingProgress::default();
    }

    /// Tier of the realtime model.
    pub(super) fn wish(&self, party: &SessionParty) -> RequestedTier {
        let most = self.ceiling.unwrap_or(Tier::Deep);
        match (self.insisted, &self.hysteresis) {
            (Some(tier), _) => party.tier_override(tier.min(most)),
            (None, Some(hysteresis)) => RequestedTier::Selected(hysteresis.tier().min(most)),
            (None, None) => self.ceiling.map_or(RequestedTier::Ceiling, RequestedTier::Selected),
        }
    }

    /// Tier of the model that answers in its place.
    pub(super) fn wish_beyond(&self, party: &SessionParty) -> RequestedTier {
        match (self.insisted, &self.hysteresis) {
            (Some(tier), _) => party.tier_override(tier),
            (None, Some(hysteresis)) => RequestedTier::Selected(hysteresis.tier()),
            (None, None) => RequestedTier::Ceiling,
        }
    }

    pub(super) fn routing(
        &self,
        session_registry: &RealtimeSessionRegistry,
        session_request: &SessionRequest,
    ) -> DeepTurnRouting {
        let delegates = session_request.live.can_delegate()
            && !chain(session_registry, session_request).is_empty();
        if self.ceiling.is_some() || delegates {
            DeepTurnRouting::Cascaded
        } else {
            DeepTurnRouting::Native
        }
    }

    /// Starts the next turn with a fresh budget.
    fn next(&mut self) {
        self.time_budget = TurnTimeBudget::default();
        self.routing.next();
        self.number += 1;
        self.turn = None;
    }

    /// Gives all calls after the same utterance the same turn.
    pub(super) fn join_turn(&mut self, turn: Turn) -> Turn {
        let since = self.began.unwrap_or(turn.began);
        let (id, began) = *self.turn.get_or_insert((turn.id, since));
        Turn { id, began, taint: self.taint(), ..turn }
    }

    /// Shared by everything that is run and read until the turn ends.
    pub(super) fn taint(&mut self) -> Arc<Taint> {
        Arc::clone(self.taint.get_or_insert_default())
    }

    /// The model reads a result that did not come from its own call.
    pub(super) fn read(&mut self, outcome: &Outcome, now: Instant) {
        if let Some(origin) = outcome.origin.as_ref().filter(|origin| !origin.is_trusted()) {
            self.taint().note(&origin.server, now);
        }
    }

    pub(super) fn is_in_turn(&self) -> bool {
        self.began.is_some()
    }
}

/// Transcript of the session.
#[derive(Default)]
pub(super) struct SessionTranscript {
    lines: VecDeque<(ChatRole, String)>,
    /// In this turn: the caller's and the agent's speech.
    caller_text: String,
    agent_text: String,
    given: Option<String>,
}

impl SessionTranscript {
    fn hear(&mut self, text: &str) {
        join(&mut self.caller_text, text);
        self.keep(ChatRole::User, text);
    }

    pub(super) fn say(&mut self, text: &str) {
        self.given = None;
        join(&mut self.agent_text, text);
        self.keep(ChatRole::Assistant, text);
    }

    /// Another model's text, recorded as spoken if no transcript confirms it.
    pub(super) fn give(&mut self, text: &str) {
        self.given = Some(text.to_owned());
    }

    fn take_texts(&mut self) -> (String, String) {
        if let Some(given) = self.given.take() {
            self.say(&given);
        }
        (std::mem::take(&mut self.caller_text), std::mem::take(&mut self.agent_text))
    }

    fn keep(&mut self, role: ChatRole, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if self.lines.len() == MAX_TRANSCRIPT_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back((role, truncate_chars(text, MAX_UTTERANCE_BYTES)));
    }
}

fn join(stored: &mut String, text: &str) {
    if stored.len() + text.len() < MAX_UTTERANCE_BYTES {
        if !stored.is_empty() {
            stored.push(' ');
        }
        stored.push_str(text.trim());
    }
}

impl RealtimeSession {
    pub(super) fn hear(&mut self, text: &str, form: UtteranceStage, now: Instant) {
        let text = &text[..text.floor_char_boundary(MAX_UTTERANCE_BYTES)];
        if form == UtteranceStage::Final {
            self.talk.hear(text);
        }
        self.recall(text, form);
        let spoke = TierRequest {
            principal: &self.session_request.party.principal,
            agent: Some(&self.session_request.party.agent),
            conversation: Some(&self.conversation),
            utterance: Utterance {
                text,
                form: match form {
                    UtteranceStage::Partial => tier_selector::TranscriptStage::Partial,
                    UtteranceStage::Final => tier_selector::TranscriptStage::Final,
                },
                queue_depth: self.session_request.queue_depth,
                forced: self.call_progress.insisted,
            },
        };
        let Ok(choice) = self.session_registry.gate.choose(&spoke) else { return };
        let moved = self
            .call_progress
            .hysteresis
            .as_mut()
            .is_some_and(|hysteresis| hysteresis.observe(choice.tier, form));
        if moved && self.call_progress.insisted.is_none() {
            self.show_tier(choice.reason.to_string());
            self.refresh(now);
        }
        self.route(&choice, form, now);
    }

    /// Sets a requested tier, or returns to automatic selection.
    pub(super) fn insist(&mut self, tier: Option<Tier>, by: &str, now: Instant) {
        self.call_progress.insisted = tier;
        let reason = match tier {
            Some(tier) => format!("{by} forced the tier `{tier}`"),
            None => format!("{by} returned to automatic tier selection"),
        };
        self.show_tier(reason.clone());
        self.refresh(now);
        let tier = self.tier();
        self.send_event(DialectEvent::Tier { tier, reason }, now);
    }

    pub(super) fn on_turn_event(&mut self, event: TurnEvent, now: Instant) {
        match event {
            TurnEvent::Began => {
                if self.call_progress.is_in_turn() {
                    self.end_turn(LiveEnding::Whole, now);
                }
                self.call_progress.next();
                self.stop_speaking();
                self.call_progress.began = Some(now);
                self.spans.turn_began();
            }
            TurnEvent::Interrupted => {
                self.stop_speaking();
                self.usage.stop_playing(now);
                self.end_turn(LiveEnding::Interrupted, now);
            }
            TurnEvent::Ended => self.end_turn(LiveEnding::Whole, now),
        }
    }

    pub(super) fn end_turn(&mut self, ending: LiveEnding, now: Instant) {
        let Some(began) = self.call_progress.began.take() else { return };
        self.silence.end_turn(ending);
        self.spans.turn_ended(ending);
        let tools = self.call_progress.time_budget.time_spent(now);
        let took = now.saturating_duration_since(began);
        let figures = std::mem::take(&mut self.call_progress.figures);
        self.call_progress.next();
        // Reset here and not at the start of a turn: results between two turns are read in the
        // second.
        self.call_progress.taint = None;
        self.session_registry.record_turn(&self.facts, LiveTurn { took, tools, ending, ..figures });
        if self.session_request.live.is_metered_by_clock() {
            self.charge_time(1, now);
        }
        self.keep_talk();
    }

    /// Drops pending answers of another model. A provider that delegates by itself gets all of
    /// them.
    fn stop_speaking(&mut self) {
        if !self.session_request.live.can_delegate() {
            self.speaking = FuturesOrdered::new();
        }
    }

    /// Lets another model answer the utterance.
    pub(super) fn delegate(&mut self) {
        self.stop_speaking();
        if let Some(why) = self.call_progress.routing.take_reason() {
            self.show_tier(why);
        }
        let chain = chain(&self.session_registry, &self.session_request);
        let turn_request = self
            .session_request
            .party
            .turn_request(self.call_progress.wish_beyond(&self.session_request.party));
        let turn_request = TurnRequest { trace: self.spans.trace().cloned(), ..turn_request };
        let (Ok(turn), false) = (self.session_registry.gate.turn(turn_request), chain.is_empty())
        else {
            self.speaking.push_back(async { Err(NoDeepAnswerError::NoModel) }.boxed());
            return;
        };
        let turn = Turn { taint: self.call_progress.taint(), ..turn };
        let prompt = match &self.prompt {
            Some(prompt) => format!("{prompt}\n\n{SPOKEN_ANSWER_PROMPT}"),
            None => SPOKEN_ANSWER_PROMPT.to_owned(),
        };
        let lines = self.talk.lines.iter();
        let request = ChatRequest {
            model: self.session_request.agent.id.to_string(),
            messages: lines.map(|(role, text)| ChatMessage::text(*role, text)).collect(),
            tools: Vec::new(),
            tool_choice: ToolChoice::Unsaid,
            options: GenerationOptions::default(),
            delivery: ResponseDelivery::Whole,
            extra: Extra::none(),
        };
        let trace = turn.trace.clone();
        let agent = self.session_request.agent.clone();
        let lease = turn.lease.clone();
        let caller = ModelCaller::of_turn(&turn);
        let chat = Arc::clone(&self.session_registry.chat);
        let lookup = self.recall.lookup();
        let notices = SlowTurnNotices {
            opener: self.session_request.agent.persona.deep_turns.slow_response.clone(),
            sender: self.slow_calls(),
        };
        let answered = async move {
            let recalled = match lookup {
                Some(lookup) => lookup.await,
                None => None,
            };
            let prompt = match recalled.and_then(|it| it.note()) {
                Some(note) => format!("{prompt}\n\n{note}"),
                None => prompt,
            };
            let acting = Some(AgentTurn { agent, turn, prompt: Some(prompt) });
            let order = CompletionRequest { request, acting, chain, lease, trace, caller };
            let prepared = chat.prepare(order).map_err(NoDeepAnswerError::Failed)?;
            let answer = run_deep_turn(prepared, notices).await?;
            let texts: Vec<&str> =
                answer.response.parts.iter().filter_map(MessagePart::as_text).collect();
            match texts.join("\n").trim() {
                "" => Err(NoDeepAnswerError::Empty),
                text => Ok(text.to_owned()),
            }
        };
        self.speaking.push_back(tasks::run_on(&self.calls, answered).boxed());
    }

    pub(super) fn show_tier(&mut self, reason: String) {
        let tier = self.tier();
        let tools = self.offer.tools.len();
        self.session_registry.update_status(&self.facts, |standing| {
            standing.tier = tier;
            standing.reason.clone_from(&reason);
            standing.tools = tools;
        });
        self.session_registry.tell(&self.facts, LiveEvent::Tier { tier, reason });
    }

    /// The effective tier of the session; `None`: no budget.
    fn tier(&self) -> Option<Tier> {
        self.session_request.agent.budget(self.call_progress.wish(&self.session_request.party))
    }

    fn keep_talk(&mut self) {
        let (received, text) = self.talk.take_texts();
        let turn_request = self
            .session_request
            .party
            .turn_request(self.call_progress.wish(&self.session_request.party));
        let (Some(memory_service), Ok(turn)) =
            (self.session_registry.gate.memory(), self.session_registry.gate.turn(turn_request))
        else {
            return;
        };
        let text = TranscriptTurn {
            conversation: Some(&self.conversation),
            speaker: self.session_request.variables.get("caller_name").map(String::as_str),
            utterance: &received,
            answered: &text,
            via: "realtime",
        };
        memory_service.record(&turn, &text);
    }
}

/// The agent's chat models, in its order of preference.
pub(super) fn chain(
    session_registry: &RealtimeSessionRegistry,
    session_request: &SessionRequest,
) -> Vec<Arc<ModelHandle>> {
    let models = session_registry.chat.models();
    let named = session_request.agent.persona.models.iter().filter_map(|name| models.find(name));
    let is_other = |model: &Arc<ModelHandle>| {
        !model.is_live() && model.settings.name != session_request.model.settings.name
    };
    named.filter(is_other).collect()
}
