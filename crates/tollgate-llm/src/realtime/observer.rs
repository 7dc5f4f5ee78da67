//! Reads the messages of a session for the operator: how much audio passes, what the provider
//! counted, and who speaks. Called by the session for every message; it changes none of them.

use std::time::Duration;

use serde_json::Value;
use tollgate_core::json;
use tollgate_core::model_usage::SpeechTotals;
use tollgate_engine::model_usage::{ModelTokens, SessionCharge};

use super::events::RealtimeFrame;
use super::protocol::RealtimeProtocol;

mod audio;
mod deepgram;
mod gemini;
mod gpt_live;
mod openai;

/// What one message tells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Observation {
    /// Length of the audio in it.
    pub(super) audio: Duration,
    pub(super) usage: Option<ObservedUsage>,
    pub(super) speech: Option<SpeechEvent>,
}

/// What the provider counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ObservedUsage {
    pub(super) model: UsedModel,
    pub(super) charge: SessionCharge,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UsedModel {
    OfSession,
    /// By its provider's name: it transcribes, or thinks for a voice.
    Other(String),
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpeechEvent {
    CallerBegan,
    CallerEnded {
        /// How long the provider waited to be sure of it, if it says so.
        hangover: Option<Duration>,
    },
    /// A sound or a word, where the protocol does not say when the caller ends.
    CallerSounds,
    /// The client asks for an answer, with or without speech before.
    ResponseRequested,
    ResponseBegan,
    ResponseEnded,
    /// The agent is heard, by audio that does not pass here.
    AgentHeard,
}

/// Reads one protocol.
pub(super) trait SessionObserver: Send {
    fn on_client_message(&mut self, frame: RealtimeFrame<'_>) -> Observation;

    fn on_provider_message(&mut self, frame: RealtimeFrame<'_>) -> Observation;
}

impl RealtimeProtocol {
    pub(super) fn observer(self) -> Box<dyn SessionObserver> {
        match self {
            Self::OpenAi | Self::OpenAiSideband => Box::new(openai::OpenAiObserver::default()),
            Self::GptLive => Box::new(gpt_live::GptLiveObserver::default()),
            Self::Gemini => Box::new(gemini::GeminiObserver),
            Self::Deepgram => Box::new(deepgram::DeepgramObserver::default()),
        }
    }

    /// Whether the provider counts nothing per turn, so that each turn is a request.
    pub(super) fn is_metered_by_clock(self) -> bool {
        matches!(self, Self::GptLive | Self::Deepgram)
    }
}

impl Observation {
    fn of_audio(audio: Duration) -> Self {
        Self { audio, ..Self::default() }
    }

    fn of_speech(event: SpeechEvent) -> Self {
        Self { speech: Some(event), ..Self::default() }
    }

    fn with_usage(self, model: UsedModel, tokens: ModelTokens) -> Self {
        let charge = SessionCharge { requests: 1, tokens };
        Self { usage: Some(ObservedUsage { model, charge }), ..self }
    }
}

/// The message, if it is JSON.
fn parse(text: &str) -> Value {
    json::value(text).unwrap_or_default()
}

/// OpenAI's `usage`: of Realtime, of the Responses API, or of a transcription. Anything that is not
/// a number counts as nothing.
fn openai_tokens(usage: &Value) -> ModelTokens {
    let count = |paths: &[&str]| {
        paths.iter().find_map(|path| usage.pointer(path)?.as_u64()).unwrap_or_default()
    };
    let seconds = usage.get("seconds").and_then(Value::as_f64).unwrap_or_default();
    let seconds = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    ModelTokens {
        input: count(&["/input_tokens"]),
        output: count(&["/output_tokens"]),
        cache_read: count(&[
            "/input_token_details/cached_tokens",
            "/input_tokens_details/cached_tokens",
        ]),
        speech: SpeechTotals {
            audio_input: count(&["/input_token_details/audio_tokens"]),
            audio_output: count(&["/output_token_details/audio_tokens"]),
            audio_cached: count(&["/input_token_details/cached_tokens_details/audio_tokens"]),
            live_ms: millis(seconds),
            ..SpeechTotals::default()
        },
        ..ModelTokens::default()
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
