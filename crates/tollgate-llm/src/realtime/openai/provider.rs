//! Handles provider messages other than responses: the session, the caller's transcripts,
//! conversation items, errors. Hides our part from the client.

use std::time::Instant;

use serde_json::Value;
use tollgate_core::json::{self, Object};

use super::OpenAiRealtime;
use super::config::{ConnectionRole, SessionUpdateEcho};
use super::deep_turns::send_behind;
use super::deliver::ErrorVisibility;
use super::floor::{OpenAiCaller, Playback, ResponseVisibility};
use super::items::ItemPosition;
use super::speech_queue::DeepAnswer;
use crate::realtime::events::{DialectAction, DialectStep, MessageFate, UtteranceStage};
use crate::realtime::json_peek::{self, JsonPeek};

/// Maximum bytes of one utterance; longer ones are not speech.
const MAX_UTTERANCE_BYTES: usize = 64 << 10;
/// Utterances with an unfinished transcript.
const MAX_OPEN_UTTERANCES: usize = 64;

impl OpenAiRealtime {
    pub(super) fn provider_says(&mut self, kind: &str, text: &str, now: Instant) -> DialectStep {
        let mut out = Vec::new();
        let fate = match kind {
            "response.created" => self.response_created(text, now, &mut out),
            "response.done" => self.response_done(text, now, &mut out),
            "response.output_item.added" => self.item_began(text),
            "response.output_item.done" => self.item_done(text, &mut out),
            "response.function_call_arguments.delta" | "response.function_call_arguments.done" => {
                self.arguments(text)
            }
            "response.output_audio_transcript.done"
            | "response.output_text.done"
            | "response.audio_transcript.done"
            | "response.text.done" => self.read_spoken_text(text, &mut out),
            kind if kind.starts_with("response.") => self.of_response(text),
            "conversation.item.added" | "conversation.item.created" => {
                self.item_added(text, &mut out)
            }
            "conversation.item.done" | "conversation.item.retrieved" => self.on_injected_item(text),
            "conversation.item.deleted" | "conversation.item.truncated" => {
                self.item_changed(kind, text)
            }
            "conversation.item.input_audio_transcription.delta"
            | "conversation.item.input_audio_transcription.completed"
            | "conversation.item.input_audio_transcription.failed" => {
                self.read_transcription(kind, text, now, &mut out);
                MessageFate::Forward
            }
            "input_audio_buffer.speech_started"
            | "input_audio_buffer.speech_stopped"
            | "input_audio_buffer.cleared" => {
                self.caller_speaks(kind, text, now, &mut out);
                MessageFate::Forward
            }
            "input_audio_buffer.committed" => self.commit_input(text, now, &mut out),
            "output_audio_buffer.started" => self.playback(Playback::Playing),
            "output_audio_buffer.stopped" | "output_audio_buffer.cleared" => {
                self.playback(Playback::Silent)
            }
            "session.created" => self.session_created(text, now, &mut out),
            "session.updated" => self.session_updated(text, now, &mut out),
            "error" => self.error(text, now, &mut out),
            _ => MessageFate::Forward,
        };
        self.withhold(kind, text, DialectStep { fate, actions: out })
    }

    pub(super) fn session_created(
        &mut self,
        text: &str,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) -> MessageFate {
        if let Ok(message) = Object::parse(text)
            && let Some(session) = message.get("session")
            && let Ok(Value::Object(session)) = json::value(session.get())
        {
            self.config.on_session_created(&session, now);
            if let Some(expires_at) = session.get("expires_at").and_then(Value::as_u64)
                && self.config.role() == ConnectionRole::Holder
            {
                self.expiry.begin(expires_at, now);
            }
            self.declare_hold(out);
        }
        MessageFate::Forward
    }

    fn session_updated(
        &mut self,
        text: &str,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) -> MessageFate {
        let Ok(message) = Object::parse(text) else { return MessageFate::Forward };
        let echo = self.config.on_session_updated(message, now);
        if !self.config.is_declared() {
            out.extend(self.config.declare(&mut self.post, now).map(DialectAction::ToProvider));
        }
        self.declare_due(now, out);
        self.declare_hold(out);
        match echo {
            SessionUpdateEcho::Nothing => MessageFate::Swallow,
            SessionUpdateEcho::AsItIs => MessageFate::Forward,
            SessionUpdateEcho::Instead(text) => MessageFate::Replace(text),
        }
    }

