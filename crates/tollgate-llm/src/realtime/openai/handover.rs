//! Continues a session that another protocol's state machine began, and hands one over. Part of the
//! OpenAI state machine.

use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use tollgate_core::json::{self, Object};

use super::{FirstProviderMessage, OpenAiRealtime};
use crate::realtime::audio::AudioFormat;
use crate::realtime::events::{DialectAction, SessionRestart, TurnEvent};
use crate::realtime::handover::{
    ClientToolCall, HANDOVER_AUDIO, SessionHandover, Speaker, SpokenLine, convert_audio,
    decode_audio,
};

/// Audio of one message: a second of PCM at 24 kHz.
const AUDIO_CHUNK_BYTES: usize = 48_000;

impl OpenAiRealtime {
    /// Ends for the client what was begun, and returns what another machine needs.
    pub(super) fn leave_session(&mut self) -> (SessionHandover, Vec<DialectAction>) {
        let mut actions = Vec::new();
        let owes_answer = self.owes_answer();
        self.end_for_client(&mut actions);
        if self.floor.has_open_turn() {
            actions.push(DialectAction::Turn(TurnEvent::Interrupted));
        }
        let (cut_off, due) = {
            let config = &self.config;
            self.calls.lose_responses(|name| config.is_read_only(name))
        };
        let is_ours = |id: &str| self.calls.knows(id);
        let client_calls = self.history.open_calls().filter(|call| !is_ours(&call.id)).collect();
        let items = &self.items;
        let mut lines = self.history.lines(|id| items.is_hidden(id));
        lines.extend(due.iter().map(|due| {
            let name = self.history.call_name(&due.call_id);
            SpokenLine::caller(super::history::describe_output(name, &due.outcome))
        }));
        let handover = SessionHandover {
            settings: Some(self.config.client_settings().to_string()),
            early: None,
            lines,
            items: self.history.tell(usize::MAX, None),
            calls: self.calls.unanswered_calls(),
            cut_off,
            client_calls,
            audio: self.collect_untranscribed_audio(),
            owes_answer,
        };
        (handover, actions)
    }

    /// Begins on a connection of its own with what another machine has handed over.
    pub(in crate::realtime) fn continue_session(
        &mut self,
        handover: &SessionHandover,
        restart: &SessionRestart,
        now: Instant,
    ) -> Vec<DialectAction> {
        // There is no first message to tell the ids of this connection from those of others.
        self.first = FirstProviderMessage::Seen;
        self.post.season(&rand::random::<u64>().to_string());
        let settings = handover.settings.as_deref().and_then(|text| json::value(text).ok());
        if let Some(Value::Object(session)) = settings.as_ref().and_then(|it| it.get("session")) {
            self.config.take_settings(session);
        }
        for SpokenLine { speaker, text } in &handover.lines {
            let (role, kind) = match speaker {
                Speaker::Caller => ("user", "input_text"),
                Speaker::Model => ("assistant", "output_text"),
            };
            let content = json!([{ "type": kind, "text": text }]);
            self.remember(&json!({ "type": "message", "role": role, "content": content }));
        }
        for ClientToolCall { id, name, arguments } in &handover.client_calls {
            self.remember(&json!({
                "type": "function_call", "call_id": id, "name": name, "arguments": arguments,
            }));
        }
        for id in handover.items.iter().filter_map(|item| item["id"].as_str()) {
            self.items.lose(id);
        }
        self.calls.take_over(&handover.calls);
        let audio = convert_audio(&handover.audio, HANDOVER_AUDIO, self.config.input_format());
        if !audio.is_empty() {
            self.caller_audio.start_speech();
        }
        for chunk in audio.chunks(AUDIO_CHUNK_BYTES) {
            self.caller_audio.push(&STANDARD.encode(chunk), self.config.detects_turns());
        }
        // Words that are not written down are answered when they are heard again.
        self.earlier.owes_answer = handover.owes_answer && audio.is_empty();
        self.begin_again(restart, now)
    }

    /// The settings of a client that speaks another protocol.
    pub(in crate::realtime) fn adopt_settings(&mut self, session: &Map<String, Value>) {
        self.config.take_settings(session);
    }

    /// Adds an item that no connection has had.
    fn remember(&mut self, item: &Value) {
        let mut item = item.clone();
        let id = self.post.new_item_id();
        self.items.hide(&id);
        item["id"] = id.into();
        let text = item.to_string();
        if let Ok(item) = Object::parse(&text) {
            self.history.note(&item, None);
        }
    }

    /// What the caller said, and is saying, that no transcript has.
    fn collect_untranscribed_audio(&self) -> Vec<u8> {
        let last = self.caller_audio.last_utterance();
        let last = last.filter(|(item, _)| !self.history.has_text(item));
        let mut audio = last.map(|(_, audio)| decode_audio(&audio)).unwrap_or_default();
        audio.extend(self.caller_audio.running_utterance());
        convert_audio(&audio, self.config.input_format(), HANDOVER_AUDIO)
    }
}

/// The format of a client's audio, as its session names it.
pub(super) fn audio_format(session: &Map<String, Value>) -> AudioFormat {
    let format = session.get("audio").and_then(|audio| audio.get("input")?.get("format"));
    match format.and_then(|format| format.get("type")?.as_str()) {
        Some("audio/pcmu") => AudioFormat::MuLaw,
        Some("audio/pcma") => AudioFormat::ALaw,
        _ => HANDOVER_AUDIO,
    }
}
