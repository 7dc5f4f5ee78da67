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

/// The key that a request presents. `Err`: there are two, or one that is ambiguous.
pub fn presented_key(headers: &HeaderMap) -> Result<Option<&[u8]>, String> {
    credentials::read_credential(headers).map_err(|problem| problem.code.to_owned())
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
/// path; `Err`: it shows two keys.
pub fn bring_websocket_key(path: &str, headers: HeaderMap) -> Result<(String, HeaderMap), String> {
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.uri = path.parse().map_err(|_| "bad_path".to_owned())?;
    parts.headers = headers;
    realtime::bring_key(&mut parts).map_err(|problem| problem.code.to_owned())?;
    Ok((parts.uri.to_string(), parts.headers))
}
