//! Decodes a client's request. Called by the front through the codec.

use serde_json::Value;

use super::{DIALECT, message_reader, tool};
use crate::conversation::{
    ChatRequest, GenerationOptions, ParallelCalls, ResponseDelivery, ResponseFormat, ToolChoice,
};
use crate::error::LlmError;
use crate::format::fields::{FieldReader, wrong};
use crate::format::names;

/// OpenAI's limit of answers per request.
const MAX_CANDIDATES: u64 = 128;

/// Note that the client only knows functions, not tools.
pub(super) const LEGACY_FUNCTIONS_KEY: &str = "function_call";

pub(super) fn read(body: Value) -> Result<ChatRequest, LlmError> {
    let mut fields = FieldReader::new(body, "")?;
    let model = fields.needed_text("model")?;
    let messages = fields.list("messages")?.ok_or_else(|| fields.missing("messages"))?;
    if messages.is_empty() {
        return Err(LlmError::invalid("messages", "`messages` is empty; at least one is needed"));
    }
    let messages = message_reader::read_all(messages)?;
    let delivery = match fields.flag("stream")? {
        Some(true) => ResponseDelivery::Streamed,
        Some(false) | None => ResponseDelivery::Whole,
    };
    let mut options = options(&mut fields)?;
    let mut tools = tool::read_all(fields.list("tools")?.unwrap_or_default())?;
    let mut tool_choice = tool::read_choice(&mut fields)?;
    if let Some(functions) = fields.list("functions")? {
        tools.extend(tool::read_legacy(functions)?);
        let choice = tool::read_legacy_choice(&mut fields)?;
        if tool_choice == ToolChoice::Unsaid {
            tool_choice = choice;
        }
        options.parallel_calls = Some(ParallelCalls::Forbidden);
        fields.put(LEGACY_FUNCTIONS_KEY, "auto");
    }
    names::check(&tools, DIALECT)?;
    let extra = fields.rest(DIALECT);
    let messages = messages.into();
    Ok(ChatRequest { model, messages, tools, tool_choice, options, delivery, extra })
}

fn options(fields: &mut FieldReader) -> Result<GenerationOptions, LlmError> {
    let candidates = fields.count("n")?;
    if candidates.is_some_and(|count| count > MAX_CANDIDATES) {
        return Err(LlmError::invalid("n", format!("`n` is more than {MAX_CANDIDATES}")));
    }
    let top_k = fields.number("top_k")?;
    if let Some(top_k) = &top_k {
        fields.put("top_k", top_k.clone());
    }
    Ok(GenerationOptions {
        max_output: max_output(fields)?,
        temperature: fields.number("temperature")?,
        top_p: fields.number("top_p")?,
        top_k,
        seed: fields.number("seed")?,
        presence_penalty: fields.number("presence_penalty")?,
        frequency_penalty: fields.number("frequency_penalty")?,
        stop: stop(fields)?,
        parallel_calls: fields
            .flag("parallel_tool_calls")?
            .map(|allowed| if allowed { ParallelCalls::Allowed } else { ParallelCalls::Forbidden }),
        output: output(fields)?,
        effort: fields.text("reasoning_effort")?,
        user: fields.text("user")?,
        candidates,
        // The field itself goes to providers of this dialect.
        store: fields.peek("store").and_then(Value::as_bool),
        cached_for: None,
        ends_in_aside: false,
    })
}

/// Accepts either name of the limit; the legacy one is noted, because servers differ in which one
/// they know.
fn max_output(fields: &mut FieldReader) -> Result<Option<u64>, LlmError> {
    let now = fields.count("max_completion_tokens")?;
    let before = fields.count("max_tokens")?;
    match (now, before) {
        (Some(_), Some(_)) => Err(LlmError::invalid(
            "max_tokens",
            "`max_tokens` and `max_completion_tokens` are the same limit; send only one",
        )),
        (None, Some(count)) => {
            fields.put("max_tokens", count);
            Ok(Some(count))
        }
        (now, None) => Ok(now),
    }
}

fn stop(fields: &mut FieldReader) -> Result<Vec<String>, LlmError> {
    let list = match fields.take("stop") {
        None => return Ok(Vec::new()),
        Some(Value::String(text)) => return Ok(vec![text]),
        Some(Value::Array(list)) => list,
        Some(other) => return Err(wrong("stop", "a string or a list of strings", &other)),
    };
    let text = |(index, value)| match value {
        Value::String(text) => Ok(text),
        other => Err(wrong(&format!("stop[{index}]"), "a string", &other)),
    };
    list.into_iter().enumerate().map(text).collect()
}

fn output(fields: &mut FieldReader) -> Result<Option<ResponseFormat>, LlmError> {
    let Some(mut format) = fields.object("response_format")? else { return Ok(None) };
    let kind = format.needed_text("type")?;
    let output = match kind.as_str() {
        "json_object" => Some(ResponseFormat::Json),
        "json_schema" => {
            let mut form =
                format.object("json_schema")?.ok_or_else(|| format.missing("json_schema"))?;
            let name = form.needed_text("name")?;
            let strict = form.flag("strict")?;
            let schema = form.object("schema")?.map_or(Value::Bool(true), FieldReader::into_value);
            format.put_back("json_schema", form);
            Some(ResponseFormat::Schema { name, schema, strict })
        }
        _ => {
            format.put("type", kind);
            None
        }
    };
    fields.put_back("response_format", format);
    Ok(output)
}
