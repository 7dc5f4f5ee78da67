//! `/api/sessions`: open realtime sessions, and operator commands to one of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::budget::Tier;
use tollgate_core::date;
use tollgate_core::text::truncate_chars;
use tollgate_engine::audit::{AuditAction, Decision};
use tollgate_llm::realtime::{SessionCommand, SessionCommandError, SessionSummary};

use super::api_response;
use crate::api_error::{ApiError, MAX_ECHOED_CHARS};
use crate::app_state::AppState;
use crate::body;
use crate::fields::{BodyFields, check_query};
use crate::ops::{for_admins, for_observers};
use crate::wire_schema::{TierWord, Time};

pub(crate) async fn list(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        for_observers(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let held = front.realtime_sessions.sessions();
        let sessions = held.iter().map(SessionJson::from).collect();
        Ok(Json(SessionsJson { sessions }).into_response())
    };
    api_response(answered.await)
}

pub(crate) async fn close(
    State(front): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        for_admins(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        give(&front, &sent, &id, SessionCommand::Close).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    };
    api_response(answered.await)
}

pub(crate) async fn tier(
    State(front): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        for_admins(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let body = body::json(&sent, body, &front.limits).await?;
        let tier = BodyFields::read(&body, &["tier"])?.tier("tier")?;
        give(&front, &sent, &id, SessionCommand::Tier(tier)).await?;
        Ok(Json(ForcedTierJson { id, tier: tier.map(Tier::as_str) }).into_response())
    };
    api_response(answered.await)
}

/// Runs the command and writes an audit row. The command stays in force even if the row cannot be
/// written.
async fn give(
    front: &AppState,
    sent: &Parts,
    id: &str,
    order: SessionCommand,
) -> Result<(), ApiError> {
    let by = front.keys.visitor(sent)?.principal;
    front.realtime_sessions.order(id, order).map_err(|why| not_given(why, id))?;
    let (outcome, detail) = match order {
        SessionCommand::Close => ("closed", "by command".to_owned()),
        SessionCommand::Tier(Some(tier)) => ("tier", format!("`{tier}` from now on")),
        SessionCommand::Tier(None) => ("tier", "automatic tier selection".to_owned()),
    };
    let decision = Decision::new(AuditAction::Session, &by, outcome).about(id).because(&detail);
    if let Err(error) = front.gate.ledger().note(decision).await {
        tracing::warn!(%error, session = id, outcome, "cannot write the change of a session to the \
                                                       audit trail yet");
    }
    Ok(())
}

fn not_given(why: SessionCommandError, id: &str) -> ApiError {
    match why {
        SessionCommandError::Unknown => {
            let detail =
                format!("there is no live session `{}`", truncate_chars(id, MAX_ECHOED_CHARS));
            ApiError::with_detail(StatusCode::NOT_FOUND, "unknown_session", detail)
        }
        SessionCommandError::Busy => {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            ApiError::with_detail(status, "session_busy", why.to_string())
        }
    }
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct SessionsJson<'a> {
    sessions: Vec<SessionJson<'a>>,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct ForcedTierJson {
    id: String,
    #[schemars(with = "Option<TierWord>")]
    tier: Option<&'static str>,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct SessionJson<'a> {
    id: &'a str,
    principal: &'a str,
    agent: &'a str,
    dialect: &'static str,
    model: &'a str,
    /// `null`: no budget.
    #[schemars(with = "Option<TierWord>")]
    tier: Option<&'static str>,
    tier_reason: &'a str,
    tools: usize,
    #[schemars(with = "Time")]
    since: String,
    turns: u64,
    calls: u64,
}

impl<'a> From<&'a SessionSummary> for SessionJson<'a> {
    fn from(shown: &'a SessionSummary) -> Self {
        let SessionSummary { session, since, standing } = shown;
        Self {
            id: &session.id,
            principal: session.principal.as_str(),
            agent: session.agent.as_str(),
            dialect: session.dialect,
            model: &session.model,
            tier: standing.tier.map(Tier::as_str),
            tier_reason: &standing.reason,
            tools: standing.tools,
            since: date::format_rfc3339(*since),
            turns: standing.turns,
            calls: standing.calls,
        }
    }
}
