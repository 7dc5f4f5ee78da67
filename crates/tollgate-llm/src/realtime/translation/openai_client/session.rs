//! The session as an OpenAI client configures and sees it. An update is taken as a whole or not at
//! all, as OpenAI does it.

use serde_json::{Map, Value, json};

use super::events::EventRefusal;
use crate::realtime::audio::AudioFormat;
use crate::realtime::openai;

/// Fields of a session that a client may send.
const SESSION_KEYS: [&str; 14] = [
    "audio",
    "include",
    "instructions",
    "max_output_tokens",
    "model",
    "output_modalities",
    "parallel_tool_calls",
    "prompt",
    "reasoning",
    "tool_choice",
    "tools",
    "tracing",
    "truncation",
    "type",
];
const INPUT_KEYS: [&str; 4] = ["format", "noise_reduction", "transcription", "turn_detection"];
const OUTPUT_KEYS: [&str; 3] = ["format", "speed", "voice"];
/// The voices of OpenAI, none of which another provider has.
const OPENAI_VOICES: [&str; 10] =
    ["alloy", "ash", "ballad", "cedar", "coral", "echo", "marin", "sage", "shimmer", "verse"];

/// The client's session; changed only by valid updates.
#[derive(Debug, Clone)]
pub(super) struct ClientSession {
    /// As the client sees it.
    client_view: Map<String, Value>,
    /// What the client itself has set.
    requested: Map<String, Value>,
    pub(super) settings: SessionSettings,
}

/// What of a session has an effect.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SessionSettings {
    pub(super) instructions: Option<String>,
    pub(super) tools: Vec<Value>,
    pub(super) modality: OutputModality,
    /// A voice of the provider; `None`: its default.
    pub(super) voice: Option<String>,
    pub(super) max_output_tokens: Option<u64>,
    pub(super) input: AudioFormat,
    pub(super) output: AudioFormat,
    pub(super) turns: TurnDetection,
    /// Whether the client sees transcripts of the caller.
    pub(super) transcribes: bool,
    pub(super) truncation: Truncation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputModality {
    Audio,
    Text,
}

/// What is dropped when the context is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Truncation {
    OldestTurns,
    /// Nothing: the session ends.
    Disabled,
}

/// Who decides when the caller has finished.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TurnDetection {
    /// The client, by `input_audio_buffer.commit`.
    Manual,
    Server {
        prefix_padding_ms: Option<u64>,
        silence_duration_ms: Option<u64>,
        /// `END_SENSITIVITY_…`
        eagerness: Option<&'static str>,
        interrupts: bool,
    },
}

impl ClientSession {
    pub(super) fn new(id: &str, model: &str) -> Self {
        let shown = json!({
            "type": "realtime", "object": "realtime.session", "id": id, "model": model,
            "instructions": "", "tools": [], "tool_choice": "auto",
            "output_modalities": ["audio"], "max_output_tokens": "inf", "truncation": "auto",
            "audio": {
                "input": {
                    "format": {"type": "audio/pcm", "rate": 24_000}, "transcription": null,
                    "noise_reduction": null, "turn_detection": server_vad(&Map::new()),
                },
                "output": {
                    "format": {"type": "audio/pcm", "rate": 24_000}, "voice": "default",
                    "speed": 1.0,
                },
            },
        });
        let Value::Object(shown) = shown else { unreachable!("it is written as an object") };
        let settings = SessionSettings::read(&shown).unwrap_or_default();
        Self { client_view: shown, requested: Map::new(), settings }
    }

    pub(super) fn client_settings(&self) -> &Map<String, Value> {
        &self.requested
    }

    pub(super) fn client_view(&self) -> &Map<String, Value> {
        &self.client_view
    }

    /// The session after an update; nothing has changed yet.
    pub(super) fn apply(&self, update: &Map<String, Value>) -> Result<Self, EventRefusal> {
        check_keys(update, &SESSION_KEYS, "session")?;
        refuse_untranslatable(update)?;
        let mut shown = self.client_view.clone();
        for (key, value) in update {
            if key == "audio" {
                merge_audio(&mut shown, value)?;
            } else {
                shown.insert(key.clone(), value.clone());
            }
        }
        let settings = SessionSettings::read(&shown)?;
        let mut requested = self.requested.clone();
        openai::remember_settings(&mut requested, update);
        for key in ["tools", "instructions"] {
            if let Some(value) = update.get(key) {
                requested.insert(key.to_owned(), value.clone());
            }
        }
        Ok(Self { client_view: shown, requested, settings })
    }
}

