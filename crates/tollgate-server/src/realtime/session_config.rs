//! Session configuration that clients send for calls and client secrets: bounded and merged, but not
//! interpreted. The provider validates it.

use axum::body::Body;
use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;
use http_body::Body as _;
use serde_json::{Map, Value};
use tollgate_core::json::JsonBounds;

use crate::api_error::ApiError;
use crate::body;
use crate::limits::Limits;

/// Limit on a session configuration in bytes.
pub(super) const MAX_SESSION_BYTES: usize = 64 << 10;
const SESSION_BOUNDS: JsonBounds = JsonBounds { values: 10_000, depth: 64 };

/// Parses a session configuration: an object of type `realtime`.
pub(super) fn parse(text: &[u8]) -> Result<Map<String, Value>, ApiError> {
    if text.len() > MAX_SESSION_BYTES {
        return Err(too_large());
    }
    SESSION_BOUNDS.check(text).map_err(|error| bad(format!("`session`: {error}")))?;
    match serde_json::from_slice(text) {
        Ok(Value::Object(session)) => check_type(session),
        Ok(_) => Err(bad("`session` must be a JSON object".to_owned())),
        Err(error) => Err(bad(format!("`session` is not JSON: {error}"))),
    }
}

/// Other types of sessions have no model that could call tools.
fn check_type(session: Map<String, Value>) -> Result<Map<String, Value>, ApiError> {
    match session.get("type") {
        None | Some(Value::Null) => {}
        Some(Value::String(kind)) if kind == "realtime" => {}
        Some(_) => {
            let detail = "`session.type` must be `realtime`; other sessions have no tools";
            return Err(bad(detail.to_owned()));
        }
    }
    match session.get("model") {
        None | Some(Value::Null | Value::String(_)) => Ok(session),
        Some(_) => Err(bad("`session.model` must be a string".to_owned())),
    }
}

/// The model that a configuration names.
pub(super) fn model(session: &Map<String, Value>) -> Option<&str> {
    session.get("model").and_then(Value::as_str)
}

/// `over` wins; objects in both are merged, lists are replaced.
pub(super) fn merge(base: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Object(inner)), Value::Object(more)) => merge(inner, more),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// Reads a JSON body that has little more than a session configuration. None counts as an empty
/// object.
pub(super) async fn read_body(
    sent: &Parts,
    body: Body,
    limits: &Limits,
) -> Result<Bytes, ApiError> {
    if body.size_hint().exact() == Some(0) {
        return Ok(Bytes::from_static(b"{}"));
    }
    let limits = Limits { body_bytes: MAX_SESSION_BYTES, ..limits.clone() };
    body::json(sent, body, &limits).await
}

fn too_large() -> ApiError {
    let detail = format!("`session` is larger than {MAX_SESSION_BYTES} bytes");
    ApiError::with_detail(StatusCode::PAYLOAD_TOO_LARGE, "session_too_large", detail)
}

pub(super) fn bad(detail: String) -> ApiError {
    ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_session", detail)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{MAX_SESSION_BYTES, merge, parse};

    fn code(text: &str) -> &'static str {
        parse(text.as_bytes()).map_or_else(|problem| problem.code, |_| "ok")
    }

    #[test]
    fn only_small_objects_of_type_realtime_are_sessions() {
        for (text, expected) in [
            ("{}", "ok"),
            (r#"{"type": "realtime", "model": "m", "anything": [1]}"#, "ok"),
            (r#"{"type": null, "model": null}"#, "ok"),
            (r#"{"type": "transcription"}"#, "bad_session"),
            (r#"{"type": 5}"#, "bad_session"),
            (r#"{"model": 5}"#, "bad_session"),
            ("[]", "bad_session"),
            ("{", "bad_session"),
            ("", "bad_session"),
        ] {
            assert_eq!(code(text), expected, "{text}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100), "]".repeat(100));
        assert_eq!(code(&deep), "bad_session");
        let long = json!({ "instructions": "x".repeat(MAX_SESSION_BYTES) });
        assert_eq!(code(&long.to_string()), "session_too_large");
    }

    #[test]
    fn a_later_configuration_replaces_values_and_keeps_the_rest() {
        let Value::Object(mut base) = json!({
            "audio": {"input": {"format": 1}, "output": {"voice": "a"}}, "tools": [1], "x": 1,
        }) else {
            panic!("an object")
        };
        let Value::Object(over) = json!({"audio": {"output": {"voice": "b"}}, "tools": [2]}) else {
            panic!("an object")
        };
        merge(&mut base, over);
        let expected = json!({
            "audio": {"input": {"format": 1}, "output": {"voice": "b"}}, "tools": [2], "x": 1,
        });
        assert_eq!(Value::Object(base), expected);
    }
}
