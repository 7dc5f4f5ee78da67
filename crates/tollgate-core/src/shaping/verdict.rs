//! Detects from a result whether a call succeeded, failed or found nothing. Tools report this in
//! many ways; only unambiguous ones count, and only in short results.

use serde_json::Value;
use serde_json::value::RawValue;

use super::content::{ContentItems, json_in, json_in_result_string};
use crate::json::Object;

/// Longer results contain more than a failure or an empty result.
const LOOKED_AT_BYTES: usize = 16 << 10;
const LOOKED_AT_ITEMS: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultVerdict {
    Fine,
    /// Searched, and found nothing.
    Empty,
    /// By `isError`.
    Failed,
    /// Claims success but reports a failure in its own format: the field that does.
    FailedInside(&'static str),
}

pub(super) fn verdict(result: &Object<'_>) -> ResultVerdict {
    if result.get("isError").is_some_and(|raw| raw.get() == "true") {
        return ResultVerdict::Failed;
    }
    let structured = result.get("structuredContent").filter(|raw| raw.get() != "null");
    let Some(structured) = structured else { return in_content(result) };
    match (classify_structured(structured.get()), in_content(result)) {
        (DocumentMeaning::Failure(how), _) | (_, ResultVerdict::FailedInside(how)) => {
            ResultVerdict::FailedInside(how)
        }
        (DocumentMeaning::EmptyList, _) | (DocumentMeaning::Nothing, ResultVerdict::Empty) => {
            ResultVerdict::Empty
        }
        _ => ResultVerdict::Fine,
    }
}

/// The verdict for a result that has only content.
fn in_content(result: &Object<'_>) -> ResultVerdict {
    let Some(content) = result.get("content").filter(|raw| raw.get().len() <= LOOKED_AT_BYTES)
    else {
        return if result.contains("content") { ResultVerdict::Fine } else { ResultVerdict::Empty };
    };
    let Some(items) = ContentItems::read(content.get(), LOOKED_AT_ITEMS) else {
        return ResultVerdict::Empty;
    };
    if items.count > items.first.len() {
        return ResultVerdict::Fine;
    }
    let mut texts = 0;
    let mut meaning = DocumentMeaning::Nothing;
    let mut is_nothing = true;
    for item in items.first {
        let item = Object::parse(item.get()).unwrap_or_default();
        let (Some("text"), Some(text)) = (item.string("type").as_deref(), item.string("text"))
        else {
            return ResultVerdict::Fine;
        };
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        texts += 1;
        meaning = json_in(text).map_or(DocumentMeaning::Something, classify_document);
        is_nothing &= meaning.is_nothing();
    }
    match meaning {
        DocumentMeaning::Failure(how) if texts == 1 => ResultVerdict::FailedInside(how),
        _ if is_nothing => ResultVerdict::Empty,
        _ => ResultVerdict::Fine,
    }
}

/// The meaning of a document by its top-level fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DocumentMeaning {
    Something,
    Nothing,
    /// Explicitly empty: the list is present and empty.
    EmptyList,
    Failure(&'static str),
}

impl DocumentMeaning {
    fn is_nothing(self) -> bool {
        matches!(self, Self::Nothing | Self::EmptyList)
    }
}

fn classify_structured(structured: &str) -> DocumentMeaning {
    if structured.len() > LOOKED_AT_BYTES {
        return DocumentMeaning::Something;
    }
    match json_in_result_string(structured) {
        Some(document) => classify_document(&document),
        None => classify_document(structured),
    }
}

fn classify_document(document: &str) -> DocumentMeaning {
    if document.len() > LOOKED_AT_BYTES {
        return DocumentMeaning::Something;
    }
    match document.as_bytes().first() {
        Some(b'[') if is_blank(document) => DocumentMeaning::EmptyList,
        Some(b'{') => match Object::parse(document) {
            Ok(object) => {
                failure(&object).map_or_else(|| emptiness(&object), DocumentMeaning::Failure)
            }
            Err(_) => DocumentMeaning::Something,
        },
        Some(b'n' | b'"') if is_blank(document) => DocumentMeaning::Nothing,
        _ => DocumentMeaning::Something,
    }
}

/// All lists are empty, with nothing beside them but zeros, blanks and the echoed query.
fn emptiness(object: &Object<'_>) -> DocumentMeaning {
    let mut found = DocumentMeaning::Nothing;
    // `success: true` beside an empty list of results still found nothing; beside a list of deleted
    // items, say, it means success.
    let is_search = |key: &str| DATA.contains(&key) || ITEMS.contains(&key);
    let is_search = object.iter().any(|(key, value)| is_search(key) && is_blank(value.get()));
    for (key, value) in object.iter() {
        let value = value.get();
        let is_said = match value.as_bytes().first() {
            Some(b'[' | b'{') if is_blank(value) => {
                found = DocumentMeaning::EmptyList;
                false
            }
            Some(b'n') => false,
            Some(b't') if is_search => !matches!(key, "success" | "ok"),
            _ => !ECHOES.contains(&key) && !is_praise(key, value),
        };
        // A zero or `false` is information, unless an empty list explains it.
        if is_said && !is_blank(value) {
            return DocumentMeaning::Something;
        }
    }
    let is_explained = found == DocumentMeaning::EmptyList;
    let is_null = |raw: &RawValue| raw.get() == "null";
    if is_explained || object.iter().all(|(_, value)| is_null(value)) {
        found
    } else {
        DocumentMeaning::Something
    }
}

/// The field that reports failure: explicitly, or if there is nothing else.
fn failure(object: &Object<'_>) -> Option<&'static str> {
    let says = |key: &str, what: &str| object.get(key).is_some_and(|raw| raw.get() == what);
    let is_told = |key: &str| object.get(key).is_some_and(|raw| !is_blank(raw.get()));
    let brings = |keys: &[&str]| keys.iter().any(|key| is_told(key));
    let opens = |key: &str, with: char| {
        is_told(key) && object.get(key).is_some_and(|raw| raw.get().starts_with(with))
    };
    let (how, words) = match () {
        () if says("success", "false") => return Some("`success: false`"),
        () if says("ok", "false") => return Some("`ok: false`"),
        () if opens("error", '"') && !brings(DATA) && !brings(ITEMS) => return Some("an `error`"),
        () if opens("errors", '[') && !brings(DATA) => return Some("`errors` and no data"),
        () if says("isError", "true") || says("is_error", "true") => ("`isError: true`", ENVELOPE),
        () if object.get("error").is_some_and(is_error) => ("an `error`", ENVELOPE),
        () if says("data", "null") && is_told("errors") => ("`errors` and no data", ENVELOPE),
        () => (bad_status(object)?, REPORT),
    };
    let is_known = |key: &str| words.iter().any(|words| words.contains(&key));
    let belongs = |(key, value): (&str, &RawValue)| is_known(key) || is_blank(value.get());
    object.iter().all(belongs).then_some(how)
}

/// The status may be that of the queried item (a job, an issue): require a reason beside it.
fn bad_status(object: &Object<'_>) -> Option<&'static str> {
    let status = object.string("status")?.to_ascii_lowercase();
    let is_told = |key: &&str| object.get(key).is_some_and(|raw| !is_blank(raw.get()));
    let is_explained = || REASONS.iter().any(is_told);
    match status.as_str() {
        "error" if object.iter().count() == 1 || is_explained() => Some("`status: error`"),
        "failed" | "failure" | "fail" if is_explained() => Some("`status: failed`"),
        _ => None,
    }
}

/// An error text. A number may be a measurement.
fn is_error(value: &RawValue) -> bool {
    matches!(value.get().as_bytes().first(), Some(b'"' | b'{' | b't')) && !is_blank(value.get())
}

fn is_blank(value: &str) -> bool {
    match value.as_bytes() {
        b"null" | b"false" | b"0" | b"0.0" => true,
        [b'[', inside @ .., b']'] | [b'{', inside @ .., b'}'] => inside.trim_ascii().is_empty(),
        [b'"', inside @ .., b'"'] => inside.trim_ascii().is_empty(),
        _ => false,
    }
}

fn is_praise(key: &str, value: &str) -> bool {
    let is_good = |value: &str| matches!(value, "\"ok\"" | "\"success\"");
    key == "status" && is_good(&value.to_ascii_lowercase())
}

/// The message of an error.
pub(super) fn explanation(data: &Value) -> Option<&str> {
    let inner = data.get("error").filter(|error| error.is_object()).unwrap_or(data);
    let render = |key: &&str| {
        let text = inner.get(key)?.as_str()?.trim();
        (!text.is_empty() && json_in(text).is_none()).then_some(text)
    };
    REASONS.iter().find_map(render)
}

/// Fields that echo the query.
const ECHOES: &[&str] = &["query", "q", "search", "term", "keyword", "keywords", "input"];

/// Fields for the requested data: an error beside it concerns only a part.
const DATA: &[&str] = &["data", "result", "results"];
const ITEMS: &[&str] = &["items", "content"];

/// Fields that contain a reason.
const REASONS: &[&str] = &[
    "error",
    "message",
    "error_message",
    "errorMessage",
    "msg",
    "reason",
    "detail",
    "details",
    "error_description",
    "errors",
];

const STATUS: &[&str] =
    &["status", "success", "ok", "isError", "is_error", "code", "error_code", "errorCode"];

const REPORT: &[&[&str]] = &[REASONS, STATUS];

/// Fields of an error report. An object with other fields is not one.
const ENVELOPE: &[&[&str]] = &[REASONS, STATUS, ABOUT];

const ABOUT: &[&str] = &[
    "cause",
    "description",
    "documentation_url",
    "errorType",
    "error_type",
    "help",
    "hint",
    "instance",
    "name",
    "path",
    "requestId",
    "request_id",
    "retryAfter",
    "retry_after",
    "retryable",
    "stack",
    "statusCode",
    "status_code",
    "suggestion",
    "timestamp",
    "title",
    "trace",
    "traceId",
    "trace_id",
    "traceback",
    "type",
];
