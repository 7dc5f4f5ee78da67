//! Deepgram's Voice Agent as a machine: settings with our functions in them, calls split between
//! client and gateway, turns, and words put into the agent's mouth.
//!
//! Driven by the session around it. Binary messages are audio and pass. `Error` means to clients of
//! this protocol that the session is over, so whatever we refuse is told as a `Warning`. The model
//! cannot be kept from answering, so no turn is given to another one.

mod floor;
mod mouth;
mod think;

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::{Value, json};
use tollgate_core::json;
use tollgate_core::tool::Delivery;

use self::floor::{Floor, Speaker, Turn};
use self::mouth::{Behavior, Mouth, Whose};
use self::think::Think;
use super::events::{Action, Answer, Call, Frame, News, Opening, RealtimeDialect, Step, TurnEvent};
use super::glance::{self, Glance};
use super::owed::{Due, Owed};
use super::wish;

pub struct Deepgram {
    opening: Opening,
    think: Think,
    settings: Settings,
    /// Whose each `UpdateThink` was that is not confirmed yet.
    updates: VecDeque<Whose>,
    owed: Owed,
    mouth: Mouth,
    floor: Floor,
}

/// How far the first message has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Settings {
    Awaited,
    Sent,
    Applied,
}

impl Deepgram {
    pub fn new(opening: Opening) -> Self {
        Self {
            think: Think::new(&opening.model),
            opening,
            settings: Settings::Awaited,
            updates: VecDeque::new(),
            owed: Owed::default(),
            mouth: Mouth::default(),
            floor: Floor::default(),
        }
    }

    fn settings(&mut self, mut message: Value) -> Step {
        let is_first = self.settings == Settings::Awaited;
        let Some(agent) = message.get_mut("agent") else { return Step::forward() };
        if agent.is_string() {
            if !is_first {
                return Step::forward();
            }
            self.settings = Settings::Sent;
            self.think.set_elsewhere();
            let why = "the agent is kept at Deepgram: what it thinks with is not known to the gateway, \
                       which adds no tools to it; send `agent.think` in `Settings`, or `UpdateThink`";
            return Step::forward().and([warning("TOOLS_NOT_ADDED", why)]);
        }
        let Some(agent) = agent.as_object_mut().filter(|_| is_first) else {
            return Step::forward();
        };
        let think = agent.get("think").cloned().unwrap_or_else(|| json!({}));
        let set = match self.think.set(think, &self.opening.offer) {
            Ok(set) => set,
            Err(named) => return Step::swallow().and([not_offered(&named)]),
        };
        self.settings = Settings::Sent;
        if set.merged != json!({}) {
            agent.insert("think".to_owned(), set.merged);
        }
        Step::replace(message.to_string()).and(set.left_out.iter().map(|named| not_offered(named)))
    }

    fn update_think(&mut self, mut message: Value) -> Step {
        let Some(think) = message.get_mut("think").map(Value::take) else { return Step::forward() };
        match self.think.set(think, &self.opening.offer) {
            Ok(set) => {
                self.updates.push_back(Whose::Client);
                message["think"] = set.merged;
                let warnings = set.left_out.iter().map(|named| not_offered(named));
                Step::replace(message.to_string()).and(warnings)
            }
            Err(named) => Step::swallow().and([not_offered(&named)]),
        }
    }

    /// The client answers a call. Ours it must not.
    fn client_answers(&self, message: &Value) -> Step {
        let id = message.get("id").and_then(Value::as_str);
        let name = message.get("name").and_then(Value::as_str).unwrap_or_default();
        let is_ours = match id {
            Some(id) => self.owed.knows(id),
            None => !self.think.is_clients(name, &self.opening.offer),
        };
        if !is_ours {
            return Step::forward();
        }
        let why =
            format!("function `{name}` is not the client's: only its own calls are answered by it");
        Step::swallow().and([warning("FUNCTION_CALL_NOT_YOURS", &why)])
    }

    /// Gives the provider what is offered now, once it can take it.
    fn offer(&mut self) -> Option<Action> {
        if self.settings != Settings::Applied {
            return None;
        }
        let think = self.think.offering(&self.opening.offer)?;
        self.updates.push_back(Whose::Ours);
        Some(Action::ToProvider(json!({"type": "UpdateThink", "think": think}).to_string()))
    }

    /// Calls of the model's: some are the client's, some the server's own, the rest is ours.
    fn calls(&mut self, mut message: Value) -> Step {
        let Some(all) = message.get_mut("functions").and_then(Value::as_array_mut) else {
            return Step::forward();
        };
        let before = all.len();
        let mut ours = Vec::new();
        all.retain(|entry| match our_call(entry) {
            Some(call) if !self.think.is_clients(&call.name, &self.opening.offer) => {
                ours.push(call);
                false
            }
            Some(_) | None => true,
        });
        let (are_all, are_none) = (all.len() == before, all.is_empty());
        if self.floor.speaker == Speaker::Caller {
            self.floor.speaker = Speaker::Nobody;
        }
        let mut actions = Vec::new();
        match self.floor.turn {
            Turn::None => {
                self.floor.turn = Turn::Early;
                actions.push(Action::Turn(TurnEvent::Began));
            }
            Turn::Answered => self.floor.turn = Turn::Thinking,
            Turn::Early | Turn::Thinking => {}
        }
        actions.extend(self.run(ours));
        match (are_all, are_none) {
            (true, _) => Step::forward(),
            (false, true) => Step::swallow(),
            (false, false) => Step::replace(message.to_string()),
        }
        .and(actions)
    }

