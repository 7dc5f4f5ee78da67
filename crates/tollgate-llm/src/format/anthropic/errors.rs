//! Errors: decodes Anthropic's error responses, and encodes errors for its clients.

use serde_json::{Value, json};

use crate::error::{LlmError, LlmErrorKind};
use crate::format::{ProviderErrorReport, ProviderFault, generic_error};

pub(super) fn read(status: u16, body: &[u8]) -> ProviderErrorReport {
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    let error = parsed.as_ref().and_then(|body| body.get("error"));
    let kind = error.and_then(|error| error.get("type")).and_then(Value::as_str);
    let message_text = error.and_then(|error| error.get("message")).and_then(Value::as_str);
    let message = match message_text.filter(|it| !it.is_empty()) {
        Some(message_text) => message_text.to_owned(),
        None => generic_error::without_words(status, body),
    };
    let fault = match kind {
        Some(kind) => fault(kind, &message).unwrap_or_else(|| generic_error::fault(status)),
        None => generic_error::fault(status),
    };
    ProviderErrorReport { message, code: kind.map(str::to_owned), retry_after: None, fault }
}

/// An `error` event.
pub(super) fn mid_stream(event: &Value) -> ProviderErrorReport {
    read(500, event.to_string().as_bytes())
}

fn fault(kind: &str, message: &str) -> Option<ProviderFault> {
    let lower = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    Some(match kind {
        "invalid_request_error" if says(&["credit balance", "billing"]) => ProviderFault::Credit,
        "invalid_request_error" if says(&["too long", "context limit", "context window"]) => {
            ProviderFault::TooLong
        }
        "request_too_large" => ProviderFault::TooLong,
        "invalid_request_error" => ProviderFault::Request,
        "billing_error" => ProviderFault::Credit,
        "authentication_error" | "permission_error" => ProviderFault::Key,
        "not_found_error" => ProviderFault::Model,
        "rate_limit_error" => ProviderFault::TooOften,
        "api_error" | "overloaded_error" | "timeout_error" => ProviderFault::Provider,
        _ => return None,
    })
}

pub(super) fn write(failure: &LlmError) -> Value {
    let kind = match failure.kind {
        LlmErrorKind::Invalid | LlmErrorKind::TooLong => "invalid_request_error",
        LlmErrorKind::UnknownModel => "not_found_error",
        LlmErrorKind::Unauthenticated => "authentication_error",
        LlmErrorKind::Forbidden => "permission_error",
        LlmErrorKind::RateLimited | LlmErrorKind::ModelLimit => "rate_limit_error",
        LlmErrorKind::Overloaded => "overloaded_error",
        LlmErrorKind::Timeout => "timeout_error",
        LlmErrorKind::Provider | LlmErrorKind::Internal => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": failure.message}})
}
