//! Decodes a client's request. Called by the front through the codec.

use serde_json::Value;

use super::{DIALECT, SEALED_REASONING, message_reader, tool};
use crate::conversation::{
    ChatMessage, ChatRequest, ChatRole, GenerationOptions, ParallelCalls, ResponseDelivery,
    ResponseFormat,
};
use crate::error::LlmError;
use crate::format::fields::{FieldReader, wrong};
use crate::format::names;

/// Fields that refer to state stored at the provider.
const PROVIDER_STATE_KEYS: &[&str] = &["previous_response_id", "conversation", "prompt"];

pub(super) fn read(body: Value) -> Result<ChatRequest, LlmError> {
    let mut fields = FieldReader::new(body, "")?;
    let model = fields.needed_text("model")?;
    let mut messages = Vec::new();
    if let Some(instructions) = fields.text("instructions")? {
        messages.push(ChatMessage::text(ChatRole::System, instructions));
    }
    let history = if PROVIDER_STATE_KEYS.iter().any(|key| fields.has(key)) {
        message_reader::HistoryLocation::Elsewhere
    } else {
        message_reader::HistoryLocation::Here
    };
    messages.extend(input(&mut fields, history)?);
    let delivery = match fields.flag("stream")? {
        Some(true) => ResponseDelivery::Streamed,
        Some(false) | None => ResponseDelivery::Whole,
    };
    let options = options(&mut fields)?;
    let tools = tool::read_all(fields.list("tools")?.unwrap_or_default())?;
    names::check(&tools, DIALECT)?;
    let tool_choice = tool::read_choice(&mut fields)?;
    drop_sealed_reasoning(&mut fields);
    // Note that the client speaks this dialect.
    fields.put("input", Value::Null);
    let extra = fields.rest(DIALECT);
    let messages = messages.into();
    Ok(ChatRequest { model, messages, tools, tool_choice, options, delivery, extra })
}

/// Drops the wish for reasoning that can be sent back: every client gets it, from any provider.
fn drop_sealed_reasoning(fields: &mut FieldReader) {
    let Some(Value::Array(mut include)) = fields.peek("include").cloned() else { return };
    include.retain(|it| it != SEALED_REASONING);
    fields.take("include");
    if !include.is_empty() {
        fields.put("include", include);
    }
}

fn input(
    fields: &mut FieldReader,
    history: message_reader::HistoryLocation,
) -> Result<Vec<ChatMessage>, LlmError> {
    let messages = match fields.take("input") {
        Some(Value::String(text)) => vec![ChatMessage::text(ChatRole::User, text)],
        Some(Value::Array(list)) => message_reader::read_all(list, history)?,
        Some(other) => return Err(wrong("input", "a string or a list of items", &other)),
        None if history == message_reader::HistoryLocation::Elsewhere => return Ok(Vec::new()),
        None => return Err(fields.missing("input")),
    };
    if messages.is_empty() && history == message_reader::HistoryLocation::Here {
        return Err(LlmError::invalid("input", "`input` is empty; at least one item is needed"));
    }
    Ok(messages)
}

fn options(fields: &mut FieldReader) -> Result<GenerationOptions, LlmError> {
    Ok(GenerationOptions {
        max_output: fields.count("max_output_tokens")?,
        temperature: fields.number("temperature")?,
        top_p: fields.number("top_p")?,
        parallel_calls: fields
            .flag("parallel_tool_calls")?
            .map(|allowed| if allowed { ParallelCalls::Allowed } else { ParallelCalls::Forbidden }),
        output: output(fields)?,
        effort: effort(fields)?,
        user: fields.text("user")?,
        store: fields.flag("store")?,
        ..GenerationOptions::default()
    })
}

fn effort(fields: &mut FieldReader) -> Result<Option<String>, LlmError> {
    let Some(mut reasoning) = fields.object("reasoning")? else { return Ok(None) };
    let effort = reasoning.text("effort")?;
    fields.put_back("reasoning", reasoning);
    Ok(effort)
}

fn output(fields: &mut FieldReader) -> Result<Option<ResponseFormat>, LlmError> {
    let Some(mut text) = fields.object("text")? else { return Ok(None) };
    let mut output = None;
    if let Some(mut format) = text.object("format")? {
        let kind = format.needed_text("type")?;
        output = match kind.as_str() {
            "json_object" => Some(ResponseFormat::Json),
            "json_schema" => {
                let name = format.needed_text("name")?;
                let schema = format.object("schema")?.ok_or_else(|| format.missing("schema"))?;
                let strict = format.flag("strict")?;
                Some(ResponseFormat::Schema { name, schema: schema.into_value(), strict })
            }
            _ => {
                format.put("type", kind);
                None
            }
        };
        text.put_back("format", format);
    }
    fields.put_back("text", text);
    Ok(output)
}
