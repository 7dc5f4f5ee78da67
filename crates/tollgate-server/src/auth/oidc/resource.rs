//! OAuth protected resource metadata of `/mcp` (RFC 9728), and the challenges for requests without
//! a valid token (RFC 6750).
//!
//! URLs come from the config. The host name of a request is never repeated.

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use tollgate_core::id::AgentId;

use super::super::{AuthenticatedCaller, Right};
use super::{Oidc, OidcConfig};
use crate::api_error::{ApiError, ApiErrorFormat};

pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The resource of the agent that the path names.
pub(super) fn of_agent(auth: &OidcConfig, path: &str) -> Option<String> {
    let agent = AgentId::parse(path.strip_prefix("/mcp/")?).ok()?;
    // Operator routes are below the same path.
    if ApiErrorFormat::of(path) != ApiErrorFormat::JsonRpc {
        return None;
    }
    Some(format!("{}/{agent}", auth.resource))
}

/// Adds the challenge that tells how to authenticate.
pub(crate) fn challenging(
    mut response: Response,
    oidc: Option<&Oidc>,
    problem: &ApiError,
    path: &str,
) -> Response {
    let error = match (problem.status, problem.code) {
        (StatusCode::UNAUTHORIZED, "no_key" | "admin_only") => None,
        (StatusCode::UNAUTHORIZED, _) => Some("invalid_token"),
        (StatusCode::BAD_REQUEST, "two_keys") => Some("invalid_request"),
        _ => return response,
    };
    let mut parts: Vec<String> = Vec::new();
    if let Some(error) = error {
        parts.push(format!("error=\"{error}\""));
        parts.push(format!("error_description=\"{}\"", quotable(&problem.detail)));
    }
    if let Some(oidc) = oidc {
        parts.push(format!("resource_metadata=\"{}\"", metadata_url(&oidc.auth, path)));
        parts.push(format!("scope=\"{}\"", oidc.auth.scopes.join(" ")));
    }
    put(&mut response, &parts);
    response
}

/// Challenges an anonymous caller that asked for something which needs a key.
pub(crate) fn asking(mut response: Response) -> Response {
    put(&mut response, &[]);
    response
}

/// Challenges a caller whose token lacks a scope, and names it.
pub(crate) fn stepping_up(
    mut response: Response,
    oidc: &Oidc,
    visitor: &AuthenticatedCaller,
    path: &str,
) -> Response {
    let is_call = path.starts_with("/mcp") || path.starts_with("/v1");
    let needed: &[Right] = if is_call {
        &[Right::Execute, Right::OverrideTier]
    } else {
        &[Right::Approve, Right::Observe, Right::Admin]
    };
    let Some(missing) = needed.iter().find(|right| !visitor.rights.has(**right)) else {
        return response;
    };
    // List all scopes needed: the ones that the token has must be requested again.
    let has = visitor.rights.iter().map(|right| oidc.scope_of(right));
    let mut scopes: Vec<String> = has.chain([oidc.scope_of(*missing)]).collect();
    scopes.dedup();
    let parts = [
        "error=\"insufficient_scope\"".to_owned(),
        format!("scope=\"{}\"", scopes.join(" ")),
        format!("resource_metadata=\"{}\"", metadata_url(&oidc.auth, path)),
    ];
    put(&mut response, &parts);
    response
}

fn put(response: &mut Response, parts: &[String]) {
    let text = format!("Bearer {}", parts.join(", "));
    if let Ok(value) = HeaderValue::from_str(text.trim_end()) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
    }
}

/// URL of the metadata for the resource of this request.
fn metadata_url(auth: &OidcConfig, path: &str) -> String {
    let resource = of_agent(auth, path).unwrap_or_else(|| auth.resource.clone());
    let after_scheme = resource.find("://").map_or(0, |at| at + 3);
    let end = resource[after_scheme..].find('/').map_or(resource.len(), |at| after_scheme + at);
    let (origin, path) = resource.split_at(end);
    format!("{origin}{WELL_KNOWN}{path}")
}

/// RFC 6750 allows neither quotes nor non-ASCII characters.
fn quotable(text: &str) -> String {
    let allowed = |c: char| matches!(c, ' '..='~') && c != '"' && c != '\\';
    text.chars().filter(|c| allowed(*c)).collect()
}