impl Default for SessionSettings {
    fn default() -> Self {
        let pcm = AudioFormat::Pcm16 { rate: 24_000 };
        Self {
            instructions: None,
            tools: Vec::new(),
            modality: OutputModality::Audio,
            voice: None,
            max_output_tokens: None,
            input: pcm,
            output: pcm,
            turns: TurnDetection::Server {
                prefix_padding_ms: None,
                silence_duration_ms: None,
                eagerness: None,
                interrupts: true,
            },
            transcribes: false,
            truncation: Truncation::OldestTurns,
        }
    }
}

impl SessionSettings {
    fn read(shown: &Map<String, Value>) -> Result<Self, EventRefusal> {
        let instructions = match shown.get("instructions") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()).filter(|text| !text.is_empty()),
            Some(_) => return Err(invalid_value("session.instructions", "must be a string")),
        };
        let audio = |side: &str, key: &str| {
            shown
                .get("audio")
                .and_then(|audio| audio.get(side)?.get(key))
                .filter(|it| !it.is_null())
        };
        Ok(Self {
            instructions,
            tools: tools(shown)?,
            modality: modality(shown.get("output_modalities"), "session.output_modalities")?,
            voice: voice(audio("output", "voice"))?,
            max_output_tokens: max_output_tokens(shown.get("max_output_tokens"))?,
            input: format(audio("input", "format"), "session.audio.input.format")?,
            output: format(audio("output", "format"), "session.audio.output.format")?,
            turns: turn_detection(audio("input", "turn_detection"))?,
            transcribes: audio("input", "transcription").is_some(),
            truncation: match shown.get("truncation").and_then(Value::as_str) {
                Some("disabled") => Truncation::Disabled,
                _ => Truncation::OldestTurns,
            },
        })
    }
}

fn invalid_value(param: &str, what: &str) -> EventRefusal {
    EventRefusal::of(param, "invalid_value", format!("Invalid value: `{param}` {what}."))
}

fn check_keys(given: &Map<String, Value>, known: &[&str], place: &str) -> Result<(), EventRefusal> {
    match given.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let param = format!("{place}.{}", tollgate_core::text::truncate_chars(key, 64));
            let message = format!("Unknown parameter: '{param}'.");
            Err(EventRefusal::of(param, "unknown_parameter", message))
        }
    }
}

fn refuse_untranslatable(update: &Map<String, Value>) -> Result<(), EventRefusal> {
    match update.get("type").and_then(Value::as_str) {
        None | Some("realtime") => {}
        Some("transcription") => return Err(EventRefusal::untranslatable("session.type")),
        Some(_) => return Err(invalid_value("session.type", "must be `realtime`")),
    }
    if update.get("prompt").is_some_and(|prompt| !prompt.is_null()) {
        return Err(EventRefusal::untranslatable("session.prompt"));
    }
    match update.get("tool_choice") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(choice)) if choice == "auto" || choice == "none" => Ok(()),
        Some(_) => Err(EventRefusal::untranslatable("session.tool_choice")),
    }
}

fn merge_audio(shown: &mut Map<String, Value>, update: &Value) -> Result<(), EventRefusal> {
    let Value::Object(update) = update else {
        return Err(invalid_value("session.audio", "must be an object"));
    };
    check_keys(update, &["input", "output"], "session.audio")?;
    let Some(Value::Object(audio)) = shown.get_mut("audio") else { return Ok(()) };
    for (side, given) in update {
        let place = format!("session.audio.{side}");
        let known = if side == "input" { &INPUT_KEYS[..] } else { &OUTPUT_KEYS[..] };
        let given = match given {
            Value::Null => continue,
            Value::Object(given) => given,
            _ => return Err(invalid_value(&place, "must be an object")),
        };
        check_keys(given, known, &place)?;
        let Some(Value::Object(before)) = audio.get_mut(side) else { continue };
        for (key, value) in given {
            let value = match value {
                Value::Object(detection) if key == "turn_detection" => with_defaults(detection),
                other => other.clone(),
            };
            before.insert(key.clone(), value);
        }
    }
    Ok(())
}

fn with_defaults(detection: &Map<String, Value>) -> Value {
    if detection.get("type").and_then(Value::as_str) != Some("semantic_vad") {
        return server_vad(detection);
    }
    let mut shown = json!({
        "type": "semantic_vad", "eagerness": "auto", "create_response": true,
        "interrupt_response": true,
    });
    if let Value::Object(fields) = &mut shown {
        fields.extend(detection.clone());
    }
    shown
}

fn server_vad(detection: &Map<String, Value>) -> Value {
    let mut shown = json!({
        "type": "server_vad", "threshold": 0.5, "prefix_padding_ms": 300,
        "silence_duration_ms": 500, "idle_timeout_ms": null, "create_response": true,
        "interrupt_response": true,
    });
    if let Value::Object(fields) = &mut shown {
        fields.extend(detection.clone());
    }
    shown
}

