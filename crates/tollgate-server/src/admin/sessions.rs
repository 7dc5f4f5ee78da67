//! `/api/sessions`: open realtime sessions, and operator commands to one of them.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::budget::Tier;
use tollgate_core::date;
use tollgate_core::model_usage::UsageTotals;
use tollgate_core::text::truncate_chars;
use tollgate_engine::audit::{AuditAction, Decision};
use tollgate_llm::realtime::silence::{SilencePart, SilenceSegment};
use tollgate_llm::realtime::{
    MeasuredSilence, SessionCommand, SessionCommandError, SessionSummary,
};

use super::api_response;
use super::usage::SpeechUsageJson;
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

pub(crate) async fn show(
    State(front): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        for_observers(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let unknown = || not_given(SessionCommandError::Unknown, &id);
        let shown = front.realtime_sessions.session(&id).ok_or_else(unknown)?;
        let silences = shown.standing.silences.iter().map(SilenceJson::from).collect();
        let detail = SessionDetailJson { session: SessionJson::from(&shown), silences };
        Ok(Json(detail).into_response())
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
    /// The one that serves the session now.
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
    usage: SessionUsageJson,
}

/// What a session has used of models since it began.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "SessionUsage")]
pub(crate) struct SessionUsageJson {
    /// responses of models
    requests: u64,
    /// with the cached ones
    input_tokens: u64,
    output_tokens: u64,
    cached_input_tokens: u64,
    cost_usd: f64,
    /// requests whose price is unknown; they are not in the cost
    unpriced_requests: u64,
    #[serde(flatten)]
    speech: SpeechUsageJson,
}

impl From<&UsageTotals> for SessionUsageJson {
    fn from(used: &UsageTotals) -> Self {
        Self {
            requests: used.requests,
            input_tokens: used.input,
            output_tokens: used.output,
            cached_input_tokens: used.cache_read,
            cost_usd: used.cost.as_usd(),
            unpriced_requests: used.unpriced,
            speech: SpeechUsageJson::from(&used.speech),
        }
    }
}

/// One session, with the silences before its last answers.
#[derive(JsonSchema, Serialize)]
pub(crate) struct SessionDetailJson<'a> {
    #[serde(flatten)]
    session: SessionJson<'a>,
    /// of the last 20 turns with one, oldest first
    silences: Vec<SilenceJson>,
}

/// From the end of the caller's speech to the first audio of the agent for the client.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Silence")]
pub(crate) struct SilenceJson {
    /// when the agent was heard
    #[schemars(with = "Time")]
    at: String,
    /// number of the turn in its session
    turn: u64,
    silence_ms: u128,
    model_ms: u128,
    tool_ms: u128,
    network_ms: u128,
    gateway_ms: u128,
    /// how long the provider waited before it was sure of the end of the speech, before the
    /// silence; `null`: it does not say
    hangover_ms: Option<u128>,
    /// in order, without gaps
    segments: Vec<SilenceSegmentJson>,
}

#[derive(JsonSchema, Serialize)]
#[schemars(rename = "SilenceSegment")]
pub(crate) struct SilenceSegmentJson {
    /// `model`, `tool`, `network` or `gateway`
    part: &'static str,
    /// since the beginning of the silence
    from_ms: u128,
    to_ms: u128,
}

impl From<&MeasuredSilence> for SilenceJson {
    fn from(measured: &MeasuredSilence) -> Self {
        let MeasuredSilence { at, turn, silence } = measured;
        let mut until = Duration::ZERO;
        let segment = |segment: &SilenceSegment| {
            let from = until;
            until += segment.took;
            SilenceSegmentJson {
                part: segment.part.as_str(),
                from_ms: from.as_millis(),
                to_ms: until.as_millis(),
            }
        };
        Self {
            at: date::format_rfc3339(*at),
            turn: *turn,
            segments: silence.segments.iter().map(segment).collect(),
            silence_ms: silence.total().as_millis(),
            model_ms: silence.of(SilencePart::Model).as_millis(),
            tool_ms: silence.of(SilencePart::Tool).as_millis(),
            network_ms: silence.of(SilencePart::Network).as_millis(),
            gateway_ms: silence.of(SilencePart::Gateway).as_millis(),
            hangover_ms: silence.hangover.map(|wait| wait.as_millis()),
        }
    }
}

impl<'a> From<&'a SessionSummary> for SessionJson<'a> {
    fn from(shown: &'a SessionSummary) -> Self {
        let SessionSummary { session, since, standing } = shown;
        Self {
            id: &session.id,
            principal: session.principal.as_str(),
            agent: session.agent.as_str(),
            dialect: session.dialect,
            model: standing.model.as_deref().unwrap_or(&session.model),
            tier: standing.tier.map(Tier::as_str),
            tier_reason: &standing.reason,
            tools: standing.tools,
            since: date::format_rfc3339(*since),
            turns: standing.turns,
            calls: standing.calls,
            usage: SessionUsageJson::from(&standing.usage),
        }
    }
}
