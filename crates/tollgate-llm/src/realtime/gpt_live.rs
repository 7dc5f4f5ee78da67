//! State machine of OpenAI's GPT-Live: a voice model without tools, which delegates.
//!
//! If it delegates to a model at the provider, that model gets our tools, and its calls are split
//! between client and gateway. If it delegates to the client of the socket, another model of ours
//! answers. Driven by the session around it. A barge-in does not stop the backend's work, so it
//! cancels nothing.

mod backend;
mod config;
mod turn_tracker;

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::{Map, Value, json};
use tollgate_core::json::{self, Object};
use tollgate_core::tool::ResultDelivery;

use self::backend::GptLiveBackend;
use self::config::{DelegationTarget, GptLiveConfig};
use self::turn_tracker::{BackendActivity, GptLiveTurnTracker};
use super::chunks::chunks;
use super::events::{
    CallAnswer, DeepTurnRouting, DialectAction, DialectEvent, DialectStep, NoDeepAnswerError,
    RealtimeCall, RealtimeDialect, RealtimeFrame, RealtimeInit, RecallChannel,
};
use super::json_peek::{self, JsonPeek};
use super::tier_request;
use crate::tokens::{self, CountPrecision};

/// Token limit of an appended message; the provider's limit is 500.
const MAX_APPEND_TOKENS: u64 = 450;
/// The same as an initial estimate in bytes, for most texts.
const MAX_APPEND_BYTES: usize = 1_600;
/// Prefix of our event ids, by which their acknowledgements are recognized.
const EVENT_ID_PREFIX: &str = "tollgate-";
/// Delegations that wait for an answer; the oldest is dropped.
const MAX_DELEGATIONS: usize = 16;

pub struct GptLive {
    opening: RealtimeInit,
    state: GptLiveState,
    config: GptLiveConfig,
    config_bytes: usize,
    backend: GptLiveBackend,
    talk: GptLiveTurnTracker,
    /// Ids of delegations to us that wait for an answer.
    delegated: VecDeque<String>,
    ids: GptLiveMessageIds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GptLiveState {
    New,
    /// The client has sent its configuration.
    Configured,
    Started,
}

/// Generates ids for our messages.
#[derive(Debug, Default)]
struct GptLiveMessageIds(u64);

impl GptLiveMessageIds {
    fn send(&mut self, kind: &str, fields: Value) -> DialectAction {
        self.0 += 1;
        let mut message = Map::new();
        message.insert("type".to_owned(), kind.into());
        message.insert("event_id".to_owned(), format!("{EVENT_ID_PREFIX}{}", self.0).into());
        if let Value::Object(fields) = fields {
            message.extend(fields);
        }
        DialectAction::ToProvider(Value::Object(message).to_string())
    }

    /// An error message for the client.
    fn error(&mut self, code: &str, message: &str, client_event_id: Option<&str>) -> DialectAction {
        self.0 += 1;
        let error = json!({
            "type": "invalid_request_error",
            "code": code,
            "message": message,
            "client_event_id": client_event_id,
        });
        let event_id = format!("{EVENT_ID_PREFIX}{}", self.0);
        DialectAction::ToClient(
            json!({"type": "error", "event_id": event_id, "error": error}).to_string(),
        )
    }
}

impl GptLive {
    pub fn new(opening: RealtimeInit) -> Self {
        Self {
            opening,
            state: GptLiveState::New,
            config: GptLiveConfig::default(),
            config_bytes: 0,
            backend: GptLiveBackend::default(),
            talk: GptLiveTurnTracker::default(),
            delegated: VecDeque::new(),
            ids: GptLiveMessageIds::default(),
        }
    }

    fn start(&mut self, mut message: Value) -> DialectStep {
        let Some(session) = message.get_mut("session").and_then(Value::as_object_mut) else {
            return DialectStep::forward();
        };
        if self.state != GptLiveState::New {
            return DialectStep::forward();
        }
        self.state = GptLiveState::Configured;
        if !self.opening.model.is_empty() {
            session.insert("model".to_owned(), self.opening.model.as_str().into());
        }
        self.config.start(session, &self.opening.offer);
        DialectStep::replace(message.to_string())
    }

    fn update(&mut self, mut message: Value) -> DialectStep {
        let session = message.get_mut("session").and_then(Value::as_object_mut);
        if session.is_some_and(|session| self.config.update(session, &self.opening.offer)) {
            DialectStep::replace(message.to_string())
        } else {
            DialectStep::forward()
        }
    }

