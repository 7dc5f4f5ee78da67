//! Error format of OpenAI's two dialects, and its many variants at compatible servers.

use std::time::Duration;

use serde_json::{Value, json};

use crate::error::{LlmError, LlmErrorKind};
use crate::format::{ProviderErrorReport, ProviderFault, generic_error};

/// Maximum characters of a provider's message that are passed on.
const MAX_MESSAGE_CHARS: usize = 1_000;

pub(in crate::format) fn write(failure: &LlmError) -> Value {
    json!({"error": body(failure)})
}

/// The error object.
pub(in crate::format) fn body(failure: &LlmError) -> Value {
    json!({
        "message": failure.message,
        "type": kind(failure.kind),
        "param": failure.at,
        "code": failure.kind.code(),
    })
}

fn kind(kind: LlmErrorKind) -> &'static str {
    match kind {
        LlmErrorKind::Invalid | LlmErrorKind::TooLong | LlmErrorKind::UnknownModel => {
            "invalid_request_error"
        }
        LlmErrorKind::Unauthenticated => "authentication_error",
        LlmErrorKind::Forbidden => "permission_error",
        LlmErrorKind::RateLimited | LlmErrorKind::ModelLimit => "rate_limit_error",
        LlmErrorKind::Overloaded
        | LlmErrorKind::Provider
        | LlmErrorKind::Timeout
        | LlmErrorKind::Internal => "server_error",
    }
}

/// Decodes an error response.
pub(in crate::format) fn read(status: u16, body: &[u8]) -> ProviderErrorReport {
    match serde_json::from_slice::<Value>(body) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => read_value(status, &value),
        _ => error_report(status, None, &generic_error::without_words(status, body)),
    }
}

/// Decodes an error object of any origin. `status` is 0 in the middle of a stream.
pub(in crate::format) fn read_value(status: u16, value: &Value) -> ProviderErrorReport {
    let value = value.get(0).unwrap_or(value);
    let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
    let text = |key: &str| error.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let message = text("message").or(error.as_str()).map(str::to_owned);
    let message = message.or_else(|| detail(error.get("detail").or(value.get("detail"))?));
    let message = message
        .unwrap_or_else(|| generic_error::without_words(status, error.to_string().as_bytes()));
    let number = error.get("code").and_then(Value::as_u64);
    let status = match number.and_then(|code| u16::try_from(code).ok()) {
        Some(code @ 400..=599) if status < 400 => code,
        _ => status,
    };
    let code = text("code").or(text("type")).or(text("status")).map(str::to_owned);
    error_report(status, code, &message)
}

/// FastAPI's form: a text, or a list of locations and messages.
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

fn error_report(status: u16, code: Option<String>, message: &str) -> ProviderErrorReport {
    let fault = fault(status, code.as_deref().unwrap_or(""), message);
    // Do not pass the message on: some servers quote the key that they reject.
    let message = match (fault, status) {
        (ProviderFault::Key, 401 | 403) => "the provider rejected the gateway's key".to_owned(),
        _ => cut(message),
    };
    let retry_after = retry_after(&message);
    ProviderErrorReport { message, code, retry_after, fault }
}

fn fault(status: u16, code: &str, message: &str) -> ProviderFault {
    let message = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    match code {
        "context_length_exceeded" => return ProviderFault::TooLong,
        // Also said of ids and names.
        "string_above_max_length" if says(&["content'", "'input'", "text'"]) => {
            return ProviderFault::TooLong;
        }
        "model_not_found" | "model_not_available" => return ProviderFault::Model,
        "insufficient_quota" | "billing_not_active" => return ProviderFault::Credit,
        "invalid_api_key" | "account_deactivated" => return ProviderFault::Key,
        "rate_limit_exceeded" | "rate_limit_error" if status < 500 => {
            return ProviderFault::TooOften;
        }
        _ => {}
    }
    match status {
        400 | 422 if says(&["maximum context length", "context window", "context length"]) => {
            ProviderFault::TooLong
        }
        400 if says(&["model"]) && says(&["not found", "does not exist"]) => ProviderFault::Model,
        409 | 425 => ProviderFault::Provider,
        0 if code.starts_with("invalid_request") => ProviderFault::Request,
        _ => generic_error::fault(status),
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
    message.chars().filter(|c| !c.is_control() || *c == '\n').take(MAX_MESSAGE_CHARS).collect()
}

#[cfg(test)]
mod tests;
