//! `GET /api/registry`: MCP servers that others published, and what the config would say for them.
//! Adds nothing: that is for `POST /api/servers`, with what a person has seen.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;

use super::operated::{operator, refused};
use super::told;
use crate::fields::{check_query, parameter};
use crate::mcp::Front;
use crate::problem::Problem;

/// Characters that are passed on.
const LONGEST: usize = 2_048;

pub(crate) async fn registry(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let found = async {
        let operator = operator(&front, &sent)?;
        check_query(&sent.uri, &["q", "cursor"])?;
        let words = parameter(&sent.uri, "q").unwrap_or_default();
        let cursor = parameter(&sent.uri, "cursor").filter(|cursor| !cursor.is_empty());
        if words.len() > LONGEST || cursor.as_ref().is_some_and(|it| it.len() > LONGEST) {
            let detail = "`q` and `cursor` have at most 2048 bytes";
            return Err(Problem::new(StatusCode::BAD_REQUEST, "bad_query", detail));
        }
        let found = operator.registry(words.trim(), cursor.as_deref()).await;
        Ok(Json(found.map_err(|why| refused(&why))?).into_response())
    };
    told(found.await)
}
