//! `/api/approvals`: calls that wait for approval, and the decision on one of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use tollgate_core::approval::{ApprovalId, ApprovalVerdict, Decision};
use tollgate_core::{date, json};
use tollgate_engine::approvals::{self, ApprovalDecisionError};

use super::api_response;
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::auth::{AuthenticatedCaller, Right};
use crate::body;
use crate::fields::{BodyFields, bad, check_query};
use crate::wire_schema::{DecisionWord, Time};

/// Limit on a note, in characters.
const MAX_NOTE_CHARS: usize = 1_000;

const UNKNOWN: ApiError = ApiError::new(
    StatusCode::NOT_FOUND,
    "unknown_approval",
    "no call awaits approval under this id: it is unknown, it expired, or its caller disconnected",
);
const ALREADY_DECIDED: ApiError =
    ApiError::new(StatusCode::CONFLICT, "decided_already", "this call has already been decided");

pub(crate) async fn waiting(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        may_decide(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let waiting = front.gate.approvals().waiting();
        let approvals =
            waiting.iter().map(|request| ApprovalRequestJson::from(&**request)).collect();
        Ok(Json(ApprovalsJson { approvals }).into_response())
    };
    api_response(answered.await)
}

pub(crate) async fn show(
    State(front): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        may_decide(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let id = ApprovalId::parse(&id).ok_or(UNKNOWN)?;
        let request = front.gate.approvals().find(id).ok_or(UNKNOWN)?;
        Ok(Json(ApprovalRequestJson::from(&*request)).into_response())
    };
    api_response(answered.await)
}

pub(crate) async fn decide(
    State(front): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        let visitor = may_decide(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let body = body::json(&sent, body, &front.limits).await?;
        let fields = BodyFields::read(&body, &["decision", "note"])?;
        let decision = Decision::parse(&fields.needed_text("decision")?);
        let decision =
            decision.ok_or_else(|| bad("`decision` must be `approve` or `deny`".to_owned()))?;
        let note = fields.text("note")?.filter(|note| !note.is_empty());
        if note.as_ref().is_some_and(|note| note.chars().count() > MAX_NOTE_CHARS) {
            return Err(bad(format!("`note` is limited to {MAX_NOTE_CHARS} characters")));
        }
        let id = ApprovalId::parse(&id).ok_or(UNKNOWN)?;
        let verdict = ApprovalVerdict { id, decision, by: visitor.principal, note };
        let request = front.gate.judge(verdict).await.map_err(|error| match error {
            ApprovalDecisionError::Unknown => UNKNOWN,
            ApprovalDecisionError::Decided => ALREADY_DECIDED,
            ApprovalDecisionError::Revoked(_) => {
                ApiError::with_detail(StatusCode::CONFLICT, "revoked", error.to_string())
            }
            ApprovalDecisionError::Unwritten(_) => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                ApiError::with_detail(status, "not_written", error.to_string())
            }
        })?;
        let decided = ApprovalDecisionJson {
            id: request.id.to_string(),
            name: &request.exposed,
            decision: decision.as_str(),
        };
        Ok(Json(decided).into_response())
    };
    api_response(answered.await)
}

fn may_decide(front: &AppState, sent: &Parts) -> Result<AuthenticatedCaller, ApiError> {
    let visitor = front.keys.visitor(sent)?;
    visitor.need(Right::Approve)?;
    Ok(visitor)
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct ApprovalsJson<'a> {
    approvals: Vec<ApprovalRequestJson<'a>>,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct ApprovalDecisionJson<'a> {
    id: String,
    name: &'a str,
    #[schemars(with = "DecisionWord")]
    decision: &'static str,
}

#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Approval")]
pub(crate) struct ApprovalRequestJson<'a> {
    id: String,
    principal: &'a str,
    agent: &'a str,
    name: &'a str,
    server: &'a str,
    tool: &'a str,
    /// `null` over 64 KiB
    arguments: Option<Box<RawValue>>,
    /// size of arguments that are too long
    #[serde(skip_serializing_if = "Option::is_none")]
    beginning: Option<&'a str>,
    arguments_bytes: usize,
    why: &'static str,
    /// the reason as text
    reason: String,
    #[schemars(with = "Time")]
    since: String,
    #[schemars(with = "Time")]
    until: String,
}

impl<'a> From<&'a approvals::ApprovalRequest> for ApprovalRequestJson<'a> {
    fn from(request: &'a approvals::ApprovalRequest) -> Self {
        let shown = &request.arguments;
        let is_whole = !shown.is_cut();
        Self {
            id: request.id.to_string(),
            principal: request.principal.as_str(),
            agent: request.agent.as_str(),
            name: &request.exposed,
            server: request.tool.server.as_str(),
            tool: request.tool.tool.as_str(),
            arguments: is_whole.then(|| json::raw(shown.text.clone())),
            beginning: (!is_whole).then_some(&*shown.text),
            arguments_bytes: shown.bytes,
            why: request.why.as_str(),
            reason: request.why.to_string(),
            since: date::format_rfc3339(request.since),
            until: date::format_rfc3339(request.until),
        }
    }
}
