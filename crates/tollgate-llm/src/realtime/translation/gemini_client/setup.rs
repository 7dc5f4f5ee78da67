//! The session of OpenAI that does what a Gemini client's `setup` asks for, and the client's
//! functions in it.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::tools::{self, ConvertedDefinition, ToolFormat};

/// Fields of `setup`.
const SETUP_KEYS: [&str; 16] = [
    "avatarConfig",
    "contextWindowCompression",
    "explicitVadSignal",
    "generationConfig",
    "historyConfig",
    "inputAudioTranscription",
    "labels",
    "model",
    "outputAudioTranscription",
    "proactivity",
    "realtimeInputConfig",
    "safetySettings",
    "sessionResumption",
    "systemInstruction",
    "toolConfig",
    "tools",
];
/// Voices that OpenAI has.
const OPENAI_VOICES: [&str; 10] =
    ["alloy", "ash", "ballad", "cedar", "coral", "echo", "marin", "sage", "shimmer", "verse"];
/// Transcribes the caller.
const TRANSCRIPTION_MODEL: &str = "gpt-4o-mini-transcribe";
/// Keys below which names are not the protocol's.
const OPAQUE_KEYS: [&str; 4] = ["args", "labels", "properties", "response"];

/// What of a `setup` concerns the translator itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ClientSetup {
    /// Whose words the client gets as text.
    pub(super) transcripts: Vec<Speaker>,
    pub(super) activity: ActivityDetection,
    pub(super) barge_in: BargeIn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    Caller,
    Model,
}

/// Who decides when the caller has finished.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ActivityDetection {
    #[default]
    Model,
    Client,
}

/// What the caller's speech does to an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum BargeIn {
    #[default]
    Interrupts,
    Ignored,
}

/// Why a `setup` is refused; the session ends with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct SetupError(pub(super) String);

/// The client's functions under the names that the model knows.
#[derive(Debug, Default)]
pub(super) struct ModelFunctions {
    by_name: HashMap<String, (String, ConvertedDefinition)>,
}

impl ModelFunctions {
    /// The client's name and arguments for a call of the model.
    pub(super) fn call(&self, name: &str, arguments: Map<String, Value>) -> (String, Value) {
        match self.by_name.get(name) {
            Some((own, converted)) => (own.clone(), converted.arguments(arguments).into()),
            None => (name.to_owned(), arguments.into()),
        }
    }
}

/// The translator's part of a `setup`, the client's functions, and the session for the model.
pub(super) struct TranslatedSetup {
    pub(super) setup: ClientSetup,
    pub(super) functions: ModelFunctions,
    pub(super) session: Value,
}

pub(super) fn translate(setup: &Map<String, Value>) -> Result<TranslatedSetup, SetupError> {
    if let Some(key) = setup.keys().find(|key| !SETUP_KEYS.contains(&key.as_str())) {
        let key = tollgate_core::text::truncate_chars(key, 64);
        return Err(SetupError(format!("Unknown name \"{key}\" at 'setup': Cannot find field.")));
    }
    if setup.get("sessionResumption").is_some_and(|it| it.get("handle").is_some_and(is_named)) {
        return Err(refuse_field("setup.sessionResumption.handle"));
    }
    let generation = setup.get("generationConfig").cloned().unwrap_or_default();
    let input = setup.get("realtimeInputConfig").cloned().unwrap_or_default();
    let client = client_setup(setup, &input);
    let pcm = json!({"type": "audio/pcm", "rate": 24_000});
    let mut audio = json!({
        "input": {"format": pcm, "turn_detection": turn_detection(&client, &input)},
        "output": {"format": pcm},
    });
    if client.transcripts.contains(&Speaker::Caller) {
        audio["input"]["transcription"] = json!({"model": TRANSCRIPTION_MODEL});
    }
    let voice = generation.pointer("/speechConfig/voiceConfig/prebuiltVoiceConfig/voiceName");
    if let Some(voice) = voice.and_then(Value::as_str).map(str::to_lowercase)
        && OPENAI_VOICES.contains(&voice.as_str())
    {
        audio["output"]["voice"] = voice.into();
    }
    let mut session = json!({"type": "realtime", "audio": audio});
    session["output_modalities"] = modalities(&generation)?;
    if let Some(tokens) = generation.get("maxOutputTokens").and_then(Value::as_u64) {
        session["max_output_tokens"] = tokens.into();
    }
    let instructions = instructions(setup.get("systemInstruction"));
    if let Some(text) = instructions.filter(|text| !text.is_empty()) {
        session["instructions"] = text.into();
    }
    let (tools, functions) = declarations(setup.get("tools"), "setup.tools")?;
    if !tools.is_empty() {
        session["tools"] = tools.into();
    }
    Ok(TranslatedSetup { setup: client, functions, session })
}

