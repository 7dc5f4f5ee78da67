//! OpenAI's GPT-Live as a machine: a voice without tools, which delegates.
//!
//! Where it delegates to a model at the provider, that model gets our tools and its calls are split
//! between client and gateway; where it delegates to whoever holds the socket, another model of ours
//! answers. Driven by the session around it. Speech that interrupts stops no work of the backend, so nothing
//! is cancelled by it.

mod backend;
mod config;
mod talk;

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::{Map, Value, json};
use tollgate_core::json::{self, Object};
use tollgate_core::tool::Delivery;

use self::backend::Backend;
use self::config::{Config, Delegation};
use self::talk::{Talk, Work};
use super::events::{Action, Answer, Call, Frame, News, Opening, RealtimeDialect, Routing, Step};
use super::glance::{self, Glance};
use super::pieces::pieces;
use super::wish;
use crate::tokens::{self, Precision};

/// What a message may add to the talk, in tokens; the provider's limit is 500.
const MOST_TOKENS: u64 = 450;
/// How that begins, for most texts.
const MOST_BYTES: usize = 1_600;
/// Of our own messages, by which their acknowledgements are known.
const MARK: &str = "tollgate-";
/// Delegations that wait for an answer; the oldest gives way.
const MOST_DELEGATED: usize = 16;

pub struct GptLive {
    opening: Opening,
    state: State,
    config: Config,
    backend: Backend,
    talk: Talk,
    /// What the voice left to us.
    delegated: VecDeque<String>,
    ids: Ids,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// The client has said how it begins.
    Asked,
    Started,
}

/// Numbers our messages.
#[derive(Debug, Default)]
struct Ids(u64);

impl Ids {
    fn send(&mut self, kind: &str, fields: Value) -> Action {
        self.0 += 1;
        let mut message = Map::new();
        message.insert("type".to_owned(), kind.into());
        message.insert("event_id".to_owned(), format!("{MARK}{}", self.0).into());
        if let Value::Object(fields) = fields {
            message.extend(fields);
        }
        Action::ToProvider(Value::Object(message).to_string())
    }

    /// Something that the client is told.
    fn error(&mut self, code: &str, message: &str, client_event_id: Option<&str>) -> Action {
        self.0 += 1;
        let error = json!({
            "type": "invalid_request_error",
            "code": code,
            "message": message,
            "client_event_id": client_event_id,
        });
        let event_id = format!("{MARK}{}", self.0);
        Action::ToClient(json!({"type": "error", "event_id": event_id, "error": error}).to_string())
    }
}

impl GptLive {
    pub fn new(opening: Opening) -> Self {
        Self {
            opening,
            state: State::New,
            config: Config::default(),
            backend: Backend::default(),
            talk: Talk::default(),
            delegated: VecDeque::new(),
            ids: Ids::default(),
        }
    }

    fn start(&mut self, mut message: Value) -> Step {
        let Some(session) = message.get_mut("session").and_then(Value::as_object_mut) else {
            return Step::forward();
        };
        if self.state != State::New {
            return Step::forward();
        }
        self.state = State::Asked;
        if !self.opening.model.is_empty() {
            session.insert("model".to_owned(), self.opening.model.as_str().into());
        }
        self.config.start(session, &self.opening.offer);
        Step::replace(message.to_string())
    }

    fn update(&mut self, mut message: Value) -> Step {
        let session = message.get_mut("session").and_then(Value::as_object_mut);
        match session.is_some_and(|session| self.config.update(session, &self.opening.offer)) {
            true => Step::replace(message.to_string()),
            false => Step::forward(),
        }
    }

    /// The client adds something to what the backend reads.
    fn client_item(&mut self, message: &Value) -> Step {
        let item = &message["item"];
        let id = item.get("call_id").and_then(Value::as_str);
        let Some(id) = id.filter(|_| item["type"] == "function_call_output") else {
            return Step::forward();
        };
        if !self.backend.knows(id) {
            return Step::forward().and(self.backend.client_answered(id, &mut self.ids));
        }
        let why =
            format!("tool call `{id}` is not the client's: only its own calls are answered by it");
        let event_id = message.get("event_id").and_then(Value::as_str);
        Step::swallow().and([self.ids.error("tool_call_not_yours", &why, event_id)])
    }

    /// What goes by for the client holds nothing of ours.
    fn session(&mut self, text: &str) -> Step {
        let Ok(mut message) = json::value(text) else { return Step::forward() };
        let is_first = message["type"] == "session.started" && self.state != State::Started;
        let session = message.get_mut("session").and_then(Value::as_object_mut);
        let Some(session) = session else { return Step::forward() };
        if is_first && self.state == State::New {
            // Somebody else began it; ours is added now.
            self.config.learn(session, &self.opening.offer);
        }
        let step = match self.config.hide(session) {
            true => Step::replace(message.to_string()),
            false => Step::forward(),
        };
        if is_first {
            self.state = State::Started;
        }
        step.and(self.offer())
    }