    fn run(&mut self, mut calls: Vec<Call>) -> Vec<Action> {
        calls.retain(|call| self.owed.begin(&call.id, &call.name));
        if calls.is_empty() {
            return Vec::new();
        }
        // Those that change something were deferred until the turn was certain.
        let ids = calls.iter().map(|call| call.id.clone()).collect();
        calls.into_iter().map(Action::Run).chain([Action::Confirm(ids)]).collect()
    }

    /// The caller speaks again: the provider wants no answers to these any more.
    fn taken_back(&mut self, mut message: Value) -> Step {
        let Some(all) = message.get_mut("functions").and_then(Value::as_array_mut) else {
            return Step::forward();
        };
        let before = all.len();
        let mut actions = Vec::new();
        all.retain(|entry| {
            let id = entry.get("id").and_then(Value::as_str).unwrap_or_default();
            if self.owed.take_back(id) {
                actions.push(Action::Cancel(id.to_owned()));
            }
            !self.owed.knows(id)
        });
        let step = if all.len() == before {
            Step::forward()
        } else if all.is_empty() {
            Step::swallow()
        } else {
            Step::replace(message.to_string())
        };
        step.and(self.floor.interrupted()).and(actions)
    }

    fn conversation(&mut self, message: &Value) -> Step {
        let text = message.get("content").and_then(Value::as_str).unwrap_or_default();
        match message.get("role").and_then(Value::as_str) {
            Some("user") => self.floor.heard(text),
            Some("assistant") => {
                let is_put_in = self.mouth.heard(text).is_some();
                self.floor.speaker = Speaker::Agent;
                let is_early =
                    self.floor.turn == Turn::None || is_put_in && self.owed.is_waited_for();
                if !is_early {
                    self.floor.turn = Turn::Answered;
                }
                Step::forward().and([Action::Said(text.to_owned())])
            }
            _ => Step::forward(),
        }
    }

    /// All audio of the answer is sent.
    fn audio_done(&mut self) -> Step {
        if self.floor.speaker == Speaker::Agent {
            self.floor.speaker = Speaker::Nobody;
        }
        self.mouth.settle();
        let mut actions = Vec::new();
        if self.floor.turn == Turn::Answered && !self.owed.is_waited_for() {
            self.floor.turn = Turn::None;
            actions.push(Action::Turn(TurnEvent::Ended));
        }
        actions.extend(self.in_a_pause());
        Step::forward().and(actions)
    }

    fn in_a_pause(&mut self) -> Option<Action> {
        let is_pause = self.floor.speaker == Speaker::Nobody && self.floor.turn == Turn::None;
        if is_pause { self.mouth.idle() } else { None }
    }

    /// History that is told back to the client holds no calls of ours.
    fn history(&self, mut message: Value) -> Step {
        let Some(calls) = message.get_mut("function_calls").and_then(Value::as_array_mut) else {
            return Step::forward();
        };
        let before = calls.len();
        calls.retain(|call| !call["id"].as_str().is_some_and(|id| self.owed.knows(id)));
        match calls.len() {
            left if left == before => Step::forward(),
            0 => Step::swallow(),
            _ => Step::replace(message.to_string()),
        }
    }

    fn answered(&mut self, answer: &Answer) -> Vec<Action> {
        let Answer { id, answered, outcome, delivery } = answer;
        match self.owed.due(id, *answered) {
            Due::Answer(name) => vec![Action::ToProvider(
                json!({"type": "FunctionCallResponse", "id": id, "name": name, "content": outcome})
                    .to_string(),
            )],
            // A call is answered once; what comes later can only be said.
            Due::Late(_) => self.say_late(outcome, *delivery),
            Due::Nothing => Vec::new(),
        }
    }

    fn say_late(&mut self, outcome: &str, delivery: Delivery) -> Vec<Action> {
        let Some(words) = spoken(outcome) else { return Vec::new() };
        match delivery {
            Delivery::Interrupt => self.mouth.say(&words, Behavior::Interrupt),
            Delivery::Wait | Delivery::WhenIdle => {
                self.mouth.say_later(words);
                self.in_a_pause().into_iter().collect()
            }
            Delivery::Silent => Vec::new(),
        }
    }
}

