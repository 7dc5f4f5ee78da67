//! Errors as both of OpenAI's dialects say them, and as servers that speak like OpenAI do, which is
//! in many ways.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Fault, Reported, reported};
use crate::failure::{Failure, Kind};

/// Characters of a provider's message that are worth passing on.
const LONGEST: usize = 1_000;

pub(super) fn write(failure: &Failure) -> Value {
    json!({"error": body(failure)})
}

/// The error itself.
pub(super) fn body(failure: &Failure) -> Value {
    json!({
        "message": failure.message,
        "type": kind(failure.kind),
        "param": failure.at,
        "code": failure.kind.code(),
    })
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Invalid | Kind::TooLong | Kind::UnknownModel => "invalid_request_error",
        Kind::Unauthenticated => "authentication_error",
        Kind::Forbidden => "permission_error",
        Kind::RateLimited => "rate_limit_error",
        Kind::Overloaded | Kind::Provider | Kind::Timeout | Kind::Internal => "server_error",
    }
}

/// An answer with an error's status.
pub(super) fn read(status: u16, body: &[u8]) -> Reported {
    match serde_json::from_slice::<Value>(body) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => read_value(status, &value),
        _ => told(status, None, &reported::without_words(status, body)),
    }
}

/// An error object, wherever it came from. `status` is 0 in the middle of a stream.
pub(super) fn read_value(status: u16, value: &Value) -> Reported {
    let value = value.get(0).unwrap_or(value);
    let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
    let text = |key: &str| error.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let message = text("message").or(error.as_str()).map(str::to_owned);
    let message = message.or_else(|| detail(error.get("detail").or(value.get("detail"))?));
    let message =
        message.unwrap_or_else(|| reported::without_words(status, error.to_string().as_bytes()));
    let number = error.get("code").and_then(Value::as_u64);
    let status = match number.and_then(|code| u16::try_from(code).ok()) {
        Some(code @ 400..=599) if status < 400 => code,
        _ => status,
    };
    let code = text("code").or(text("type")).or(text("status")).map(str::to_owned);
    told(status, code, &message)
}

/// FastAPI's form: a text, or a list of places and complaints.
fn detail(detail: &Value) -> Option<String> {
    if let Some(first) = detail.get(0) {
        let place = first["loc"].as_array().map(|place| {
            let words =
                place.iter().map(|word| word.as_str().map_or(word.to_string(), str::to_owned));
            words.collect::<Vec<_>>().join(".")
        });
        return Some(format!("{}: {}", place.unwrap_or_default(), first["msg"].as_str()?));
    }
    detail.as_str().map(str::to_owned)
}

fn told(status: u16, code: Option<String>, message: &str) -> Reported {
    let fault = fault(status, code.as_deref().unwrap_or(""), message);
    // Some servers show the key that they refuse.
    let message = match (fault, status) {
        (Fault::Key, 401 | 403) => "the provider refuses the gateway's key".to_owned(),
        _ => cut(message),
    };
    let retry_after = retry_after(&message);
    Reported { message, code, retry_after, fault }
}

fn fault(status: u16, code: &str, message: &str) -> Fault {
    let message = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    match code {
        "context_length_exceeded" | "string_above_max_length" => return Fault::TooLong,
        "model_not_found" | "model_not_available" => return Fault::Model,
        "insufficient_quota" | "invalid_api_key" | "billing_not_active" | "account_deactivated" => {
            return Fault::Key;
        }
        "rate_limit_exceeded" | "rate_limit_error" if status < 500 => return Fault::TooOften,
        _ => {}
    }
    match status {
        400 | 422 if says(&["maximum context length", "context window", "context length"]) => {
            Fault::TooLong
        }
        400 if says(&["model"]) && says(&["not found", "does not exist"]) => Fault::Model,
        409 | 425 => Fault::Provider,
        0 if code.starts_with("invalid_request") => Fault::Request,
        _ => reported::fault(status),
    }
}

/// "Please try again in 1m2.5s", "in 20ms".
fn retry_after(message: &str) -> Option<Duration> {
    let (_, rest) = message.split_once("try again in ")?;
    let mut total = Duration::ZERO;
    let mut rest = rest;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(number) = rest[..digits].parse::<f64>() else { break };
        let unit = rest[digits..].find(|c: char| !c.is_ascii_lowercase());
        let end = unit.map_or(rest.len(), |end| digits + end);
        let seconds = match &rest[digits..end] {
            "ms" => number / 1_000.0,
            "s" => number,
            "m" => number * 60.0,
            "h" => number * 3_600.0,
            _ => break,
        };
        total = total.saturating_add(Duration::try_from_secs_f64(seconds).ok()?);
        rest = &rest[end..];
    }
    (!total.is_zero()).then_some(total)
}

fn cut(message: &str) -> String {
    message.chars().filter(|c| !c.is_control() || *c == '\n').take(LONGEST).collect()
}

#[cfg(test)]
mod tests;
