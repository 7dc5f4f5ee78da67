//! Converts tool results from one format to another, and detects their format.

use serde_json::Value;

use super::native::{DEFAULT_TOOL_NAME, read, write};
use crate::conversation::{CallEnd, CallResult, PartContent};
use crate::error::LlmError;
use crate::tools::conversion_loss::{ConversionLoss, ConversionLossKind};
use crate::tools::listing::DocumentExtent;
use crate::tools::tool_format::ToolFormat;

/// Results in another format.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvertedResults {
    pub results: Value,
    /// Losses; their location starts with the index of the result, from 0.
    pub lost: Vec<ConversionLoss>,
}

pub fn convert(
    document: Value,
    from: ToolFormat,
    to: ToolFormat,
) -> Result<ConvertedResults, LlmError> {
    let extent = if document.is_array() { DocumentExtent::Many } else { DocumentExtent::One };
    let mut results = read(document, from)?;
    let each = results.iter().enumerate();
    let lost = each.flat_map(|(at, result)| result_losses(at, result, to)).collect();
    if needs_ids(to) {
        for (at, result) in results.iter_mut().enumerate() {
            if result.call_id.is_empty() {
                result.call_id = placeholder_id(at);
            }
        }
    }
    let mut written = write(&results, to);
    let results = match (extent, written.len()) {
        (DocumentExtent::One, 1) => written.remove(0),
        _ => Value::Array(written),
    };
    Ok(ConvertedResults { results, lost })
}

fn needs_ids(form: ToolFormat) -> bool {
    !matches!(form, ToolFormat::Mcp | ToolFormat::Gemini | ToolFormat::GeminiLive)
}

fn placeholder_id(at: usize) -> String {
    format!("call_{}", at + 1)
}

fn result_losses(at: usize, result: &CallResult, to: ToolFormat) -> Vec<ConversionLoss> {
    let mut lost = Vec::new();
    let mut say = |what: &str| {
        lost.push(ConversionLoss::new(ConversionLossKind::Field, format!("/{at}"), what))
    };
    if needs_ids(to) && result.call_id.is_empty() {
        say(&format!(
            "the call that it answers is unknown: its id becomes `{}`",
            placeholder_id(at)
        ));
    }
    if matches!(to, ToolFormat::Gemini | ToolFormat::GeminiLive) && result.name.is_none() {
        say(&format!(
            "the tool that it is from is unknown: its name becomes `{DEFAULT_TOOL_NAME}`"
        ));
    }
    if to == ToolFormat::Mcp && !result.call_id.is_empty() {
        say("the id of its call is omitted");
    }
    let by_words =
        matches!(to, ToolFormat::OpenAi | ToolFormat::OpenAiResponses | ToolFormat::OpenAiRealtime);
    if by_words && result.end == CallEnd::Failed {
        say("the failure of the call is only in its text");
    }
    let is_media = result.parts.iter().any(|part| matches!(part.content, PartContent::Media(_)));
    if is_media && matches!(to, ToolFormat::OpenAiRealtime | ToolFormat::GeminiLive) {
        say("images, audio and documents are replaced by their names");
    }
    lost
}

/// The format of a document of results; `None` if it is ambiguous.
pub fn form_of(document: &Value) -> Option<ToolFormat> {
    let one = match document {
        Value::Array(items) => return form_of(items.first()?),
        one => one,
    };
    let has = |key: &str| one.get(key).is_some();
    let kind = one["type"].as_str();
    if has("tool_call_id") || has("messages") {
        Some(ToolFormat::OpenAi)
    } else if has("item") {
        Some(ToolFormat::OpenAiRealtime)
    } else if kind == Some("function_call_output") || has("input") {
        Some(ToolFormat::OpenAiResponses)
    } else if kind == Some("tool_result") {
        Some(ToolFormat::Anthropic)
    } else if has("functionResponse") || has("parts") {
        Some(ToolFormat::Gemini)
    } else if has("toolResponse") || has("functionResponses") {
        Some(ToolFormat::GeminiLive)
    } else if has("role") && has("content") {
        Some(ToolFormat::Anthropic)
    } else if has("content") || has("structuredContent") || has("result") {
        Some(ToolFormat::Mcp)
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