    fn error(&mut self, text: &str, now: Instant, out: &mut Vec<DialectAction>) -> MessageFate {
        let Ok(mut message) = Object::parse(text) else { return MessageFate::Forward };
        let Some(mut error) = message.object("error").map(Object::into_owned) else {
            return MessageFate::Forward;
        };
        let owes = self.owes_answer();
        let fate = match self.handle_refusal(&error, now, out) {
            ErrorVisibility::Not => MessageFate::Swallow,
            ErrorVisibility::AsItIs => MessageFate::Forward,
            ErrorVisibility::Unnamed => {
                error.set("event_id", json::raw_value(&Value::Null));
                message.set("error", error.to_raw());
                MessageFate::Replace(message.to_text())
            }
        };
        self.replace_after_error(&error, fate, text, owes, out)
    }

    // === the caller ===

    fn caller_speaks(
        &mut self,
        kind: &str,
        text: &str,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) {
        if kind != "input_audio_buffer.speech_started" {
            self.floor.set_caller(OpenAiCaller::Silent);
            if kind == "input_audio_buffer.speech_stopped" && self.provider_asks() {
                // The utterance is committed next, and usually answered.
                self.speech_queue.give_way(now);
            }
            self.settle(now, out);
            return;
        }
        self.floor.set_caller(OpenAiCaller::Speaking);
        self.question.speech_begins(item_id(text));
        // The provider's turn detection only cancels responses in the conversation.
        if let Some(ours) = self.floor.our_aside().map(str::to_owned)
            && self.config.turn_detection.interrupts()
        {
            out.push(DialectAction::ToProvider(self.post.cancel(&ours)));
        }
    }

    /// Whether the provider requests a response to each utterance by itself.
    fn provider_asks(&self) -> bool {
        self.config.turn_detection.provider_asks()
    }

    fn commit_input(
        &mut self,
        text: &str,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) -> MessageFate {
        self.floor.set_caller(OpenAiCaller::Silent);
        // The answer to the utterance before: the caller speaks behind it.
        let before = self.take_withheld();
        if self.calls.any_waiting() || self.speech_queue.deep != DeepAnswer::No {
            self.barge_in(out);
        }
        self.speech_queue.drop_all();
        if self.speech_queue.held.is_some() && self.provider_asks() {
            // Turn detection usually triggers a response by itself.
            self.speech_queue.give_way(now);
        }
        out.extend(self.floor.turn_taken().into_iter().map(DialectAction::Turn));
        self.begin_question(item_id(text), now, out);
        self.settle(now, out);
        let fate = self.without_hidden_neighbour(text);
        send_behind(before, fate, text, out)
    }

    fn read_transcription(
        &mut self,
        kind: &str,
        text: &str,
        now: Instant,
        out: &mut Vec<DialectAction>,
    ) {
        let Ok(message) = Object::parse(text) else { return };
        let Some(item) = message.string("item_id") else { return };
        self.config.turn_detection.note_transcript();
        if self.concluded.contains(&item) {
            // Sent twice, or too late: it was decided by the part that there was.
            return;
        }
        if kind.ends_with("failed") {
            let step = self.question.lose_transcript(&item);
            self.take_step(step, now, out);
            self.transcripts.remove(&*item);
            return;
        }
        let before = self.transcripts.remove(&*item);
        if let Some(transcript) =
            message.string("transcript").filter(|_| kind.ends_with("completed"))
        {
            self.concluded.insert(&item);
            self.question.hear(&item, UtteranceStage::Final, now);
            out.push(DialectAction::CallerSpeech {
                text: transcript.into_owned(),
                form: UtteranceStage::Final,
            });
        } else if let Some(delta) = message.string("delta") {
            let text = before.unwrap_or_default() + &delta;
            if self.transcripts.len() == MAX_OPEN_UTTERANCES {
                // Their ends never arrived.
                self.transcripts.clear();
            }
            self.question.hear(&item, UtteranceStage::Partial, now);
            if text.len() <= MAX_UTTERANCE_BYTES {
                self.transcripts.insert(item.into_owned(), text.clone());
            }
            out.push(DialectAction::CallerSpeech { text, form: UtteranceStage::Partial });
        }
    }

    fn playback(&mut self, playback: Playback) -> MessageFate {
        self.floor.set_playback(playback);
        MessageFate::Forward
    }

    // === items of the conversation ===