fn tools(shown: &Map<String, Value>) -> Result<Vec<Value>, EventRefusal> {
    let tools = match shown.get("tools") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(tools)) => tools,
        Some(_) => return Err(invalid_value("session.tools", "must be a list")),
    };
    for (at, tool) in tools.iter().enumerate() {
        let param = format!("session.tools[{at}]");
        match tool.get("type").and_then(Value::as_str) {
            Some("function") => {}
            Some("mcp") => return Err(EventRefusal::untranslatable(format!("{param}.type"))),
            _ => return Err(invalid_value(&format!("{param}.type"), "must be `function`")),
        }
        if tool.get("name").and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(invalid_value(&format!("{param}.name"), "must be a name"));
        }
    }
    let is_off = shown.get("tool_choice").and_then(Value::as_str) == Some("none");
    Ok(if is_off { Vec::new() } else { tools.clone() })
}

/// `output_modalities` of a session or a response.
pub(super) fn modality(given: Option<&Value>, param: &str) -> Result<OutputModality, EventRefusal> {
    let listed = match given {
        None | Some(Value::Null) => return Ok(OutputModality::Audio),
        Some(Value::Array(listed)) => listed,
        Some(_) => return Err(invalid_value(param, "must be [\"audio\"] or [\"text\"]")),
    };
    match listed.iter().map(Value::as_str).collect::<Vec<_>>()[..] {
        [Some("audio")] => Ok(OutputModality::Audio),
        [Some("text")] => Ok(OutputModality::Text),
        _ => Err(invalid_value(param, "must be [\"audio\"] or [\"text\"]")),
    }
}

/// Names of other voices are the provider's.
fn voice(given: Option<&Value>) -> Result<Option<String>, EventRefusal> {
    match given {
        None => Ok(None),
        Some(Value::String(name)) if OPENAI_VOICES.contains(&name.as_str()) => Ok(None),
        Some(Value::String(name)) if name == "default" => Ok(None),
        Some(Value::String(name)) => Ok(Some(name.clone())),
        Some(_) => Err(EventRefusal::untranslatable("session.audio.output.voice")),
    }
}

fn max_output_tokens(given: Option<&Value>) -> Result<Option<u64>, EventRefusal> {
    match given {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text == "inf" => Ok(None),
        Some(value) => match value.as_u64().filter(|tokens| *tokens > 0) {
            Some(tokens) => Ok(Some(tokens)),
            None => Err(invalid_value("session.max_output_tokens", "must be a number or \"inf\"")),
        },
    }
}

fn format(given: Option<&Value>, param: &str) -> Result<AudioFormat, EventRefusal> {
    let Some(given) = given else { return Ok(AudioFormat::Pcm16 { rate: 24_000 }) };
    match given.get("type").and_then(Value::as_str) {
        Some("audio/pcm") => match given.get("rate") {
            None | Some(Value::Null) => Ok(AudioFormat::Pcm16 { rate: 24_000 }),
            Some(rate) if rate.as_u64() == Some(24_000) => Ok(AudioFormat::Pcm16 { rate: 24_000 }),
            Some(_) => Err(invalid_value(&format!("{param}.rate"), "must be 24000")),
        },
        Some("audio/pcmu") => Ok(AudioFormat::MuLaw),
        Some("audio/pcma") => Ok(AudioFormat::ALaw),
        _ => Err(invalid_value(
            &format!("{param}.type"),
            "must be `audio/pcm`, `audio/pcmu` or `audio/pcma`",
        )),
    }
}

fn turn_detection(given: Option<&Value>) -> Result<TurnDetection, EventRefusal> {
    let Some(given) = given else { return Ok(TurnDetection::Manual) };
    let param = "session.audio.input.turn_detection";
    let eagerness = match given.get("type").and_then(Value::as_str) {
        Some("server_vad") => None,
        Some("semantic_vad") => match given.get("eagerness").and_then(Value::as_str) {
            Some("low") => Some("END_SENSITIVITY_LOW"),
            Some("high") => Some("END_SENSITIVITY_HIGH"),
            _ => None,
        },
        _ => {
            return Err(invalid_value(
                &format!("{param}.type"),
                "must be a kind of turn detection",
            ));
        }
    };
    let is_off = |key: &str| given.get(key).and_then(Value::as_bool) == Some(false);
    if is_off("create_response") {
        return Err(EventRefusal::untranslatable(format!("{param}.create_response")));
    }
    let millis = |key: &str| given.get(key).and_then(Value::as_u64);
    Ok(TurnDetection::Server {
        prefix_padding_ms: millis("prefix_padding_ms"),
        silence_duration_ms: millis("silence_duration_ms"),
        eagerness,
        interrupts: !is_off("interrupt_response"),
    })
}
