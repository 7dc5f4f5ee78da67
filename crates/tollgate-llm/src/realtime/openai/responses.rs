//! Handles provider messages about responses: their start and end, calls and speech in them. Calls
//! are run when they are complete, and answered when their response is over.

use std::time::Instant;

use serde_json::{Map, Value};
use tollgate_core::json::{self, Object};

use super::OpenAiRealtime;
use super::calls::{DueAnswer, OpenAiCallRequest};
use super::deep_turns::send_behind;
use super::floor::{
    ActiveResponse, CancelRequester, ResponseKind, ResponseOwner, ResponseRequest,
    ResponseVisibility,
};
use super::speech_queue::DeepAnswer;
use super::wire::{self, METADATA_MARK, OutboxPurpose};
use crate::realtime::events::{DialectAction, MessageFate, RealtimeCall};
use crate::realtime::json_peek::{self, JsonPeek};

/// How a response ended, and so the fate of its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponseVerdict {
    Stands,
    Falls,
}

/// A call as the provider reports it.
struct ProviderCall<'a> {
    id: &'a str,
    name: &'a str,
    arguments: &'a str,
    verdict: ResponseVerdict,
}

impl OpenAiRealtime {
    pub(super) fn response_created(
        &mut self,
        text: &str,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) -> MessageFate {
        let Some((message, response)) = response_of(text) else { return MessageFate::Forward };
        let Some(id) = response.get("id").and_then(Value::as_str).map(str::to_owned) else {
            return MessageFate::Forward;
        };
        let kind = self.kind_of(&response);
        let (whose, request) = self.find_request(&response, kind);
        if kind == ResponseKind::Aside {
            self.floor.begin_aside(&id, whose);
            if whose == ResponseOwner::Ours {
                out.push(DialectAction::Announced);
            }
            return for_client(message, response, HiddenCalls::Nothing);
        }
        let missed = self.speech_queue.unseen();
        // Not the words of an earlier turn, which were requested before it was interrupted.
        let requested = request.as_ref().map(|request| request.event_id.as_str());
        let speaks = self.speech_queue.speaking.as_deref().is_some_and(|speaking| {
            [mark_of(&response), requested].into_iter().flatten().any(|id| id == speaking)
        });
        if speaks {
            self.speech_queue.deep = DeepAnswer::No;
        }
        if whose == ResponseOwner::Ours || missed.is_empty() {
            self.speech_queue.clear_announced();
        }
        // Requested before it was known that another model answers, or by turn detection.
        let must_end = self.speech_queue.deep != DeepAnswer::No || self.question.is_deep();
        self.question.answer_begins();
        let sight = if must_end {
            ResponseVisibility::Hidden
        } else if self.question.is_open() {
            ResponseVisibility::Withheld
        } else {
            ResponseVisibility::Shown
        };
        let missed = if whose == ResponseOwner::Ours { Default::default() } else { missed };
        let is_requested = request.is_some();
        let clients = request.and_then(|request| request.clients);
        let mut active = ActiveResponse::new(id, sight, missed);
        active.question = self.question.number();
        if sight == ResponseVisibility::Hidden {
            match clients {
                Some(clients) => {
                    self.speech_queue.held.get_or_insert(clients);
                }
                None => self.question.owe_response(),
            }
        } else {
            active.request = clients;
        }
        if let Some(before) = self.floor.begin(active) {
            self.post_early(before.early, now, out);
        }
        if must_end {
            self.stop_active(out);
            return MessageFate::Swallow;
        }
        if whose == ResponseOwner::Others && !is_requested {
            // A request that the client sent meanwhile would be rejected by now.
            self.speech_queue.held = None;
        }
        out.extend(self.floor.turn_answered().map(DialectAction::Turn));
        for_client(message, response, HiddenCalls::Nothing)
    }

