//! Errors: what Anthropic says instead of an answer, and what its clients are told.

use serde_json::{Value, json};

use crate::failure::{Failure, Kind};
use crate::format::{Fault, Reported, reported};

pub(super) fn read(status: u16, body: &[u8]) -> Reported {
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    let error = parsed.as_ref().and_then(|body| body.get("error"));
    let kind = error.and_then(|error| error.get("type")).and_then(Value::as_str);
    let said = error.and_then(|error| error.get("message")).and_then(Value::as_str);
    let message = match said.filter(|it| !it.is_empty()) {
        Some(said) => said.to_owned(),
        None => reported::without_words(status, body),
    };
    let fault = match kind {
        Some(kind) => fault(kind, &message).unwrap_or_else(|| reported::fault(status)),
        None => reported::fault(status),
    };
    Reported { message, code: kind.map(str::to_owned), retry_after: None, fault }
}

/// An `error` event.
pub(super) fn mid_stream(event: &Value) -> Reported {
    read(500, event.to_string().as_bytes())
}

fn fault(kind: &str, message: &str) -> Option<Fault> {
    let lower = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    Some(match kind {
        "invalid_request_error" if says(&["credit balance", "billing"]) => Fault::Key,
        "invalid_request_error" if says(&["too long", "context limit", "context window"]) => {
            Fault::TooLong
        }
        "request_too_large" => Fault::TooLong,
        "invalid_request_error" => Fault::Request,
        "authentication_error" | "permission_error" | "billing_error" => Fault::Key,
        "not_found_error" => Fault::Model,
        "rate_limit_error" => Fault::TooOften,
        "api_error" | "overloaded_error" | "timeout_error" => Fault::Provider,
        _ => return None,
    })
}

pub(super) fn write(failure: &Failure) -> Value {
    let kind = match failure.kind {
        Kind::Invalid | Kind::TooLong => "invalid_request_error",
        Kind::UnknownModel => "not_found_error",
        Kind::Unauthenticated => "authentication_error",
        Kind::Forbidden => "permission_error",
        Kind::RateLimited => "rate_limit_error",
        Kind::Overloaded => "overloaded_error",
        Kind::Timeout => "timeout_error",
        Kind::Provider | Kind::Internal => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": failure.message}})
}
