//! Reads the credential of a request: exactly one, in a header. Ambiguous credentials are refused.
//! Keys in a URL are refused, because URLs end up in many logs.

use axum::extract::Query;
use http::{HeaderMap, StatusCode, Uri, header};

use crate::api_error::ApiError;

const API_KEY: &str = "x-api-key";
/// Header of Gemini API clients.
const GOOGLE_API_KEY: &str = "x-goog-api-key";
/// Query parameters that other APIs use for keys.
const IN_QUERY: &[&str] =
    &["key", "api_key", "apikey", "api-key", "x-api-key", "token", "access_token"];

const TWO_KEYS: ApiError = ApiError::new(
    StatusCode::BAD_REQUEST,
    "two_keys",
    "send exactly one key: `authorization: Bearer …` or `x-api-key`",
);

/// The key as sent. `None` if there is none, or nothing that looks like one.
pub(crate) fn read_credential(headers: &HeaderMap) -> Result<Option<&[u8]>, ApiError> {
    let authorization = single(headers, header::AUTHORIZATION.as_str())?;
    let api_key = match (single(headers, API_KEY)?, single(headers, GOOGLE_API_KEY)?) {
        (Some(key), Some(other)) if key != other => return Err(TWO_KEYS),
        (key, other) => key.or(other),
    };
    let sent = match (authorization, api_key) {
        (None, key) => key,
        (Some(value), None) => bearer(value),
        (Some(value), key) if bearer(value) == key => key,
        (Some(_), Some(_)) => return Err(TWO_KEYS),
    };
    Ok(sent.filter(|key| !key.is_empty()))
}

/// Refused even where no key is needed: a client that sends a key in a URL does so elsewhere, too.
pub(crate) fn refuse_keys_in_query(uri: &Uri) -> Result<(), ApiError> {
    if uri.query().is_none_or(str::is_empty) {
        return Ok(());
    }
    // The handler that reads the query refuses a malformed one.
    let Ok(Query(sent)) = Query::<Vec<(String, String)>>::try_from_uri(uri) else { return Ok(()) };
    match sent.iter().find(|(name, _)| IN_QUERY.contains(&&*name.to_ascii_lowercase())) {
        Some((name, _)) => {
            let detail = format!(
                "keys in a URL are rejected because URLs are logged: send it as `authorization: \
                 Bearer …`, not as `{name}`"
            );
            Err(ApiError::with_detail(StatusCode::BAD_REQUEST, "key_in_url", detail))
        }
        None => Ok(()),
    }
}

fn single<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h [u8]>, ApiError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(TWO_KEYS),
        (value, None) => Ok(value.map(|value| value.as_bytes().trim_ascii())),
    }
}

/// `Bearer KEY`, or `Token KEY` as clients of Deepgram and of Gemini's live sessions send it.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let at = value.iter().position(|byte| *byte == b' ')?;
    let (scheme, key) = value.split_at(at);
    let is_known = [&b"bearer"[..], b"token"].iter().any(|it| scheme.eq_ignore_ascii_case(it));
    is_known.then(|| key.trim_ascii())
}
