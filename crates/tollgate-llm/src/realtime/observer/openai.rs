//! OpenAI Realtime, also as a second connection to a call.

use std::time::Duration;

use serde_json::Value;

use super::audio::AudioFormat;
use super::{Observation, SessionObserver, SpeechEvent, UsedModel, openai_tokens, parse};
use crate::realtime::events::RealtimeFrame;
use crate::realtime::json_peek;

/// A longer wait is no wait for the end of an utterance: the clocks differ.
const MAX_HANGOVER: Duration = Duration::from_secs(5);
/// Where a provider does not name the model that transcribes.
const TRANSCRIBER: &str = "transcription";

#[derive(Debug, Default)]
pub(super) struct OpenAiObserver {
    input: AudioFormat,
    output: AudioFormat,
    /// As the provider has confirmed it: a client could name anything.
    transcriber: Option<String>,
    /// Audio of the client so far: the provider's timestamps count it.
    sent: Duration,
}

/// The two fields of a message that are needed of most messages.
#[derive(Default)]
struct MessageFields<'a> {
    kind: &'a str,
    /// Base64 text.
    audio: &'a str,
}

fn fields<'a>(text: &'a str, audio_key: &str) -> MessageFields<'a> {
    let mut fields = MessageFields::default();
    json_peek::for_each_field(text, |key, value| {
        if key == "type" {
            fields.kind = value.trim_matches('"');
        } else if key == audio_key {
            fields.audio = value.trim_matches('"');
        }
        true
    });
    fields
}

impl SessionObserver for OpenAiObserver {
    fn on_client_message(&mut self, frame: RealtimeFrame<'_>) -> Observation {
        let RealtimeFrame::Text(text) = frame else { return Observation::default() };
        let MessageFields { kind, audio } = fields(text, "audio");
        match kind {
            "input_audio_buffer.append" => {
                let audio = self.input.length_of_base64(audio);
                self.sent += audio;
                Observation::of_audio(audio)
            }
            "input_audio_buffer.commit" => {
                Observation::of_speech(SpeechEvent::CallerEnded { hangover: None })
            }
            "response.create" => Observation::of_speech(SpeechEvent::ResponseRequested),
            _ => Observation::default(),
        }
    }

    fn on_provider_message(&mut self, frame: RealtimeFrame<'_>) -> Observation {
        let RealtimeFrame::Text(text) = frame else { return Observation::default() };
        let MessageFields { kind, audio } = fields(text, "delta");
        match kind {
            "response.output_audio.delta" | "response.audio.delta" => {
                Observation::of_audio(self.output.length_of_base64(audio))
            }
            "session.created" | "session.updated" => {
                self.read_session(&parse(text)["session"]);
                Observation::default()
            }
            "input_audio_buffer.speech_started" => Observation::of_speech(SpeechEvent::CallerBegan),
            "input_audio_buffer.speech_stopped" => Observation::of_speech(self.end_of_speech(text)),
            "response.created" => Observation::of_speech(SpeechEvent::ResponseBegan),
            "response.done" => {
                let tokens = openai_tokens(&parse(text)["response"]["usage"]);
                Observation::of_speech(SpeechEvent::ResponseEnded)
                    .with_usage(UsedModel::OfSession, tokens)
            }
            "output_audio_buffer.started" => Observation::of_speech(SpeechEvent::AgentHeard),
            "conversation.item.input_audio_transcription.completed" => {
                self.transcription_usage(&parse(text)["usage"])
            }
            _ => Observation::default(),
        }
    }
}

impl OpenAiObserver {
    fn read_session(&mut self, session: &Value) {
        let format = |now: &str, before: &str| {
            let format = session.pointer(now).or_else(|| session.get(before));
            format.filter(|it| !it.is_null()).map(AudioFormat::of_openai)
        };
        if let Some(input) = format("/audio/input/format", "input_audio_format") {
            self.input = input;
        }
        if let Some(output) = format("/audio/output/format", "output_audio_format") {
            self.output = output;
        }
        let transcription = session.pointer("/audio/input/transcription");
        let transcription = transcription.or_else(|| session.get("input_audio_transcription"));
        if let Some(model) = transcription.and_then(|it| it["model"].as_str()) {
            self.transcriber = Some(model.to_owned());
        }
    }

    /// The provider says where in the audio the speech ended, after it has waited for more.
    fn end_of_speech(&self, text: &str) -> SpeechEvent {
        let end = parse(text)["audio_end_ms"].as_u64().map(Duration::from_millis);
        let hangover = end.and_then(|end| self.sent.checked_sub(end));
        SpeechEvent::CallerEnded { hangover: hangover.filter(|it| *it <= MAX_HANGOVER) }
    }

    /// Some providers transcribe for nothing, and count nothing.
    fn transcription_usage(&self, usage: &Value) -> Observation {
        if usage.is_null() {
            return Observation::default();
        }
        let model = self.transcriber.as_deref().unwrap_or(TRANSCRIBER).to_owned();
        Observation::default().with_usage(UsedModel::Other(model), openai_tokens(usage))
    }
}
