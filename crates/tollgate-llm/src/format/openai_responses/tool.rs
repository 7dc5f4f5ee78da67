//! Encodes and decodes tools and the tool choice. Called by the readers and writers of requests,
//! and for the request fields repeated in a response.

use serde_json::{Map, Value, json};

use super::DIALECT;
use crate::conversation::{ChatTool, Function, ToolChoice};
use crate::error::LlmError;
use crate::format::fields::{FieldReader, unknown, wrong};
use crate::format::openai_common::{self, AllowedTools, InexpressibleToolChoiceError};

pub(super) fn read_all(list: Vec<Value>) -> Result<Vec<ChatTool>, LlmError> {
    list.into_iter()
        .enumerate()
        .map(|(index, tool)| read(tool, format!("tools[{index}]")))
        .collect()
}

fn read(value: Value, at: String) -> Result<ChatTool, LlmError> {
    let mut fields = FieldReader::new(value, at)?;
    let kind = fields.needed_text("type")?;
    fields.put("type", kind.as_str());
    if kind != "function" {
        return Ok(ChatTool::Hosted { dialect: DIALECT, value: fields.into_value() });
    }
    let name = fields.needed_text("name")?;
    let description = fields.text("description")?;
    let parameters = fields.object("parameters")?.map(FieldReader::into_value);
    Ok(ChatTool::Function(Function { name, description, parameters, extra: fields.rest(DIALECT) }))
}

/// `Err`: a tool that a provider of another dialect runs.
pub(super) fn write(tool: &ChatTool) -> Result<Value, LlmError> {
    let function = match tool {
        ChatTool::Function(function) => function,
        ChatTool::Hosted { dialect: DIALECT, value } => return Ok(value.clone()),
        ChatTool::Hosted { dialect, value } => {
            return Err(openai_common::unsupported_hosted_tool(*dialect, value));
        }
    };
    let mut object = Map::from_iter([
        ("type".to_owned(), Value::from("function")),
        ("name".to_owned(), function.name.clone().into()),
    ]);
    if let Some(description) = &function.description {
        object.insert("description".to_owned(), description.clone().into());
    }
    object.insert("parameters".to_owned(), function.parameters.clone().unwrap_or_default());
    // `strict` defaults to true in this API, which would change what a schema allows.
    if function.extra.fields(DIALECT).is_none() {
        let strict = openai_common::strict_of(function).unwrap_or(false);
        object.insert("strict".to_owned(), strict.into());
    }
    function.extra.write_into(DIALECT, &mut object);
    Ok(Value::Object(object))
}

pub(super) fn read_choice(fields: &mut FieldReader) -> Result<ToolChoice, LlmError> {
    let at = fields.place("tool_choice");
    match fields.take("tool_choice") {
        None => Ok(ToolChoice::Unsaid),
        Some(Value::String(word)) => match word.as_str() {
            "auto" => Ok(ToolChoice::Auto),
            "none" => Ok(ToolChoice::None),
            "required" => Ok(ToolChoice::Required),
            _ => Err(unknown(&at, &word, &["auto", "none", "required"])),
        },
        Some(value @ Value::Object(_)) if value["type"] == "function" => {
            Ok(ToolChoice::Named(FieldReader::new(value, at)?.needed_text("name")?))
        }
        Some(value @ Value::Object(_)) if value["type"].is_string() => {
            Ok(ToolChoice::Opaque { dialect: DIALECT, value })
        }
        Some(Value::Object(_)) => Err(LlmError::invalid(&at, format!("`{at}.type` is missing"))),
        Some(other) => Err(wrong(&at, "a string or an object", &other)),
    }
}

/// Fails if the dialect cannot express the choice.
pub(super) fn write_choice(
    choice: &ToolChoice,
) -> Result<Option<Value>, InexpressibleToolChoiceError> {
    Ok(Some(match choice {
        ToolChoice::Unsaid => return Ok(None),
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Named(name) => json!({"type": "function", "name": name}),
        ToolChoice::Opaque { dialect: DIALECT, value } => value.clone(),
        ToolChoice::Opaque { dialect, value } => match AllowedTools::read(*dialect, value) {
            Some(allowed) => allowed.responses(),
            None => return Err(InexpressibleToolChoiceError),
        },
    }))
}
