//! Decodes a client's request and reports the location of errors.

use serde_json::Value;

use crate::conversation::{
    ChatMessage, ChatRequest, ChatRole, ChatTool, Function, GenerationOptions, MessagePart,
    ParallelCalls, PartContent, ResponseDelivery, ResponseFormat, ToolChoice,
};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format::RequestUrlParams;
use crate::format::fields::{FieldReader, unknown, wrong};
use crate::format::names;
use crate::format::pairing::CallPairing;

use super::part_reader;

const OWN: Dialect = Dialect::Anthropic;

pub(super) fn read(body: Value, address: &RequestUrlParams<'_>) -> Result<ChatRequest, LlmError> {
    let mut fields = FieldReader::new(body, "")?;
    let named = fields.text("model")?;
    let Some(model) = address.model.map(str::to_owned).or(named) else {
        return Err(fields.missing("model"));
    };
    let max_output = Some(max_tokens(&mut fields)?);
    let mut messages: Vec<ChatMessage> = system(&mut fields)?.into_iter().collect();
    messages.extend(conversation(&mut fields)?);
    let tools = tools(&mut fields)?;
    let (tool_choice, parallel_calls) = tool_choice(&mut fields)?;
    let (output, effort) = output_config(&mut fields)?;
    let options = GenerationOptions {
        max_output,
        temperature: share(&mut fields, "temperature")?,
        top_p: share(&mut fields, "top_p")?,
        top_k: fields.number("top_k")?,
        stop: stop_sequences(&mut fields)?,
        parallel_calls,
        output,
        effort,
        user: user(&mut fields)?,
        ..GenerationOptions::default()
    };
    let delivery = match fields.flag("stream")? {
        Some(true) => ResponseDelivery::Streamed,
        Some(false) | None => address.delivery.unwrap_or(ResponseDelivery::Whole),
    };
    let extra = fields.rest(OWN);
    let messages = messages.into();
    Ok(ChatRequest { model, messages, tools, tool_choice, options, delivery, extra })
}

/// 0 has its own meaning: only write the prompt into the cache.
fn max_tokens(fields: &mut FieldReader) -> Result<u64, LlmError> {
    let Some(number) = fields.number("max_tokens")? else {
        return Err(fields.missing("max_tokens"));
    };
    let known = number.as_u64().filter(|count| *count <= u64::from(u32::MAX));
    known.ok_or_else(|| wrong("max_tokens", "a whole number of tokens", &number.into()))
}

/// A number from 0 to 1.
fn share(fields: &mut FieldReader, key: &str) -> Result<Option<serde_json::Number>, LlmError> {
    let Some(number) = fields.number(key)? else { return Ok(None) };
    match number.as_f64() {
        Some(share) if (0.0..=1.0).contains(&share) => Ok(Some(number)),
        _ => Err(LlmError::invalid(key, format!("`{key}` must lie between 0 and 1, not {number}"))),
    }
}

fn system(fields: &mut FieldReader) -> Result<Option<ChatMessage>, LlmError> {
    let Some(system) = fields.take("system") else { return Ok(None) };
    let parts = part_reader::read_all(system, "system")?;
    only_text(&parts, "system")?;
    let has_content = parts.iter().any(|part| part.as_text() != Some(""));
    Ok(has_content.then(|| ChatMessage::new(ChatRole::System, parts)))
}

fn only_text(parts: &[MessagePart], at: &str) -> Result<(), LlmError> {
    let other = parts.iter().position(|part| {
        !matches!(part.content, PartContent::Text(_) | PartContent::Opaque { .. })
    });
    let Some(index) = other else { return Ok(()) };
    let at = format!("{at}[{index}]");
    let message = format!("`{at}` must be text: system prompts contain nothing else");
    Err(LlmError::invalid(at, message))
}

fn conversation(fields: &mut FieldReader) -> Result<Vec<ChatMessage>, LlmError> {
    let Some(list) = fields.list("messages")? else { return Err(fields.missing("messages")) };
    if list.is_empty() {
        return Err(LlmError::invalid("messages", "`messages` must contain at least one message"));
    }
    let mut pairing = CallPairing::default();
    let mut messages = Vec::with_capacity(list.len());
    for (index, value) in list.into_iter().enumerate() {
        messages.push(message(value, format!("messages[{index}]"), &mut pairing)?);
    }
    pairing.check_all_answered()?;
    Ok(messages)
}

