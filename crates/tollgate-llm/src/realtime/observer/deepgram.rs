//! Deepgram Voice Agent: audio in binary frames, and no usage at all.

use super::audio::AudioFormat;
use super::{Observation, SessionObserver, SpeechEvent, parse};
use crate::realtime::events::RealtimeFrame;
use crate::realtime::json_peek::{self, JsonPeek};

/// Without other settings.
const USUAL_RATE: u64 = 24_000;

#[derive(Debug, Default)]
pub(super) struct DeepgramObserver {
    input: AudioFormat,
    output: AudioFormat,
}

impl SessionObserver for DeepgramObserver {
    fn on_client_message(&mut self, frame: RealtimeFrame<'_>) -> Observation {
        let text = match frame {
            RealtimeFrame::Binary(audio) => {
                return Observation::of_audio(self.input.length(audio.len()));
            }
            RealtimeFrame::Text(text) => text,
        };
        match json_peek::peek_string(text, "type") {
            JsonPeek::Is("Settings") => {
                let settings = parse(text);
                let audio = &settings["audio"];
                self.input = AudioFormat::of_deepgram(&audio["input"], USUAL_RATE);
                self.output = AudioFormat::of_deepgram(&audio["output"], USUAL_RATE);
                Observation::default()
            }
            JsonPeek::Is("InjectUserMessage") => {
                Observation::of_speech(SpeechEvent::ResponseRequested)
            }
            JsonPeek::Is(_) | JsonPeek::Missing | JsonPeek::Unclear => Observation::default(),
        }
    }

    fn on_provider_message(&mut self, frame: RealtimeFrame<'_>) -> Observation {
        let text = match frame {
            RealtimeFrame::Binary(audio) => {
                return Observation::of_audio(self.output.length(audio.len()));
            }
            RealtimeFrame::Text(text) => text,
        };
        match json_peek::peek_string(text, "type") {
            JsonPeek::Is("UserStartedSpeaking") => Observation::of_speech(SpeechEvent::CallerBegan),
            // What the caller said is complete.
            JsonPeek::Is("ConversationText") if parse(text)["role"] == "user" => {
                Observation::of_speech(SpeechEvent::CallerEnded { hangover: None })
            }
            JsonPeek::Is(_) | JsonPeek::Missing | JsonPeek::Unclear => Observation::default(),
        }
    }
}
