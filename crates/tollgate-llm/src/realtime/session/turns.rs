//! The turns of a session: which tier they have, what they come to, who answers the deep ones, and
//! what is remembered of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::stream::FuturesOrdered;
use tollgate_core::agent::{Engine, Wish};
use tollgate_core::budget::Tier;
use tollgate_core::call::Outcome;
use tollgate_core::selector::{self, Choice, Utterance};
use tollgate_core::text::shortened;
use tollgate_core::turn::{Taint, Turn, TurnId};
use tollgate_engine::gate::{Asked, Spoke};
use tollgate_engine::memory::{Heard, Said};
use tollgate_engine::notices::{LiveEnding, LiveEvent, LiveTurn};

use super::super::events::{Form, News, Routing, TurnEvent};
use super::super::hall::Hall;
use super::super::purse::Purse;
use super::super::sway::Sway;
use super::super::visit::{Party, Visit};
use super::Session;
use crate::agent::{Acting, Order};
use crate::conversation::{Delivery, Message, Options, Part, Request, Role, ToolChoice};
use crate::extra::Extra;
use crate::provider::Model;
use crate::routing::{self, Route};

/// Of one utterance no more chooses the tier, and no more is kept.
const LONGEST_UTTERANCE: usize = 16 << 10;
/// Lines of the talk that another model gets to read.
const MOST_LINES: usize = 40;
/// A caller waits no longer for an answer of another model.
const PATIENCE: Duration = Duration::from_secs(20);
/// What another model is told beside the agent's prompt.
const SPOKEN: &str = "Your answer is spoken to the caller, not read: a few plain sentences, without \
                      lists, markup or links.";

/// Above it, turns that need tools go to the other model, where there is one.
const REALTIME_CEILING: Tier = Tier::Standard;

/// Where the session stands in its turns.
pub(super) struct Course {
    /// `None`: the realtime model answers all of them.
    ceiling: Option<Tier>,
    /// `None`: the agent has no budget.
    sway: Option<Sway>,
    insisted: Option<Tier>,
    began: Option<Instant>,
    /// Of the turn that runs.
    pub(super) number: u64,
    /// What its calls have in common, once there was one, and since when.
    pub(super) turn: Option<(TurnId, Instant)>,
    /// What untrusted servers said since the last turn ended; `None`: nobody asked yet.
    taint: Option<Arc<Taint>>,
    pub(super) purse: Purse,
    pub(super) figures: LiveTurn,
}

impl Course {
    pub(super) fn begin(hall: &Hall, visit: &Visit) -> Self {
        let is_speech = visit.agent.persona.engine == Engine::SpeechToSpeech;
        let routes = is_speech && visit.live.can_route() && !chain(hall, visit).is_empty();
        // Nothing was said yet: as for the first turn of a conversation.
        let first = visit.agent.ceiling.map(|ceiling| ceiling.min(Tier::Standard));
        Self {
            ceiling: routes.then_some(REALTIME_CEILING),
            sway: first.map(Sway::at),
            insisted: visit.tier,
            began: None,
            number: 0,
            turn: None,
            taint: None,
            purse: Purse::default(),
            figures: LiveTurn::default(),
        }
    }

    /// Of the realtime model.
    pub(super) fn wish(&self, party: &Party) -> Wish {
        let most = self.ceiling.unwrap_or(Tier::Deep);
        match (self.insisted, &self.sway) {
            (Some(tier), _) => party.insisting(tier.min(most)),
            (None, Some(sway)) => Wish::Selected(sway.tier().min(most)),
            (None, None) => self.ceiling.map_or(Wish::Ceiling, Wish::Selected),
        }
    }

    /// Of whoever answers in its place.
    fn wish_beyond(&self, party: &Party) -> Wish {
        match (self.insisted, &self.sway) {
            (Some(tier), _) => party.insisting(tier),
            (None, Some(sway)) => Wish::Selected(sway.tier()),
            (None, None) => Wish::Ceiling,
        }
    }

