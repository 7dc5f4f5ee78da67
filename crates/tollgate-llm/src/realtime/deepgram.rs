//! State machine of Deepgram's Voice Agent: settings with our functions merged in, calls split
//! between client and gateway, turns, and injected agent messages.
//!
//! Driven by the session around it. Binary messages are audio and are forwarded. To clients of this
//! protocol `Error` means that the session is over, so rejections are sent as a `Warning`. The
//! model cannot be kept from answering, so no turn is routed to another model.

mod floor;
mod message_injector;
mod think;

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::{Value, json};
use tollgate_core::json;
use tollgate_core::tool::ResultDelivery;

use self::floor::{DeepgramFloor, DeepgramSpeaker, DeepgramTurn};
use self::message_injector::{InjectBehavior, InjectionOwner, MessageInjector};
use self::think::ThinkConfig;
use super::events::{
    CallAnswer, DialectAction, DialectEvent, DialectStep, RealtimeCall, RealtimeDialect,
    RealtimeFrame, RealtimeInit, RecallChannel, TurnEvent,
};
use super::json_peek::{self, JsonPeek};
use super::pending_calls::{AnswerDue, PendingCalls};
use super::tier_request;

pub struct DeepgramVoiceAgent {
    opening: RealtimeInit,
    think: ThinkConfig,
    config_bytes: usize,
    settings: DeepgramSettingsState,
    /// Owners of unconfirmed `UpdateThink` messages.
    updates: VecDeque<InjectionOwner>,
    pending: PendingCalls,
    response_stream: MessageInjector,
    floor: DeepgramFloor,
}

/// Progress of the first message, `Settings`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeepgramSettingsState {
    Awaited,
    Sent,
    Applied,
}

impl DeepgramVoiceAgent {
    pub fn new(opening: RealtimeInit) -> Self {
        Self {
            think: ThinkConfig::new(&opening.model),
            opening,
            config_bytes: 0,
            settings: DeepgramSettingsState::Awaited,
            updates: VecDeque::new(),
            pending: PendingCalls::default(),
            response_stream: MessageInjector::default(),
            floor: DeepgramFloor::default(),
        }
    }

    fn settings(&mut self, mut message: Value) -> DialectStep {
        let is_first = self.settings == DeepgramSettingsState::Awaited;
        let Some(agent) = message.get_mut("agent") else { return DialectStep::forward() };
        if agent.is_string() {
            if !is_first {
                return DialectStep::forward();
            }
            self.settings = DeepgramSettingsState::Sent;
            self.think.set_elsewhere();
            let why = "the agent is stored at Deepgram: the gateway does not know its model and \
                       adds no tools to it; send `agent.think` in `Settings`, or `UpdateThink`";
            return DialectStep::forward().and([warning("TOOLS_NOT_ADDED", why)]);
        }
        let Some(agent) = agent.as_object_mut().filter(|_| is_first) else {
            return DialectStep::forward();
        };
        let think = agent.get("think").cloned().unwrap_or_else(|| json!({}));
        let set = match self.think.set(think, &self.opening.offer) {
            Ok(set) => set,
            Err(other) => return DialectStep::swallow().and([not_offered(&other.model)]),
        };
        self.settings = DeepgramSettingsState::Sent;
        if set.merged != json!({}) {
            agent.insert("think".to_owned(), set.merged);
        }
        DialectStep::replace(message.to_string())
            .and(set.left_out.iter().map(|named| not_offered(named)))
    }

    fn update_think(&mut self, mut message: Value) -> DialectStep {
        let Some(think) = message.get_mut("think").map(Value::take) else {
            return DialectStep::forward();
        };
        match self.think.set(think, &self.opening.offer) {
            Ok(set) => {
                self.updates.push_back(InjectionOwner::Client);
                message["think"] = set.merged;
                let warnings = set.left_out.iter().map(|named| not_offered(named));
                DialectStep::replace(message.to_string()).and(warnings)
            }
            Err(other) => DialectStep::swallow().and([not_offered(&other.model)]),
        }
    }

    /// The client answers a call. It must not answer ours.
    fn client_answers(&self, message: &Value) -> DialectStep {
        let id = message.get("id").and_then(Value::as_str);
        let name = message.get("name").and_then(Value::as_str).unwrap_or_default();
        let is_ours = match id {
            Some(id) => self.pending.knows(id),
            None => !self.think.is_clients(name, &self.opening.offer),
        };
        if !is_ours {
            return DialectStep::forward();
        }
        let why = format!(
            "function `{name}` is not a client function: the client answers only its own calls"
        );
        DialectStep::swallow().and([warning("FUNCTION_CALL_NOT_YOURS", &why)])
    }

