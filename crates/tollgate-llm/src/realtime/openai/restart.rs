//! Begins again on a connection that knows nothing of the conversation: ends for the client what the
//! old one had begun, tells the new one the settings and what was said, and asks it for the answer
//! that is still due.

use std::time::Instant;

use serde_json::{Map, Value, json};
use tollgate_core::json::Object;

use super::OpenAiRealtime;
use super::config::ConnectionRole;
use super::floor::{
    CancelRequester, PendingSpeech, ResponseKind, ResponseOwner, ResponseRequest,
    ResponseVisibility,
};
use super::question::{Question, QuestionState};
use super::speech_queue::DeepAnswer;
use super::wire::OutboxPurpose;
use crate::realtime::events::{
    CloseReason, DialectAction, DialectStep, MessageFate, ProviderFault, ProviderFaultKind,
    ProviderGone, SessionRestart,
};
use crate::realtime::json_peek::{self, JsonPeek};

/// Precedes the conversation that a new connection is told.
const CONVERSATION_SO_FAR: &str = "The connection was renewed. What follows is the conversation so far, \
    as text. Continue it where it stopped, without greeting again.";

/// Errors after which the provider serves this session no more.
const FINAL_ERRORS: [&str; 5] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "invalid_api_key",
    "account_deactivated",
    "session_expired",
];

/// Close codes that a session would get again: protocol, data, size.
const SENT_WRONGLY: [u16; 5] = [1002, 1003, 1007, 1009, 1010];
/// Close codes of a server that goes away or has a fault.
const BROKEN: [u16; 6] = [1001, 1005, 1006, 1011, 1012, 1013];
const NORMAL: u16 = 1000;

/// What is left of the connection before.
#[derive(Default)]
pub(super) struct EarlierConnection {
    created: SessionCreatedEvent,
    /// Whether the caller waits for an answer that the provider refused to give.
    pub(super) owes_answer: bool,
    /// Words for the caller, to be said with the next answer.
    pub(super) notice: Option<String>,
}

/// The `session.created` of the present connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SessionCreatedEvent {
    /// It is the client's.
    #[default]
    Shown,
    /// The client has seen one already.
    Repeated,
}

impl OpenAiRealtime {
    /// How the session goes on without its provider's connection.
    pub(super) fn provider_gone(&self, with: &CloseReason) -> ProviderGone {
        let is_final = with.code == NORMAL || SENT_WRONGLY.contains(&with.code);
        if self.config.role() == ConnectionRole::Sideband || is_final {
            return ProviderGone::End;
        }
        let kind = if BROKEN.contains(&with.code) {
            ProviderFaultKind::Broken
        } else {
            ProviderFaultKind::Refused
        };
        ProviderGone::Replace(ProviderFault { kind, with: Some(with.clone()), message: None })
    }

    /// After an error with which the provider ends the session, another one continues it. The client
    /// sees the error only if there is none.
    pub(super) fn replace_after_error(
        &mut self,
        error: &Object<'_>,
        fate: MessageFate,
        text: &str,
        owes: bool,
        out: &mut Vec<DialectAction>,
    ) -> MessageFate {
        let code = error.string("code").unwrap_or_default();
        if self.config.role() == ConnectionRole::Sideband || !FINAL_ERRORS.contains(&&*code) {
            return fate;
        }
        tracing::warn!(%code, "the provider ends a live session");
        self.earlier.owes_answer |= owes;
        let message = match fate {
            MessageFate::Forward => Some(text.to_owned()),
            MessageFate::Replace(text) => Some(text),
            MessageFate::Swallow => None,
        };
        let kind = ProviderFaultKind::Refused;
        out.push(DialectAction::Replace(ProviderFault { kind, with: None, message }));
        MessageFate::Swallow
    }

    /// A response that failed for such an error: another provider gives the answer.
    pub(super) fn replace_after_failure(
        &mut self,
        response: &Map<String, Value>,
    ) -> Option<DialectAction> {
        let error = response.get("status_details")?.get("error")?;
        let code = error["code"].as_str().or(error["type"].as_str())?;
        if self.config.role() == ConnectionRole::Sideband || !FINAL_ERRORS.contains(&code) {
            return None;
        }
        self.earlier.owes_answer = true;
        let kind = ProviderFaultKind::Refused;
        Some(DialectAction::Replace(ProviderFault { kind, with: None, message: None }))
    }

    /// Moves the session to a connection that was opened beside this one, if nobody speaks.
    pub(super) fn renew(&mut self, now: Instant, out: &mut Vec<DialectAction>) {
        if self.expiry.take_opening(now) {
            out.push(DialectAction::PrepareReconnect);
        }
        let is_idle = self.expiry.is_ready()
            && self.floor.is_quiet()
            && !self.caller_audio.has_utterance()
            && !self.floor.has_open_turn()
            && !self.calls.any_running()
            && self.speech_queue.is_nothing();
        if is_idle {
            self.expiry.reset();
            let kind = ProviderFaultKind::Expiring;
            let fault = ProviderFault { kind, with: None, message: None };
            out.push(DialectAction::Replace(fault));
        }
    }

