//! Gemini Live. It does not say when the caller ends, unless the client does; the last sound of the
//! client's audio is taken for it.

use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tollgate_core::model_usage::SpeechTotals;
use tollgate_engine::model_usage::ModelTokens;

use super::audio::AudioFormat;
use super::{Observation, SessionObserver, SpeechEvent, UsedModel, parse};
use crate::realtime::events::RealtimeFrame;
use crate::realtime::gemini::has_sound;
use crate::realtime::json_peek;

const INPUT_RATE: u64 = 16_000;
const OUTPUT_RATE: u64 = 24_000;

#[derive(Debug)]
pub(super) struct GeminiObserver;

/// A `Blob`, unread.
#[derive(Debug, Default)]
struct AudioBlob<'a> {
    mime: &'a str,
    data: &'a str,
}

impl SessionObserver for GeminiObserver {
    fn on_client_message(&mut self, frame: RealtimeFrame<'_>) -> Observation {
        let Some(text) = text_of(&frame) else { return Observation::default() };
        let mut found = Observation::default();
        json_peek::for_each_field(text, |key, value| {
            match key {
                "realtimeInput" | "realtime_input" => found = read_input(value),
                "clientContent" | "client_content" => {
                    found = Observation::of_speech(SpeechEvent::ResponseRequested);
                }
                _ => (),
            }
            true
        });
        found
    }

    fn on_provider_message(&mut self, frame: RealtimeFrame<'_>) -> Observation {
        let Some(text) = text_of(&frame) else { return Observation::default() };
        let mut found = Observation::default();
        json_peek::for_each_field(text, |key, value| {
            match key {
                "serverContent" => read_content(value, &mut found),
                "usageMetadata" => {
                    let tokens = tokens(&parse(value));
                    found = std::mem::take(&mut found).with_usage(UsedModel::OfSession, tokens);
                }
                "voiceActivity" if value.contains("ACTIVITY_END") => {
                    found.speech = Some(SpeechEvent::CallerEnded { hangover: None });
                }
                "voiceActivity" if value.contains("ACTIVITY_START") => {
                    found.speech = Some(SpeechEvent::CallerBegan);
                }
                _ => (),
            }
            true
        });
        found
    }
}

fn text_of<'a>(frame: &RealtimeFrame<'a>) -> Option<&'a str> {
    match frame {
        RealtimeFrame::Text(text) => Some(text),
        RealtimeFrame::Binary(bytes) => std::str::from_utf8(bytes).ok(),
    }
}

fn read_input(input: &str) -> Observation {
    let mut found = Observation::default();
    let ended = Some(SpeechEvent::CallerEnded { hangover: None });
    json_peek::for_each_field(input, |key, value| {
        match key {
            "audio" => {
                found.audio += length(value, INPUT_RATE);
                if has_sound(value) {
                    found.speech = Some(SpeechEvent::CallerSounds);
                }
            }
            "mediaChunks" | "media_chunks" => {
                found.audio += items(value).map(|it| length(it, INPUT_RATE)).sum::<Duration>();
                found.speech = Some(SpeechEvent::CallerSounds);
            }
            "activityStart" | "activity_start" => found.speech = Some(SpeechEvent::CallerBegan),
            "activityEnd" | "activity_end" => found.speech = ended,
            "text" => found.speech = Some(SpeechEvent::ResponseRequested),
            _ => (),
        }
        true
    });
    found
}

/// The elements of a list.
fn items(list: &str) -> impl Iterator<Item = &str> {
    let items: Vec<&RawValue> = serde_json::from_str(list).unwrap_or_default();
    items.into_iter().map(RawValue::get)
}

/// The value of a key.
fn field<'a>(object: &'a str, names: [&str; 2]) -> Option<&'a str> {
    let mut found = None;
    json_peek::for_each_field(object, |key, value| {
        if names.contains(&key) {
            found = Some(value);
        }
        found.is_none()
    });
    found
}

fn length(blob: &str, usual_rate: u64) -> Duration {
    let mut read = AudioBlob::default();
    json_peek::for_each_field(blob, |key, value| {
        match key {
            "mimeType" | "mime_type" => read.mime = value.trim_matches('"'),
            "data" => read.data = value.trim_matches('"'),
            _ => (),
        }
        true
    });
    AudioFormat::of_mime(read.mime, usual_rate).length_of_base64(read.data)
}

fn read_content(content: &str, found: &mut Observation) {
    json_peek::for_each_field(content, |key, value| {
        match key {
            "modelTurn" => {
                let parts = field(value, ["parts", "parts"]).into_iter().flat_map(items);
                let audio = parts.filter_map(|part| field(part, ["inlineData", "inline_data"]));
                found.audio += audio.map(|it| length(it, OUTPUT_RATE)).sum::<Duration>();
            }
            "interrupted" if value == "true" => found.speech = Some(SpeechEvent::CallerBegan),
            _ => (),
        }
        true
    });
}

/// The total leaves thoughts out, and the details need not sum up to the counts: what is not audio
/// by the details is text.
fn tokens(usage: &Value) -> ModelTokens {
    let count = |key: &str| usage[key].as_u64().unwrap_or_default();
    let audio = |key: &str| {
        let details = usage[key].as_array().into_iter().flatten();
        let audio = details.filter(|it| it["modality"] == "AUDIO");
        audio.filter_map(|it| it["tokenCount"].as_u64()).fold(0, u64::saturating_add)
    };
    let input = count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount"));
    let output = count("responseTokenCount").saturating_add(count("thoughtsTokenCount"));
    let cache_read = count("cachedContentTokenCount").min(input);
    let audio_input =
        audio("promptTokensDetails").saturating_add(audio("toolUsePromptTokensDetails"));
    ModelTokens {
        input,
        output,
        cache_read,
        speech: SpeechTotals {
            audio_input: audio_input.min(input),
            audio_output: audio("responseTokensDetails").min(output),
            audio_cached: audio("cacheTokensDetails").min(cache_read),
            ..SpeechTotals::default()
        },
        ..ModelTokens::default()
    }
}