    fn offer(&mut self) -> Option<Action> {
        if self.state != State::Started {
            return None;
        }
        let session = self.config.offering(&self.opening.offer)?;
        Some(self.ids.send("session.update", json!({"session": session})))
    }

    /// An event of the backend model.
    fn backend_event(&mut self, text: &str) -> Step {
        let (mut event, mut delegation) = ("", None);
        glance::each(text, |key, value| {
            match key {
                "event" => event = value,
                "delegation_id" => delegation = serde_json::from_str(value).ok(),
                _ => {}
            }
            true
        });
        let Glance::Is(kind) = glance::string(event, "type") else { return Step::forward() };
        match kind {
            "response.created" => self.backend.began(delegation),
            "response.completed" => {
                let actions = self.backend.completed(&delegation, &mut self.ids);
                return self.passed(text).and(actions);
            }
            "response.failed" | "response.incomplete" | "response.cancelled" => {
                let actions = self.backend.failed(&delegation, &mut self.ids);
                return self.passed(text).and(actions);
            }
            "response.function_call_arguments.delta" | "response.function_call_arguments.done" => {
                if let Glance::Is(item) = glance::string(event, "item_id")
                    && self.backend.is_hidden(item)
                {
                    return Step::swallow();
                }
            }
            "response.output_item.added" | "response.output_item.done" => {
                return self.item(text, event, delegation);
            }
            _ => {}
        }
        self.passed(text)
    }

    /// A part of a response begins or is complete: perhaps a call.
    fn item(&mut self, text: &str, event: &str, delegation: Option<String>) -> Step {
        let Ok(event) = json::value(event) else { return Step::forward() };
        let item = &event["item"];
        let field = |key: &str| item.get(key).and_then(Value::as_str);
        let (Some("function_call"), Some(name)) = (field("type"), field("name")) else {
            return self.passed(text);
        };
        let is_clients = self.config.is_clients(name);
        if event["type"] == "response.output_item.added" {
            if is_clients {
                return self.passed(text);
            }
            self.backend.hide(field("id").unwrap_or_default());
            return Step::swallow();
        }
        // One that is cut off is not called.
        let is_whole = field("status").is_none_or(|status| status == "completed");
        let id = field("call_id").filter(|_| is_whole);
        if is_clients {
            if let Some(id) = id {
                self.backend.clients_call(delegation, id);
            }
            return self.passed(text);
        }
        let Some(id) = id else { return Step::swallow() };
        let arguments = field("arguments").unwrap_or("{}").to_owned();
        let call = Call { id: id.to_owned(), name: name.to_owned(), arguments };
        Step::swallow().and(self.backend.our_call(delegation, call))
    }

    /// Goes on, without the number of a message of ours that it answers.
    fn passed(&self, text: &str) -> Step {
        if !is_marked(text) {
            return Step::forward();
        }
        let Ok(mut message) = Object::parse(text) else { return Step::forward() };
        message.remove("client_event_id");
        Step::replace(message.to_text())
    }

    fn delegation(&mut self, text: &str) -> Step {
        let actions = self.talk.answer();
        let Ok(message) = json::value(text) else { return Step::forward().and(actions) };
        let delegation = &message["delegation"];
        let id = delegation.get("id").and_then(Value::as_str);
        let is_ours = self.opening.routing == Routing::Cascaded
            && self.config.delegation == Delegation::Client
            && delegation["target"] == "client";
        let Some(id) = id.filter(|_| is_ours) else { return Step::forward().and(actions) };
        self.delegated.push_back(id.to_owned());
        if self.delegated.len() > MOST_DELEGATED {
            self.delegated.pop_front();
        }
        Step::swallow().and(actions).and([Action::Delegate])
    }

    fn transcript(&mut self, text: &str, spoken: Spoken, now: Instant) -> Step {
        let delta = Object::parse(text).ok();
        let delta = delta.as_ref().and_then(|message| message.string("delta"));
        let delta = delta.unwrap_or_default();
        let actions = match spoken {
            Spoken::ByCaller => self.talk.hear(&delta, self.work()),
            Spoken::ByAgent => self.talk.say(&delta, now),
        };
        Step::forward().and(actions)
    }

    fn work(&self) -> Work {
        let is_busy = self.backend.is_busy() || !self.delegated.is_empty();
        if is_busy { Work::Busy } else { Work::Idle }
    }

    /// Adds something to the talk: as words to say, or only to know.
    fn append(&mut self, kind: &str, content: &str, delegation: Option<&str>) -> Vec<Action> {
        let mut cut = Vec::new();
        fitting(content, MOST_BYTES, &mut cut);
        let message = |piece: &str| json!({"content": piece, "delegation_id": delegation});
        cut.into_iter().map(|piece| self.ids.send(kind, message(piece))).collect()
    }