    pub(super) fn begin_again(
        &mut self,
        restart: &SessionRestart,
        now: Instant,
    ) -> Vec<DialectAction> {
        let mut out = Vec::new();
        let owes = self.owes_answer();
        let early = self.end_for_client(&mut out);
        let (cut_off, due) = {
            let config = &self.config;
            self.calls.lose_responses(|name| config.is_read_only(name))
        };
        self.floor.restart();
        self.speech_queue.restart();
        if self.question.state != QuestionState::Delegated {
            // This connection is asked for the answer that is still due.
            self.question = Question::default();
        }
        self.transcripts.clear();
        self.expiry.reset();
        self.earlier.created = SessionCreatedEvent::Repeated;
        self.earlier.owes_answer = false;
        out.extend(self.config.restart(&mut self.post, now).into_iter().map(to_provider));
        self.tell_history(restart.max_history_bytes, &mut out);
        let history_end = out.len();
        out.extend(cut_off.into_iter().map(DialectAction::Cancel));
        for answer in due {
            self.post_due(answer, now, &mut out);
        }
        self.post_early(early, now, &mut out);
        out.extend(self.caller_audio.replay().map(DialectAction::ToProvider));
        match &restart.notice {
            Some(notice) if owes => self.earlier.notice = Some(notice.clone()),
            Some(notice) => self.say_notice(notice, now, &mut out),
            None => {}
        }
        if owes {
            self.speech_queue.wants_reply();
        }
        self.settle(now, &mut out);
        self.note_written(&out[history_end..]);
        out.push(DialectAction::Reconnected);
        out
    }

    /// Whether the caller still waits for an answer that the old connection should have given.
    pub(super) fn owes_answer(&self) -> bool {
        if self.speech_queue.deep == DeepAnswer::Awaited {
            return false;
        }
        let is_answering =
            self.floor.active().is_some_and(|active| active.ending != CancelRequester::Client);
        let expects = self.floor.has_open_turn()
            && self.config.creates_responses()
            && !self.floor.caller_speaks()
            && self.floor.active().is_none();
        is_answering
            || expects
            || self.earlier.owes_answer
            || self.speech_queue.want != PendingSpeech::Nothing
            || self.floor.has_requested(ResponseOwner::Others, ResponseKind::Conversation)
            || self.floor.has_requested(ResponseOwner::Ours, ResponseKind::Conversation)
    }

    /// Ends the responses that the client has seen begin. Returns its answers to calls in them.
    pub(super) fn end_for_client(
        &mut self,
        out: &mut Vec<DialectAction>,
    ) -> Vec<super::floor::EarlyAnswer> {
        if let Some(hidden) = self.floor.hidden_response() {
            for item in hidden.items.clone() {
                self.history.remove(&item);
            }
        }
        let ended = self.open_responses.end();
        for (item, words) in &ended.cut_off {
            self.history.interrupt(item, Some(words.as_str()).filter(|words| !words.is_empty()));
        }
        for mut event in ended.events {
            event["event_id"] = self.post.event_id().into();
            out.push(DialectAction::ToClient(event.to_string()));
        }
        match self.floor.active_mut() {
            Some(active) if active.sight == ResponseVisibility::Shown => {
                std::mem::take(&mut active.early)
            }
            Some(_) | None => Vec::new(),
        }
    }

    fn tell_history(&mut self, max_bytes: usize, out: &mut Vec<DialectAction>) {
        let audio =
            self.caller_audio.last_utterance().filter(|(item, _)| !self.history.has_text(item));
        let audio = audio.as_ref().map(|(item, audio)| (*item, audio.as_str()));
        let replay = self.history.tell(max_bytes, audio);
        let mut ids = Vec::new();
        if !replay.is_empty() {
            out.push(to_provider(self.post.note(CONVERSATION_SO_FAR)));
            let note = self.post.last_item_id();
            self.items.hide(&note);
            ids.push(note);
        }
        ids.extend(replay.iter().filter_map(|item| item["id"].as_str().map(str::to_owned)));
        self.items.restart(ids);
        for item in replay {
            let event_id = self.post.id(OutboxPurpose::Other);
            let message =
                json!({ "type": "conversation.item.create", "event_id": event_id, "item": item });
            out.push(to_provider(message.to_string()));
        }
    }

    /// There is no answer to say it with: a response of its own.
    fn say_notice(&mut self, notice: &str, now: Instant, out: &mut Vec<DialectAction>) {
        let (text, event_id) = self.post.announce(notice);
        out.push(DialectAction::ToProvider(text));
        let whose = ResponseOwner::Ours;
        let kind = ResponseKind::Aside;
        let want = PendingSpeech::Nothing;
        self.floor.ask(ResponseRequest { event_id, whose, kind, want, clients: None }, now);
    }

