//! Exposes private parsers of request headers to the fuzz targets of `tollgate-fuzz`.

use http::{HeaderMap, HeaderValue, Request};

use crate::accept::Accepts;
use crate::auth::{credentials, logins};
use crate::host_guard;
use crate::realtime;

/// Cookies of a request: names and values.
pub fn cookies(headers: &HeaderMap) -> Vec<(&str, &str)> {
    logins::cookies(headers).collect()
}

/// Request headers are ambiguous; has the code of the refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RefusedHeadersError(&'static str);

/// The key that a request presents. Fails if there are two, or one that is ambiguous.
pub fn presented_key(headers: &HeaderMap) -> Result<Option<&[u8]>, RefusedHeadersError> {
    credentials::read_credential(headers).map_err(|problem| RefusedHeadersError(problem.code))
}

/// Whether JSON and event streams are accepted.
pub fn accepted_types(headers: &HeaderMap) -> (bool, bool) {
    let accepts = Accepts::read(headers);
    let json = matches!(accepts, Accepts::Both | Accepts::OnlyJson);
    (json, matches!(accepts, Accepts::Both | Accepts::OnlyEvents))
}

/// Whether the framing of a request is unambiguous.
pub fn is_framing_sound(headers: &HeaderMap) -> bool {
    host_guard::check_framing(headers).is_ok()
}

/// The host of a `host` header, if it is valid.
pub fn host(value: &HeaderValue) -> Option<String> {
    host_guard::authority(value).map(|authority| authority.host().to_owned())
}

/// The headers of a request for a WebSocket on this path after its key was brought to `authorization`, and what is left of the
/// path. Fails if it shows two keys.
pub fn bring_websocket_key(
    path: &str,
    headers: HeaderMap,
) -> Result<(String, HeaderMap), RefusedHeadersError> {
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.uri = path.parse().map_err(|_| RefusedHeadersError("bad_path"))?;
    parts.headers = headers;
    realtime::bring_key(&mut parts).map_err(|problem| RefusedHeadersError(problem.code))?;
    Ok((parts.uri.to_string(), parts.headers))
}