fn message(value: Value, at: String, pairing: &mut CallPairing) -> Result<ChatMessage, LlmError> {
    let mut fields = FieldReader::new(value, at)?;
    let role = match fields.needed_text("role")?.as_str() {
        "user" => ChatRole::User,
        "assistant" => ChatRole::Assistant,
        "system" => ChatRole::System,
        other => {
            let known = ["user", "assistant", "system"];
            return Err(unknown(&fields.place("role"), other, &known));
        }
    };
    let at = fields.place("content");
    let Some(content) = fields.take("content") else { return Err(fields.missing("content")) };
    let mut parts = part_reader::read_all(content, &at)?;
    match role {
        ChatRole::System | ChatRole::Developer => only_text(&parts, &at)?,
        ChatRole::Assistant | ChatRole::User => pairing.turn(role)?,
    }
    for (index, part) in parts.iter_mut().enumerate() {
        let at = format!("{at}[{index}]");
        match &mut part.content {
            PartContent::Call(call) if role == ChatRole::Assistant => pairing.call(call, &at)?,
            PartContent::Call(_) => {
                let message = format!("`{at}`: only the assistant uses tools");
                return Err(LlmError::invalid(at, message));
            }
            PartContent::Result(result) if role == ChatRole::User => pairing.result(result, &at)?,
            PartContent::Result(_) => {
                let message = format!("`{at}`: tool results belong in user messages");
                return Err(LlmError::invalid(at, message));
            }
            _ => {}
        }
    }
    Ok(ChatMessage { role, parts, extra: fields.rest(OWN) })
}

fn tools(fields: &mut FieldReader) -> Result<Vec<ChatTool>, LlmError> {
    let list = fields.list("tools")?.unwrap_or_default();
    let numbered = list.into_iter().enumerate();
    let tools = numbered
        .map(|(index, value)| tool(FieldReader::new(value, format!("tools[{index}]"))?))
        .collect::<Result<Vec<_>, LlmError>>()?;
    names::check(&tools, OWN)?;
    Ok(tools)
}

fn tool(mut fields: FieldReader) -> Result<ChatTool, LlmError> {
    match fields.peek("type") {
        None => {}
        Some(Value::String(kind)) if kind == "custom" => {
            fields.take("type");
        }
        Some(Value::String(_)) => {
            return Ok(ChatTool::Hosted { dialect: OWN, value: fields.into_value() });
        }
        Some(other) => return Err(wrong(&fields.place("type"), "a string", other)),
    }
    let name = fields.needed_text("name")?;
    let parameters = match fields.take("input_schema") {
        Some(schema @ Value::Object(_)) => schema,
        Some(other) => return Err(wrong(&fields.place("input_schema"), "an object", &other)),
        None => return Err(fields.missing("input_schema")),
    };
    let description = fields.text("description")?;
    let extra = fields.rest(OWN);
    Ok(ChatTool::Function(Function { name, description, parameters: Some(parameters), extra }))
}

fn tool_choice(fields: &mut FieldReader) -> Result<(ToolChoice, Option<ParallelCalls>), LlmError> {
    let Some(mut choice) = fields.object("tool_choice")? else {
        return Ok((ToolChoice::Unsaid, None));
    };
    let parallel = choice
        .flag("disable_parallel_tool_use")?
        .map(|disabled| if disabled { ParallelCalls::Forbidden } else { ParallelCalls::Allowed });
    let chosen = match choice.needed_text("type")?.as_str() {
        "auto" => ToolChoice::Auto,
        "any" => ToolChoice::Required,
        "none" => ToolChoice::None,
        "tool" => ToolChoice::Named(choice.needed_text("name")?),
        other => {
            let known = ["auto", "any", "tool", "none"];
            return Err(unknown("tool_choice.type", other, &known));
        }
    };
    Ok((chosen, parallel))
}

/// Unread fields of `output_config` are put back, to stay with the request.
fn output_config(
    fields: &mut FieldReader,
) -> Result<(Option<ResponseFormat>, Option<String>), LlmError> {
    let Some(mut config) = fields.object("output_config")? else { return Ok((None, None)) };
    let effort = config.text("effort")?;
    let mut output = None;
    if config.peek("format").and_then(|it| it.get("type")).is_some_and(|it| it == "json_schema")
        && let Some(mut format) = config.object("format")?
    {
        let schema = match format.take("schema") {
            Some(schema @ Value::Object(_)) => schema,
            Some(other) => return Err(wrong(&format.place("schema"), "an object", &other)),
            None => return Err(format.missing("schema")),
        };
        output = Some(ResponseFormat::Schema { name: "output".to_owned(), schema, strict: None });
    }
    fields.put_back("output_config", config);
    Ok((output, effort))
}

fn stop_sequences(fields: &mut FieldReader) -> Result<Vec<String>, LlmError> {
    let list = fields.list("stop_sequences")?.unwrap_or_default();
    let numbered = list.into_iter().enumerate();
    let texts = numbered.map(|(index, value)| match value {
        Value::String(text) => Ok(text),
        other => Err(wrong(&format!("stop_sequences[{index}]"), "a string", &other)),
    });
    texts.collect()
}

fn user(fields: &mut FieldReader) -> Result<Option<String>, LlmError> {
    let Some(mut metadata) = fields.object("metadata")? else { return Ok(None) };
    let user = metadata.text("user_id")?;
    fields.put_back("metadata", metadata);
    Ok(user)
}
