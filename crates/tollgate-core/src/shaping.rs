//! From what a tool answered to an outcome that a model can use and a voice can say.
//! Tool text is data: it is cut and rendered here, never obeyed.

use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::call::{Extent, Outcome, Retry, Source, Status};
use crate::json::{self, Object};
use crate::tool::{Speech, Tool};

mod cut;

pub use cut::Caps;

/// What is said of a result that has no words of its own.
pub const DONE: &str = "Done.";

const SENSIBLE: Retry = Retry::Sensible { hint: None };

/// Shapes a tool's own answer. `caps` bound what goes on to the caller.
pub fn shape(tool: &Tool, result: Box<RawValue>, duration: Duration, caps: &Caps) -> Outcome {
    let (result, extent) = match cut::cut(&result, caps) {
        Some(shorter) => (shorter, Extent::Cut),
        None => (result, Extent::Whole),
    };
    let object = match Object::parse(result.get()) {
        Ok(object) => object,
        Err(error) => {
            let message = format!("the result of `{}` cannot be read: {error}", tool.exposed);
            return failure(Status::Error, &message, duration);
        }
    };
    let mended = mended(&object);
    let object = mended.as_ref().unwrap_or(&object);
    let failed = object.get("isError").is_some_and(|raw| raw.get() == "true");
    let status = match () {
        () if failed => Status::Error,
        () if is_empty(object) => Status::NoResults,
        () => Status::Ok,
    };
    // What was cut here is no fault of the tool.
    let mismatch = match extent {
        Extent::Whole => mismatch(tool, object),
        Extent::Cut => None,
    };
    let result = match mismatch {
        Some(note) if !failed => annotated(object, &note),
        _ if mended.is_some() => object.to_raw(),
        _ => result,
    };
    Outcome {
        status,
        result,
        retry: if failed && tool.terms.idempotent { SENSIBLE } else { Retry::Pointless },
        extent,
        source: Source::Fresh,
        duration,
    }
}

/// An outcome that the gateway itself has to say something about: the tool did not answer.
pub fn failure(status: Status, message: &str, duration: Duration) -> Outcome {
    let retry = match status {
        Status::Timeout | Status::Offline | Status::RateLimited => SENSIBLE,
        _ => Retry::Pointless,
    };
    let mut text = Object::new();
    text.set_string("type", "text");
    text.set_string("text", message);
    let mut result = Object::new();
    result.set("content", json::raw(format!("[{}]", text.to_text())));
    result.set("isError", json::raw("true".to_owned()));
    Outcome {
        status,
        result: result.to_raw(),
        retry,
        extent: Extent::Whole,
        source: Source::Fresh,
        duration,
    }
}

/// The result as data: structured content first, then JSON found in the text, then the text.
pub fn data(result: &RawValue) -> Value {
    let object = Object::parse(result.get()).unwrap_or_default();
    if let Some(structured) = object.get("structuredContent") {
        return json::value(structured.get()).unwrap_or(Value::Null);
    }
    let texts = texts(&object);
    let mut values: Vec<Value> = texts
        .into_iter()
        .map(|text| looks_like_json(&text).unwrap_or(Value::String(text)))
        .collect();
    match values.len() {
        0 => Value::Null,
        1 => values.remove(0),
        _ => Value::Array(values),
    }
}

/// The result as a sentence: template, then field, then plain text, then something generic.
pub fn spoken(speech: &Speech, outcome: &Outcome, data: &Value) -> String {
    let usable = matches!(outcome.status, Status::Ok | Status::NoResults);
    if usable {
        let rendered = speech.template.as_deref().and_then(|template| fill(template, data));
        let rendered = rendered.or_else(|| say(field(data, speech.field.as_deref()?)?));
        if let Some(sentence) = rendered {
            return sentence;
        }
    }
    let object = Object::parse(outcome.result.get()).unwrap_or_default();
    let plain: Vec<String> =
        texts(&object).into_iter().filter(|text| looks_like_json(text).is_none()).collect();
    match (plain.join(" "), outcome.status) {
        (text, _) if !text.trim().is_empty() => text,
        (_, Status::NoResults) => "I found nothing.".to_owned(),
        (_, Status::Ok) => DONE.to_owned(),
        _ => "That did not work.".to_owned(),
    }
}

/// Fills `{dotted.path}` from the data. A missing field gives the template up, whole.
fn fill(template: &str, data: &Value) -> Option<String> {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let Some(length) = rest[open..].find('}') else { break };
        out.push_str(&rest[..open]);
        out.push_str(&say(field(data, &rest[open + 1..open + length])?)?);
        rest = &rest[open + length + 1..];
    }
    out.push_str(rest);
    Some(out)
}

fn field<'v>(data: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(data, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    })
}

fn say(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(true) => Some("yes".to_owned()),
        Value::Bool(false) => Some("no".to_owned()),
        Value::Array(items) => Some(items.iter().map(say).collect::<Option<Vec<_>>>()?.join(", ")),
        Value::Null | Value::Object(_) => None,
    }
}

fn texts(result: &Object<'_>) -> Vec<String> {
    let items: Vec<&RawValue> = result
        .get("content")
        .and_then(|content| serde_json::from_str(content.get()).ok())
        .unwrap_or_default();
    items
        .into_iter()
        .filter_map(|item| {
            let item = Object::parse(item.get()).ok()?;
            item.string("text").map(std::borrow::Cow::into_owned)
        })
        .collect()
}

fn looks_like_json(text: &str) -> Option<Value> {
    let text = text.trim();
    let fits = text.starts_with(['{', '[']) || text == "null";
    fits.then(|| json::value(text).ok()).flatten()
}

/// No content, or structured content that is an empty list: asked and found nothing.
fn is_empty(result: &Object<'_>) -> bool {
    let is = |key: &str, what: &[&str]| {
        result.get(key).is_some_and(|raw| what.contains(&raw.get().trim()))
    };
    match result.get("structuredContent") {
        Some(_) => is("structuredContent", &["[]", "null"]),
        None => is("content", &["[]"]),
    }
}

/// The result with a list for content, and no `isError` that each reader would take differently.
fn mended<'r>(result: &Object<'r>) -> Option<Object<'r>> {
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

/// What is wrong with structured content that does not fit the tool's own output schema.
fn mismatch(tool: &Tool, result: &Object<'_>) -> Option<String> {
    let schema = tool.output.as_ref()?;
    let Some(structured) = result.get("structuredContent") else {
        return Some(
            "the tool declares an output schema but sent no structured content".to_owned(),
        );
    };
    let value = match json::value(structured.get()) {
        Ok(value) => value,
        Err(error) => return Some(format!("structured content cannot be read: {error}")),
    };
    let violations = schema.check(&value).err()?;
    let words: Vec<String> = violations.iter().map(ToString::to_string).collect();
    Some(format!("structured content does not fit the tool's output schema: {}", words.join("; ")))
}

/// The result with a note in its `_meta`: reported, not hidden, and the answer still arrives.
fn annotated(result: &Object<'_>, note: &str) -> Box<RawValue> {
    let mut meta = result.object("_meta").unwrap_or_default().into_owned();
    let note = Value::Object(Map::from_iter([("warning".to_owned(), note.into())]));
    meta.set("dev.tollgate/output", json::raw_value(&note));
    let mut result = result.clone();
    result.set("_meta", meta.to_raw());
    result.to_raw()
}

#[cfg(test)]
mod tests;
