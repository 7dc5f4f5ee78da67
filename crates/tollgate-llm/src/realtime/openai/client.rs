//! Handles client messages: merges its tools and instructions with ours, holds its response
//! requests until our answers are sent where necessary, and rejects messages that impersonate us.

use std::time::Instant;

use serde_json::{Map, Value};
use tollgate_core::json::{self, MalformedJsonError, Object};

use super::OpenAiRealtime;
use super::floor::{
    ActiveResponse, CancelRequester, EarlyAnswer, HeldResponseRequest, PendingSpeech, ResponseKind,
    ResponseOwner, ResponseRequest,
};
use super::question::QuestionState;
use super::speech_queue::DeepAnswer;
use super::wire::{ClientRefusal, METADATA_MARK, ensure_event_id};
use crate::realtime::events::{DialectAction, DialectStep, UtteranceStage};
use crate::realtime::json_peek::{self, JsonPeek};
use crate::realtime::tier_request;

impl OpenAiRealtime {
    pub(super) fn client_says(&mut self, kind: &str, text: &str, now: Instant) -> DialectStep {
        let handled = match kind {
            "session.update" => self.client_updates(text),
            "response.create" => self.client_asks(text, now),
            "response.cancel" => self.client_cancels(text, now),
            "conversation.item.create" => self.client_writes(text, now),
            "conversation.item.delete"
            | "conversation.item.retrieve"
            | "conversation.item.truncate" => self.client_points(kind, text),
            "input_audio_buffer.append" => {
                if let JsonPeek::Is(audio) = json_peek::peek_string(text, "audio") {
                    self.caller_audio.push(audio, self.config.detects_turns());
                }
                return DialectStep::forward();
            }
            kind if kind.starts_with("tollgate.") => self.client_means_us(kind, text),
            _ => return DialectStep::forward(),
        };
        handled.unwrap_or_else(|malformed| {
            let message = format!("the event is invalid: {malformed}");
            self.refuse(&ClientRefusal { code: "invalid_json", message, param: None }, None)
        })
    }

    pub(super) fn refuse_binary(&mut self) -> DialectStep {
        let message = "events are text; send JSON as a text message".to_owned();
        self.refuse(&ClientRefusal { code: "invalid_event", message, param: None }, None)
    }

    pub(super) fn refuse_unclear(&mut self) -> DialectStep {
        let message = "an event must be one JSON object with one `type`".to_owned();
        self.refuse(&ClientRefusal { code: "invalid_event", message, param: Some("type") }, None)
    }

    fn refuse(&mut self, refusal: &ClientRefusal<'_>, event_id: Option<&str>) -> DialectStep {
        let text = refusal.text(&mut self.post, event_id);
        DialectStep::swallow().and([DialectAction::ToClient(text)])
    }

    fn client_updates(&mut self, text: &str) -> Result<DialectStep, MalformedJsonError> {
        let mut message = Object::parse(text)?;
        self.config.client_update(&mut message, &mut self.post)?;
        self.config_bytes = self.config_bytes.max(text.len());
        Ok(DialectStep::replace(message.to_text()))
    }

    fn client_asks(&mut self, text: &str, now: Instant) -> Result<DialectStep, MalformedJsonError> {
        let mut message = Object::parse(text)?;
        let response = message.get("response").map(|raw| json::value(raw.get())).transpose()?;
        let mut response = match response {
            Some(Value::Object(response)) => response,
            Some(_) | None => Map::new(),
        };
        let kind = match response.get("conversation").and_then(Value::as_str) {
            Some("none") => ResponseKind::Aside,
            Some(_) | None => ResponseKind::Conversation,
        };
        let joined = match kind {
            ResponseKind::Aside => self.config.client_aside(&mut response),
            ResponseKind::Conversation => self.config.client_response(&mut response),
        };
        let changed = strip_mark(&mut response) || joined;
        if kind == ResponseKind::Conversation && self.must_hold() {
            let mut out = Vec::new();
            let step = self.hold(&message, response);
            if self.question.state == QuestionState::DeepOnRequest {
                self.delegate(&mut out);
            }
            self.settle(now, &mut out);
            return Ok(step.and(out));
        }
        let is_named = message.contains("event_id");
        // Another model may still have to answer it.
        let is_open = kind == ResponseKind::Conversation && self.question.is_open();
        let clients = is_open.then(|| HeldResponseRequest {
            event_id: message.string("event_id").map(String::from),
            response: response.clone(),
        });
        let event_id = ensure_event_id(&mut message, &mut self.post);
        if changed {
            message.set("response", json::raw_value(&response.into()));
        }
        let want = match kind {
            ResponseKind::Aside => PendingSpeech::Nothing,
            ResponseKind::Conversation => self.speech_queue.take(),
        };
        if kind == ResponseKind::Conversation {
            self.speech_queue.client_went_on();
        }
        let whose = ResponseOwner::Others;
        self.floor.ask(ResponseRequest { event_id, whose, kind, want, clients }, now);
        if changed || !is_named {
            return Ok(DialectStep::replace(message.to_text()));
        }
        Ok(DialectStep::forward())
    }