    /// What a new connection says that the client has seen already. `None`: nothing of the kind.
    pub(super) fn hide_repetition(
        &mut self,
        kind: &str,
        text: &str,
        now: Instant,
    ) -> Option<DialectStep> {
        match kind {
            "session.created" if self.earlier.created == SessionCreatedEvent::Repeated => {
                self.earlier.created = SessionCreatedEvent::Shown;
                let mut out = Vec::new();
                self.session_created(text, now, &mut out);
                Some(DialectStep::swallow().and(out))
            }
            "conversation.item.added" | "conversation.item.created" | "conversation.item.done" => {
                if !self.items.any_replayed() {
                    return None;
                }
                let event = Object::parse(text).ok()?;
                let item = event.object("item")?;
                let id = item.string("id")?;
                self.items.is_replayed(&id).then(DialectStep::swallow)
            }
            "conversation.created" if self.items.any_replayed() => Some(DialectStep::swallow()),
            _ => None,
        }
    }

    /// The client refers to an item of an earlier connection: answers in the provider's place.
    /// `None`: the provider can answer.
    pub(super) fn answer_for_earlier(
        &mut self,
        kind: &str,
        item_id: &str,
        message: &Object<'_>,
    ) -> Option<DialectStep> {
        let is_lost = self.items.is_lost(item_id);
        let is_told = self.items.is_replayed(item_id);
        let event_id = self.post.event_id();
        let answer = match kind {
            // Its audio is gone with the old connection.
            "conversation.item.truncate" if is_lost || is_told => {
                self.history.interrupt(item_id, None);
                let number = |key: &str| {
                    let value = message.get(key).map(|raw| raw.get());
                    value.and_then(|text| serde_json::from_str::<Value>(text).ok())
                };
                json!({
                    "type": "conversation.item.truncated", "event_id": event_id,
                    "item_id": item_id, "content_index": number("content_index"),
                    "audio_end_ms": number("audio_end_ms"),
                })
            }
            "conversation.item.delete" if is_lost => {
                self.history.remove(item_id);
                json!({
                    "type": "conversation.item.deleted", "event_id": event_id, "item_id": item_id,
                })
            }
            "conversation.item.retrieve" if is_lost => {
                let item = self.history.item(item_id)?;
                json!({
                    "type": "conversation.item.retrieved", "event_id": event_id, "item": item,
                })
            }
            _ => return None,
        };
        Some(DialectStep::swallow().and([DialectAction::ToClient(answer.to_string())]))
    }

    /// Remembers what another connection would have to be told of a message of the provider.
    pub(super) fn note_for_restart(&mut self, kind: &str, text: &str, fate: &MessageFate) {
        match fate {
            MessageFate::Swallow => {}
            MessageFate::Forward => self.open_responses.note(kind, text),
            MessageFate::Replace(shown) => self.open_responses.note(kind, shown),
        }
        match kind {
            "conversation.item.added"
            | "conversation.item.created"
            | "conversation.item.done"
            | "response.output_item.done" => self.note_item(text),
            "conversation.item.input_audio_transcription.completed"
            | "response.output_audio_transcript.done"
            | "response.output_text.done"
            | "response.audio_transcript.done"
            | "response.text.done" => self.note_words(text),
            "conversation.item.deleted" => {
                if let JsonPeek::Is(id) = json_peek::peek_string(text, "item_id") {
                    self.history.remove(id);
                }
            }
            "conversation.item.truncated" => {
                if let JsonPeek::Is(id) = json_peek::peek_string(text, "item_id") {
                    self.history.interrupt(id, None);
                }
            }
            "input_audio_buffer.speech_started" => self.caller_audio.start_speech(),
            "input_audio_buffer.cleared" => self.caller_audio.clear(),
            "input_audio_buffer.committed" => {
                if let JsonPeek::Is(id) = json_peek::peek_string(text, "item_id") {
                    self.caller_audio.commit(id);
                }
            }
            "response.created" => self.earlier.owes_answer = false,
            "response.done" => self.caller_audio.forget_item(None),
            _ => {}
        }
    }

    fn note_item(&mut self, text: &str) {
        let Ok(event) = Object::parse(text) else { return };
        let Some(item) = event.object("item") else { return };
        if let Some(id) = item.string("id").filter(|id| self.post.is_own_item(id)) {
            self.items.hide(&id);
        }
        let response = event.string("response_id").unwrap_or_default();
        // Words outside the conversation are not told again.
        if self.floor.aside(&response).is_none() && !self.floor.is_hidden(&response) {
            self.history.note(&item, event.string("previous_item_id").as_deref());
        }
    }

    fn note_words(&mut self, text: &str) {
        let Ok(event) = Object::parse(text) else { return };
        let Some(item) = event.string("item_id") else { return };
        let words = event.string("transcript").or_else(|| event.string("text"));
        if let Some(words) = words.filter(|words| !words.trim().is_empty()) {
            self.history.set_text(&item, &words);
            self.caller_audio.forget_item(Some(&item));
        }
    }

    /// Items that the gateway itself writes: not every server confirms them.
    pub(super) fn note_written(&mut self, actions: &[DialectAction]) {
        for action in actions {
            let DialectAction::ToProvider(text) = action else { continue };
            let kind = json_peek::peek_string(text, "type");
            if kind == JsonPeek::Is("conversation.item.create") {
                self.note_item(text);
            }
        }
    }
}

fn to_provider(text: String) -> DialectAction {
    DialectAction::ToProvider(text)
}
