//! Errors: decodes Google's error responses, and encodes errors for its clients.

use std::time::Duration;

use serde_json::{Value, json};

use crate::error::{LlmError, LlmErrorKind};
use crate::format::{ProviderErrorReport, ProviderFault, generic_error};

/// Upper bound of a retry delay.
const MAX_RETRY_AFTER_SECS: f64 = 86_400.0;

pub(super) const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

pub(super) fn read(status: u16, body: &[u8]) -> ProviderErrorReport {
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    // Streams without server-sent events wrap even errors in a list.
    let parsed = match parsed {
        Some(Value::Array(mut list)) if !list.is_empty() => Some(list.swap_remove(0)),
        parsed => parsed,
    };
    let error = parsed.as_ref().and_then(|body| body.get("error"));
    let text = |key: &str| error.and_then(|error| error.get(key)).and_then(Value::as_str);
    let code = text("status");
    let message = match text("message").filter(|it| !it.is_empty()) {
        Some(message) => message.to_owned(),
        None => generic_error::without_words(status, body),
    };
    let numbered = error.and_then(|error| error.get("code")).and_then(Value::as_u64);
    let status = numbered.and_then(|code| u16::try_from(code).ok()).unwrap_or(status);
    let fault = code.and_then(|code| fault(code, &message));
    ProviderErrorReport {
        retry_after: error.and_then(retry_after),
        code: code.map(str::to_owned),
        fault: fault.unwrap_or_else(|| generic_error::fault(status)),
        message,
    }
}

fn fault(code: &str, message: &str) -> Option<ProviderFault> {
    let lower = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    Some(match code {
        "INVALID_ARGUMENT" if says(&["api key"]) => ProviderFault::Key,
        "INVALID_ARGUMENT"
            if says(&["exceeds the maximum number of tokens", "input token count"]) =>
        {
            ProviderFault::TooLong
        }
        "INVALID_ARGUMENT" | "OUT_OF_RANGE" => ProviderFault::Request,
        // Billing is not set up, or the country is not served: the client cannot fix either.
        "FAILED_PRECONDITION" | "UNAUTHENTICATED" | "PERMISSION_DENIED" => ProviderFault::Key,
        "NOT_FOUND" => ProviderFault::Model,
        "RESOURCE_EXHAUSTED" => ProviderFault::TooOften,
        "INTERNAL" | "UNAVAILABLE" | "DEADLINE_EXCEEDED" | "UNKNOWN" | "ABORTED" | "CANCELLED" => {
            ProviderFault::Provider
        }
        _ => return None,
    })
}

/// Durations are strings here, such as `34.5s`.
fn retry_after(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let info =
        details.iter().find(|detail| detail.get("@type").is_some_and(|it| it == RETRY_INFO))?;
    let seconds: f64 = info.get("retryDelay")?.as_str()?.strip_suffix('s')?.parse().ok()?;
    (0.0..=MAX_RETRY_AFTER_SECS).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

pub(super) fn write(failure: &LlmError) -> Value {
    let status = match failure.kind {
        LlmErrorKind::Invalid | LlmErrorKind::TooLong => "INVALID_ARGUMENT",
        LlmErrorKind::UnknownModel => "NOT_FOUND",
        LlmErrorKind::Unauthenticated => "UNAUTHENTICATED",
        LlmErrorKind::Forbidden => "PERMISSION_DENIED",
        LlmErrorKind::RateLimited | LlmErrorKind::ModelLimit => "RESOURCE_EXHAUSTED",
        LlmErrorKind::Overloaded | LlmErrorKind::Provider => "UNAVAILABLE",
        LlmErrorKind::Timeout => "DEADLINE_EXCEEDED",
        LlmErrorKind::Internal => "INTERNAL",
    };
    let mut error =
        json!({"code": failure.kind.status(), "message": failure.message, "status": status});
    if let Some(wait) = failure.retry_after {
        let delay = format!("{}s", wait.as_secs_f64());
        error["details"] = json!([{"@type": RETRY_INFO, "retryDelay": delay}]);
    }
    json!({"error": error})
}
