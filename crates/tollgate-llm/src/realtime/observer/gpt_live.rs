//! GPT-Live. The voice is charged by the clock; the model behind it by its tokens.

use serde_json::Value;

use super::audio::AudioFormat;
use super::{Observation, SessionObserver, SpeechEvent, UsedModel, openai_tokens, parse};
use crate::realtime::events::RealtimeFrame;
use crate::realtime::json_peek;

/// Where a provider does not name the model behind the voice.
const BACKEND: &str = "delegation";

#[derive(Debug, Default)]
pub(super) struct GptLiveObserver {
    input: AudioFormat,
    output: AudioFormat,
    backend: Option<String>,
}

impl SessionObserver for GptLiveObserver {
    fn on_client_message(&mut self, frame: RealtimeFrame<'_>) -> Observation {
        let RealtimeFrame::Text(text) = frame else { return Observation::default() };
        match audio_of(text, "audio") {
            ("session.input_audio.append", audio) => {
                Observation::of_audio(self.input.length_of_base64(audio))
            }
            _ => Observation::default(),
        }
    }

    fn on_provider_message(&mut self, frame: RealtimeFrame<'_>) -> Observation {
        let RealtimeFrame::Text(text) = frame else { return Observation::default() };
        match audio_of(text, "delta") {
            ("session.output_audio.delta", audio) => {
                Observation::of_audio(self.output.length_of_base64(audio))
            }
            ("session.input_transcript.delta", _) => {
                Observation::of_speech(SpeechEvent::CallerSounds)
            }
            ("session.started" | "session.updated", _) => {
                self.read_session(&parse(text)["session"]);
                Observation::default()
            }
            ("response.event", _) => self.backend_event(&parse(text)["event"]),
            _ => Observation::default(),
        }
    }
}

impl GptLiveObserver {
    fn read_session(&mut self, session: &Value) {
        if let Some(format) = session.pointer("/audio/input/format") {
            self.input = AudioFormat::of_openai(format);
        }
        if let Some(format) = session.pointer("/audio/output/format") {
            self.output = AudioFormat::of_openai(format);
        }
        let backend = session.pointer("/delegation/responses/model").and_then(Value::as_str);
        if let Some(backend) = backend {
            self.backend = Some(backend.to_owned());
        }
    }

    fn backend_event(&self, event: &Value) -> Observation {
        let usage = &event["response"]["usage"];
        let ends = ["response.completed", "response.incomplete", "response.failed"];
        if usage.is_null() || !ends.iter().any(|end| event["type"] == *end) {
            return Observation::default();
        }
        let named = event["response"]["model"].as_str().or(self.backend.as_deref());
        let model = UsedModel::Other(named.unwrap_or(BACKEND).to_owned());
        Observation::default().with_usage(model, openai_tokens(usage))
    }
}

/// The type of a message, and the base64 text under this key.
fn audio_of<'a>(text: &'a str, audio_key: &str) -> (&'a str, &'a str) {
    let mut kind = "";
    let mut audio = "";
    json_peek::for_each_field(text, |key, value| {
        if key == "type" {
            kind = value.trim_matches('"');
        } else if key == audio_key {
            audio = value.trim_matches('"');
        }
        true
    });
    (kind, audio)
}
