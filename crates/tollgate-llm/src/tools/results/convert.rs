//! Results of tools from one form into another, and which form they are in.

use serde_json::Value;

use super::native::{NAMELESS, read, write};
use crate::conversation::{CallEnd, CallResult, Content};
use crate::failure::Failure;
use crate::tools::form::Form;
use crate::tools::listing::Extent;
use crate::tools::lost::{Kind, Lost};

/// Results in another form.
#[derive(Debug, Clone, PartialEq)]
pub struct Converted {
    pub results: Value,
    /// Of each: its place among them, from 0.
    pub lost: Vec<Lost>,
}

pub fn convert(document: Value, from: Form, to: Form) -> Result<Converted, Failure> {
    let extent = if document.is_array() { Extent::Many } else { Extent::One };
    let mut results = read(document, from)?;
    let each = results.iter().enumerate();
    let lost = each.flat_map(|(at, result)| lost(at, result, to)).collect();
    if needs_ids(to) {
        for (at, result) in results.iter_mut().enumerate() {
            if result.call_id.is_empty() {
                result.call_id = made_up(at);
            }
        }
    }
    let mut written = write(&results, to);
    let results = match (extent, written.len()) {
        (Extent::One, 1) => written.remove(0),
        _ => Value::Array(written),
    };
    Ok(Converted { results, lost })
}

fn needs_ids(form: Form) -> bool {
    !matches!(form, Form::Mcp | Form::Gemini | Form::GeminiLive)
}

fn made_up(at: usize) -> String {
    format!("call_{}", at + 1)
}

fn lost(at: usize, result: &CallResult, to: Form) -> Vec<Lost> {
    let mut lost = Vec::new();
    let mut say = |what: &str| lost.push(Lost::new(Kind::Field, format!("/{at}"), what));
    if needs_ids(to) && result.call_id.is_empty() {
        say(&format!("which call it answers is not known: it is `{}` there", made_up(at)));
    }
    if matches!(to, Form::Gemini | Form::GeminiLive) && result.name.is_none() {
        say(&format!("whose result it is is not known: it is of `{NAMELESS}` there"));
    }
    if to == Form::Mcp && !result.call_id.is_empty() {
        say("which call it answers is left out");
    }
    let by_words = matches!(to, Form::OpenAi | Form::OpenAiResponses | Form::OpenAiRealtime);
    if by_words && result.end == CallEnd::Failed {
        say("that the call failed is in its words only");
    }
    let is_media = result.parts.iter().any(|part| matches!(part.content, Content::Media(_)));
    if is_media && matches!(to, Form::OpenAiRealtime | Form::GeminiLive) {
        say("pictures, sounds and documents are only named");
    }
    lost
}

/// The form of a document of results; `None` if it could be several.
pub fn form_of(document: &Value) -> Option<Form> {
    let one = match document {
        Value::Array(items) => return form_of(items.first()?),
        one => one,
    };
    let has = |key: &str| one.get(key).is_some();
    let kind = one["type"].as_str();
    if has("tool_call_id") || has("messages") {
        Some(Form::OpenAi)
    } else if has("item") {
        Some(Form::OpenAiRealtime)
    } else if kind == Some("function_call_output") || has("input") {
        Some(Form::OpenAiResponses)
    } else if kind == Some("tool_result") {
        Some(Form::Anthropic)
    } else if has("functionResponse") || has("parts") {
        Some(Form::Gemini)
    } else if has("toolResponse") || has("functionResponses") {
        Some(Form::GeminiLive)
    } else if has("role") && has("content") {
        Some(Form::Anthropic)
    } else if has("content") || has("structuredContent") || has("result") {
        Some(Form::Mcp)
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