    /// While answers are pending that the model must have first (ours, or early ones of the
    /// client), or while a response that the client does not know about was requested.
    fn must_hold(&self) -> bool {
        self.speech_queue.deep != DeepAnswer::No
            || self.question.is_undecided()
            || self.question.state == QuestionState::DeepOnRequest
            || self.calls.any_waiting()
            || self.floor.active().is_some_and(|active| !active.early.is_empty())
            || self.floor.our_aside().is_some()
            || self.floor.has_requested(ResponseOwner::Ours, ResponseKind::Conversation)
            || self.floor.has_requested(ResponseOwner::Ours, ResponseKind::Aside)
    }

    fn hold(&mut self, message: &Object<'_>, response: Map<String, Value>) -> DialectStep {
        let event_id = message.string("event_id").map(String::from);
        if self.speech_queue.held.is_some() {
            let message =
                "Conversation already has an active response in progress. Wait until the \
                response is finished before creating a new one."
                    .to_owned();
            let code = "conversation_already_has_active_response";
            let refusal = ClientRefusal { code, message, param: None };
            return self.refuse(&refusal, event_id.as_deref());
        }
        self.speech_queue.client_went_on();
        self.speech_queue.held = Some(HeldResponseRequest { event_id, response });
        DialectStep::swallow()
    }

    fn client_cancels(
        &mut self,
        text: &str,
        now: Instant,
    ) -> Result<DialectStep, MalformedJsonError> {
        let message = Object::parse(text)?;
        let of = message.string("response_id");
        let mut out = Vec::new();
        if of.as_deref().is_some_and(|id| self.floor.aside(id).is_some()) {
            return Ok(DialectStep::forward());
        }
        self.speech_queue.held = None;
        if let Some(ours) = self.floor.our_aside().map(str::to_owned) {
            out.push(DialectAction::ToProvider(self.post.cancel(&ours)));
        }
        let is_deep = self.speech_queue.deep != DeepAnswer::No || self.question.is_undecided();
        let is_running = self.floor.active().is_some_and(ActiveResponse::is_seen)
            || self.floor.has_requested(ResponseOwner::Ours, ResponseKind::Conversation)
            || self.floor.has_requested(ResponseOwner::Others, ResponseKind::Conversation);
        // The client cannot know that nothing but our work runs: the provider would refuse this.
        let has_only_ours = (is_deep || self.calls.any_waiting()) && !is_running;
        self.question.settle();
        let active = self.floor.active_mut().filter(|active| active.is_seen());
        let newest = self.question.number();
        // The end of an answer to what was said before does not end the turn.
        let is_newest = active.as_ref().is_some_and(|active| active.question == newest);
        if let Some(active) = active {
            active.ending = CancelRequester::Client;
        }
        if !is_newest {
            self.barge_in(&mut out);
        }
        self.settle(now, &mut out);
        let step = if has_only_ours { DialectStep::swallow() } else { DialectStep::forward() };
        Ok(step.and(out))
    }