    /// The client adds an item to the backend's context.
    fn client_item(&mut self, message: &Value) -> DialectStep {
        let item = &message["item"];
        let id = item.get("call_id").and_then(Value::as_str);
        let Some(id) = id.filter(|_| item["type"] == "function_call_output") else {
            return DialectStep::forward();
        };
        if !self.backend.knows(id) {
            return DialectStep::forward().and(self.backend.take_client_answer(id, &mut self.ids));
        }
        let why =
            format!("tool call `{id}` is not a client call: the client answers only its own calls");
        let event_id = message.get("event_id").and_then(Value::as_str);
        DialectStep::swallow().and([self.ids.error("tool_call_not_yours", &why, event_id)])
    }

    /// Removes our part from session messages for the client.
    fn session(&mut self, text: &str) -> DialectStep {
        let Ok(mut message) = json::value(text) else { return DialectStep::forward() };
        let is_first = message["type"] == "session.started" && self.state != GptLiveState::Started;
        let session = message.get_mut("session").and_then(Value::as_object_mut);
        let Some(session) = session else { return DialectStep::forward() };
        if is_first && self.state == GptLiveState::New {
            // Somebody else started the session; our part is added now.
            self.config.learn(session, &self.opening.offer);
        }
        let step = if self.config.hide(session) {
            DialectStep::replace(message.to_string())
        } else {
            DialectStep::forward()
        };
        if is_first {
            self.state = GptLiveState::Started;
        }
        step.and(self.offer())
    }

    fn offer(&mut self) -> Option<DialectAction> {
        if self.state != GptLiveState::Started {
            return None;
        }
        let session = self.config.offer_update(&self.opening.offer)?;
        Some(self.ids.send("session.update", json!({"session": session})))
    }

    /// An event of the backend model.
    fn backend_event(&mut self, text: &str) -> DialectStep {
        let mut event = "";
        let mut delegation = None;
        json_peek::for_each_field(text, |key, value| {
            match key {
                "event" => event = value,
                "delegation_id" => delegation = serde_json::from_str(value).ok(),
                _ => {}
            }
            true
        });
        let JsonPeek::Is(kind) = json_peek::peek_string(event, "type") else {
            return DialectStep::forward();
        };
        match kind {
            "response.created" => self.backend.begin_response(delegation),
            "response.completed" => {
                let actions = self.backend.complete_response(&delegation, &mut self.ids);
                return self.strip_own_event_id(text).and(actions);
            }
            "response.failed" | "response.incomplete" | "response.cancelled" => {
                let actions = self.backend.fail_response(&delegation, &mut self.ids);
                return self.strip_own_event_id(text).and(actions);
            }
            "response.function_call_arguments.delta" | "response.function_call_arguments.done" => {
                if let JsonPeek::Is(item) = json_peek::peek_string(event, "item_id")
                    && self.backend.is_hidden(item)
                {
                    return DialectStep::swallow();
                }
            }
            "response.output_item.added" | "response.output_item.done" => {
                return self.item(text, event, delegation);
            }
            _ => {}
        }
        self.strip_own_event_id(text)
    }

    /// An item of a response starts or is complete: possibly a call.
    fn item(&mut self, text: &str, event: &str, delegation: Option<String>) -> DialectStep {
        let Ok(event) = json::value(event) else { return DialectStep::forward() };
        let item = &event["item"];
        let field = |key: &str| item.get(key).and_then(Value::as_str);
        let (Some("function_call"), Some(name)) = (field("type"), field("name")) else {
            return self.strip_own_event_id(text);
        };
        let is_clients = self.config.is_clients(name);
        if event["type"] == "response.output_item.added" {
            if is_clients {
                return self.strip_own_event_id(text);
            }
            self.backend.hide(field("id").unwrap_or_default());
            return DialectStep::swallow();
        }
        // An incomplete call is not run.
        let is_whole = field("status").is_none_or(|status| status == "completed");
        let id = field("call_id").filter(|_| is_whole);
        if is_clients {
            if let Some(id) = id {
                self.backend.clients_call(delegation, id);
            }
            return self.strip_own_event_id(text);
        }
        let Some(id) = id else { return DialectStep::swallow() };
        let arguments = field("arguments").unwrap_or("{}").to_owned();
        let call = RealtimeCall { id: id.to_owned(), name: name.to_owned(), arguments };
        DialectStep::swallow().and(self.backend.our_call(delegation, call))
    }

