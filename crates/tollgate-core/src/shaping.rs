//! Result shaping: turns a tool's answer into an outcome that a model can use and a voice can
//! speak. Tool text is data: it is truncated and rendered here, never interpreted as instructions.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::call::{CallStatus, Outcome, ResultExtent, ResultHandle, ResultSource, Retryability};
use crate::json::{self, Object};
use crate::text::truncate_chars;
use crate::tool::Tool;

mod caps;
mod content;
mod content_budget;
mod cut;
mod head;
mod note;
pub mod pages;
mod prune;
mod speakable_text;
mod speech;
mod text_fit;
mod verdict;

pub use caps::{MessageWording, ResultCaps, StructuredPolicy};
pub use speech::message;

use verdict::ResultVerdict;

/// The message of a result without text.
pub const DONE: &str = "Done.";

/// Maximum items that are read as data; larger results are truncated first.
const MAX_DATA_ITEMS: usize = 4_096;

const SENSIBLE: Retryability = Retryability::Sensible { hint: None, after: None };

/// The consumer of a result.
#[derive(Debug, Clone, Copy)]
pub struct ResultConsumer<'c> {
    pub caps: &'c ResultCaps,
    /// A fresh handle, named in the outcome if something was truncated. `None`: nothing can be
    /// retained.
    pub spare: Option<ResultHandle>,
}

/// A result as its consumer receives it, and the full result.
#[derive(Debug)]
pub struct ShapedResult {
    pub outcome: Outcome,
    /// The full result, to be stored under the handle of `outcome`, if it was truncated.
    pub rest: Option<Outcome>,
}

/// Shapes a tool's answer for its consumer.
pub fn shape(
    tool: &Tool,
    result: Box<RawValue>,
    duration: Duration,
    consumer: ResultConsumer<'_>,
) -> ShapedResult {
    let whole = match Object::parse(result.get()) {
        Ok(whole) => whole,
        Err(error) => {
            let message = format!("the result of `{}` cannot be read: {error}", tool.exposed);
            return ShapedResult {
                outcome: failure(CallStatus::Error, &message, duration),
                rest: None,
            };
        }
    };
    let mended = repair_result(&whole);
    let verdict = verdict::verdict(mended.as_ref().unwrap_or(&whole));
    let mended = match verdict {
        ResultVerdict::FailedInside(how) => {
            Some(mark_as_error(tool, mended.unwrap_or(whole.clone()), how))
        }
        ResultVerdict::Fine | ResultVerdict::Empty | ResultVerdict::Failed => mended,
    };
    let changes_things = tool.definition.annotations.read_only == Some(false);
    let status = match verdict {
        ResultVerdict::Fine => CallStatus::Ok,
        // An action without any output has succeeded.
        ResultVerdict::Empty if changes_things => CallStatus::Ok,
        ResultVerdict::Empty => CallStatus::NoResults,
        ResultVerdict::Failed | ResultVerdict::FailedInside(_) => CallStatus::Error,
    };
    let ResultConsumer { caps, spare: handle } = consumer;
    let written = mended.as_ref().map(Object::to_raw);
    let rules = cut::CutRules { caps, schema: tool.output.as_ref(), handle };
    let shorter = cut::cut(written.as_deref().unwrap_or(&result).get(), rules);
    // Truncation here is not an error of the tool.
    let warned = match (&shorter, status) {
        (None, CallStatus::Ok | CallStatus::NoResults) => {
            warn_of_mismatch(tool, mended.unwrap_or(whole), caps)
        }
        _ => None,
    };
    let may_help = status == CallStatus::Error && tool.terms.idempotent;
    let outcome = Outcome {
        status,
        result: warned.or(written).unwrap_or(result),
        retry: if may_help { SENSIBLE } else { Retryability::Pointless },
        extent: ResultExtent::Whole,
        handle: None,
        source: ResultSource::Fresh,
        duration,
        origin: None,
    };
    let Some(result) = shorter else { return ShapedResult { outcome, rest: None } };
    let rest = handle.map(|_| Outcome { handle, ..outcome.clone() });
    ShapedResult { outcome: Outcome { result, extent: ResultExtent::Cut, handle, ..outcome }, rest }
}