    /// Sends the current offer to the provider, once it can accept it.
    fn offer(&mut self) -> Option<DialectAction> {
        if self.settings != DeepgramSettingsState::Applied {
            return None;
        }
        let think = self.think.offer_update(&self.opening.offer)?;
        self.updates.push_back(InjectionOwner::Ours);
        Some(DialectAction::ToProvider(json!({"type": "UpdateThink", "think": think}).to_string()))
    }

    /// Splits the model's calls: some are the client's, some run at the provider, the rest is ours.
    fn calls(&mut self, mut message: Value) -> DialectStep {
        let Some(all) = message.get_mut("functions").and_then(Value::as_array_mut) else {
            return DialectStep::forward();
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
        let are_all = all.len() == before;
        let are_none = all.is_empty();
        if self.floor.speaker == DeepgramSpeaker::Caller {
            self.floor.speaker = DeepgramSpeaker::Nobody;
        }
        let mut actions = Vec::new();
        match self.floor.turn {
            DeepgramTurn::None => {
                self.floor.turn = DeepgramTurn::Early;
                actions.push(DialectAction::Turn(TurnEvent::Began));
            }
            DeepgramTurn::Answered => self.floor.turn = DeepgramTurn::Thinking,
            DeepgramTurn::Early | DeepgramTurn::Thinking => {}
        }
        actions.extend(self.run(ours));
        match (are_all, are_none) {
            (true, _) => DialectStep::forward(),
            (false, true) => DialectStep::swallow(),
            (false, false) => DialectStep::replace(message.to_string()),
        }
        .and(actions)
    }

    fn run(&mut self, mut calls: Vec<RealtimeCall>) -> Vec<DialectAction> {
        calls.retain(|call| self.pending.begin(&call.id, &call.name));
        if calls.is_empty() {
            return Vec::new();
        }
        // Calls with side effects were deferred by the provider until the turn was certain.
        let ids = calls.iter().map(|call| call.id.clone()).collect();
        calls.into_iter().map(DialectAction::Run).chain([DialectAction::Confirm(ids)]).collect()
    }

    /// The caller speaks again: the provider no longer wants answers to these calls.
    fn take_back_calls(&mut self, mut message: Value) -> DialectStep {
        let Some(all) = message.get_mut("functions").and_then(Value::as_array_mut) else {
            return DialectStep::forward();
        };
        let before = all.len();
        let mut actions = Vec::new();
        all.retain(|entry| {
            let id = entry.get("id").and_then(Value::as_str).unwrap_or_default();
            if self.pending.take_back(id) {
                actions.push(DialectAction::Cancel(id.to_owned()));
            }
            !self.pending.knows(id)
        });
        let step = if all.len() == before {
            DialectStep::forward()
        } else if all.is_empty() {
            DialectStep::swallow()
        } else {
            DialectStep::replace(message.to_string())
        };
        step.and(self.floor.barge_in()).and(actions)
    }

    fn conversation(&mut self, message: &Value) -> DialectStep {
        let text = message.get("content").and_then(Value::as_str).unwrap_or_default();
        match message.get("role").and_then(Value::as_str) {
            Some("user") => self.floor.hear_final(text),
            Some("assistant") => {
                let is_put_in = self.response_stream.take_spoken(text).is_some();
                self.floor.speaker = DeepgramSpeaker::Agent;
                let is_early = self.floor.turn == DeepgramTurn::None
                    || is_put_in && self.pending.is_waited_for();
                if !is_early {
                    self.floor.turn = DeepgramTurn::Answered;
                }
                DialectStep::forward().and([DialectAction::AgentSpeech(text.to_owned())])
            }
            _ => DialectStep::forward(),
        }
    }

    /// All audio of the answer was sent.
    fn finish_audio(&mut self) -> DialectStep {
        if self.floor.speaker == DeepgramSpeaker::Agent {
            self.floor.speaker = DeepgramSpeaker::Nobody;
        }
        self.response_stream.settle();
        let mut actions = Vec::new();
        if self.floor.turn == DeepgramTurn::Answered && !self.pending.is_waited_for() {
            self.floor.turn = DeepgramTurn::None;
            actions.push(DialectAction::Turn(TurnEvent::Ended));
        }
        actions.extend(self.in_a_pause());
        DialectStep::forward().and(actions)
    }

    fn in_a_pause(&mut self) -> Vec<DialectAction> {
        let is_pause =
            self.floor.speaker == DeepgramSpeaker::Nobody && self.floor.turn == DeepgramTurn::None;
        if is_pause { self.response_stream.idle() } else { Vec::new() }
    }

    /// Removes our calls from history that is sent to the client.
    fn history(&self, mut message: Value) -> DialectStep {
        let Some(calls) = message.get_mut("function_calls").and_then(Value::as_array_mut) else {
            return DialectStep::forward();
        };
        let before = calls.len();
        calls.retain(|call| !call["id"].as_str().is_some_and(|id| self.pending.knows(id)));
        match calls.len() {
            left if left == before => DialectStep::forward(),
            0 => DialectStep::swallow(),
            _ => DialectStep::replace(message.to_string()),
        }
    }

    fn answer_call(&mut self, answer: &CallAnswer) -> Vec<DialectAction> {
        let CallAnswer { id, answered, outcome, delivery } = answer;
        match self.pending.due(id, *answered) {
            AnswerDue::Answer(name) => vec![DialectAction::ToProvider(
                json!({"type": "FunctionCallResponse", "id": id, "name": name, "content": outcome})
                    .to_string(),
            )],
            // A call is answered only once; a later result can only be spoken.
            AnswerDue::Late(_) => self.say_late(outcome, *delivery),
            AnswerDue::Nothing => Vec::new(),
        }
    }

    fn say_late(&mut self, outcome: &str, delivery: ResultDelivery) -> Vec<DialectAction> {
        let Some(words) = spoken_message(outcome) else { return Vec::new() };
        match delivery {
            ResultDelivery::Interrupt => {
                let mut actions = self.response_stream.say(&words, InjectBehavior::Interrupt);
                actions.push(DialectAction::LateTold);
                actions
            }
            ResultDelivery::Wait | ResultDelivery::WhenIdle => {
                self.response_stream.say_later(words);
                self.in_a_pause()
            }
            ResultDelivery::Silent => Vec::new(),
        }
    }
}

impl RealtimeDialect for DeepgramVoiceAgent {
    fn on_client_message(&mut self, frame: RealtimeFrame<'_>, _now: Instant) -> DialectStep {
        let RealtimeFrame::Text(text) = frame else { return DialectStep::forward() };
        let name = match json_peek::peek_string(text, "type") {
            JsonPeek::Is(name) => name,
            JsonPeek::Missing => return DialectStep::forward(),
            JsonPeek::Unclear => return unreadable("it is not a JSON object with one `type`"),
        };
        match name {
            "Settings"
            | "UpdateThink"
            | "UpdatePrompt"
            | "FunctionCallResponse"
            | "InjectAgentMessage" => {}
            tier_request::TIER_MESSAGE_TYPE => {
                return match tier_request::tier(text) {
                    Ok(tier) => DialectStep::swallow().and([DialectAction::Tier(tier)]),
                    Err(why) => DialectStep::swallow()
                        .and([warning("UNPARSABLE_CLIENT_MESSAGE", &why.to_string())]),
                };
            }
            _ => return DialectStep::forward(),
        }
        let message = match json::value(text) {
            Ok(message) => message,
            Err(why) => return unreadable(&why.to_string()),
        };
        match name {
            "Settings" | "UpdateThink" => {
                self.config_bytes = self.config_bytes.max(text.len());
            }
            // Appended to the current prompt.
            "UpdatePrompt" => self.config_bytes += text.len(),
            _ => {}
        }
        match name {
            "Settings" => self.settings(message),
            "UpdateThink" => self.update_think(message),
            "FunctionCallResponse" => self.client_answers(&message),
            "UpdatePrompt" => {
                self.think.add_to_prompt(message["prompt"].as_str().unwrap_or_default());
                DialectStep::forward()
            }
            _ => {
                let behavior =
                    InjectBehavior::parse(message["behavior"].as_str().unwrap_or_default());
                self.response_stream
                    .note_clients(message["message"].as_str().unwrap_or_default(), behavior);
                DialectStep::forward()
            }
        }
    }

