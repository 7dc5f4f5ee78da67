//! `/api/tools`: every tool that a server lists, whether it is served and why, and what a person
//! decides about it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use tollgate_core::id::{ServerId, ToolId, ToolName};
use tollgate_core::text::shortened;
use tollgate_core::tool::ContentHash;
use tollgate_engine::gate::{Answer, Undecided};

use super::told;
use crate::body;
use crate::fields::{Fields, bad, check_query};
use crate::mcp::Front;
use crate::ops::for_admins;
use crate::problem::{Problem, SAID_BACK};

mod figures;
mod shown;

use figures::Around;
use shown::{ExaminedJson, KnownJson, ListJson};

/// `GET /api/tools`
pub(crate) async fn list(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let allowed = for_admins(&front, &sent).and_then(|()| check_query(&sent.uri, &[]));
    told(allowed.map(|()| {
        let (gate, catalog) = (&front.gate, front.gate.catalog());
        Json(ListJson::of(&Around::new(gate), &gate.known_tools(), &catalog.away)).into_response()
    }))
}

/// `GET /api/tools/{server}/{tool}`
pub(crate) async fn examine(
    State(front): State<Arc<Front>>,
    Path((server, tool)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let found = async {
        for_admins(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let id = id(&server, &tool)?;
        let around = Around::new(&front.gate);
        let examined = front.gate.examine(&id).await.map_err(|error| problem(&error))?;
        if let Some(examined) = examined {
            return Ok(Json(ExaminedJson::of(&around, &examined)).into_response());
        }
        let catalog = front.gate.catalog();
        let away = catalog.away.iter().find(|it| it.tool == id);
        let away = away.ok_or_else(|| problem(&Undecided::Unknown(id)))?;
        Ok(Json(ExaminedJson::of_away(&around, away)).into_response())
    };
    told(found.await)
}

/// `POST /api/tools/{server}/{tool}/accept`
pub(crate) async fn accept(
    State(front): State<Arc<Front>>,
    Path(named): Path<(String, String)>,
    request: Request,
) -> Response {
    decided(&front, named, Answer::Accept, request).await
}

/// `POST /api/tools/{server}/{tool}/reject`
pub(crate) async fn reject(
    State(front): State<Arc<Front>>,
    Path(named): Path<(String, String)>,
    request: Request,
) -> Response {
    decided(&front, named, Answer::Reject, request).await
}

async fn decided(
    front: &Front,
    (server, tool): (String, String),
    answer: Answer,
    request: Request,
) -> Response {
    let (sent, body) = request.into_parts();
    let done = async {
        for_admins(front, &sent)?;
        let by = front.keys.visitor(&sent)?.principal;
        check_query(&sent.uri, &[])?;
        let body = body::json(&sent, body, &front.limits).await?;
        let said = Fields::read(&body, &["hash"])?.needed_text("hash")?;
        let hash = ContentHash::parse(&said).ok_or_else(|| {
            bad("`hash` is 64 hexadecimal digits, as the tool is shown".to_owned())
        })?;
        let id = id(&server, &tool)?;
        let decided = front.gate.decide(&id, hash, (answer, &by)).await;
        decided.map_err(|error| problem(&error))?;
        let known = front.gate.known_tools().into_iter().find(|it| it.tool.id == id);
        let known = known.ok_or_else(|| problem(&Undecided::Unknown(id)))?;
        Ok(Json(KnownJson::of(&Around::new(&front.gate), &known)).into_response())
    };
    told(done.await)
}

fn id(server: &str, tool: &str) -> Result<ToolId, Problem> {
    let unknown = |_| {
        let detail = format!("there is no server `{}`", shortened(server, SAID_BACK));
        Problem::told(StatusCode::NOT_FOUND, "unknown_server", detail)
    };
    let server = ServerId::parse(server).map_err(unknown)?;
    Ok(ToolId { server, tool: ToolName::new(tool) })
}

fn problem(error: &Undecided) -> Problem {
    let (status, code) = match error {
        Undecided::Unknown(_) => (StatusCode::NOT_FOUND, "unknown_tool"),
        Undecided::Own(_) => (StatusCode::CONFLICT, "own_tool"),
        Undecided::Other { .. } => (StatusCode::CONFLICT, "other_definition"),
        Undecided::Store(_) | Undecided::Audit(_) => {
            (StatusCode::SERVICE_UNAVAILABLE, "not_written")
        }
        Undecided::Unreadable(_) => (StatusCode::INTERNAL_SERVER_ERROR, "unreadable"),
    };
    Problem::told(status, code, error.to_string())
}