    /// Forwards a message without the id of our message that it acknowledges.
    fn strip_own_event_id(&self, text: &str) -> DialectStep {
        if !is_marked(text) {
            return DialectStep::forward();
        }
        let Ok(mut message) = Object::parse(text) else { return DialectStep::forward() };
        message.remove("client_event_id");
        DialectStep::replace(message.to_text())
    }

    fn delegation(&mut self, text: &str) -> DialectStep {
        let actions = self.talk.answer();
        let Ok(message) = json::value(text) else { return DialectStep::forward().and(actions) };
        let delegation = &message["delegation"];
        let id = delegation.get("id").and_then(Value::as_str);
        let is_ours = self.opening.routing == DeepTurnRouting::Cascaded
            && self.config.delegation == DelegationTarget::Client
            && delegation["target"] == "client";
        let Some(id) = id.filter(|_| is_ours) else { return DialectStep::forward().and(actions) };
        self.delegated.push_back(id.to_owned());
        if self.delegated.len() > MAX_DELEGATIONS {
            self.delegated.pop_front();
        }
        DialectStep::swallow().and(actions).and([DialectAction::Delegate])
    }

    fn transcript(&mut self, text: &str, spoken: TranscriptSpeaker, now: Instant) -> DialectStep {
        let delta = Object::parse(text).ok();
        let delta = delta.as_ref().and_then(|message| message.string("delta"));
        let delta = delta.unwrap_or_default();
        let actions = match spoken {
            TranscriptSpeaker::ByCaller => self.talk.hear(&delta, self.work()),
            TranscriptSpeaker::ByAgent => self.talk.say(&delta, now),
        };
        DialectStep::forward().and(actions)
    }

    fn work(&self) -> BackendActivity {
        let is_busy = self.backend.is_busy() || !self.delegated.is_empty();
        if is_busy { BackendActivity::Busy } else { BackendActivity::Idle }
    }

    /// Appends to the conversation: text to speak, or only context.
    fn append(
        &mut self,
        kind: &str,
        content: &str,
        delegation: Option<&str>,
    ) -> Vec<DialectAction> {
        let mut cut = Vec::new();
        split_to_fit(content, MAX_APPEND_BYTES, &mut cut);
        let message = |piece: &str| json!({"content": piece, "delegation_id": delegation});
        cut.into_iter().map(|piece| self.ids.send(kind, message(piece))).collect()
    }

    fn answer_call(&mut self, answer: &CallAnswer) -> Vec<DialectAction> {
        let late = match self.backend.answer(answer, &mut self.ids) {
            Ok(actions) => return actions,
            Err(late) => late,
        };
        let content = format!("Result of the earlier call of `{}`: {}", late.name, answer.outcome);
        let mut actions = match answer.delivery {
            ResultDelivery::Silent => self.append("session.thinking.append", &content, None),
            ResultDelivery::Wait | ResultDelivery::WhenIdle | ResultDelivery::Interrupt => {
                self.append("session.commentary.append", &content, None)
            }
        };
        actions.push(DialectAction::LateTold);
        actions
    }