    pub(super) fn routing(&self, hall: &Hall, visit: &Visit) -> Routing {
        let delegates = visit.live.can_delegate() && !chain(hall, visit).is_empty();
        match self.ceiling.is_some() || delegates {
            true => Routing::Cascaded,
            false => Routing::Native,
        }
    }

    /// What was spent before is spent.
    fn next(&mut self) {
        self.purse = Purse::default();
        self.number += 1;
        self.turn = None;
    }

    /// The same for all calls of what the caller said last.
    pub(super) fn joined(&mut self, turn: Turn) -> Turn {
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
pub(super) struct Talk {
    lines: VecDeque<(Role, String)>,
    /// In this turn, by the caller and by the agent.
    heard: String,
    said: String,
    given: Option<String>,
}

impl Talk {
    fn hear(&mut self, text: &str) {
        join(&mut self.heard, text);
        self.keep(Role::User, text);
    }

    pub(super) fn say(&mut self, text: &str) {
        self.given = None;
        join(&mut self.said, text);
        self.keep(Role::Assistant, text);
    }

    /// Another model's words, kept as said if nobody hears that they were.
    pub(super) fn give(&mut self, text: &str) {
        self.given = Some(text.to_owned());
    }

    fn taken(&mut self) -> (String, String) {
        if let Some(given) = self.given.take() {
            self.say(&given);
        }
        (std::mem::take(&mut self.heard), std::mem::take(&mut self.said))
    }

    fn keep(&mut self, role: Role, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if self.lines.len() == MOST_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back((role, shortened(text, LONGEST_UTTERANCE)));
    }
}

fn join(kept: &mut String, text: &str) {
    if kept.len() + text.len() < LONGEST_UTTERANCE {
        if !kept.is_empty() {
            kept.push(' ');
        }
        kept.push_str(text.trim());
    }
}

impl Session {
    pub(super) fn heard(&mut self, text: &str, form: Form, now: Instant) {
        let text = &text[..text.floor_char_boundary(LONGEST_UTTERANCE)];
        if form == Form::Final {
            self.talk.hear(text);
        } else {
            self.look_ahead(text);
        }
        let spoke = Spoke {
            principal: &self.visit.party.principal,
            agent: Some(&self.visit.party.agent),
            conversation: Some(&self.conversation),
            utterance: Utterance {
                text,
                form: match form {
                    Form::Partial => selector::Form::Partial,
                    Form::Final => selector::Form::Final,
                },
                queue_depth: self.visit.queue_depth,
                forced: self.course.insisted,
            },
        };
        let Ok(choice) = self.hall.gate.choose(&spoke) else { return };
        let moved = self.course.sway.as_mut().is_some_and(|sway| sway.heard(choice.tier, form));
        if moved && self.course.insisted.is_none() {
            self.show_tier(choice.reason.to_string());
            self.refresh(now);
        }
        if form == Form::Final {
            self.route(&choice, now);
        }
    }

    /// A turn that needs tools which the realtime model cannot wait for goes to the other one.
    fn route(&mut self, choice: &Choice, now: Instant) {
        let Some(ceiling) = self.course.ceiling else { return };
        let party = &self.visit.party;
        let turn = |wish| self.hall.gate.turn(party.asked(wish));
        let (Ok(here), Ok(beyond)) =
            (turn(self.course.wish(party)), turn(self.course.wish_beyond(party)))
        else {
            return;
        };
        let names = beyond.view.tools().iter().map(|tool| tool.exposed.as_str());
        let slower: Vec<&str> = names.filter(|name| here.view.tool(name).is_none()).collect();
        let spoken = routing::Spoken { choice, ceiling, slower: &slower };
        if let Route::Cascaded { why } = routing::route(&spoken) {
            self.show_tier(why.to_string());
            self.news(News::Route, now);
        }
    }

    /// Somebody wants this tier, or that what is said decides again.
    pub(super) fn insist(&mut self, tier: Option<Tier>, by: &str, now: Instant) {
        self.course.insisted = tier;
        let reason = match tier {
            Some(tier) => format!("{by} insists on `{tier}`"),
            None => format!("{by} lets what is said decide"),
        };
        self.show_tier(reason.clone());
        self.refresh(now);
        let tier = self.tier();
        self.news(News::Tier { tier, reason }, now);
    }

    pub(super) fn turned(&mut self, event: TurnEvent, now: Instant) {
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
        let tools = self.course.purse.spent(now);
        let took = now.saturating_duration_since(began);
        let figures = std::mem::take(&mut self.course.figures);
        self.course.next();
        // Not where a turn begins: what comes between two turns is read in the second.
        self.course.taint = None;
        self.hall.had_turn(&self.facts, LiveTurn { took, tools, ending, ..figures });
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
        let asked = self.visit.party.asked(self.course.wish_beyond(&self.visit.party));
        let asked = Asked { trace: self.told.trace().cloned(), ..asked };
        let (Ok(turn), false) = (self.hall.gate.turn(asked), chain.is_empty()) else {
            let why = "there is no other model to answer".to_owned();
            self.speaking.push_back(async { Err(why) }.boxed());
            return;
        };
        let turn = Turn { taint: self.course.taint(turn.began), ..turn };
        let prompt = match &self.prompt {
            Some(prompt) => format!("{prompt}\n\n{SPOKEN}"),
            None => SPOKEN.to_owned(),
        };
        let lines = self.talk.lines.iter();
        let request = Request {
            model: self.visit.agent.id.to_string(),
            messages: lines.map(|(role, text)| Message::text(*role, text)).collect(),
            tools: Vec::new(),
            tool_choice: ToolChoice::Unsaid,
            options: Options::default(),
            delivery: Delivery::Whole,
            extra: Extra::none(),
        };
        let trace = turn.trace.clone();
        let acting = Acting { agent: self.visit.agent.clone(), turn, prompt: Some(prompt) };
        let lease = acting.turn.lease.clone();
        let order = Order { request, acting: Some(acting), chain, lease, trace };
        let chat = Arc::clone(&self.hall.chat);
        let answered = async move {
            let prepared = chat.prepare(order).map_err(|failure| failure.to_string())?;
            let answer = tokio::time::timeout(PATIENCE, prepared.run(None)).await;
            let answer = answer.map_err(|_| "no answer came in time".to_owned())?;
            let answer = answer.map_err(|failure| failure.to_string())?;
            let texts: Vec<&str> = answer.response.parts.iter().filter_map(Part::as_text).collect();
            match texts.join("\n").trim() {
                "" => Err("the answer has no words".to_owned()),
                text => Ok(text.to_owned()),
            }
        };
        self.speaking.push_back(answered.boxed());
    }

    pub(super) fn show_tier(&mut self, reason: String) {
        let (tier, tools) = (self.tier(), self.offer.tools.len());
        self.hall.stands(&self.facts, |standing| {
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
        let asked = self.visit.party.asked(self.course.wish(&self.visit.party));
        if let (Some(mind), Ok(turn)) = (self.hall.gate.mind(), self.hall.gate.turn(asked)) {
            mind.look_ahead(&turn, &Heard { conversation: Some(&self.conversation), text });
        }
    }

    fn keep_talk(&mut self) {
        let (heard, said) = self.talk.taken();
        let asked = self.visit.party.asked(self.course.wish(&self.visit.party));
        let (Some(mind), Ok(turn)) = (self.hall.gate.mind(), self.hall.gate.turn(asked)) else {
            return;
        };
        let said = Said {
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
pub(super) fn chain(hall: &Hall, visit: &Visit) -> Vec<Arc<Model>> {
    let models = hall.chat.models();
    let named = visit.agent.persona.models.iter().filter_map(|name| models.find(name));
    let is_other =
        |model: &Arc<Model>| !model.is_live() && model.settings.name != visit.model.settings.name;
    named.filter(is_other).collect()
}
