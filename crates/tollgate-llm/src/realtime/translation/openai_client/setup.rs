//! The `setup` of a Gemini session that does what an OpenAI client's session asks for, and the
//! client's functions in it.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use tollgate_core::tool::ResultDelivery;

use super::events::EventRefusal;
use super::session::{SessionSettings, Truncation, TurnDetection};
use crate::realtime::gemini::GeminiFamily;
use crate::tools::{self, ConvertedDefinition, ToolFormat};

/// The client's functions under the names that the model knows.
#[derive(Debug, Default)]
pub(super) struct ClientFunctions {
    by_name: HashMap<String, ClientFunction>,
}

#[derive(Debug)]
struct ClientFunction {
    /// The client's name.
    name: String,
    converted: ConvertedDefinition,
}

impl ClientFunctions {
    pub(super) fn convert(tools: &[Value]) -> Result<Self, EventRefusal> {
        let mut by_name = HashMap::new();
        for (at, tool) in tools.iter().enumerate() {
            let from = ToolFormat::OpenAiRealtime;
            let to = ToolFormat::GeminiLive;
            let converted = tools::convert(tool, from, to).map_err(|error| {
                EventRefusal::of(format!("session.tools[{at}]"), "invalid_value", error.to_string())
            })?;
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let shown = converted.definition.get("name").and_then(Value::as_str);
            let shown = shown.unwrap_or(&name).to_owned();
            if by_name.insert(shown, ClientFunction { name, converted }).is_some() {
                return Err(EventRefusal::of(
                    format!("session.tools[{at}].name"),
                    "invalid_value",
                    "Two tools have the same name.",
                ));
            }
        }
        Ok(Self { by_name })
    }

    /// Declarations in the order of the client's tools.
    fn declarations(&self, tools: &[Value], family: GeminiFamily) -> Vec<Value> {
        let declared = tools.iter().filter_map(|tool| {
            let name = tool.get("name")?.as_str()?;
            let function = self.by_name.values().find(|function| function.name == name)?;
            let mut declaration = function.converted.definition.clone();
            // As with OpenAI, the model waits for the output.
            let behavior = family.behavior(ResultDelivery::Wait);
            if let (Some(fields), Some(behavior)) = (declaration.as_object_mut(), behavior) {
                fields.insert("behavior".to_owned(), behavior.into());
            }
            Some(declaration)
        });
        declared.collect()
    }

    /// The client's name and arguments for a call of the model.
    pub(super) fn call(&self, name: &str, arguments: Map<String, Value>) -> (String, Value) {
        match self.by_name.get(name) {
            Some(function) => {
                (function.name.clone(), Value::Object(function.converted.arguments(arguments)))
            }
            None => (name.to_owned(), Value::Object(arguments)),
        }
    }
}

/// The value of `setup`, without a model.
pub(super) fn setup(
    settings: &SessionSettings,
    functions: &ClientFunctions,
    family: GeminiFamily,
) -> Value {
    let mut generation = json!({"responseModalities": ["AUDIO"]});
    if let Some(voice) = &settings.voice {
        generation["speechConfig"] =
            json!({"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": voice}}});
    }
    if let Some(tokens) = settings.max_output_tokens {
        generation["maxOutputTokens"] = tokens.into();
    }
    // The caller's transcript tells when they speak; the model's is part of every OpenAI response.
    let mut setup = json!({
        "generationConfig": generation,
        "realtimeInputConfig": realtime_input(&settings.turns),
        "inputAudioTranscription": {},
        "outputAudioTranscription": {},
    });
    if let Some(instructions) = &settings.instructions {
        setup["systemInstruction"] = json!({"parts": [{"text": instructions}]});
    }
    let declarations = functions.declarations(&settings.tools, family);
    if !declarations.is_empty() {
        setup["tools"] = json!([{"functionDeclarations": declarations}]);
    }
    if settings.truncation == Truncation::OldestTurns {
        setup["contextWindowCompression"] = json!({"slidingWindow": {}});
    }
    setup
}

fn realtime_input(turns: &TurnDetection) -> Value {
    match turns {
        TurnDetection::Manual => json!({"automaticActivityDetection": {"disabled": true}}),
        TurnDetection::Server { prefix_padding_ms, silence_duration_ms, eagerness, interrupts } => {
            let mut detection = Map::new();
            let mut insert = |key: &str, value: Option<Value>| {
                if let Some(value) = value {
                    detection.insert(key.to_owned(), value);
                }
            };
            insert("prefixPaddingMs", prefix_padding_ms.map(Value::from));
            insert("silenceDurationMs", silence_duration_ms.map(Value::from));
            insert("endOfSpeechSensitivity", eagerness.map(Value::from));
            let mut config = json!({"automaticActivityDetection": detection});
            if !interrupts {
                config["activityHandling"] = "NO_INTERRUPTION".into();
            }
            config
        }
    }
}
