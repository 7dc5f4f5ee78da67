//! Session configuration of the first version of OpenAI's realtime API, as `POST
//! /v1/realtime/sessions` takes it, translated to the current one.

use serde_json::{Map, Value, json};

/// Keys that stand elsewhere now.
const MOVED: &[(&str, &[&str])] = &[
    ("voice", &["audio", "output", "voice"]),
    ("speed", &["audio", "output", "speed"]),
    ("turn_detection", &["audio", "input", "turn_detection"]),
    ("input_audio_transcription", &["audio", "input", "transcription"]),
    ("input_audio_noise_reduction", &["audio", "input", "noise_reduction"]),
    ("max_response_output_tokens", &["max_output_tokens"]),
];
/// Formats of audio, which were names and are objects now.
const FORMATS: &[(&str, &[&str])] = &[
    ("input_audio_format", &["audio", "input", "format"]),
    ("output_audio_format", &["audio", "output", "format"]),
];
/// Keys without a successor. Clients send them by habit.
const REMOVED: &[&str] = &["temperature", "client_secret"];

pub(super) fn translate(mut session: Map<String, Value>) -> Map<String, Value> {
    for key in REMOVED {
        session.shift_remove(*key);
    }
    for (key, path) in MOVED {
        if let Some(value) = session.shift_remove(*key) {
            set(&mut session, path, value);
        }
    }
    for (key, path) in FORMATS {
        if let Some(value) = session.shift_remove(*key) {
            set(&mut session, path, format(value));
        }
    }
    if let Some(modalities) = session.shift_remove("modalities") {
        // Speech always has a transcript, and is requested alone.
        let has_audio = modalities.as_array().is_some_and(|them| them.contains(&json!("audio")));
        let modalities = if has_audio { json!(["audio"]) } else { modalities };
        session.insert("output_modalities".to_owned(), modalities);
    }
    session
}

/// A name that is not known stays, and the provider refuses it.
fn format(name: Value) -> Value {
    match name.as_str() {
        Some("pcm16") => json!({"type": "audio/pcm", "rate": 24_000}),
        Some("g711_ulaw") => json!({"type": "audio/pcmu"}),
        Some("g711_alaw") => json!({"type": "audio/pcma"}),
        Some(_) | None => name,
    }
}

/// A key of the current version takes precedence.
fn set(session: &mut Map<String, Value>, path: &[&str], value: Value) {
    match path {
        [key] => {
            session.entry(*key).or_insert(value);
        }
        [key, rest @ ..] => {
            let inner = session.entry(*key).or_insert_with(|| json!({}));
            if let Value::Object(inner) = inner {
                set(inner, rest, value);
            }
        }
        [] => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::translate;

    #[test]
    fn keys_of_the_first_version_move_to_their_new_places() {
        let Value::Object(old) = json!({
            "model": "m", "modalities": ["text", "audio"], "voice": "ash", "temperature": 0.8,
            "input_audio_format": "g711_ulaw", "output_audio_format": "pcm16",
            "turn_detection": {"type": "server_vad"}, "max_response_output_tokens": "inf",
            "audio": {"output": {"voice": "sage"}},
        }) else {
            panic!("an object")
        };
        let expected = json!({
            "model": "m", "output_modalities": ["audio"], "max_output_tokens": "inf",
            "audio": {
                "output": {"voice": "sage", "format": {"type": "audio/pcm", "rate": 24_000}},
                "input": {
                    "turn_detection": {"type": "server_vad"}, "format": {"type": "audio/pcmu"},
                },
            },
        });
        assert_eq!(Value::Object(translate(old)), expected);
        let Value::Object(current) = expected else { panic!("an object") };
        assert_eq!(translate(current.clone()), current, "what is current stays");
    }
}