    pub(super) fn response_done(
        &mut self,
        text: &str,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) -> MessageFate {
        let Some((message, mut response)) = response_of(text) else { return MessageFate::Forward };
        let id = response.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        if self.floor.end_aside(&id).is_some() {
            self.settle(now, out);
            return for_client(message, response, HiddenCalls::Nothing);
        }
        let mut ended = self.floor.end(&id);
        let withheld = ended.as_mut().map(|ended| std::mem::take(&mut ended.withheld));
        self.speech_queue.response_ended();
        self.floor.forget_requested(ResponseKind::Conversation);
        if let Some(hidden) =
            ended.as_ref().filter(|ended| ended.sight == ResponseVisibility::Hidden)
        {
            // Calls that have not run are forgotten too; the others get their answers.
            let text = |item: &Map<String, Value>, key| {
                item.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let calls = calls_in(&response).into_iter();
            let unknown = calls.filter(|item| !self.calls.knows(&text(item, "call_id")));
            let mut items = hidden.items.clone();
            items.extend(
                unknown.map(|item| text(item, "id")).filter(|id| !hidden.items.contains(id)),
            );
            for item in items {
                out.push(DialectAction::ToProvider(self.post.delete(&item)));
            }
            for due in self.close_calls(&id, ResponseVerdict::Falls, out) {
                self.post_due(due, now, out);
            }
            // Its request may have been the client's, whose responses bear no mark.
            let post = &self.post;
            self.speech_queue.speaking.take_if(|speaking| !post.has_requested(speaking));
            self.settle(now, out);
            return MessageFate::Swallow;
        }
        let by_us = ended.as_ref().is_some_and(|ended| ended.ending == CancelRequester::Us);
        if verdict(&response) == ResponseVerdict::Stands {
            self.question.settle();
        }
        self.take_calls(&id, &response, out);
        let early = ended.as_mut().map(|ended| std::mem::take(&mut ended.early));
        self.post_early(early.unwrap_or_default(), now, out);
        for due in self.close_calls(&id, verdict(&response), out) {
            self.post_due(due, now, out);
        }
        // Otherwise the caller's next utterance has taken the turn already.
        let is_newest = ended.as_ref().is_none_or(|ended| ended.question == self.question.number());
        if response.get("status").is_some_and(|status| status == "cancelled") && !by_us {
            if is_newest {
                self.barge_in(out);
            }
        } else if ended.is_some_and(|ended| !ended.missed.is_empty()) {
            self.speech_queue.wants_reply();
        }
        out.extend(self.replace_after_failure(&response));
        self.settle(now, out);
        let hides = self.hide_calls(&mut response);
        let fate = for_client(message, response, hides);
        send_behind(withheld.unwrap_or_default(), fate, text, out)
    }

    /// Whether the response writes the conversation.
    fn kind_of(&self, response: &Map<String, Value>) -> ResponseKind {
        match response.get("conversation_id") {
            Some(Value::Null) => ResponseKind::Aside,
            Some(_) => ResponseKind::Conversation,
            None => self.floor.oldest_requested().unwrap_or(ResponseKind::Conversation),
        }
    }

    /// Owner and request of a response. If a server does not echo our metadata, the response counts
    /// as ours if we requested one; our mark counts whatever else the server changed.
    fn find_request(
        &mut self,
        response: &Map<String, Value>,
        kind: ResponseKind,
    ) -> (ResponseOwner, Option<ResponseRequest>) {
        let mark = response.get("metadata").map(|metadata| metadata.get(METADATA_MARK));
        let whose = match mark {
            Some(Some(Value::String(mark))) if self.post.has_requested(mark) => {
                return (ResponseOwner::Ours, self.floor.take_requested(mark));
            }
            None if self.floor.has_requested(ResponseOwner::Ours, kind) => ResponseOwner::Ours,
            Some(_) | None => ResponseOwner::Others,
        };
        (whose, self.floor.take_oldest_requested(whose, kind))
    }

    // === calls ===

    pub(super) fn item_began(&mut self, text: &str) -> MessageFate {
        let Ok(message) = Object::parse(text) else { return MessageFate::Forward };
        let Some(item) = message.object("item") else { return MessageFate::Forward };
        let response_id = message.string("response_id").unwrap_or_default();
        let id = item.string("id").unwrap_or_default();
        if self.floor.is_hidden(&response_id) {
            self.hide_item_of_active(&id);
            return MessageFate::Swallow;
        }
        if self.floor.aside(&response_id) == Some(ResponseOwner::Ours) {
            self.aside_items.insert(&id);
            return MessageFate::Forward;
        }
        if !self.is_ours(&item) {
            self.client_is_called(&response_id, &item);
            return MessageFate::Forward;
        }
        self.items.hide(&id);
        MessageFate::Swallow
    }

    fn client_is_called(&mut self, response_id: &str, item: &Object<'_>) {
        if item.string("type").as_deref() == Some("function_call")
            && let Some(call_id) = item.string("call_id")
            && let Some(active) = self.floor.active_mut().filter(|active| active.id == response_id)
        {
            active.calls.push(call_id.into_owned());
        }
    }

    pub(super) fn item_done(&mut self, text: &str, out: &mut Vec<DialectAction>) -> MessageFate {
        let Ok(message) = Object::parse(text) else { return MessageFate::Forward };
        let Some(item) = message.object("item") else { return MessageFate::Forward };
        let response_id = message.string("response_id").unwrap_or_default();
        let id = item.string("id").unwrap_or_default();
        if self.floor.is_hidden(&response_id) {
            self.hide_item_of_active(&id);
            return MessageFate::Swallow;
        }
        if !self.is_ours(&item) {
            return MessageFate::Forward;
        }
        self.items.hide(&id);
        let is_whole = item.string("status").is_none_or(|status| status == "completed");
        let name = item.string("name").unwrap_or_default();
        let arguments = item.string("arguments").unwrap_or_default();
        if let Some(call_id) = item.string("call_id")
            && is_whole
            && self.floor.aside(&response_id).is_none()
        {
            let verdict = ResponseVerdict::Stands;
            let call = ProviderCall { id: &call_id, name: &name, arguments: &arguments, verdict };
            self.take_call(&response_id, &call, out);
        }
        MessageFate::Swallow
    }

    pub(super) fn arguments(&mut self, text: &str) -> MessageFate {
        let known = |key, is_known: &dyn Fn(&str) -> bool| match json_peek::peek_string(text, key) {
            JsonPeek::Is(id) => is_known(id),
            JsonPeek::Missing | JsonPeek::Unclear => false,
        };
        let is_ours = known("item_id", &|id| self.items.is_hidden(id))
            || known("call_id", &|id| self.calls.knows(id))
            || known("name", &|name| !self.config.is_clients(name));
        if is_ours { MessageFate::Swallow } else { self.of_response(text) }
    }

    fn hide_item_of_active(&mut self, id: &str) {
        self.items.hide(id);
        if let Some(active) = self.floor.active_mut() {
            active.note_item(id);
        }
    }

    /// Runs the call once, or answers for it if it was cut off.
    fn take_call(&mut self, response: &str, call: &ProviderCall<'_>, out: &mut Vec<DialectAction>) {
        let ProviderCall { id, name, arguments, verdict } = *call;
        let made =
            OpenAiCallRequest { response, name, arguments, delivery: self.config.delivery(name) };
        match verdict {
            ResponseVerdict::Stands if self.calls.make(id, &made) => {
                out.push(DialectAction::Run(RealtimeCall {
                    id: id.to_owned(),
                    name: name.to_owned(),
                    arguments: arguments.to_owned(),
                }))
            }
            ResponseVerdict::Falls if self.calls.insert_answered(id, &made) => {
                let text = self.post.output(id, &wire::cut_off(), OutboxPurpose::Other);
                out.push(DialectAction::ToProvider(text));
            }
            ResponseVerdict::Stands | ResponseVerdict::Falls => {}
        }
    }

    /// Takes the calls of a finished response that were not reported before, and the client's own.
    fn take_calls(
        &mut self,
        id: &str,
        response: &Map<String, Value>,
        out: &mut Vec<DialectAction>,
    ) {
        for item in calls_in(response) {
            let text = |key| item.get(key).and_then(Value::as_str).unwrap_or_default();
            let verdict = match verdict(item) {
                ResponseVerdict::Stands => verdict(response),
                ResponseVerdict::Falls => ResponseVerdict::Falls,
            };
            let call_id = text("call_id");
            let name = text("name");
            let arguments = text("arguments");
            if !self.config.is_clients(name) || self.calls.knows(call_id) {
                self.take_call(id, &ProviderCall { id: call_id, name, arguments, verdict }, out);
            } else if verdict == ResponseVerdict::Stands {
                self.speech_queue.note_client_call(call_id);
            }
        }
    }

    /// The response of these calls is over: returns the answers that may be sent now.
    fn close_calls(
        &mut self,
        id: &str,
        verdict: ResponseVerdict,
        out: &mut Vec<DialectAction>,
    ) -> Vec<DueAnswer> {
        match verdict {
            ResponseVerdict::Stands => {
                let (standing, due) = self.calls.stand(id);
                out.extend((!standing.is_empty()).then_some(DialectAction::Confirm(standing)));
                due
            }
            ResponseVerdict::Falls => {
                let (running, due) = self.calls.fall(id);
                out.extend(running.into_iter().map(DialectAction::Cancel));
                due
            }
        }
    }

    fn hide_calls(&self, response: &mut Map<String, Value>) -> HiddenCalls {
        let Some(Value::Array(output)) = response.get_mut("output") else {
            return HiddenCalls::Nothing;
        };
        let before = output.len();
        output.retain(|item| {
            let call_id = item.get("call_id").and_then(Value::as_str).unwrap_or_default();
            item["type"] != "function_call" || !self.calls.knows(call_id)
        });
        if output.len() == before { HiddenCalls::Nothing } else { HiddenCalls::Something }
    }

    // === speech ===

    pub(super) fn read_spoken_text(
        &mut self,
        text: &str,
        out: &mut Vec<DialectAction>,
    ) -> MessageFate {
        let Ok(message) = Object::parse(text) else { return MessageFate::Forward };
        let response_id = message.string("response_id").unwrap_or_default();
        if self.floor.is_hidden(&response_id) {
            return MessageFate::Swallow;
        }
        let words = message.string("transcript").or_else(|| message.string("text"));
        if let Some(words) = words.filter(|words| !words.is_empty())
            && self.floor.aside(&response_id).is_none()
        {
            out.push(DialectAction::AgentSpeech(words.into_owned()));
        }
        MessageFate::Forward
    }

    /// Handles other messages of a response.
    pub(super) fn of_response(&self, text: &str) -> MessageFate {
        if self.floor.hidden_response().is_none() {
            return MessageFate::Forward;
        }
        match json_peek::peek_string(text, "response_id") {
            JsonPeek::Is(id) if self.floor.is_hidden(id) => MessageFate::Swallow,
            JsonPeek::Is(_) | JsonPeek::Missing | JsonPeek::Unclear => MessageFate::Forward,
        }
    }
}

/// Whether calls were removed from a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HiddenCalls {
    Nothing,
    Something,
}