    fn answered(&mut self, answer: &Answer) -> Vec<Action> {
        let late = match self.backend.answered(answer, &mut self.ids) {
            Ok(actions) => return actions,
            Err(late) => late,
        };
        let content = format!("Result of the earlier call of `{}`: {}", late.name, answer.outcome);
        match answer.delivery {
            Delivery::Silent => self.append("session.thinking.append", &content, None),
            Delivery::Wait | Delivery::WhenIdle | Delivery::Interrupt => {
                self.append("session.commentary.append", &content, None)
            }
        }
    }

    fn speak(&mut self, words: Result<String, String>) -> Vec<Action> {
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
enum Spoken {
    ByCaller,
    ByAgent,
}

impl RealtimeDialect for GptLive {
    fn client_said(&mut self, frame: Frame<'_>, _now: Instant) -> Step {
        let Frame::Text(text) = frame else { return Step::forward() };
        let kind = match glance::string(text, "type") {
            Glance::Is(kind) => kind,
            Glance::Missing => return Step::forward(),
            Glance::Unclear => {
                let why = "the message was not sent on: it is no JSON object with one `type`";
                return Step::swallow().and([self.ids.error("invalid_event", why, None)]);
            }
        };
        match kind {
            "session.start" | "session.update" | "response.item.create" => {}
            "response.create" => {
                return match self.backend.client_goes_on(text) {
                    true => Step::forward(),
                    false => Step::swallow(),
                };
            }
            wish::TYPE => {
                return Step::swallow().and([match wish::tier(text) {
                    Ok(tier) => Action::Tier(tier),
                    Err(why) => self.ids.error("invalid_event", &why, None),
                }]);
            }
            _ => return Step::forward(),
        }
        match json::value(text) {
            Ok(message) => match kind {
                "session.start" => self.start(message),
                "session.update" => self.update(message),
                _ => self.client_item(&message),
            },
            Err(why) => {
                let why = format!("the message was not sent on: {why}");
                Step::swallow().and([self.ids.error("invalid_event", &why, None)])
            }
        }
    }

    fn provider_said(&mut self, frame: Frame<'_>, now: Instant) -> Step {
        let Frame::Text(text) = frame else { return Step::forward() };
        let Glance::Is(kind) = glance::string(text, "type") else { return Step::forward() };
        match kind {
            "response.event" => self.backend_event(text),
            "session.input_transcript.delta" => self.transcript(text, Spoken::ByCaller, now),
            "session.output_transcript.delta" => self.transcript(text, Spoken::ByAgent, now),
            "session.delegation.created" => self.delegation(text),
            "session.updated"
            | "session.commentary.appended"
            | "session.thinking.appended"
            | "error"
                if is_ours(text) =>
            {
                Step::swallow()
            }
            "session.started" | "session.updated" | "session.closed" => self.session(text),
            _ => Step::forward(),
        }
    }

    fn news(&mut self, news: News, now: Instant) -> Vec<Action> {
        match news {
            News::Offer(offer) => {
                self.opening.offer = offer;
                self.offer().into_iter().collect()
            }
            News::Answer(answer) => self.answered(&answer),
            News::Slow { id, message } => {
                if !self.backend.is_owed(&id) {
                    return Vec::new();
                }
                let mut actions = self.append("session.commentary.append", &message, None);
                actions.push(Action::Announced);
                actions
            }
            News::Speak(words) => self.speak(words),
            News::Tier { tier, reason } => vec![Action::ToClient(wish::told(tier, &reason))],
            News::Time => self.talk.time(now, self.work()),
            // The voice itself decides what it delegates.
            News::Route => Vec::new(),
        }
    }

    fn wakes(&self) -> Option<Instant> {
        self.talk.wakes()
    }
}

/// An acknowledgement of a message of ours, or what is wrong with it.
fn is_ours(text: &str) -> bool {
    if is_marked(text) {
        return true;
    }
    let Ok(message) = Object::parse(text) else { return false };
    let error = message.object("error");
    let id = error.as_ref().and_then(|error| error.string("client_event_id"));
    id.is_some_and(|id| id.starts_with(MARK))
}

fn is_marked(text: &str) -> bool {
    matches!(glance::string(text, "client_event_id"), Glance::Is(id) if id.starts_with(MARK))
}

/// Cuts a text into pieces that the provider takes.
fn fitting<'t>(text: &'t str, most: usize, found: &mut Vec<&'t str>) {
    for piece in pieces(text, most) {
        let fits = piece.len() as u64 <= MOST_TOKENS
            || tokens::text(piece, Precision::Exact) <= MOST_TOKENS;
        if fits {
            found.push(piece);
        } else {
            fitting(piece, most / 2, found);
        }
    }
}

#[cfg(test)]
mod tests;
