//! Encodes and decodes tools and the tool choice, and decodes tool calls. Called by the readers and
//! writers of requests and responses.

use serde_json::{Map, Value, json};

use super::DIALECT;
use super::message_keys::{CALLS_KEY, SPELLING_KEY, with_spelling};
use crate::conversation::{ChatTool, Function, FunctionCall, MessagePart, PartContent, ToolChoice};
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::fields::{FieldReader, unknown, wrong};
use crate::format::openai_common::{AllowedTools, InexpressibleToolChoiceError, strict_of};

pub(super) fn read_all(list: Vec<Value>) -> Result<Vec<ChatTool>, LlmError> {
    list.into_iter()
        .enumerate()
        .map(|(index, tool)| read(tool, format!("tools[{index}]")))
        .collect()
}

fn read(value: Value, at: String) -> Result<ChatTool, LlmError> {
    let mut fields = FieldReader::new(value, at)?;
    if fields.peek("type").is_some_and(|kind| kind != "function") {
        let kind = fields.needed_text("type")?;
        fields.put("type", kind);
        return Ok(ChatTool::Hosted { dialect: DIALECT, value: fields.into_value() });
    }
    fields.take("type");
    let function = fields.object("function")?.ok_or_else(|| fields.missing("function"))?;
    let (function, rest) = read_function(function)?;
    fields.put_back("function", rest);
    Ok(ChatTool::Function(Function { extra: fields.rest(DIALECT), ..function }))
}

/// The legacy `functions`: tools without a wrapper object.
pub(super) fn read_legacy(list: Vec<Value>) -> Result<Vec<ChatTool>, LlmError> {
    let read = |(index, function)| {
        let fields = FieldReader::new(function, format!("functions[{index}]"))?;
        Ok(ChatTool::Function(read_function(fields)?.0))
    };
    list.into_iter().enumerate().map(read).collect()
}

fn read_function(mut fields: FieldReader) -> Result<(Function, FieldReader), LlmError> {
    let name = fields.needed_text("name")?;
    let description = fields.text("description")?;
    let parameters = fields.object("parameters")?.map(FieldReader::into_value);
    let extra = Extra::none();
    Ok((Function { name, description, parameters, extra }, fields))
}

/// `Err`: a tool that a provider of another dialect runs.
pub(super) fn write(tool: &ChatTool) -> Result<Value, LlmError> {
    let function = match tool {
        ChatTool::Function(function) => function,
        ChatTool::Hosted { dialect: DIALECT, value } => return Ok(value.clone()),
        ChatTool::Hosted { dialect, value } => {
            return Err(crate::format::openai_common::unsupported_hosted_tool(*dialect, value));
        }
    };
    let mut body = Map::from_iter([("name".to_owned(), function.name.clone().into())]);
    if let Some(description) = &function.description {
        body.insert("description".to_owned(), description.clone().into());
    }
    if let Some(parameters) = &function.parameters {
        body.insert("parameters".to_owned(), parameters.clone());
    }
    if let Some(strict) = strict_of(function) {
        body.insert("strict".to_owned(), strict.into());
    }
    let mut tool = Map::from_iter([
        ("type".to_owned(), "function".into()),
        ("function".to_owned(), Value::Object(body)),
    ]);
    function.extra.write_into(DIALECT, &mut tool);
    Ok(Value::Object(tool))
}

pub(super) fn read_choice(fields: &mut FieldReader) -> Result<ToolChoice, LlmError> {
    let at = fields.place("tool_choice");
    match fields.take("tool_choice") {
        None => Ok(ToolChoice::Unsaid),
        Some(Value::String(word)) => choice_word(&word, &at),
        Some(value @ Value::Object(_)) if value["type"] == "function" => {
            let mut choice = FieldReader::new(value, at)?;
            let mut function =
                choice.object("function")?.ok_or_else(|| choice.missing("function"))?;
            Ok(ToolChoice::Named(function.needed_text("name")?))
        }
        Some(value @ Value::Object(_)) if value["type"].is_string() => {
            Ok(ToolChoice::Opaque { dialect: DIALECT, value })
        }
        Some(Value::Object(_)) => Err(LlmError::invalid(&at, format!("`{at}.type` is missing"))),
        Some(other) => Err(wrong(&at, "a string or an object", &other)),
    }
}

fn choice_word(word: &str, at: &str) -> Result<ToolChoice, LlmError> {
    match word {
        "auto" => Ok(ToolChoice::Auto),
        "none" => Ok(ToolChoice::None),
        "required" => Ok(ToolChoice::Required),
        _ => Err(unknown(at, word, &["auto", "none", "required"])),
    }
}

/// The legacy `function_call` as a tool choice.
pub(super) fn read_legacy_choice(fields: &mut FieldReader) -> Result<ToolChoice, LlmError> {
    let at = fields.place("function_call");
    match fields.take("function_call") {
        None => Ok(ToolChoice::Unsaid),
        Some(Value::String(word)) => choice_word(&word, &at),
        Some(value) => Ok(ToolChoice::Named(FieldReader::new(value, at)?.needed_text("name")?)),
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
        ToolChoice::Named(name) => json!({"type": "function", "function": {"name": name}}),
        ToolChoice::Opaque { dialect: DIALECT, value } => value.clone(),
        ToolChoice::Opaque { dialect, value } => match AllowedTools::read(*dialect, value) {
            Some(allowed) => allowed.chat(),
            None => return Err(InexpressibleToolChoiceError),
        },
    }))
}

/// One entry of an assistant's `tool_calls`.
pub(super) fn read_call(value: Value, at: String) -> Result<MessagePart, LlmError> {
    let mut fields = FieldReader::new(value, at)?;
    if fields.peek("type").is_some_and(|kind| kind != "function") {
        return Ok(opaque_call(fields.into_value()));
    }
    fields.take("type");
    fields.take("index");
    let id = fields.needed_text("id")?;
    let mut function = fields.object("function")?.ok_or_else(|| fields.missing("function"))?;
    let name = function.needed_text("name")?;
    let arguments = read_arguments(&mut function)?;
    fields.put_back("function", function);
    Ok(MessagePart {
        content: PartContent::Call(FunctionCall { id, name, arguments }),
        extra: fields.rest(DIALECT),
    })
}

/// Usually a string; some servers send the object instead.
pub(super) fn read_arguments(function: &mut FieldReader) -> Result<String, LlmError> {
    match function.take("arguments") {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(object @ Value::Object(_)) => Ok(object.to_string()),
        Some(other) => Err(wrong(&function.place("arguments"), "a string", &other)),
    }
}

pub(super) fn write_call(call: &FunctionCall, part: &MessagePart) -> Value {
    let mut object = Map::from_iter([
        ("id".to_owned(), call.id.clone().into()),
        ("type".to_owned(), "function".into()),
        ("function".to_owned(), json!({"name": call.name, "arguments": call.arguments})),
    ]);
    part.extra.write_into(DIALECT, &mut object);
    Value::Object(object)
}

/// A tool call of another kind, such as `custom`.
pub(super) fn opaque_call(value: Value) -> MessagePart {
    let content = PartContent::Opaque { dialect: DIALECT, value };
    MessagePart { content, extra: with_spelling(CALLS_KEY) }
}

/// Whether an opaque part is a tool call: by the field it was in, or else by its id.
pub(super) fn is_call(value: &Value, extra: &Extra) -> bool {
    match extra.get(DIALECT, SPELLING_KEY).and_then(Value::as_str) {
        Some(field) => field == CALLS_KEY,
        None => value["id"].is_string(),
    }
}