fn response_of(text: &str) -> Option<(Object<'_>, Map<String, Value>)> {
    let message = Object::parse(text).ok()?;
    let Value::Object(response) = json::value(message.get("response")?.get()).ok()? else {
        return None;
    };
    Some((message, response))
}

/// The mark of a response that we requested.
fn mark_of(response: &Map<String, Value>) -> Option<&str> {
    response.get("metadata")?.get(METADATA_MARK)?.as_str()
}

/// Status of a response or an item; a missing status means complete.
fn verdict(of: &Map<String, Value>) -> ResponseVerdict {
    match of.get("status").and_then(Value::as_str) {
        Some("completed") | None => ResponseVerdict::Stands,
        Some(_) => ResponseVerdict::Falls,
    }
}

fn calls_in(response: &Map<String, Value>) -> Vec<&Map<String, Value>> {
    let items = response.get("output").and_then(Value::as_array);
    let items = items.into_iter().flatten().filter_map(Value::as_object);
    items.filter(|item| item.get("type").is_some_and(|kind| kind == "function_call")).collect()
}

/// The response for the client, without our mark.
fn for_client(
    mut message: Object<'_>,
    mut response: Map<String, Value>,
    hides: HiddenCalls,
) -> MessageFate {
    let is_marked = match response.get_mut("metadata") {
        Some(Value::Object(metadata)) => metadata.remove(METADATA_MARK).is_some(),
        Some(_) | None => false,
    };
    if !is_marked && hides == HiddenCalls::Nothing {
        return MessageFate::Forward;
    }
    if is_marked && response.get("metadata").and_then(Value::as_object).is_some_and(Map::is_empty) {
        response.insert("metadata".to_owned(), Value::Null);
    }
    message.set("response", json::raw_value(&response.into()));
    MessageFate::Replace(message.to_text())
}
