//! Reads the headers of an MCP request: era, session, caller and agent.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, StatusCode};
use tollgate_core::json::Object;
use tollgate_mcp::header::{PROTOCOL_VERSION, SESSION_ID};
use tollgate_mcp::{Era, Revision, error_code, meta};

use super::super::method::McpMethod;
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::auth::Authenticator;
use crate::error_mapping::McpRequestError;
use crate::mcp_session::McpSession;
use crate::request_context::{RequestContext, RequestOverrides};

/// The era is given by a header or by `_meta`. `initialize` without `_meta` is always legacy, and
/// so are requests of a session, unless the header names a known modern version.
pub(super) fn is_modern(headers: &HeaderMap, method: &str, params: &Object<'_>) -> bool {
    let by_header = says_modern(headers) && method != "initialize";
    if by_header && (session_id(headers).is_none() || known_version(headers) == Some(Era::Modern)) {
        return true;
    }
    McpMethod::is_modern_only(method)
        || params.object("_meta").is_some_and(|meta| meta.contains(meta::PROTOCOL_VERSION))
}

/// A version that is not a legacy one. Unknown versions are handled as modern, because that error
/// lists the supported versions.
pub(super) fn says_modern(headers: &HeaderMap) -> bool {
    headers.contains_key(PROTOCOL_VERSION) && known_version(headers) != Some(Era::Legacy)
}

pub(super) fn known_version(headers: &HeaderMap) -> Option<Era> {
    let text = headers.get(PROTOCOL_VERSION)?.to_str().ok()?;
    Revision::parse(text).map(Revision::era)
}

pub(super) fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID)?.to_str().ok()
}

pub(super) fn find_session(
    front: &AppState,
    who: &RequestContext,
    headers: &HeaderMap,
) -> Result<Arc<McpSession>, McpRequestError> {
    let Some(id) = session_id(headers) else {
        return Err(McpRequestError::invalid(
            "a request outside of a session needs `initialize` first, or the `_meta` of \
             revision 2026-07-28",
        ));
    };
    if headers.contains_key(PROTOCOL_VERSION) && known_version(headers) != Some(Era::Legacy) {
        return Err(McpRequestError::invalid(
            "this `mcp-protocol-version` is not supported in a session",
        ));
    }
    let code = error_code::INVALID_REQUEST;
    front.sessions.find(id, who).ok_or_else(|| {
        McpRequestError::new(StatusCode::NOT_FOUND, code, "there is no such session")
    })
}

/// The route takes precedence over the header.
pub(super) fn who(
    keys: &Authenticator,
    sent: &Parts,
    agent: Option<String>,
) -> Result<RequestContext, ApiError> {
    RequestContext::read(keys, sent, RequestOverrides { agent, tier: None })
}