    fn item_added(&mut self, text: &str, out: &mut Vec<DialectAction>) -> MessageFate {
        let Ok(message) = Object::parse(text) else { return MessageFate::Forward };
        let Some(item) = message.object("item") else { return MessageFate::Forward };
        let Some(id) = item.string("id") else { return MessageFate::Forward };
        let previous = message.string("previous_item_id");
        let place = match (&previous, message.contains("previous_item_id")) {
            (Some(before), _) => ItemPosition::After(before),
            (None, true) => ItemPosition::First,
            (None, false) => ItemPosition::Last,
        };
        self.items.put(&id, place);
        self.speech_queue.confirms();
        if let Some(call_id) = item.string("call_id").filter(|id| self.calls.knows(id))
            && item.string("type").as_deref() == Some("function_call_output")
        {
            self.speech_queue.confirm_answer(&call_id);
            self.late_results.confirm(&call_id);
            let still_runs = if self.post.is_of_another_side(&id) {
                self.calls.mark_answered(&call_id)
            } else {
                self.calls.note_output(&call_id)
            };
            if still_runs {
                out.push(DialectAction::Cancel(call_id.into_owned()));
            }
        }
        if self.is_ours(&item) {
            self.items.hide(&id);
            return MessageFate::Swallow;
        }
        if let Some(active) = self.floor.active_mut()
            && active.sight == ResponseVisibility::Withheld
            && item.string("role").as_deref() == Some("assistant")
        {
            active.note_item(&id);
        }
        self.without_hidden_neighbour(text)
    }

    fn on_injected_item(&mut self, text: &str) -> MessageFate {
        let Ok(message) = Object::parse(text) else { return MessageFate::Forward };
        let Some(item) = message.object("item") else { return MessageFate::Forward };
        let is_hidden = item.string("id").is_some_and(|id| self.items.is_hidden(&id));
        if is_hidden || self.is_ours(&item) {
            return MessageFate::Swallow;
        }
        self.without_hidden_neighbour(text)
    }

    fn item_changed(&mut self, kind: &str, text: &str) -> MessageFate {
        let JsonPeek::Is(id) = json_peek::peek_string(text, "item_id") else {
            return MessageFate::Forward;
        };
        let is_hidden = self.items.is_hidden(id);
        if kind == "conversation.item.deleted" {
            self.items.remove(id);
        }
        if is_hidden { MessageFate::Swallow } else { MessageFate::Forward }
    }

    /// A call that the client does not know, its answer, or an item of a hidden response.
    pub(super) fn is_ours(&self, item: &Object<'_>) -> bool {
        let call_id = item.string("call_id").unwrap_or_default();
        if self.calls.knows(&call_id) {
            return true;
        }
        let id = item.string("id").unwrap_or_default();
        match item.string("type").as_deref() {
            Some("function_call") => {
                let is_written = self.written.contains(&call_id) || self.written.contains(&id);
                let name = item.string("name").unwrap_or_default();
                !is_written && !self.config.is_clients(&name)
            }
            Some("message") if item.string("role").as_deref() == Some("system") => {
                let content = item.get("content").and_then(|it| json::value(it.get()).ok());
                let text = content.as_ref().and_then(|it| it.pointer("/0/text")?.as_str());
                text.is_some_and(|text| self.notes.contains(text))
            }
            Some("message") => {
                self.floor.hidden_response().is_some()
                    && item.string("role").as_deref() == Some("assistant")
            }
            _ => false,
        }
    }

    /// Messages to the client must not refer to hidden items.
    fn without_hidden_neighbour(&self, text: &str) -> MessageFate {
        if self.items.none_hidden() {
            return MessageFate::Forward;
        }
        let Ok(mut message) = Object::parse(text) else { return MessageFate::Forward };
        let Some(before) = message.string("previous_item_id").map(String::from) else {
            return MessageFate::Forward;
        };
        let seen = self.items.seen_at_or_before(&before);
        if seen == Some(&*before) {
            return MessageFate::Forward;
        }
        message.set("previous_item_id", json::raw_value(&seen.map_or(Value::Null, Value::from)));
        MessageFate::Replace(message.to_text())
    }
}

fn item_id(text: &str) -> Option<&str> {
    match json_peek::peek_string(text, "item_id") {
        JsonPeek::Is(item) => Some(item),
        JsonPeek::Missing | JsonPeek::Unclear => None,
    }
}
