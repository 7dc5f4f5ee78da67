//! Host and origin allowlist, checked for every request before routing.
//!
//! Without it, a web page could reach a server on the user's machine by DNS rebinding. Proxy
//! headers (`forwarded`, `x-forwarded-*`) are ignored here.

use std::collections::HashSet;

use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::api_error::ApiError;
use crate::auth::client_secrets::CLIENT_SECRET_PATHS;

const LOOPBACK: &[&str] = &["localhost", "127.0.0.1", "[::1]"];

/// The host names by which this server may be addressed.
#[derive(Debug, Clone)]
pub(crate) struct HostGuard {
    hosts: HashSet<String>,
    /// Origins of web pages that may open live sessions, as browsers write them.
    origins: HashSet<String>,
}

impl HostGuard {
    /// Allows the loopback names and `hosts`.
    pub(crate) fn new(hosts: &[String]) -> Self {
        let own = hosts.iter().map(|host| host.to_ascii_lowercase());
        let hosts = LOOPBACK.iter().map(|host| (*host).to_owned()).chain(own).collect();
        Self { hosts, origins: HashSet::new() }
    }

    /// Allows pages of these origins to open live sessions, and nothing else.
    #[must_use]
    pub(crate) fn with_origins(self, origins: &[String]) -> Self {
        Self { origins: origins.iter().cloned().collect(), ..self }
    }

    /// The origin of a page that may open live sessions, if this is a request for one.
    pub(crate) fn page_origin<'r>(&self, request: &'r Parts) -> Option<&'r HeaderValue> {
        let origin = single(&request.headers, &header::ORIGIN).ok().flatten()?;
        let is_allowed = origin.to_str().is_ok_and(|origin| self.origins.contains(origin));
        (is_allowed && CLIENT_SECRET_PATHS.contains(&request.uri.path())).then_some(origin)
    }

    pub(crate) fn check(&self, request: &Parts) -> Result<(), ApiError> {
        check_framing(&request.headers)?;
        let host = single(&request.headers, &header::HOST)?
            .ok_or(BAD_HOST)
            .and_then(|value| authority(value).ok_or(BAD_HOST))?;
        let target = request.uri.authority();
        if target.is_some_and(|target| !target.as_str().eq_ignore_ascii_case(host.as_str())) {
            return Err(ApiError::new(
                StatusCode::BAD_REQUEST,
                "host_mismatch",
                "the request line has another host than the `host` header",
            ));
        }
        if !self.allows(host.host()) {
            return Err(ApiError::new(
                StatusCode::FORBIDDEN,
                "host_not_allowed",
                "the name in `host` is not a name of this server",
            ));
        }
        if self.page_origin(request).is_some() {
            return Ok(());
        }
        self.check_origin(&request.headers)
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let refused = ApiError::new(
            StatusCode::FORBIDDEN,
            "origin_not_allowed",
            "this origin is not allowed",
        );
        let Ok(origin) = single(headers, &header::ORIGIN) else { return Err(refused) };
        let Some(origin) = origin else { return Ok(()) };
        let host = origin
            .to_str()
            .ok()
            .and_then(|text| text.split_once("://"))
            .filter(|(scheme, _)| ["http", "https"].contains(&&*scheme.to_ascii_lowercase()))
            .and_then(|(_, rest)| parse_authority(rest));
        match host {
            Some(host) if self.allows(host.host()) => Ok(()),
            _ => Err(refused),
        }
    }

    fn allows(&self, host: &str) -> bool {
        self.hosts.contains(&*host.to_ascii_lowercase())
    }
}

/// A body is plain or chunked. Any other coding, or a repeated one, may be read differently by a
/// proxy and so allow request smuggling (RFC 9112, 6.1 and 11.2).
pub(crate) fn check_framing(headers: &HeaderMap) -> Result<(), ApiError> {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => Ok(()),
        (Some(coding), None) if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => Ok(()),
        (Some(_), _) => Err(ApiError::new(
            StatusCode::BAD_REQUEST,
            "bad_transfer_encoding",
            "`transfer-encoding` must be `chunked`, once, and nothing else",
        )),
    }
}

const BAD_HOST: ApiError = ApiError::new(
    StatusCode::BAD_REQUEST,
    "bad_host",
    "exactly one valid `host` header is required",
);

/// The only value of the header. A repeated header is ambiguous and refused.
fn single<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'h HeaderValue>, ApiError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (first, None) => Ok(first),
        (_, Some(_)) => Err(BAD_HOST),
    }
}

pub(crate) fn authority(value: &HeaderValue) -> Option<Authority> {
    parse_authority(value.to_str().ok()?)
}

/// `host` or `host:port`. No user, no path, no invalid port.
fn parse_authority(text: &str) -> Option<Authority> {
    let authority: Authority = text.parse().ok()?;
    let host = authority.host();
    let port = authority.as_str().strip_prefix(host)?;
    let is_port = port.is_empty() || port.strip_prefix(':')?.parse::<u16>().is_ok();
    let is_bracketed = !host.starts_with('[') || host.ends_with(']');
    (is_port && is_bracketed && !host.is_empty()).then_some(authority)
}

#[cfg(test)]
mod tests;
