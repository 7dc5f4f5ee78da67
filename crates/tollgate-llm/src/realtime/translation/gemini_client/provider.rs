//! Handles OpenAI's events: writes what they mean as messages of Gemini's protocol.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::super::usage;
use super::setup::{BargeIn, Speaker};
use super::{GeminiClient, MAX_CALLS, MAX_PLAYBACK, MODEL_AUDIO, SetupStage, TurnStage};
use crate::realtime::tier_request::TIER_MESSAGE_TYPE;

/// Errors about an event that came too late, as every client of OpenAI sees them now and then.
const RACES: [&str; 2] = ["response_cancel_not_active", "input_audio_buffer_commit_empty"];

impl GeminiClient {
    pub(super) fn read_event(&mut self, event: &Value, now: Instant) {
        match text(event, "type") {
            "session.updated" if matches!(self.stage, SetupStage::Sent(_)) => {
                self.stage = SetupStage::Ready;
                self.outgoing.push(json!({"setupComplete": {}}));
            }
            "error" => self.read_error(event),
            "input_audio_buffer.speech_started" => self.interrupt_playback(),
            "conversation.item.input_audio_transcription.delta" => {
                self.transcribed = Some(text(event, "item_id").to_owned());
                self.tell_caller_words(text(event, "delta"));
            }
            "conversation.item.input_audio_transcription.completed" => {
                self.finish_transcript(event);
            }
            "response.created" => self.begin_response(event),
            "response.output_audio.delta" => self.speak(text(event, "delta"), now),
            "response.output_audio_transcript.delta" => {
                let words = text(event, "delta");
                if self.setup.transcripts.contains(&Speaker::Model) && !words.is_empty() {
                    self.tell_content("outputTranscription", json!({"text": words}));
                }
            }
            "response.output_text.delta" => {
                self.begin_content();
                let part = json!({"text": text(event, "delta")});
                self.tell_content("modelTurn", json!({"role": "model", "parts": [part]}));
            }
            "response.done" => {
                if let Some(response) = event.get("response") {
                    self.end_response(response);
                }
            }
            TIER_MESSAGE_TYPE => {
                let tier = json!({"tier": event.get("tier"), "reason": event.get("reason")});
                self.outgoing.push(json!({"tollgate": tier}));
            }
            _ => {}
        }
    }

    /// The model stops an answer by itself; one that is only played has ended there.
    fn interrupt_playback(&mut self) {
        if self.turn.stage == TurnStage::Playing && self.setup.barge_in == BargeIn::Interrupts {
            self.interrupt_turn();
        }
    }

    /// The whole transcript, if the client does not have its words already.
    fn finish_transcript(&mut self, event: &Value) {
        if self.transcribed.take().as_deref() != Some(text(event, "item_id")) {
            self.tell_caller_words(text(event, "transcript"));
        }
    }

    fn tell_caller_words(&mut self, words: &str) {
        if self.setup.transcripts.contains(&Speaker::Caller) && !words.is_empty() {
            self.tell_content("inputTranscription", json!({"text": words}));
        }
    }

    fn read_error(&mut self, event: &Value) {
        let error = event.get("error").cloned().unwrap_or_default();
        let message = text(&error, "message");
        let of = text(&error, "event_id");
        let is_setup = matches!(&self.stage, SetupStage::Sent(id) if id == of);
        if is_setup || self.stage == SetupStage::Awaited {
            self.end(1007, message);
            return;
        }
        if RACES.contains(&text(&error, "code")) {
            return;
        }
        if self.request.requested.as_deref() == Some(of) {
            self.request.requested = None;
            if text(&error, "code") == "conversation_already_has_active_response" {
                // The model has begun by itself; it may not have seen what this is about.
                self.request.is_wanted = !self.responses.is_empty();
                return;
            }
            self.finish_turn();
        }
        let code = if text(&error, "type") == "server_error" { 500 } else { 400 };
        self.tell_error(code, message);
    }

    fn begin_response(&mut self, event: &Value) {
        let id = event.pointer("/response/id").and_then(Value::as_str).unwrap_or_default();
        self.responses.insert(id.to_owned());
        self.request.requested = None;
        self.begin_content();
        if self.request.is_wanted {
            // The client has gone on since this one was requested.
            self.send("response.cancel", json!({}));
        }
    }

    /// A turn that is only played ends before the next one begins.
    fn begin_content(&mut self) {
        if self.turn.stage == TurnStage::Playing {
            self.complete_turn();
        }
        self.turn.stage = TurnStage::Open;
    }

    fn speak(&mut self, data: &str, now: Instant) {
        let bytes = STANDARD.decode(data).map_or(0, |audio| audio.len() as u64);
        if bytes == 0 {
            return;
        }
        self.begin_content();
        let length = Duration::from_millis(MODEL_AUDIO.millis(bytes));
        let from = self.turn.played.unwrap_or(now).max(now);
        self.turn.played = Some((from + length).min(now + MAX_PLAYBACK));
        let blob = json!({"mimeType": "audio/pcm;rate=24000", "data": data});
        let part = json!({"inlineData": blob});
        self.tell_content("modelTurn", json!({"role": "model", "parts": [part]}));
    }

    fn end_response(&mut self, response: &Value) {
        self.responses.remove(text(response, "id"));
        if let Some(usage) = response.get("usage").and_then(usage::to_gemini) {
            self.outgoing.push(json!({"usageMetadata": usage}));
        }
        match text(response, "status") {
            "cancelled" => {
                // Only this answer ends: the client's next input is answered in another turn.
                self.interrupt_turn();
            }
            "failed" => {
                let error = response.pointer("/status_details/error");
                let why = error.and_then(|error| error.get("message")?.as_str());
                self.tell_error(500, why.unwrap_or("the model could not answer"));
                self.finish_turn();
            }
            _ => {
                self.tell_calls(response);
                if self.turn.stage == TurnStage::Open {
                    self.turn.stage = TurnStage::Finishing;
                }
            }
        }
        if self.responses.is_empty() && std::mem::take(&mut self.request.is_wanted) {
            self.want_response();
        }
    }

    /// Nothing more comes in this turn.
    fn finish_turn(&mut self) {
        if self.turn.stage == TurnStage::Playing {
            self.complete_turn();
            return;
        }
        self.turn.played = None;
        self.turn.stage = TurnStage::Finishing;
    }

    /// The client's functions that a response has called, all at once.
    fn tell_calls(&mut self, response: &Value) {
        let mut made = Vec::new();
        let output = response.get("output").and_then(Value::as_array);
        for item in output.into_iter().flatten() {
            if text(item, "type") != "function_call" || text(item, "status") == "incomplete" {
                continue;
            }
            let arguments: Map<String, Value> =
                serde_json::from_str(text(item, "arguments")).unwrap_or_default();
            let id = text(item, "call_id");
            let (name, arguments) = self.functions.call(text(item, "name"), arguments);
            if self.calls.len() < MAX_CALLS {
                self.calls.insert(id.to_owned(), name.clone());
            }
            made.push(json!({"id": id, "name": name, "args": arguments}));
        }
        if !made.is_empty() {
            self.outgoing.push(json!({"toolCall": {"functionCalls": made}}));
        }
    }
}

/// A text field; empty if it is missing.
fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
