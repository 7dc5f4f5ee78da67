//! The turns of a session: which tier they have, what they come to, who answers the deep ones, and
//! what is remembered of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::stream::FuturesOrdered;
use tollgate_core::agent::{Engine, RequestedTier};
use tollgate_core::budget::Tier;
use tollgate_core::call::Outcome;
use tollgate_core::text::truncate_chars;
use tollgate_core::tier_selector::{self, TierChoice, Utterance};
use tollgate_core::turn::{Taint, Turn, TurnId};
use tollgate_engine::gate::{TierRequest, TurnRequest};
use tollgate_engine::memory::{HeardUtterance, TranscriptTurn};
use tollgate_engine::notices::{LiveEnding, LiveEvent, LiveTurn};

use super::super::events::{DeepTurnRouting, DialectEvent, TurnEvent, UtteranceStage};
use super::super::session_registry::RealtimeSessionRegistry;
use super::super::session_request::{SessionParty, SessionRequest};
use super::super::tier_hysteresis::TierHysteresis;
use super::super::turn_time_budget::TurnTimeBudget;
use super::RealtimeSession;
use crate::agent::{AgentTurn, CompletionRequest};
use crate::conversation::{
    ChatMessage, ChatRequest, ChatRole, GenerationOptions, MessagePart, ResponseDelivery,
    ToolChoice,
};
use crate::extra::Extra;
use crate::provider::ModelHandle;
use crate::routing::{self, TurnRoute};

/// Of one utterance no more chooses the tier, and no more is kept.
const MAX_UTTERANCE_BYTES: usize = 16 << 10;
/// Lines of the talk that another model gets to read.
const MAX_TRANSCRIPT_LINES: usize = 40;
/// A caller waits no longer for an answer of another model.
const CASCADE_TIMEOUT: Duration = Duration::from_secs(20);
/// What another model is told beside the agent's prompt.
const SPOKEN_ANSWER_PROMPT: &str = "Your answer is spoken to the caller, not read: a few plain sentences, without \
                      lists, markup or links.";

/// Above it, turns that need tools go to the other model, where there is one.
const REALTIME_CEILING: Tier = Tier::Standard;

/// Where the session stands in its turns.
pub(super) struct SessionTurnState {
    /// `None`: the realtime model answers all of them.
    ceiling: Option<Tier>,
    /// `None`: the agent has no budget.
    sway: Option<TierHysteresis>,
    insisted: Option<Tier>,
    began: Option<Instant>,
    /// Of the turn that runs.
    pub(super) number: u64,
    /// What its calls have in common, once there was one, and since when.
    pub(super) turn: Option<(TurnId, Instant)>,
    /// What untrusted servers said since the last turn ended; `None`: nobody asked yet.
    taint: Option<Arc<Taint>>,
    pub(super) purse: TurnTimeBudget,
    pub(super) figures: LiveTurn,
}

impl SessionTurnState {
    pub(super) fn begin(hall: &RealtimeSessionRegistry, visit: &SessionRequest) -> Self {
        let is_speech = visit.agent.persona.engine == Engine::SpeechToSpeech;
        let routes = is_speech && visit.live.can_route() && !chain(hall, visit).is_empty();
        // Nothing was said yet: as for the first turn of a conversation.
        let first = visit.agent.ceiling.map(|ceiling| ceiling.min(Tier::Standard));
        Self {
            ceiling: routes.then_some(REALTIME_CEILING),
            sway: first.map(TierHysteresis::at),
            insisted: visit.tier,
            began: None,
            number: 0,
            turn: None,
            taint: None,
            purse: TurnTimeBudget::default(),
            figures: LiveTurn::default(),
        }
    }

    /// Of the realtime model.
    pub(super) fn wish(&self, party: &SessionParty) -> RequestedTier {
        let most = self.ceiling.unwrap_or(Tier::Deep);
        match (self.insisted, &self.sway) {
            (Some(tier), _) => party.tier_override(tier.min(most)),
            (None, Some(sway)) => RequestedTier::Selected(sway.tier().min(most)),
            (None, None) => self.ceiling.map_or(RequestedTier::Ceiling, RequestedTier::Selected),
        }
    }

    /// Of whoever answers in its place.
    fn wish_beyond(&self, party: &SessionParty) -> RequestedTier {
        match (self.insisted, &self.sway) {
            (Some(tier), _) => party.tier_override(tier),
            (None, Some(sway)) => RequestedTier::Selected(sway.tier()),
            (None, None) => RequestedTier::Ceiling,
        }
    }

    pub(super) fn routing(
        &self,
        hall: &RealtimeSessionRegistry,
        visit: &SessionRequest,
    ) -> DeepTurnRouting {
        let delegates = visit.live.can_delegate() && !chain(hall, visit).is_empty();
        match self.ceiling.is_some() || delegates {
            true => DeepTurnRouting::Cascaded,
            false => DeepTurnRouting::Native,
        }
    }

    /// What was spent before is spent.
    fn next(&mut self) {
        self.purse = TurnTimeBudget::default();
        self.number += 1;
        self.turn = None;
    }