    fn on_provider_message(&mut self, frame: RealtimeFrame<'_>, _now: Instant) -> DialectStep {
        let RealtimeFrame::Text(text) = frame else { return DialectStep::forward() };
        let JsonPeek::Is(name) = json_peek::peek_string(text, "type") else {
            return DialectStep::forward();
        };
        match name {
            // The client already got one: it may send nothing before it.
            "Welcome" => return DialectStep::swallow(),
            "SettingsApplied" => {
                self.settings = DeepgramSettingsState::Applied;
                return DialectStep::forward().and(self.offer());
            }
            "ThinkUpdated" => {
                return match self.updates.pop_front() {
                    Some(InjectionOwner::Ours) => DialectStep::swallow(),
                    Some(InjectionOwner::Client) | None => DialectStep::forward(),
                };
            }
            "InjectionRefused" => {
                return match self.response_stream.take_refused() {
                    InjectionOwner::Ours => DialectStep::swallow(),
                    InjectionOwner::Client => DialectStep::forward(),
                };
            }
            "UserStartedSpeaking" => {
                self.floor.speaker = DeepgramSpeaker::Caller;
                self.response_stream.settle();
                return DialectStep::forward().and(self.floor.barge_in());
            }
            "AgentAudioDone" => return self.finish_audio(),
            "FunctionCallRequest" | "FunctionCallCancelled" | "ConversationText" | "History" => {}
            _ => return DialectStep::forward(),
        }
        let Ok(message) = json::value(text) else { return DialectStep::forward() };
        match name {
            "FunctionCallRequest" => self.calls(message),
            "FunctionCallCancelled" => self.take_back_calls(message),
            "ConversationText" => self.conversation(&message),
            _ => self.history(message),
        }
    }

