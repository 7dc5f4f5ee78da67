//! `GET /api/registry`: published MCP servers, with the config entry for each. Adds nothing:
//! `POST /api/servers` does, after a person has reviewed the entry.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;

use super::api_response;
use super::config_common::{map_config_error, operator};
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::fields::{check_query, parameter};

/// Limit on a parameter that is passed on.
const MAX_PARAMETER_BYTES: usize = 2_048;

pub(crate) async fn registry(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let found = async {
        let operator = operator(&front, &sent)?;
        check_query(&sent.uri, &["q", "cursor"])?;
        let words = parameter(&sent.uri, "q").unwrap_or_default();
        let cursor = parameter(&sent.uri, "cursor").filter(|cursor| !cursor.is_empty());
        if words.len() > MAX_PARAMETER_BYTES
            || cursor.as_ref().is_some_and(|it| it.len() > MAX_PARAMETER_BYTES)
        {
            let detail = "`q` and `cursor` have at most 2048 bytes";
            return Err(ApiError::new(StatusCode::BAD_REQUEST, "bad_query", detail));
        }
        let found = operator.registry(words.trim(), cursor.as_deref()).await;
        Ok(Json(found.map_err(|why| map_config_error(&why))?).into_response())
    };
    api_response(found.await)
}