    /// The same for all calls of what the caller said last.
    pub(super) fn join_turn(&mut self, turn: Turn) -> Turn {
        let since = self.began.unwrap_or(turn.began);
        let (id, began) = *self.turn.get_or_insert((turn.id, since));
        Turn { id, began, taint: self.taint(began), ..turn }
    }

    /// The same for all that is done and read until the turn ends.
    pub(super) fn taint(&mut self, now: Instant) -> Arc<Taint> {
        Arc::clone(self.taint.get_or_insert_with(|| Arc::new(Taint::new(now, None))))
    }

    /// The model reads a result that came by another way than its own call.
    pub(super) fn read(&mut self, outcome: &Outcome, now: Instant) {
        if let Some(origin) = outcome.origin.as_ref().filter(|origin| !origin.is_trusted()) {
            self.taint(now).note(&origin.server, now);
        }
    }

    pub(super) fn is_in_turn(&self) -> bool {
        self.began.is_some()
    }
}

/// What was said, in words.
#[derive(Default)]
pub(super) struct SessionTranscript {
    lines: VecDeque<(ChatRole, String)>,
    /// In this turn, by the caller and by the agent.
    heard: String,
    said: String,
    given: Option<String>,
}

impl SessionTranscript {
    fn hear(&mut self, text: &str) {
        join(&mut self.heard, text);
        self.keep(ChatRole::User, text);
    }

    pub(super) fn say(&mut self, text: &str) {
        self.given = None;
        join(&mut self.said, text);
        self.keep(ChatRole::Assistant, text);
    }

    /// Another model's words, kept as said if nobody hears that they were.
    pub(super) fn give(&mut self, text: &str) {
        self.given = Some(text.to_owned());
    }

    fn take_texts(&mut self) -> (String, String) {
        if let Some(given) = self.given.take() {
            self.say(&given);
        }
        (std::mem::take(&mut self.heard), std::mem::take(&mut self.said))
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

fn join(kept: &mut String, text: &str) {
    if kept.len() + text.len() < MAX_UTTERANCE_BYTES {
        if !kept.is_empty() {
            kept.push(' ');
        }
        kept.push_str(text.trim());
    }
}

impl RealtimeSession {
    pub(super) fn hear(&mut self, text: &str, form: UtteranceStage, now: Instant) {
        let text = &text[..text.floor_char_boundary(MAX_UTTERANCE_BYTES)];
        if form == UtteranceStage::Final {
            self.talk.hear(text);
        } else {
            self.look_ahead(text);
        }
        let spoke = TierRequest {
            principal: &self.visit.party.principal,
            agent: Some(&self.visit.party.agent),
            conversation: Some(&self.conversation),
            utterance: Utterance {
                text,
                form: match form {
                    UtteranceStage::Partial => tier_selector::TranscriptStage::Partial,
                    UtteranceStage::Final => tier_selector::TranscriptStage::Final,
                },
                queue_depth: self.visit.queue_depth,
                forced: self.course.insisted,
            },
        };
        let Ok(choice) = self.hall.gate.choose(&spoke) else { return };
        let moved = self.course.sway.as_mut().is_some_and(|sway| sway.observe(choice.tier, form));
        if moved && self.course.insisted.is_none() {
            self.show_tier(choice.reason.to_string());
            self.refresh(now);
        }
        if form == UtteranceStage::Final {
            self.route(&choice, now);
        }
    }

    /// A turn that needs tools which the realtime model cannot wait for goes to the other one.
    fn route(&mut self, choice: &TierChoice, now: Instant) {
        let Some(ceiling) = self.course.ceiling else { return };
        let party = &self.visit.party;
        let turn = |wish| self.hall.gate.turn(party.turn_request(wish));
        let (Ok(here), Ok(beyond)) =
            (turn(self.course.wish(party)), turn(self.course.wish_beyond(party)))
        else {
            return;
        };
        let names = beyond.view.tools().iter().map(|tool| tool.exposed.as_str());
        let slower: Vec<&str> = names.filter(|name| here.view.tool(name).is_none()).collect();
        let spoken = routing::SpokenTurn { choice, ceiling, slower: &slower };
        if let TurnRoute::Cascaded { why } = routing::route(&spoken) {
            self.show_tier(why.to_string());
            self.send_event(DialectEvent::Route, now);
        }
    }

    /// Somebody wants this tier, or that what is said decides again.
    pub(super) fn insist(&mut self, tier: Option<Tier>, by: &str, now: Instant) {
        self.course.insisted = tier;
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
                if self.course.is_in_turn() {
                    self.end_turn(LiveEnding::Whole, now);
                }
                self.course.next();
                self.stop_speaking();
                self.course.began = Some(now);
                self.told.turn_began();
            }
            TurnEvent::Interrupted => {
                self.stop_speaking();
                self.end_turn(LiveEnding::Interrupted, now);
            }
            TurnEvent::Ended => self.end_turn(LiveEnding::Whole, now),
        }
    }

