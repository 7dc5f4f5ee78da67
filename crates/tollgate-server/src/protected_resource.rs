//! The metadata of `/mcp` as a protected resource of OAuth (RFC 9728): where clients learn who gives
//! tokens.
//!
//! URLs come from the config; what a request calls us is never repeated.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use serde_json::json;
use tollgate_core::id::AgentId;

use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;

pub(crate) async fn metadata(State(front): State<Arc<AppState>>) -> Response {
    metadata_response(&front, None)
}

pub(crate) async fn metadata_of_agent(
    State(front): State<Arc<AppState>>,
    Path(agent): Path<String>,
) -> Response {
    match AgentId::parse(&agent) {
        Ok(agent) => metadata_response(&front, Some(agent)),
        Err(_) => NOT_HERE.response(ApiErrorFormat::ProblemDetails),
    }
}

const NOT_HERE: ApiError =
    ApiError::new(StatusCode::NOT_FOUND, "not_found", "there is nothing at this path");

/// The same for agents that are there and that are not: names are for whoever was let in.
fn metadata_response(front: &AppState, agent: Option<AgentId>) -> Response {
    let Some(oidc) = front.keys.oidc() else {
        return NOT_HERE.response(ApiErrorFormat::ProblemDetails);
    };
    let auth = &oidc.auth;
    let resource = match agent {
        Some(agent) => format!("{}/{agent}", auth.resource),
        None => auth.resource.clone(),
    };
    Json(json!({
        "resource": resource,
        "authorization_servers": [auth.issuer],
        "scopes_supported": auth.scopes,
        "bearer_methods_supported": ["header"],
        "resource_name": "Tollgate",
    }))
    .into_response()
}