    fn on_event(&mut self, news: DialectEvent, _now: Instant) -> Vec<DialectAction> {
        match news {
            DialectEvent::Offer(offer) => {
                self.opening.offer = offer;
                self.offer().into_iter().collect()
            }
            DialectEvent::Answer(answer) => self.answer_call(&answer),
            DialectEvent::Slow { id, message } => {
                if self.floor.speaker == DeepgramSpeaker::Caller || !self.pending.is_pending(&id) {
                    return Vec::new();
                }
                let mut lines = self.response_stream.say(&message, InjectBehavior::Queue);
                lines.push(DialectAction::Announced);
                lines
            }
            DialectEvent::Tier { tier, reason } => {
                vec![DialectAction::ToClient(tier_request::tier_message(tier, &reason))]
            }
            DialectEvent::Hold(_)
            | DialectEvent::Route
            | DialectEvent::Stay
            | DialectEvent::SlowTurn(_)
            | DialectEvent::Speak(_)
            | DialectEvent::Successor(_)
            | DialectEvent::Leaving(_)
            | DialectEvent::Time => Vec::new(),
        }
    }

    fn wakes(&self) -> Option<Instant> {
        None
    }

    fn recall_channel(&self) -> RecallChannel {
        RecallChannel::Prompt
    }

    fn config_bytes(&self) -> usize {
        self.config_bytes
    }
}

/// Decodes a call that is not run at the provider.
fn our_call(entry: &Value) -> Option<RealtimeCall> {
    if entry.get("client_side") == Some(&Value::Bool(false)) {
        return None;
    }
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let arguments = match entry.get("arguments") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "{}".to_owned(),
    };
    Some(RealtimeCall { id: text("id")?, name: text("name")?, arguments })
}

/// The part of an outcome that can be spoken.
fn spoken_message(outcome: &str) -> Option<String> {
    let outcome = json::value(outcome).ok()?;
    let message = outcome.get("message").and_then(Value::as_str)?.trim();
    (!message.is_empty()).then(|| message.to_owned())
}

fn unreadable(why: &str) -> DialectStep {
    let why = format!("the message was not forwarded: {why}");
    DialectStep::swallow().and([warning("UNPARSABLE_CLIENT_MESSAGE", &why)])
}

fn not_offered(model: &str) -> DialectAction {
    let why = format!(
        "model `{model}` is not the model of this session; select it when a session begins"
    );
    warning("MODEL_NOT_OFFERED", &why)
}

fn warning(code: &str, description: &str) -> DialectAction {
    DialectAction::ToClient(
        json!({"type": "Warning", "description": description, "code": code}).to_string(),
    )
}

#[cfg(test)]
mod tests;
