//! Errors: what Google says instead of an answer, and what its clients are told.

use std::time::Duration;

use serde_json::{Value, json};

use crate::failure::{Failure, Kind};
use crate::format::{Fault, Reported, reported};

/// How long anybody waits for anything.
const LONGEST_WAIT: f64 = 86_400.0;

pub(super) const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

pub(super) fn read(status: u16, body: &[u8]) -> Reported {
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    // Streams that are not server-sent events wrap even their errors in a list.
    let parsed = match parsed {
        Some(Value::Array(mut list)) if !list.is_empty() => Some(list.swap_remove(0)),
        parsed => parsed,
    };
    let error = parsed.as_ref().and_then(|body| body.get("error"));
    let text = |key: &str| error.and_then(|error| error.get(key)).and_then(Value::as_str);
    let code = text("status");
    let message = match text("message").filter(|it| !it.is_empty()) {
        Some(said) => said.to_owned(),
        None => reported::without_words(status, body),
    };
    let numbered = error.and_then(|error| error.get("code")).and_then(Value::as_u64);
    let status = numbered.and_then(|code| u16::try_from(code).ok()).unwrap_or(status);
    let fault = code.and_then(|code| fault(code, &message));
    Reported {
        retry_after: error.and_then(retry_after),
        code: code.map(str::to_owned),
        fault: fault.unwrap_or_else(|| reported::fault(status)),
        message,
    }
}

fn fault(code: &str, message: &str) -> Option<Fault> {
    let lower = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    Some(match code {
        "INVALID_ARGUMENT" if says(&["api key"]) => Fault::Key,
        "INVALID_ARGUMENT"
            if says(&["exceeds the maximum number of tokens", "input token count"]) =>
        {
            Fault::TooLong
        }
        "INVALID_ARGUMENT" | "OUT_OF_RANGE" => Fault::Request,
        // Billing is missing, or the country is not served: nothing that the client could change.
        "FAILED_PRECONDITION" | "UNAUTHENTICATED" | "PERMISSION_DENIED" => Fault::Key,
        "NOT_FOUND" => Fault::Model,
        "RESOURCE_EXHAUSTED" => Fault::TooOften,
        "INTERNAL" | "UNAVAILABLE" | "DEADLINE_EXCEEDED" | "UNKNOWN" | "ABORTED" | "CANCELLED" => {
            Fault::Provider
        }
        _ => return None,
    })
}

/// Durations are text here, such as `34.5s`.
fn retry_after(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let info =
        details.iter().find(|detail| detail.get("@type").is_some_and(|it| it == RETRY_INFO))?;
    let seconds: f64 = info.get("retryDelay")?.as_str()?.strip_suffix('s')?.parse().ok()?;
    (0.0..=LONGEST_WAIT).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

pub(super) fn write(failure: &Failure) -> Value {
    let status = match failure.kind {
        Kind::Invalid | Kind::TooLong => "INVALID_ARGUMENT",
        Kind::UnknownModel => "NOT_FOUND",
        Kind::Unauthenticated => "UNAUTHENTICATED",
        Kind::Forbidden => "PERMISSION_DENIED",
        Kind::RateLimited => "RESOURCE_EXHAUSTED",
        Kind::Overloaded | Kind::Provider => "UNAVAILABLE",
        Kind::Timeout => "DEADLINE_EXCEEDED",
        Kind::Internal => "INTERNAL",
    };
    let mut error =
        json!({"code": failure.kind.status(), "message": failure.message, "status": status});
    if let Some(wait) = failure.retry_after {
        let delay = format!("{}s", wait.as_secs_f64());
        error["details"] = json!([{"@type": RETRY_INFO, "retryDelay": delay}]);
    }
    json!({"error": error})
}
