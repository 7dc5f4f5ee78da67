//! HTTP headers of MCP: names, the Base64 sentinel, and the request fields they mirror. Shared by
//! client and server side, so that both agree.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::value::RawValue;
use tollgate_core::json;
use tollgate_core::trace::{self, Trace, TraceHeaders};

pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Legacy only.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// Legacy only.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Lower-case prefix of the headers of mirrored arguments.
pub const PARAM_PREFIX: &str = "mcp-param-";

const SENTINEL_START: &str = "=?base64?";
const SENTINEL_END: &str = "?=";

/// The field of `params` that `Mcp-Name` mirrors, for methods that have one.
pub fn named_by(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// `Mcp-Param-{suffix}`; `None` if the suffix is not a header token.
pub fn param(suffix: &str) -> Option<HeaderName> {
    HeaderName::from_bytes([PARAM_PREFIX.as_bytes(), suffix.as_bytes()].concat().as_slice())
        .ok()
        .filter(|_| !suffix.is_empty())
}

/// Reads the trace context of a request from its headers.
pub fn read_trace(headers: &HeaderMap) -> Option<Trace> {
    let [parent, state, baggage] = trace::KEYS;
    // Two parents are invalid; the other headers are lists, which may be split.
    let mut parents = headers.get_all(parent).iter();
    let parent = parents.next().filter(|_| parents.next().is_none()).and_then(text);
    let state = parent.and_then(|_| list(headers, state));
    let baggage = list(headers, baggage);
    if parent.is_none() && baggage.is_none() {
        return None;
    }
    Trace::read(TraceHeaders { parent, state: state.as_deref(), baggage: baggage.as_deref() })
}

fn list<'h>(headers: &'h HeaderMap, name: &str) -> Option<Cow<'h, str>> {
    let mut values = headers.get_all(name).iter();
    let first = text(values.next()?)?;
    let rest: Option<Vec<&str>> = values.map(text).collect();
    match rest?.as_slice() {
        [] => Some(Cow::Borrowed(first)),
        rest => Some(Cow::Owned(format!("{first},{}", rest.join(",")))),
    }
}

fn text(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok()
}

/// Writes the trace context into the headers of a request.
pub fn write_trace(headers: &mut HeaderMap, trace: &Trace) {
    for (key, value) in trace.fields() {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(key), value);
        }
    }
}

/// The encoded value: plain if headers allow it, else in the Base64 sentinel.
pub fn encode(value: &str) -> HeaderValue {
    if is_plain(value)
        && let Ok(header) = HeaderValue::from_str(value)
    {
        return header;
    }
    let wrapped = format!("{SENTINEL_START}{}{SENTINEL_END}", STANDARD.encode(value));
    HeaderValue::from_str(&wrapped).expect("Base64 is header-safe")
}

/// The decoded value. `None`: neither plain ASCII nor a valid sentinel.
pub fn decode(header: &HeaderValue) -> Option<Cow<'_, str>> {
    let text = header.to_str().ok()?;
    let wrapped = text.strip_prefix(SENTINEL_START).and_then(|it| it.strip_suffix(SENTINEL_END));
    match wrapped {
        None => Some(Cow::Borrowed(text)),
        Some(encoded) => {
            let bytes = STANDARD.decode(encoded).ok()?;
            String::from_utf8(bytes).ok().map(Cow::Owned)
        }
    }
}

/// Whether the header equals the value in the body: strings by text, integers by number, booleans
/// by their JSON literal. Other types never match.
pub fn matches(header: &HeaderValue, body: &RawValue) -> bool {
    let Some(header) = decode(header) else { return false };
    match body.get().as_bytes().first() {
        Some(b'"') => json::string(body).is_some_and(|text| text == header),
        Some(b't' | b'f') => *header == *body.get(),
        Some(_) => integer(body.get()).is_some_and(|number| integer(&header) == Some(number)),
        None => false,
    }
}

/// An argument as header text; `None` for what is not mirrored (null, fractions, objects).
pub fn text_of(value: &RawValue) -> Option<Cow<'_, str>> {
    let text = value.get();
    match text.as_bytes().first()? {
        b'"' => json::string(value),
        b't' | b'f' => Some(Cow::Borrowed(text)),
        b'-' | b'0'..=b'9' => integer(text).map(|number| Cow::Owned(number.to_string())),
        _ => None,
    }
}

/// An integer that every JSON parser reads alike; `5.0` and `5e0` are five.
fn integer(text: &str) -> Option<i64> {
    const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;
    let number = match text.parse::<i64>() {
        Ok(number) => number,
        Err(_) => {
            let number = text.parse::<f64>().ok()?;
            let is_whole = number.fract() == 0.0 && number.abs() <= MAX_SAFE_INTEGER as f64;
            is_whole.then_some(number as i64)?
        }
    };
    (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(&number).then_some(number)
}

fn is_plain(value: &str) -> bool {
    let looks_wrapped = value.starts_with(SENTINEL_START) && value.ends_with(SENTINEL_END);
    let is_padded = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    !looks_wrapped && !is_padded && value.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

#[cfg(test)]
mod tests;
