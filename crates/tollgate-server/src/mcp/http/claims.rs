//! What the headers of a request say: its era, its session, who asks and for which agent.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, StatusCode};
use tollgate_core::json::Object;
use tollgate_mcp::header::{PROTOCOL_VERSION, SESSION_ID};
use tollgate_mcp::{Era, Revision, error_code, meta};

use super::super::AppState;
use super::super::method::McpMethod;
use super::super::session::McpSession;
use crate::api_error::ApiError;
use crate::auth::Authenticator;
use crate::error_mapping::McpRequestError;
use crate::request_context::{RequestContext, RequestOverrides};

/// Requests say it themselves, by header or by `_meta`. `initialize` without `_meta` is legacy
/// whatever the header says; so is what belongs to a session.
pub(super) fn is_modern(headers: &HeaderMap, method: &str, params: &Object<'_>) -> bool {
    let by_header = says_modern(headers) && method != "initialize";
    if by_header && (session_id(headers).is_none() || known_version(headers) == Some(Era::Modern)) {
        return true;
    }
    McpMethod::is_modern_only(method)
        || params.object("_meta").is_some_and(|meta| meta.contains(meta::PROTOCOL_VERSION))
}

/// A version that is not one of the legacy ones. Unknown ones are left to the modern side, which
/// can say what it speaks.
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

/// The route first, then the header.
pub(super) fn who(
    keys: &Authenticator,
    sent: &Parts,
    agent: Option<String>,
) -> Result<RequestContext, ApiError> {
    RequestContext::read(keys, sent, RequestOverrides { agent, tier: None })
}