    pub(super) fn end_turn(&mut self, ending: LiveEnding, now: Instant) {
        let Some(began) = self.course.began.take() else { return };
        self.told.turn_ended(ending);
        let tools = self.course.purse.time_spent(now);
        let took = now.saturating_duration_since(began);
        let figures = std::mem::take(&mut self.course.figures);
        self.course.next();
        // Not where a turn begins: what comes between two turns is read in the second.
        self.course.taint = None;
        self.hall.record_turn(&self.facts, LiveTurn { took, tools, ending, ..figures });
        self.keep_talk();
    }

    /// Nobody waits for another model's words any more. Who asks for them by turns gets them all.
    fn stop_speaking(&mut self) {
        if !self.visit.live.can_delegate() {
            self.speaking = FuturesOrdered::new();
        }
    }

    /// Has another model answer what was said.
    pub(super) fn delegate(&mut self) {
        self.stop_speaking();
        let chain = chain(&self.hall, &self.visit);
        let asked = self.visit.party.turn_request(self.course.wish_beyond(&self.visit.party));
        let asked = TurnRequest { trace: self.told.trace().cloned(), ..asked };
        let (Ok(turn), false) = (self.hall.gate.turn(asked), chain.is_empty()) else {
            let why = "there is no fallback model".to_owned();
            self.speaking.push_back(async { Err(why) }.boxed());
            return;
        };
        let turn = Turn { taint: self.course.taint(turn.began), ..turn };
        let prompt = match &self.prompt {
            Some(prompt) => format!("{prompt}\n\n{SPOKEN_ANSWER_PROMPT}"),
            None => SPOKEN_ANSWER_PROMPT.to_owned(),
        };
        let lines = self.talk.lines.iter();
        let request = ChatRequest {
            model: self.visit.agent.id.to_string(),
            messages: lines.map(|(role, text)| ChatMessage::text(*role, text)).collect(),
            tools: Vec::new(),
            tool_choice: ToolChoice::Unsaid,
            options: GenerationOptions::default(),
            delivery: ResponseDelivery::Whole,
            extra: Extra::none(),
        };
        let trace = turn.trace.clone();
        let acting = AgentTurn { agent: self.visit.agent.clone(), turn, prompt: Some(prompt) };
        let lease = acting.turn.lease.clone();
        let order = CompletionRequest { request, acting: Some(acting), chain, lease, trace };
        let chat = Arc::clone(&self.hall.chat);
        let answered = async move {
            let prepared = chat.prepare(order).map_err(|failure| failure.to_string())?;
            let answer = tokio::time::timeout(CASCADE_TIMEOUT, prepared.run(None)).await;
            let answer = answer.map_err(|_| "no answer arrived in time".to_owned())?;
            let answer = answer.map_err(|failure| failure.to_string())?;
            let texts: Vec<&str> =
                answer.response.parts.iter().filter_map(MessagePart::as_text).collect();
            match texts.join("\n").trim() {
                "" => Err("the answer is empty".to_owned()),
                text => Ok(text.to_owned()),
            }
        };
        self.speaking.push_back(answered.boxed());
    }

    pub(super) fn show_tier(&mut self, reason: String) {
        let (tier, tools) = (self.tier(), self.offer.tools.len());
        self.hall.update_status(&self.facts, |standing| {
            standing.tier = tier;
            standing.reason.clone_from(&reason);
            standing.tools = tools;
        });
        self.hall.tell(&self.facts, LiveEvent::Tier { tier, reason });
    }

    /// What the session really has; `None`: no budget.
    fn tier(&self) -> Option<Tier> {
        self.visit.agent.budget(self.course.wish(&self.visit.party))
    }

    fn look_ahead(&self, text: &str) {
        let asked = self.visit.party.turn_request(self.course.wish(&self.visit.party));
        if let (Some(mind), Ok(turn)) = (self.hall.gate.memory(), self.hall.gate.turn(asked)) {
            mind.look_ahead(
                &turn,
                &HeardUtterance { conversation: Some(&self.conversation), text },
            );
        }
    }

    fn keep_talk(&mut self) {
        let (heard, said) = self.talk.take_texts();
        let asked = self.visit.party.turn_request(self.course.wish(&self.visit.party));
        let (Some(mind), Ok(turn)) = (self.hall.gate.memory(), self.hall.gate.turn(asked)) else {
            return;
        };
        let said = TranscriptTurn {
            conversation: Some(&self.conversation),
            speaker: self.visit.variables.get("caller_name").map(String::as_str),
            heard: &heard,
            answered: &said,
            via: "realtime",
        };
        mind.record(&turn, &said);
    }
}

/// The agent's models for chats, in its order of preference.
pub(super) fn chain(
    hall: &RealtimeSessionRegistry,
    visit: &SessionRequest,
) -> Vec<Arc<ModelHandle>> {
    let models = hall.chat.models();
    let named = visit.agent.persona.models.iter().filter_map(|name| models.find(name));
    let is_other = |model: &Arc<ModelHandle>| {
        !model.is_live() && model.settings.name != visit.model.settings.name
    };
    named.filter(is_other).collect()
}