impl RealtimeDialect for Deepgram {
    fn client_said(&mut self, frame: Frame<'_>, _now: Instant) -> Step {
        let Frame::Text(text) = frame else { return Step::forward() };
        let name = match glance::string(text, "type") {
            Glance::Is(name) => name,
            Glance::Missing => return Step::forward(),
            Glance::Unclear => return unreadable("it is no JSON object with one `type`"),
        };
        match name {
            "Settings"
            | "UpdateThink"
            | "UpdatePrompt"
            | "FunctionCallResponse"
            | "InjectAgentMessage" => {}
            wish::TYPE => {
                return match wish::tier(text) {
                    Ok(tier) => Step::swallow().and([Action::Tier(tier)]),
                    Err(why) => Step::swallow().and([warning("UNPARSABLE_CLIENT_MESSAGE", &why)]),
                };
            }
            _ => return Step::forward(),
        }
        let message = match json::value(text) {
            Ok(message) => message,
            Err(why) => return unreadable(&why.to_string()),
        };
        match name {
            "Settings" => self.settings(message),
            "UpdateThink" => self.update_think(message),
            "FunctionCallResponse" => self.client_answers(&message),
            "UpdatePrompt" => {
                self.think.add_to_prompt(message["prompt"].as_str().unwrap_or_default());
                Step::forward()
            }
            _ => {
                let behavior = Behavior::parse(message["behavior"].as_str().unwrap_or_default());
                self.mouth.note_clients(message["message"].as_str().unwrap_or_default(), behavior);
                Step::forward()
            }
        }
    }

    fn provider_said(&mut self, frame: Frame<'_>, _now: Instant) -> Step {
        let Frame::Text(text) = frame else { return Step::forward() };
        let Glance::Is(name) = glance::string(text, "type") else { return Step::forward() };
        match name {
            // The client has heard one: it may say nothing until then.
            "Welcome" => return Step::swallow(),
            "SettingsApplied" => {
                self.settings = Settings::Applied;
                return Step::forward().and(self.offer());
            }
            "ThinkUpdated" => {
                return match self.updates.pop_front() {
                    Some(Whose::Ours) => Step::swallow(),
                    Some(Whose::Client) | None => Step::forward(),
                };
            }
            "InjectionRefused" => {
                return match self.mouth.refused() {
                    Whose::Ours => Step::swallow(),
                    Whose::Client => Step::forward(),
                };
            }
            "UserStartedSpeaking" => {
                self.floor.speaker = Speaker::Caller;
                self.mouth.settle();
                return Step::forward().and(self.floor.interrupted());
            }
            "AgentAudioDone" => return self.audio_done(),
            "FunctionCallRequest" | "FunctionCallCancelled" | "ConversationText" | "History" => {}
            _ => return Step::forward(),
        }
        let Ok(message) = json::value(text) else { return Step::forward() };
        match name {
            "FunctionCallRequest" => self.calls(message),
            "FunctionCallCancelled" => self.taken_back(message),
            "ConversationText" => self.conversation(&message),
            _ => self.history(message),
        }
    }

    fn news(&mut self, news: News, _now: Instant) -> Vec<Action> {
        match news {
            News::Offer(offer) => {
                self.opening.offer = offer;
                self.offer().into_iter().collect()
            }
            News::Answer(answer) => self.answered(&answer),
            News::Slow { id, message } => {
                if self.floor.speaker == Speaker::Caller || !self.owed.is_owed(&id) {
                    return Vec::new();
                }
                let mut said = self.mouth.say(&message, Behavior::Queue);
                said.push(Action::Announced);
                said
            }
            News::Tier { tier, reason } => vec![Action::ToClient(wish::told(tier, &reason))],
            News::Route | News::Speak(_) | News::Time => Vec::new(),
        }
    }

    fn wakes(&self) -> Option<Instant> {
        None
    }
}

/// A call that whoever holds the socket has to answer.
fn our_call(entry: &Value) -> Option<Call> {
    if entry.get("client_side") == Some(&Value::Bool(false)) {
        return None;
    }
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let arguments = match entry.get("arguments") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "{}".to_owned(),
    };
    Some(Call { id: text("id")?, name: text("name")?, arguments })
}

/// What of an outcome can be said.
fn spoken(outcome: &str) -> Option<String> {
    let outcome = json::value(outcome).ok()?;
    let message = outcome.get("message").and_then(Value::as_str)?.trim();
    (!message.is_empty()).then(|| message.to_owned())
}

fn unreadable(why: &str) -> Step {
    let why = format!("the message was not sent on: {why}");
    Step::swallow().and([warning("UNPARSABLE_CLIENT_MESSAGE", &why)])
}

fn not_offered(model: &str) -> Action {
    let why =
        format!("model `{model}` is not the one of this session; name it when a session begins");
    warning("MODEL_NOT_OFFERED", &why)
}

fn warning(code: &str, description: &str) -> Action {
    Action::ToClient(
        json!({"type": "Warning", "description": description, "code": code}).to_string(),
    )
}

#[cfg(test)]
mod tests;