    fn speak(&mut self, words: Result<String, NoDeepAnswerError>) -> Vec<DialectAction> {
        let Some(delegation) = self.delegated.pop_front() else { return Vec::new() };
        match words {
            Ok(words) => self.append("session.commentary.append", &words, Some(&delegation)),
            Err(_) => {
                let nothing =
                    "There is no answer to this task. Say so, and help as far as you can.";
                self.append("session.commentary.append", nothing, Some(&delegation))
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum TranscriptSpeaker {
    ByCaller,
    ByAgent,
}

impl RealtimeDialect for GptLive {
    fn on_client_message(&mut self, frame: RealtimeFrame<'_>, _now: Instant) -> DialectStep {
        let RealtimeFrame::Text(text) = frame else { return DialectStep::forward() };
        let kind = match json_peek::peek_string(text, "type") {
            JsonPeek::Is(kind) => kind,
            JsonPeek::Missing => return DialectStep::forward(),
            JsonPeek::Unclear => {
                let why = "the message was not forwarded: it is not a JSON object with one `type`";
                return DialectStep::swallow().and([self.ids.error("invalid_event", why, None)]);
            }
        };
        match kind {
            "session.start" | "session.update" => {
                self.config_bytes = self.config_bytes.max(text.len());
            }
            "response.item.create" => {}
            "response.create" => {
                return if self.backend.client_goes_on(text) {
                    DialectStep::forward()
                } else {
                    DialectStep::swallow()
                };
            }
            tier_request::TIER_MESSAGE_TYPE => {
                return DialectStep::swallow().and([match tier_request::tier(text) {
                    Ok(tier) => DialectAction::Tier(tier),
                    Err(why) => self.ids.error("invalid_event", &why.to_string(), None),
                }]);
            }
            _ => return DialectStep::forward(),
        }
        match json::value(text) {
            Ok(message) => match kind {
                "session.start" => self.start(message),
                "session.update" => self.update(message),
                _ => self.client_item(&message),
            },
            Err(why) => {
                let why = format!("the message was not forwarded: {why}");
                DialectStep::swallow().and([self.ids.error("invalid_event", &why, None)])
            }
        }
    }

    fn on_provider_message(&mut self, frame: RealtimeFrame<'_>, now: Instant) -> DialectStep {
        let RealtimeFrame::Text(text) = frame else { return DialectStep::forward() };
        let JsonPeek::Is(kind) = json_peek::peek_string(text, "type") else {
            return DialectStep::forward();
        };
        match kind {
            "response.event" => self.backend_event(text),
            "session.input_transcript.delta" => {
                self.transcript(text, TranscriptSpeaker::ByCaller, now)
            }
            "session.output_transcript.delta" => {
                self.transcript(text, TranscriptSpeaker::ByAgent, now)
            }
            "session.delegation.created" => self.delegation(text),
            "session.updated"
            | "session.commentary.appended"
            | "session.thinking.appended"
            | "error"
                if is_ours(text) =>
            {
                DialectStep::swallow()
            }
            "session.started" | "session.updated" | "session.closed" => self.session(text),
            _ => DialectStep::forward(),
        }
    }

    fn on_event(&mut self, news: DialectEvent, now: Instant) -> Vec<DialectAction> {
        match news {
            DialectEvent::Offer(offer) => {
                self.opening.offer = offer;
                self.offer().into_iter().collect()
            }
            DialectEvent::Answer(answer) => self.answer_call(&answer),
            DialectEvent::Slow { id, message } => {
                if !self.backend.is_pending(&id) {
                    return Vec::new();
                }
                let mut actions = self.append("session.commentary.append", &message, None);
                actions.push(DialectAction::Announced);
                actions
            }
            DialectEvent::Speak(words) => self.speak(words),
            DialectEvent::Tier { tier, reason } => {
                vec![DialectAction::ToClient(tier_request::tier_message(tier, &reason))]
            }
            DialectEvent::Time => self.talk.time(now, self.work()),
            // The voice model decides itself what it delegates.
            DialectEvent::Hold(_)
            | DialectEvent::Route
            | DialectEvent::Stay
            | DialectEvent::Successor(_)
            | DialectEvent::Leaving(_) => Vec::new(),
            DialectEvent::SlowTurn(message) => {
                let Some(delegation) = self.delegated.front().cloned() else { return Vec::new() };
                let delegation = Some(delegation.as_str());
                let mut actions = self.append("session.commentary.append", &message, delegation);
                actions.push(DialectAction::Announced);
                actions
            }
        }
    }

    fn wakes(&self) -> Option<Instant> {
        self.talk.wakes()
    }

    fn recall_channel(&self) -> RecallChannel {
        RecallChannel::Prompt
    }

    fn config_bytes(&self) -> usize {
        self.config_bytes
    }
}

/// Whether this acknowledges one of our messages, or is an error about it.
fn is_ours(text: &str) -> bool {
    if is_marked(text) {
        return true;
    }
    let Ok(message) = Object::parse(text) else { return false };
    let error = message.object("error");
    let id = error.as_ref().and_then(|error| error.string("client_event_id"));
    id.is_some_and(|id| id.starts_with(EVENT_ID_PREFIX))
}

fn is_marked(text: &str) -> bool {
    matches!(json_peek::peek_string(text, "client_event_id"), JsonPeek::Is(id) if id.starts_with(EVENT_ID_PREFIX))
}

/// Splits a text into chunks that the provider accepts.
fn split_to_fit<'t>(text: &'t str, most: usize, found: &mut Vec<&'t str>) {
    for piece in chunks(text, most) {
        let fits = piece.len() as u64 <= MAX_APPEND_TOKENS
            || tokens::text(piece, CountPrecision::Exact) <= MAX_APPEND_TOKENS;
        if fits {
            found.push(piece);
        } else {
            split_to_fit(piece, most / 2, found);
        }
    }
}

#[cfg(test)]
mod tests;
