//! Key of a WebSocket client. Browsers cannot set headers there, so providers accept it elsewhere.
//! It is moved to the header before anything reads or logs the request.

use axum::extract::Query;
use http::request::Parts;
use http::{HeaderValue, StatusCode, Uri, header};

use super::handshake::{AgreedSubprotocol, tokens};
use crate::api_error::ApiError;

/// Prefix of the key.
const IN_PROTOCOL: &str = "openai-insecure-api-key.";
/// Subprotocols of Deepgram. The next item is the key.
const BEFORE_KEY: &[&str] = &["token", "bearer"];
/// Query parameters of browsers that connect to Gemini.
const IN_QUERY: &[&str] = &["key", "access_token"];

const TWO_KEYS: ApiError = ApiError::new(
    StatusCode::BAD_REQUEST,
    "two_keys",
    "send exactly one key: as `authorization: Bearer …` or in the sub-protocol",
);

/// Moves the key from the subprotocols and, for Gemini, from the URL to `authorization`. Other
/// requests than WebSocket handshakes stay unchanged.
pub(crate) fn bring_key(parts: &mut Parts) -> Result<(), ApiError> {
    if !parts.headers.contains_key(header::SEC_WEBSOCKET_KEY) {
        return Ok(());
    }
    let mut found = Vec::new();
    found.extend(from_protocols(parts));
    if parts.uri.path().trim_start_matches('/').starts_with("ws/google.ai.") {
        found.extend(from_query(parts)?);
    }
    let Some(key) = found.pop() else { return Ok(()) };
    let mut value = HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| TWO_KEYS)?;
    value.set_sensitive(true);
    let sent = parts.headers.get_all(header::AUTHORIZATION).iter().count();
    let is_same = parts.headers.get(header::AUTHORIZATION) == Some(&value);
    let has_other = ["x-api-key", "x-goog-api-key"].iter().any(|name| {
        parts.headers.get(*name).is_some_and(|other| other.as_bytes() != key.as_bytes())
    });
    if found.iter().any(|other| *other != key) || (sent > 0 && !is_same) || has_other {
        return Err(TWO_KEYS);
    }
    parts.headers.insert(header::AUTHORIZATION, value);
    Ok(())
}

fn from_protocols(parts: &mut Parts) -> Option<String> {
    let offered: Vec<String> =
        tokens(&parts.headers, &header::SEC_WEBSOCKET_PROTOCOL).map(str::to_owned).collect();
    let own = offered.iter().find_map(|token| token.strip_prefix(IN_PROTOCOL));
    let after = offered.windows(2).find_map(|pair| {
        let named = BEFORE_KEY.iter().find(|name| pair[0].eq_ignore_ascii_case(name))?;
        Some((*named, pair[1].clone()))
    });
    let key = match (own, after) {
        (Some(key), _) => key.to_owned(),
        (None, Some((named, key))) => {
            parts.extensions.insert(AgreedSubprotocol(named));
            key
        }
        (None, None) => return None,
    };
    // The remaining subprotocols contain no secret.
    let rest: Vec<&str> =
        offered.iter().filter(|token| !token.contains(&key)).map(String::as_str).collect();
    match HeaderValue::try_from(rest.join(", ")) {
        Ok(rest) if !rest.is_empty() => {
            parts.headers.insert(header::SEC_WEBSOCKET_PROTOCOL, rest);
        }
        _ => drop(parts.headers.remove(header::SEC_WEBSOCKET_PROTOCOL)),
    }
    Some(key)
}

fn from_query(parts: &mut Parts) -> Result<Vec<String>, ApiError> {
    let Some(query) = parts.uri.query() else { return Ok(Vec::new()) };
    let is_key = |pair: &&str| IN_QUERY.contains(&pair.split('=').next().unwrap_or_default());
    let (keys, rest): (Vec<&str>, Vec<&str>) = query.split('&').partition(is_key);
    let keys = keys.into_iter().filter_map(value).collect::<Vec<String>>();
    let path = parts.uri.path().to_owned();
    let target = if rest.is_empty() { path } else { format!("{path}?{}", rest.join("&")) };
    let malformed =
        |_| ApiError::new(StatusCode::BAD_REQUEST, "bad_query", "the query is malformed");
    let mut uri = parts.uri.clone().into_parts();
    uri.path_and_query = Some(target.parse().map_err(malformed)?);
    parts.uri = Uri::from_parts(uri).map_err(|_| {
        ApiError::new(StatusCode::BAD_REQUEST, "bad_query", "the query is malformed")
    })?;
    Ok(keys.into_iter().filter(|key| !key.is_empty()).collect())
}

/// The decoded value after the `=`.
fn value(pair: &str) -> Option<String> {
    let uri = format!("/?{pair}").parse().ok()?;
    let Query(mut pairs) = Query::<Vec<(String, String)>>::try_from_uri(&uri).ok()?;
    pairs.pop().map(|(_, value)| value)
}

#[cfg(test)]
mod tests;
