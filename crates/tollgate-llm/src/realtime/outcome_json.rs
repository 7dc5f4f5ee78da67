//! Encodes the outcome of a call for a realtime model: a small JSON object, within the dialect's
//! size limits. Against prompt injection, tool output is only ever data in it. Pure.

use serde_json::{Map, Value};
use tollgate_core::call::{CallStatus, Outcome, ResultExtent, ResultOrigin, Retryability};
use tollgate_core::shaping::{self, ResultCaps};
use tollgate_core::tool::SpeechTemplate;

/// Outcome of a call that was stopped, or never ran.
pub(super) const CANCELLED_OUTCOME: &str = r#"{"status":"cancelled","message":"This was not done: the caller interrupted.","retryable":true}"#;

pub(super) fn encode_outcome(
    outcome: &Outcome,
    speech: &SpeechTemplate,
    caps: &ResultCaps,
) -> String {
    let data = shaping::data(outcome);
    let message = shaping::message(speech, outcome, &data, caps.wording);
    let mut lines = Map::new();
    lines.insert("status".to_owned(), outcome.status.as_str().into());
    let is_said_already = data.as_str() == Some(message.as_str()) || data.is_null();
    lines.insert("message".to_owned(), message.into());
    let text = data.to_string();
    let fits = text.len() <= caps.result_bytes();
    if fits && !is_said_already && outcome.status != CallStatus::Pending {
        lines.insert("data".to_owned(), data);
    }
    match &outcome.retry {
        Retryability::Pointless if outcome.status == CallStatus::Ok => {}
        Retryability::Pointless => drop(lines.insert("retryable".to_owned(), false.into())),
        // A pending result arrives by itself, without a retry.
        Retryability::Sensible { .. } if outcome.status == CallStatus::Pending => {
            lines.insert("retryable".to_owned(), false.into());
        }
        Retryability::Sensible { hint, .. } => {
            lines.insert("retryable".to_owned(), true.into());
            if let Some(hint) = hint {
                lines.insert("retry_hint".to_owned(), hint.as_str().into());
            }
        }
    }
    if let Some(notice) = outcome.origin.as_ref().and_then(ResultOrigin::notice) {
        lines.insert("origin".to_owned(), notice.into());
    }
    if outcome.extent == ResultExtent::Cut || !fits {
        lines.insert("truncated".to_owned(), true.into());
    }
    Value::Object(lines).to_string()
}
