//! `/api/tools`: every listed tool, whether it is served, flagged or quarantined and why, and the
//! operator's decisions about it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use tollgate_core::id::{ServerId, ToolId, ToolName};
use tollgate_core::text::truncate_chars;
use tollgate_core::tool::ContentHash;
use tollgate_engine::gate::{Answer, TrustDecisionError};

use super::api_response;
use crate::api_error::{ApiError, MAX_ECHOED_CHARS};
use crate::app_state::AppState;
use crate::body;
use crate::fields::{BodyFields, bad, check_query};
use crate::ops::for_admins;

mod figures;
pub(crate) mod tool_json;

use figures::ToolRowContext;
use tool_json::{ToolExaminationJson, ToolListJson, ToolRowJson};

/// `GET /api/tools`
pub(crate) async fn list(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let allowed = for_admins(&front, &sent).and_then(|()| check_query(&sent.uri, &[]));
    api_response(allowed.map(|()| {
        let gate = &front.gate;
        let catalog = front.gate.catalog();
        Json(ToolListJson::of(&ToolRowContext::new(gate), &gate.known_tools(), &catalog.away))
            .into_response()
    }))
}

/// `GET /api/tools/{server}/{tool}`
pub(crate) async fn examine(
    State(front): State<Arc<AppState>>,
    Path((server, tool)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let found = async {
        for_admins(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let id = id(&server, &tool)?;
        let around = ToolRowContext::new(&front.gate);
        let examined = front.gate.examine(&id).await.map_err(|error| problem(&error))?;
        if let Some(examined) = examined {
            return Ok(Json(ToolExaminationJson::of(&around, &examined)).into_response());
        }
        let catalog = front.gate.catalog();
        let away = catalog.away.iter().find(|it| it.tool == id);
        let away = away.ok_or_else(|| problem(&TrustDecisionError::Unknown(id)))?;
        Ok(Json(ToolExaminationJson::of_away(&around, away)).into_response())
    };
    api_response(found.await)
}

/// `POST /api/tools/{server}/{tool}/accept`
pub(crate) async fn accept(
    State(front): State<Arc<AppState>>,
    Path((server, tool)): Path<(String, String)>,
    request: Request,
) -> Response {
    decide(&front, server, tool, Answer::Accept, request).await
}

/// `POST /api/tools/{server}/{tool}/reject`
pub(crate) async fn reject(
    State(front): State<Arc<AppState>>,
    Path((server, tool)): Path<(String, String)>,
    request: Request,
) -> Response {
    decide(&front, server, tool, Answer::Reject, request).await
}

async fn decide(
    front: &AppState,
    server: String,
    tool: String,
    answer: Answer,
    request: Request,
) -> Response {
    let (sent, body) = request.into_parts();
    let done = async {
        for_admins(front, &sent)?;
        let by = front.keys.visitor(&sent)?.principal;
        check_query(&sent.uri, &[])?;
        let body = body::json(&sent, body, &front.limits).await?;
        let text = BodyFields::read(&body, &["hash"])?.needed_text("hash")?;
        let hash = ContentHash::parse(&text).ok_or_else(|| {
            bad("`hash` must be the 64 hexadecimal digits shown with the tool".to_owned())
        })?;
        let id = id(&server, &tool)?;
        let decided = front.gate.decide(&id, hash, answer, &by).await;
        decided.map_err(|error| problem(&error))?;
        let known = front.gate.known_tools().into_iter().find(|it| it.tool.id == id);
        let known = known.ok_or_else(|| problem(&TrustDecisionError::Unknown(id)))?;
        Ok(Json(ToolRowJson::of(&ToolRowContext::new(&front.gate), &known)).into_response())
    };
    api_response(done.await)
}

fn id(server: &str, tool: &str) -> Result<ToolId, ApiError> {
    let unknown = |_| {
        let detail = format!("there is no server `{}`", truncate_chars(server, MAX_ECHOED_CHARS));
        ApiError::with_detail(StatusCode::NOT_FOUND, "unknown_server", detail)
    };
    let server = ServerId::parse(server).map_err(unknown)?;
    Ok(ToolId { server, tool: ToolName::new(tool) })
}

fn problem(error: &TrustDecisionError) -> ApiError {
    let (status, code) = match error {
        TrustDecisionError::Unknown(_) => (StatusCode::NOT_FOUND, "unknown_tool"),
        TrustDecisionError::Own(_) => (StatusCode::CONFLICT, "own_tool"),
        TrustDecisionError::Other { .. } => (StatusCode::CONFLICT, "other_definition"),
        TrustDecisionError::Store(_) | TrustDecisionError::Audit(_) => {
            (StatusCode::SERVICE_UNAVAILABLE, "not_written")
        }
        TrustDecisionError::Unreadable(_) => (StatusCode::INTERNAL_SERVER_ERROR, "unreadable"),
    };
    ApiError::with_detail(status, code, error.to_string())
}