fn client_setup(setup: &Map<String, Value>, input: &Value) -> ClientSetup {
    let asked = [
        ("inputAudioTranscription", Speaker::Caller),
        ("outputAudioTranscription", Speaker::Model),
    ];
    let is_asked = |key: &str| setup.get(key).is_some_and(|value| !value.is_null());
    let transcripts = asked.into_iter().filter(|(key, _)| is_asked(key)).map(|(_, it)| it);
    let is_manual = input.pointer("/automaticActivityDetection/disabled") == Some(&true.into());
    let is_ignored = input.get("activityHandling") == Some(&"NO_INTERRUPTION".into());
    ClientSetup {
        transcripts: transcripts.collect(),
        activity: if is_manual { ActivityDetection::Client } else { ActivityDetection::Model },
        barge_in: if is_ignored { BargeIn::Ignored } else { BargeIn::Interrupts },
    }
}

fn is_named(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

pub(super) fn refuse_field(field: &str) -> SetupError {
    SetupError(format!(
        "`{field}` is not supported: this model is behind the OpenAI Realtime protocol"
    ))
}

fn turn_detection(client: &ClientSetup, input: &Value) -> Value {
    if client.activity == ActivityDetection::Client {
        return Value::Null;
    }
    let mut detection = json!({
        "type": "server_vad", "create_response": true,
        "interrupt_response": client.barge_in == BargeIn::Interrupts,
    });
    for (theirs, ours) in
        [("prefixPaddingMs", "prefix_padding_ms"), ("silenceDurationMs", "silence_duration_ms")]
    {
        let millis = input.get("automaticActivityDetection").and_then(|it| it.get(theirs));
        if let Some(millis) = millis.and_then(Value::as_u64) {
            detection[ours] = millis.into();
        }
    }
    detection
}

fn modalities(generation: &Value) -> Result<Value, SetupError> {
    let given = generation.get("responseModalities").and_then(Value::as_array);
    let Some(given) = given.filter(|given| !given.is_empty()) else { return Ok(json!(["audio"])) };
    match given.iter().map(Value::as_str).collect::<Vec<_>>()[..] {
        [Some("AUDIO")] => Ok(json!(["audio"])),
        [Some("TEXT")] => Ok(json!(["text"])),
        _ => Err(refuse_field("setup.generationConfig.responseModalities")),
    }
}

/// The text of a `systemInstruction`.
pub(super) fn instructions(instruction: Option<&Value>) -> Option<String> {
    match instruction? {
        Value::String(text) => Some(text.clone()),
        content => {
            let parts = content.get("parts").and_then(Value::as_array);
            let texts = parts.into_iter().flatten().filter_map(|part| part.get("text")?.as_str());
            Some(texts.collect::<Vec<_>>().join("\n\n"))
        }
    }
}

/// The client's functions as OpenAI's tools.
pub(super) fn declarations(
    tools: Option<&Value>,
    place: &str,
) -> Result<(Vec<Value>, ModelFunctions), SetupError> {
    let mut declared = Vec::new();
    let mut by_name = HashMap::new();
    let listed = tools.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (at, tool) in listed.iter().enumerate() {
        let fields = tool.as_object();
        let other = fields.and_then(|it| it.keys().find(|key| *key != "functionDeclarations"));
        if let Some(key) = other {
            let key = tollgate_core::text::truncate_chars(key, 64);
            return Err(refuse_field(&format!("{place}[{at}].{key}")));
        }
        let functions = tool.get("functionDeclarations").and_then(Value::as_array);
        for function in functions.into_iter().flatten() {
            let name = function.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let mut definition = function.clone();
            if let Some(fields) = definition.as_object_mut() {
                fields.shift_remove("behavior");
                fields.shift_remove("response");
            }
            let from = ToolFormat::GeminiLive;
            let to = ToolFormat::OpenAiRealtime;
            let converted = tools::convert(&definition, from, to).map_err(|error| {
                let name = tollgate_core::text::truncate_chars(&name, 64);
                SetupError(format!("the function `{name}` of `{place}` is invalid: {error}"))
            })?;
            let shown = converted.definition.get("name").and_then(Value::as_str).unwrap_or(&name);
            declared.push(converted.definition.clone());
            by_name.insert(shown.to_owned(), (name, converted));
        }
    }
    Ok((declared, ModelFunctions { by_name }))
}

/// Both spellings of a field mean the same.
pub(super) fn camel_case(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(camel_case).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| {
                let key = camel_case_key(&key);
                let is_opaque = OPAQUE_KEYS.contains(&key.as_str());
                let value = if is_opaque { value } else { camel_case(value) };
                (key, value)
            });
            Value::Object(fields.collect())
        }
        other => other,
    }
}

fn camel_case_key(key: &str) -> String {
    let mut spelt = String::with_capacity(key.len());
    let mut is_next_upper = false;
    for letter in key.chars() {
        if letter == '_' && !spelt.is_empty() {
            is_next_upper = true;
        } else if is_next_upper {
            spelt.extend(letter.to_uppercase());
            is_next_upper = false;
        } else {
            spelt.push(letter);
        }
    }
    spelt
}