    fn client_writes(
        &mut self,
        text: &str,
        now: Instant,
    ) -> Result<DialectStep, MalformedJsonError> {
        let mut message = Object::parse(text)?;
        let item = message.get("item").map(|raw| Object::parse(raw.get())).transpose()?;
        let Some(item) = item else { return Ok(DialectStep::forward()) };
        let kind = item.string("type").map(String::from).unwrap_or_default();
        let call_id = item.string("call_id").map(String::from).unwrap_or_default();
        let mut out = Vec::new();
        match kind.as_str() {
            "function_call_output" | "function_call" if self.calls.knows(&call_id) => {
                let event_id = message.string("event_id").map(String::from);
                let refusal = ClientRefusal {
                    code: "invalid_tool_call_id",
                    message: format!("Tool call ID '{call_id}' not found in conversation."),
                    param: Some("item.call_id"),
                };
                return Ok(self.refuse(&refusal, event_id.as_deref()));
            }
            "function_call_output" if self.floor.keep_early(&call_id, text) => {
                return Ok(DialectStep::swallow());
            }
            "function_call_output" => self.speech_queue.note_client_answer(&call_id, now),
            "function_call" => {
                let id = item.string("id").map(String::from);
                [Some(call_id), id].iter().flatten().for_each(|id| self.written.insert(id));
            }
            "message" if item.string("role").as_deref() == Some("user") => {
                let is_deep = self.speech_queue.deep != DeepAnswer::No;
                let is_owed = is_deep && self.question.owes_response();
                if self.calls.any_waiting() || is_deep {
                    self.barge_in(&mut out);
                }
                self.speech_queue.client_wrote(now);
                self.question.begin_typed(self.hold.is_some());
                if is_owed {
                    // What was said before still gets its answer, together with the text.
                    self.question.owe_response();
                    self.speech_queue.wants_reply();
                }
                out.extend(
                    input_text(&item).map(|text| DialectAction::CallerSpeech {
                        text,
                        form: UtteranceStage::Final,
                    }),
                );
            }
            _ => {}
        }
        Ok(self
            .move_behind_hidden(&mut message)
            .map_or_else(DialectStep::forward, DialectStep::replace)
            .and(out))
    }

    /// The message, if its item must follow others that the client does not see.
    fn move_behind_hidden(&self, message: &mut Object<'_>) -> Option<String> {
        let after = message.string("previous_item_id").map(String::from)?;
        if self.items.is_lost(&after) {
            message.remove("previous_item_id");
            return Some(message.to_text());
        }
        let end = self.items.end_of(&after);
        if end == after {
            return None;
        }
        message.set_string("previous_item_id", end);
        Some(message.to_text())
    }

    /// Sends the client's answers that had to wait for the end of a response.
    pub(super) fn post_early(
        &mut self,
        early: Vec<EarlyAnswer>,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) {
        for EarlyAnswer { call_id, text } in early {
            let moved = Object::parse(&text)
                .ok()
                .and_then(|mut message| self.move_behind_hidden(&mut message));
            out.push(DialectAction::ToProvider(moved.unwrap_or(text)));
            self.speech_queue.note_client_answer(&call_id, now);
        }
    }

    fn client_points(&mut self, kind: &str, text: &str) -> Result<DialectStep, MalformedJsonError> {
        let message = Object::parse(text)?;
        let Some(item_id) = message.string("item_id") else { return Ok(DialectStep::forward()) };
        if self.aside_items.contains(&item_id) && kind == "conversation.item.truncate" {
            return Ok(DialectStep::swallow());
        }
        if let Some(step) = self.answer_for_earlier(kind, &item_id, &message) {
            return Ok(step);
        }
        if !self.items.is_hidden(&item_id) {
            return Ok(DialectStep::forward());
        }
        let code = match kind {
            "conversation.item.delete" => "item_delete_invalid_item_id",
            "conversation.item.truncate" => "item_truncate_invalid_item_id",
            _ => "item_retrieve_invalid_item_id",
        };
        let refusal = ClientRefusal {
            code,
            message: format!("Item with item_id not found: {item_id}"),
            param: Some("item_id"),
        };
        Ok(self.refuse(&refusal, message.string("event_id").as_deref()))
    }

    fn client_means_us(
        &mut self,
        kind: &str,
        text: &str,
    ) -> Result<DialectStep, MalformedJsonError> {
        let message = Object::parse(text)?;
        let event_id = message.string("event_id");
        let refusal = match kind {
            tier_request::TIER_MESSAGE_TYPE => match tier_request::of(&message) {
                Ok(tier) => return Ok(DialectStep::swallow().and([DialectAction::Tier(tier)])),
                Err(why) => ClientRefusal {
                    code: "invalid_value",
                    message: why.to_string(),
                    param: Some("tier"),
                },
            },
            _ => ClientRefusal {
                code: "invalid_event",
                message: format!(
                    "there is no event `{kind}`; the events are `{}`",
                    tier_request::TIER_MESSAGE_TYPE
                ),
                param: Some("type"),
            },
        };
        Ok(self.refuse(&refusal, event_id.as_deref()))
    }
}

/// The metadata mark is reserved for us; `true` if it was present.
fn strip_mark(response: &mut Map<String, Value>) -> bool {
    let metadata = response.get_mut("metadata").and_then(Value::as_object_mut);
    metadata.is_some_and(|metadata| metadata.remove(METADATA_MARK).is_some())
}

/// The text of a message item.
fn input_text(item: &Object<'_>) -> Option<String> {
    let content = json::value(item.get("content")?.get()).ok()?;
    let parts = content.as_array()?.iter().filter(|part| part["type"] == "input_text");
    let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
