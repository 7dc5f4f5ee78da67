//! Decodes the fields of a request beside its contents: tools, tool choice, generation options.

use serde_json::{Map, Number, Value};

use crate::conversation::{ChatTool, Function, GenerationOptions, ResponseFormat, ToolChoice};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::fields::{FieldReader, unknown, wrong};
use crate::format::names;

use super::super::{schema, spelling};

const OWN: Dialect = Dialect::Gemini;

/// Limit of the API.
const MAX_CANDIDATES: u64 = 8;

pub(super) fn tools(fields: &mut FieldReader) -> Result<Vec<ChatTool>, LlmError> {
    let mut tools = Vec::new();
    let mut places = Vec::new();
    for (index, value) in fields.list("tools")?.unwrap_or_default().into_iter().enumerate() {
        let mut tool = spelling::fields(value, format!("tools[{index}]"))?;
        let at = tool.place("functionDeclarations");
        let list = tool.list("functionDeclarations")?.unwrap_or_default();
        for (index, value) in list.into_iter().enumerate() {
            let at = format!("{at}[{index}]");
            tools.push(ChatTool::Function(function(value, &at)?));
            places.push(at);
        }
        let at = tool.at().to_owned();
        let Value::Object(rest) = tool.into_value() else { continue };
        for (key, value) in rest.into_iter().filter(|(_, value)| !value.is_null()) {
            let value = Value::Object(Map::from_iter([(key, value)]));
            tools.push(ChatTool::Hosted { dialect: OWN, value });
            places.push(at.clone());
        }
    }
    names::check_at(&tools, &places, OWN)?;
    Ok(tools)
}

/// A schema in Gemini's own format is kept beside the neutral one, to be written back.
fn function(value: Value, at: &str) -> Result<Function, LlmError> {
    let mut fields = spelling::fields(value, at)?;
    let name = fields.needed_text("name")?;
    let description = fields.text("description")?;
    let parameters = match (fields.take("parametersJsonSchema"), fields.peek("parameters")) {
        (Some(schema), _) => {
            if !schema.is_object() {
                return Err(wrong(&fields.place("parametersJsonSchema"), "an object", &schema));
            }
            Some(schema)
        }
        (None, Some(own)) => {
            if !own.is_object() {
                return Err(wrong(&fields.place("parameters"), "an object", own));
            }
            Some(schema::to_json_schema(own))
        }
        (None, None) => None,
    };
    Ok(Function { name, description, parameters, extra: fields.rest(OWN) })
}

pub(super) fn tool_choice(fields: &mut FieldReader) -> Result<ToolChoice, LlmError> {
    const MODES: [&str; 4] = ["AUTO", "ANY", "NONE", "VALIDATED"];
    let Some(mut config) = spelling::object(fields, "toolConfig")? else {
        return Ok(ToolChoice::Unsaid);
    };
    let calling = spelling::object(&mut config, "functionCallingConfig")?;
    fields.put_back("toolConfig", config);
    let Some(mut calling) = calling else { return Ok(ToolChoice::Unsaid) };
    let mode = calling.text("mode")?.unwrap_or_default().to_ascii_uppercase();
    let at = calling.place("allowedFunctionNames");
    let names = texts(&mut calling, "allowedFunctionNames")?;
    if !["", "MODE_UNSPECIFIED"].contains(&mode.as_str()) && !MODES.contains(&mode.as_str()) {
        return Err(unknown(&calling.place("mode"), &mode, &MODES));
    }
    let Value::Object(mut value) = calling.into_value() else { return Ok(ToolChoice::Unsaid) };
    match (mode.as_str(), names.as_slice()) {
        ("" | "MODE_UNSPECIFIED", []) if value.is_empty() => Ok(ToolChoice::Unsaid),
        ("AUTO", []) if value.is_empty() => Ok(ToolChoice::Auto),
        ("NONE", []) if value.is_empty() => Ok(ToolChoice::None),
        ("ANY", []) if value.is_empty() => Ok(ToolChoice::Required),
        ("ANY", [name]) if value.is_empty() => Ok(ToolChoice::Named(name.clone())),
        ("AUTO", [_, ..]) => {
            let message = format!("`{at}` requires the mode `ANY` or `VALIDATED`");
            Err(LlmError::invalid(at, message))
        }
        _ => {
            value.insert("mode".to_owned(), mode.into());
            if !names.is_empty() {
                value.insert("allowedFunctionNames".to_owned(), names.into());
            }
            Ok(ToolChoice::Opaque { dialect: OWN, value: value.into() })
        }
    }
}

