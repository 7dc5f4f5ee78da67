//! Operations routes: liveness, readiness, and the status of servers.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::date;
use tollgate_engine::gate::Gate;
use tollgate_engine::servers::ServerStatus;
use tollgate_engine::settings::ServerDesiredState;
use tollgate_engine::upstream::{TestReport, TestVerdict};
use tollgate_mcp::Revision;

use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;
use crate::auth::Right;
use crate::readiness;
use crate::wire_schema::{ServerStateWord, Time, TransportWord};

#[derive(JsonSchema, Serialize)]
pub(crate) struct HealthJson {
    tollgate: &'static str,
}

pub(crate) async fn healthz() -> Response {
    Json(HealthJson { tollgate: env!("CARGO_PKG_VERSION") }).into_response()
}

pub(crate) async fn readyz(State(front): State<Arc<AppState>>) -> Response {
    readiness::response(&front).await
}

#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Servers")]
pub(crate) struct StatusJson {
    servers: Vec<ServerJson>,
}

/// One row per server.
#[derive(JsonSchema, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the wire has three")]
pub(crate) struct ServerJson {
    id: String,
    #[schemars(with = "TransportWord")]
    transport: &'static str,
    /// from the config
    enabled: bool,
    #[schemars(with = "ServerStateWord")]
    state: &'static str,
    reason: String,
    #[schemars(with = "Time")]
    since: String,
    restarts: u32,
    late_answers: u64,
    protocol: Option<&'static str>,
    tools: usize,
    last_error: Option<String>,
    /// of a server that is a local process
    pid: Option<u32>,
    category: Option<String>,
    trusted: bool,
    /// time of its last response
    #[schemars(with = "Option<Time>")]
    last_ok: Option<String>,
    needs_login: bool,
}

impl ServerJson {
    pub(crate) fn new(gate: &Gate, server: ServerStatus) -> Self {
        let ServerStatus {
            id,
            transport,
            status,
            desired: state,
            last_answer: last_heard,
            needs_login,
        } = server;
        Self {
            category: gate.category(&id),
            trusted: gate.is_trusted(&id),
            last_ok: last_heard.map(date::format_rfc3339),
            needs_login,
            id: id.to_string(),
            transport,
            enabled: state == ServerDesiredState::Enabled,
            state: status.state.as_str(),
            reason: status.reason,
            since: date::format_rfc3339(status.since),
            restarts: status.restarts,
            late_answers: status.late_answers,
            protocol: status.revision.map(Revision::as_str),
            tools: status.tools,
            last_error: status.last_error,
            pid: status.pid,
        }
    }
}

pub(crate) async fn status(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    if let Err(problem) = for_observers(&front, &sent) {
        return problem.response(ApiErrorFormat::of(sent.uri.path()));
    }
    servers(&front)
}

/// All servers with their status.
pub(crate) fn servers(front: &AppState) -> Response {
    let gate = &front.gate;
    let servers = gate.servers().into_iter().map(|it| ServerJson::new(gate, it)).collect();
    Json(StatusJson { servers }).into_response()
}

#[derive(JsonSchema, Serialize)]
#[schemars(rename = "TestReport")]
pub(crate) struct ServerTestJson {
    ok: bool,
    message: String,
    protocol: Option<&'static str>,
    tools: usize,
    took_ms: u128,
}

impl From<TestReport> for ServerTestJson {
    fn from(report: TestReport) -> Self {
        Self {
            ok: report.verdict == TestVerdict::Works,
            message: report.message,
            protocol: report.protocol.map(Revision::as_str),
            tools: report.tools,
            took_ms: report.took.as_millis(),
        }
    }
}

/// Tests a configured server. The request cannot choose what is started.
pub(crate) async fn test(
    State(front): State<Arc<AppState>>,
    Path(server): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let style = ApiErrorFormat::of(sent.uri.path());
    if let Err(problem) = for_admins(&front, &sent) {
        return problem.response(style);
    }
    match front.gate.test(&server).await {
        Some(report) => Json(ServerTestJson::from(report)).into_response(),
        None => {
            let detail = "there is no such server in the configuration";
            ApiError::new(StatusCode::NOT_FOUND, "unknown_server", detail).response(style)
        }
    }
}

pub(crate) fn for_admins(front: &AppState, sent: &Parts) -> Result<(), ApiError> {
    front.keys.visitor(sent)?.need(Right::Admin)
}

/// Read-only routes need only the right `observe`.
pub(crate) fn for_observers(front: &AppState, sent: &Parts) -> Result<(), ApiError> {
    let visitor = front.keys.visitor(sent)?;
    visitor.need(Right::Observe).or_else(|lacking| visitor.need(Right::Admin).map_err(|_| lacking))
}
