//! Parser for token endpoint responses. Pure; its error messages are safe to display.

use std::time::Duration;

use http::HeaderValue;
use serde_json::Value;
use tollgate_core::secret::Secret;
use tollgate_core::secret_values;

use super::bearer;
use super::fetch::JsonResponse;

/// A token is used no longer than this, whatever the server says.
const MAX_TOKEN_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// Ten years: longer lifetimes are mistakes.
const MAX_LIFETIME_S: u64 = 10 * 365 * 24 * 60 * 60;
/// A token is renewed this long before it expires, or a tenth of its lifetime if that is less.
const MARGIN: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub(super) struct AccessToken {
    pub(super) header: HeaderValue,
    /// `None`: valid until it is rejected.
    pub(super) life: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenEndpointError {
    /// The client authentication method may be wrong.
    InvalidClient(String),
    Other(String),
}

impl AccessToken {
    /// When to request the next token.
    pub(super) fn renew_after(&self) -> Option<Duration> {
        self.life.map(|life| life - MARGIN.min(life / 10))
    }
}

pub(super) fn read(fetched: &JsonResponse) -> Result<AccessToken, TokenEndpointError> {
    let other = |text: &str| Err(TokenEndpointError::Other(text.to_owned()));
    let status = fetched.status.as_u16();
    let Some(body) = &fetched.body else {
        return other(&format!("the token endpoint answered HTTP {status} without JSON"));
    };
    if let Some(error) = body.get("error") {
        let code = error_code(error.as_str().unwrap_or("error"));
        let words = format!("the token endpoint answered `{code}`");
        return Err(match code.as_str() {
            "invalid_client" => TokenEndpointError::InvalidClient(words),
            _ => TokenEndpointError::Other(words),
        });
    }
    if !fetched.status.is_success() {
        return other(&format!("the token endpoint answered HTTP {status}"));
    }
    if let Some(kind) = body.get("token_type")
        && !kind.as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"))
    {
        return other("the token endpoint returned a token that is not a bearer token");
    }
    let Some(token) = body.get("access_token").and_then(Value::as_str).filter(|it| !it.is_empty())
    else {
        return other("the token endpoint returned no access token");
    };
    if let Some(refresh) = body.get("refresh_token").and_then(Value::as_str) {
        secret_values::obtain(refresh);
    }
    let header = bearer(&Secret::new(token))
        .map_err(|error| TokenEndpointError::Other(error.to_string()))?;
    Ok(AccessToken { header, life: body.get("expires_in").and_then(life) })
}

fn life(value: &Value) -> Option<Duration> {
    let seconds = lifetime(value)?;
    Some(Duration::from_secs_f64(seconds.min(MAX_TOKEN_LIFETIME.as_secs_f64())))
}

/// The lifetime in whole seconds, at least one and at most ten years.
pub(super) fn seconds(value: &Value) -> Option<u64> {
    let seconds = Duration::try_from_secs_f64(lifetime(value)?).ok();
    let seconds = seconds.map_or(MAX_LIFETIME_S, |seconds| seconds.as_secs());
    Some(seconds.clamp(1, MAX_LIFETIME_S))
}

/// A number, or a number as a string; anything else counts as absent.
fn lifetime(value: &Value) -> Option<f64> {
    let seconds: f64 = match value {
        Value::String(text) => text.trim().parse().ok()?,
        other => other.as_f64()?,
    };
    (seconds > 0.0).then_some(seconds)
}

/// The error code, if it is a valid one: no other text of the server is displayed.
pub(super) fn error_code(written: &str) -> String {
    written.chars().filter(|letter| is_safe_char(*letter)).take(64).collect()
}

fn is_safe_char(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_-.".contains(letter)
}