/// Unread fields of `generationConfig` are returned under names like `generationConfig.logprobs`.
pub(super) fn options(fields: &mut FieldReader) -> Result<(GenerationOptions, Extra), LlmError> {
    let Some(mut config) = spelling::object(fields, "generationConfig")? else {
        return Ok((GenerationOptions::default(), Extra::none()));
    };
    let candidates = config.count("candidateCount")?;
    if candidates.is_some_and(|count| count > MAX_CANDIDATES) {
        let at = config.place("candidateCount");
        return Err(LlmError::invalid(&at, format!("`{at}` must be 1 to {MAX_CANDIDATES}")));
    }
    let options = GenerationOptions {
        max_output: max_output(&mut config)?,
        temperature: between(&mut config, "temperature", 2.0)?,
        top_p: between(&mut config, "topP", 1.0)?,
        top_k: config.number("topK")?,
        seed: config.number("seed")?,
        presence_penalty: config.number("presencePenalty")?,
        frequency_penalty: config.number("frequencyPenalty")?,
        stop: texts(&mut config, "stopSequences")?,
        output: output(&mut config)?,
        effort: effort(&mut config)?,
        candidates,
        ..GenerationOptions::default()
    };
    let Value::Object(rest) = config.into_value() else { return Ok((options, Extra::none())) };
    let rest = rest.into_iter().map(|(key, value)| (format!("generationConfig.{key}"), value));
    Ok((options, Extra::new(OWN, rest.collect())))
}

fn max_output(config: &mut FieldReader) -> Result<Option<u64>, LlmError> {
    let at = config.place("maxOutputTokens");
    let count = config.count("maxOutputTokens")?;
    match count {
        Some(count) if count > u64::from(u32::MAX) => {
            Err(LlmError::invalid(&at, format!("`{at}` exceeds the limit of every model")))
        }
        count => Ok(count),
    }
}

fn between(config: &mut FieldReader, key: &str, most: f64) -> Result<Option<Number>, LlmError> {
    let Some(number) = config.number(key)? else { return Ok(None) };
    if number.as_f64().is_some_and(|it| (0.0..=most).contains(&it)) {
        return Ok(Some(number));
    }
    let at = config.place(key);
    let message = format!("`{at}` must lie between 0 and {most}, not {number}");
    Err(LlmError::invalid(at, message))
}

fn texts(fields: &mut FieldReader, key: &str) -> Result<Vec<String>, LlmError> {
    let at = fields.place(key);
    let list = fields.list(key)?.unwrap_or_default();
    let numbered = list.into_iter().enumerate();
    let texts = numbered.map(|(index, value)| match value {
        Value::String(text) => Ok(text),
        other => Err(wrong(&format!("{at}[{index}]"), "a string", &other)),
    });
    texts.collect()
}

/// A schema in Gemini's own format also stays in place.
fn output(config: &mut FieldReader) -> Result<Option<ResponseFormat>, LlmError> {
    if config.peek("responseMimeType").is_none_or(|it| *it != "application/json") {
        return Ok(None);
    }
    config.take("responseMimeType");
    let schema = match (config.take("responseJsonSchema"), config.peek("responseSchema")) {
        (Some(schema), _) => schema,
        (None, Some(own)) => schema::to_json_schema(own),
        (None, None) => return Ok(Some(ResponseFormat::Json)),
    };
    Ok(Some(ResponseFormat::Schema { name: "output".to_owned(), schema, strict: None }))
}

fn effort(config: &mut FieldReader) -> Result<Option<String>, LlmError> {
    let Some(mut thinking) = spelling::object(config, "thinkingConfig")? else { return Ok(None) };
    let level = thinking.text("thinkingLevel")?;
    config.put_back("thinkingConfig", thinking);
    let level = level.map(|level| level.to_ascii_lowercase());
    Ok(level.filter(|level| level != "thinking_level_unspecified"))
}