/// Shapes a full outcome again for another consumer.
pub fn reshape(tool: &Tool, whole: Outcome, consumer: ResultConsumer<'_>) -> ShapedResult {
    let ResultConsumer { caps, spare: handle } = consumer;
    let rules = cut::CutRules { caps, schema: tool.output.as_ref(), handle };
    let Some(result) = cut::cut(whole.result.get(), rules) else {
        return ShapedResult { outcome: whole, rest: None };
    };
    // A pending result already has a handle.
    let handle = whole.handle.or(handle);
    let rest = handle.map(|_| Outcome { handle, ..whole.clone() });
    ShapedResult { outcome: Outcome { result, extent: ResultExtent::Cut, handle, ..whole }, rest }
}

/// An outcome reported by the gateway: the tool did not answer.
pub fn failure(status: CallStatus, message: &str, duration: Duration) -> Outcome {
    let retry = match status {
        CallStatus::Timeout | CallStatus::Offline | CallStatus::RateLimited => SENSIBLE,
        _ => Retryability::Pointless,
    };
    let mut result = text_result(message);
    result.set("isError", json::raw("true".to_owned()));
    Outcome {
        status,
        result: result.to_raw(),
        retry,
        extent: ResultExtent::Whole,
        handle: None,
        source: ResultSource::Fresh,
        duration,
        origin: None,
    }
}

/// An answer by the gateway itself.
pub fn gateway_answer(text: &str) -> Outcome {
    Outcome {
        status: CallStatus::Ok,
        result: text_result(text).to_raw(),
        ..failure(CallStatus::Ok, text, Duration::ZERO)
    }
}

/// The turn ended before the call: the result will be available under the handle.
pub fn pending(tool: &Tool, handle: ResultHandle, duration: Duration) -> Outcome {
    later(tool, handle, "is still running", duration)
}

/// The turn ended before the call was approved.
pub fn pending_outcome(tool: &Tool, handle: ResultHandle) -> Outcome {
    later(tool, handle, "is awaiting approval", Duration::ZERO)
}

fn later(tool: &Tool, handle: ResultHandle, how: &str, duration: Duration) -> Outcome {
    // Worded for speech: the handle is data.
    let mut result = text_result(&format!("`{}` {how}; its result comes later", tool.exposed));
    if tool.output.is_some() {
        // Clients reject a success without the structured content that the tool declares.
        result.set("isError", json::raw("true".to_owned()));
    }
    note::tell(&mut result, handle, "\"pending\":true");
    Outcome {
        status: CallStatus::Pending,
        result: result.to_raw(),
        retry: Retryability::Pointless,
        extent: ResultExtent::Whole,
        handle: Some(handle),
        source: ResultSource::Fresh,
        duration,
        origin: None,
    }
}

/// The result as data: structured content first, then JSON found in the text, then the text.
pub fn data(outcome: &Outcome) -> Value {
    let object = Object::parse(outcome.result.get()).unwrap_or_default();
    if let Some(structured) = object.get("structuredContent") {
        let unwrapped = content::unwrap_result_string(structured.get());
        return unwrapped
            .and_then(|unwrapped| json::value(&unwrapped).ok())
            .unwrap_or_else(|| json::value(structured.get()).unwrap_or(Value::Null));
    }
    let value = |text: String| match content::json_in(&text).map(json::value) {
        Some(Ok(value)) => value,
        _ => Value::String(text),
    };
    let mut values: Vec<Value> = own_texts(outcome).into_iter().map(value).collect();
    match values.len() {
        0 => Value::Null,
        1 => values.remove(0),
        _ => Value::Array(values),
    }
}

