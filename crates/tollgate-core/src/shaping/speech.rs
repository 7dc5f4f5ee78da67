//! Renders a result as a spoken sentence: the operator's template, else the configured field, else
//! the tool's own text, else a generic sentence. JSON is never read out.

use serde_json::Value;

use super::DONE;
use super::caps::MessageWording;
use super::content::json_in;
use super::speakable_text::speakable;
use super::verdict;
use crate::call::{CallStatus, Outcome};
use crate::json;
use crate::tool::{SpeechTemplate, hidden_text};

/// Maximum list items that are spoken.
const MAX_SPOKEN_ITEMS: usize = 20;
/// Text with these prefixes is JSON, possibly broken, and not a sentence.
const CODE: [&str; 5] = ["{\"", "[{", "[\"", "[[", "{}"];

/// The outcome as a sentence. `data` is the output of [`super::data`].
pub fn message(
    speech: &SpeechTemplate,
    outcome: &Outcome,
    data: &Value,
    wording: MessageWording,
) -> String {
    let texts = super::own_texts(outcome);
    let text = by_rule(speech, outcome, data, &texts)
        .and_then(|sentence| apply_wording(&sentence, wording))
        .or_else(|| own_words(outcome, data, &texts, wording));
    text.unwrap_or_else(|| generic(outcome.status).to_owned())
}

/// The operator's template or field for this tool.
fn by_rule(
    speech: &SpeechTemplate,
    outcome: &Outcome,
    data: &Value,
    texts: &[String],
) -> Option<String> {
    let template = speech.template.as_deref();
    let field = speech.field.as_deref();
    if !matches!(outcome.status, CallStatus::Ok | CallStatus::NoResults)
        || (template, field) == (None, None)
    {
        return None;
    }
    // A field missing in the structured content may be in the JSON of the text.
    let in_text = || match texts {
        [text] => json::value(json_in(text)?).ok(),
        _ => None,
    };
    let render = |data: &Value| {
        let filled = template.and_then(|template| fill(template, data));
        filled.or_else(|| say(at(data, field?)?))
    };
    render(data).or_else(|| render(&in_text()?))
}

fn own_words(
    outcome: &Outcome,
    data: &Value,
    texts: &[String],
    wording: MessageWording,
) -> Option<String> {
    if let (CallStatus::Pending, MessageWording::Spoken { .. }) = (outcome.status, wording) {
        // The text is for readers: it contains the handle.
        return None;
    }
    let plain: Vec<&str> = texts.iter().map(String::as_str).filter(|text| !is_code(text)).collect();
    let explained = || match (outcome.status, wording) {
        (CallStatus::Error, MessageWording::AsWritten) => {
            apply_wording(verdict::explanation(data)?, wording)
        }
        (CallStatus::Error, MessageWording::Spoken { .. }) => {
            apply_wording(&say(data.get("message").filter(|it| it.is_string())?)?, wording)
        }
        _ => None,
    };
    apply_wording(&plain.join("\n"), wording).or_else(explained)
}

fn generic(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Ok => DONE,
        CallStatus::NoResults => "I found nothing.",
        CallStatus::Pending => "That takes a little longer.",
        _ => "That did not work.",
    }
}

fn apply_wording(text: &str, wording: MessageWording) -> Option<String> {
    let text = match wording {
        MessageWording::AsWritten => hidden_text::clean(text).0.into_owned(),
        MessageWording::Spoken { bytes } => speakable(text, bytes),
    };
    (!text.trim().is_empty()).then_some(text)
}

/// Fills `{dotted.path}` from the data; `{{` and `}}` are braces. The whole template is dropped if
/// a field is missing or not speakable, or a brace is not closed.
fn fill(template: &str, data: &Value) -> Option<String> {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at_brace) = rest.find(['{', '}']) {
        let (before, brace) = rest.split_at(at_brace);
        out.push_str(before);
        let (written, length) = match brace {
            _ if brace.starts_with("{{") => ("{".to_owned(), 2),
            _ if brace.starts_with("}}") => ("}".to_owned(), 2),
            _ if brace.starts_with('}') => ("}".to_owned(), 1),
            _ => {
                let length = brace.find('}')?;
                (say(at(data, brace[1..length].trim())?)?, length + 1)
            }
        };
        out.push_str(&written);
        rest = &brace[length..];
    }
    out.push_str(rest);
    Some(out)
}

/// The value at a dotted path; list items are indexed by number.
fn at<'v>(data: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(data, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    })
}

/// A value as words; `None` for objects, and for JSON in a string.
fn say(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (!is_code(text)).then(|| text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(true) => Some("yes".to_owned()),
        Value::Bool(false) => Some("no".to_owned()),
        Value::Array(items) => {
            let words: Option<Vec<_>> = items.iter().take(MAX_SPOKEN_ITEMS).map(say).collect();
            Some(words?.join(", "))
        }
        Value::Null | Value::Object(_) => None,
    }
}

fn is_code(text: &str) -> bool {
    let start = text.trim_start();
    CODE.iter().any(|code| start.starts_with(code)) || json_in(text).is_some()
}
