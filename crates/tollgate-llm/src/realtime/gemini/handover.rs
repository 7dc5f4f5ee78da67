//! Continues a session that another protocol's state machine began, and hands one over. Part of the
//! Gemini state machine.

use std::time::Instant;

use serde_json::{Value, json};

use super::GeminiLive;
use super::config::GeminiSessionConfig;
use crate::realtime::audio::AudioFormat;
use crate::realtime::events::{DialectAction, SessionRestart};
use crate::realtime::handover::{
    HANDOVER_AUDIO, SessionHandover, Speaker, SpokenLine, convert_audio, decode_audio,
};
use crate::realtime::replay::ReplaySound;

/// What Gemini expects.
const INPUT_AUDIO: AudioFormat = AudioFormat::Pcm16 { rate: 16_000 };
/// Audio of one message: a second.
const AUDIO_CHUNK_BYTES: usize = 32_000;

impl GeminiLive {
    /// Ends for the client what was begun, and returns what another machine needs.
    pub(super) fn leave_session(&mut self, now: Instant) -> (SessionHandover, Vec<DialectAction>) {
        let settings = self.config.as_ref().map(GeminiSessionConfig::message);
        if self.link.is_fresh() {
            let early = Some(self.early.take());
            return (SessionHandover { settings, early, ..SessionHandover::default() }, Vec::new());
        }
        let was_answering = self.talk.is_open();
        let (calls, confirmed) = self.calls.hand_over();
        let mut actions = vec![DialectAction::Confirm(confirmed)];
        actions.extend(self.end_turn_for_client());
        self.history.note(&actions);
        for message in std::mem::take(&mut self.unsent) {
            self.history.note_result(&message);
        }
        for note in std::mem::take(&mut self.words) {
            self.history.push(Speaker::Caller, &note.text);
        }
        let waits = was_answering || self.history.last_speaker() == Some(Speaker::Caller);
        let (frames, _) = self.replay.take();
        let is_transcribed = self.config.as_ref().is_some_and(GeminiSessionConfig::has_transcripts);
        let owes_answer = waits && is_transcribed;
        // The caller's words are among the lines then.
        let audio = if owes_answer { Vec::new() } else { join_audio(&frames) };
        let handover = SessionHandover {
            settings,
            lines: self.history.lines().cloned().collect(),
            calls,
            client_calls: self.calls.unanswered_client_calls(now),
            audio,
            owes_answer,
            ..SessionHandover::default()
        };
        (handover, actions)
    }

    /// Begins on a connection of its own with what another machine has handed over.
    pub(super) fn continue_session(
        &mut self,
        handover: &SessionHandover,
        restart: &SessionRestart,
        now: Instant,
    ) -> Vec<DialectAction> {
        let settings = handover.settings.as_deref().unwrap_or_default();
        self.config = GeminiSessionConfig::of_message(settings);
        for SpokenLine { speaker, text } in &handover.lines {
            self.history.push(*speaker, text);
        }
        self.calls.take_over(handover, now);
        for chunk in
            convert_audio(&handover.audio, HANDOVER_AUDIO, INPUT_AUDIO).chunks(AUDIO_CHUNK_BYTES)
        {
            self.replay.push(&audio_message(chunk), ReplaySound::Loud, now);
        }
        self.link.restart();
        // Words that are not written down are answered when they are heard again.
        let is_known = handover.audio.is_empty() && self.history.last_speaker().is_some();
        self.open_again(restart, handover.owes_answer && is_known)
    }
}

fn audio_message(audio: &[u8]) -> String {
    let blob = json!({
        "mimeType": "audio/pcm;rate=16000",
        "data": base64::Engine::encode(&base64::engine::general_purpose::STANDARD, audio),
    });
    json!({"realtimeInput": {"audio": blob}}).to_string()
}

/// The audio in messages of a client, each at its own rate.
fn join_audio(messages: &[String]) -> Vec<u8> {
    let mut joined = Vec::new();
    let mut run = Vec::new();
    let mut format = INPUT_AUDIO;
    for message in messages {
        let message: Value = serde_json::from_str(message).unwrap_or_default();
        let input = message.get("realtimeInput").or_else(|| message.get("realtime_input"));
        let Some(blob) = input.and_then(|input| input.get("audio")) else { continue };
        let mime = blob.get("mimeType").or_else(|| blob.get("mime_type")).and_then(Value::as_str);
        let rate = mime.and_then(|mime| mime.split("rate=").nth(1)?.parse().ok());
        let its_format = rate.map_or(INPUT_AUDIO, |rate| AudioFormat::Pcm16 { rate });
        if its_format != format {
            joined.extend(convert_audio(&run, format, HANDOVER_AUDIO));
            run.clear();
            format = its_format;
        }
        run.extend(decode_audio(blob.get("data").and_then(Value::as_str).unwrap_or_default()));
    }
    joined.extend(convert_audio(&run, format, HANDOVER_AUDIO));
    joined
}