/// Like [`data`], as raw JSON: numbers keep all digits.
pub fn raw_data(outcome: &Outcome) -> Box<RawValue> {
    let object = Object::parse(outcome.result.get()).unwrap_or_default();
    if let Some(structured) = object.get("structuredContent") {
        let unwrapped = content::unwrap_result_string(structured.get());
        let unwrapped = unwrapped.filter(|unwrapped| json::value(unwrapped).is_ok());
        return unwrapped.map_or_else(|| structured.to_owned(), json::raw);
    }
    let value = |text: String| match content::json_in(&text) {
        Some(found) if json::value(found).is_ok() => json::raw(found.to_owned()),
        _ => json::raw_string(&text),
    };
    let mut values: Vec<Box<RawValue>> = own_texts(outcome).into_iter().map(value).collect();
    match values.len() {
        0 => json::raw("null".to_owned()),
        1 => values.remove(0),
        _ => {
            let all: Vec<&str> = values.iter().map(|value| value.get()).collect();
            json::raw(format!("[{}]", all.join(",")))
        }
    }
}

/// The tool's own text, without the truncation note.
fn own_texts(outcome: &Outcome) -> Vec<String> {
    let object = Object::parse(outcome.result.get()).unwrap_or_default();
    let mut texts = content::texts(&object, MAX_DATA_ITEMS);
    if outcome.extent == ResultExtent::Cut {
        texts.pop();
    }
    texts
}

fn text_result(text: &str) -> Object<'static> {
    let mut result = Object::new();
    result.set("content", json::raw(format!("[{}]", content::text_item(text))));
    result
}

/// Replaces `content` that is not a list, and removes an `isError` that is not a boolean, since
/// clients would interpret it differently.
fn repair_result<'r>(result: &Object<'r>) -> Option<Object<'r>> {
    let is_list = result.get("content").is_some_and(|raw| raw.get().starts_with('['));
    let is_flag = |raw: &RawValue| matches!(raw.get(), "true" | "false");
    let is_sound = result.get("isError").is_none_or(is_flag);
    if is_list && is_sound {
        return None;
    }
    let mut mended = result.clone();
    if !is_list {
        mended.set("content", json::raw("[]".to_owned()));
    }
    if !is_sound {
        mended.remove("isError");
    }
    Some(mended)
}

/// Marks a failure that claims success as an error. Structured content that violates the tool's
/// schema is sent as text: some clients would report only the mismatch.
fn mark_as_error<'r>(tool: &Tool, mut result: Object<'r>, how: &str) -> Object<'r> {
    result.set("isError", json::raw("true".to_owned()));
    if mismatch(tool, &result).is_some()
        && let Some(structured) = result.remove("structuredContent")
        && content::texts(&result, 1).is_empty()
    {
        let text = content::text_item(structured.get());
        result.set("content", json::raw(format!("[{text}]")));
    }
    annotate(&mut result, &format!("the tool claims success, but its result says {how}"));
    result
}

/// Adds a warning about invalid structured content: the mismatch is reported, and the answer is
/// still delivered.
fn warn_of_mismatch(
    tool: &Tool,
    mut result: Object<'_>,
    caps: &ResultCaps,
) -> Option<Box<RawValue>> {
    let note = mismatch(tool, &result)?;
    annotate(&mut result, &truncate_chars(&note, 1_000));
    Some(result.to_raw()).filter(|result| result.get().len() <= caps.result_bytes())
}

/// The mismatch between structured content and the tool's output schema.
fn mismatch(tool: &Tool, result: &Object<'_>) -> Option<Cow<'static, str>> {
    let schema = tool.output.as_ref()?;
    let Some(structured) = result.get("structuredContent") else {
        return Some("the tool declares an output schema but sent no structured content".into());
    };
    let value = match json::value(structured.get()) {
        Ok(value) => value,
        Err(error) => return Some(format!("structured content cannot be read: {error}").into()),
    };
    let violations = schema.check(&value).err()?;
    let words: Vec<String> = violations.iter().map(ToString::to_string).collect();
    let words = words.join("; ");
    Some(format!("structured content does not fit the tool's output schema: {words}").into())
}

fn annotate(result: &mut Object<'_>, warning: &str) {
    let mut meta = result.object("_meta").unwrap_or_default().into_owned();
    let note = Value::Object(Map::from_iter([("warning".to_owned(), warning.into())]));
    meta.set("dev.tollgate/output", json::raw_value(&note));
    result.set("_meta", meta.to_raw());
}

#[cfg(test)]
mod tests;
