//! JSON representation of notices about realtime sessions.

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::tool::hidden_text::visible;
use tollgate_engine::notices::{LiveEnding, LiveEvent, LiveSession, LiveTurn};

use crate::events::ServerSentEvent;
use crate::wire_schema::TierWord;

pub(super) fn event(session: &LiveSession, event: &LiveEvent) -> ServerSentEvent {
    let session = SessionNoticeJson::from(session);
    match event {
        LiveEvent::Opened => ServerSentEvent::new("session_opened", &session),
        LiveEvent::Tier { tier, reason } => {
            let tier = tier.map(|tier| tier.as_str());
            ServerSentEvent::new("session_tier", &SessionTierJson { session, tier, reason })
        }
        LiveEvent::Turn(turn) => ServerSentEvent::new(
            "session_turn",
            &SessionTurnJson { session, turn: TurnFiguresJson::from(turn) },
        ),
        LiveEvent::Closed { code, reason } => ServerSentEvent::new(
            "session_closed",
            &SessionClosedJson { session, code: *code, reason: visible(reason) },
        ),
    }
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct SessionNoticeJson<'a> {
    session: &'a str,
    principal: &'a str,
    agent: &'a str,
    dialect: &'static str,
    model: &'a str,
}

impl<'a> From<&'a LiveSession> for SessionNoticeJson<'a> {
    fn from(session: &'a LiveSession) -> Self {
        Self {
            session: &session.id,
            principal: session.principal.as_str(),
            agent: session.agent.as_str(),
            dialect: session.dialect,
            model: &session.model,
        }
    }
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct SessionTierJson<'a> {
    #[serde(flatten)]
    session: SessionNoticeJson<'a>,
    /// `null`: no budget
    #[schemars(with = "Option<TierWord>")]
    tier: Option<&'static str>,
    reason: &'a str,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct SessionTurnJson<'a> {
    #[serde(flatten)]
    session: SessionNoticeJson<'a>,
    #[serde(flatten)]
    turn: TurnFiguresJson,
}

#[derive(JsonSchema, Serialize)]
struct TurnFiguresJson {
    took_ms: u128,
    tools_ms: u128,
    calls: u32,
    budget_misses: u32,
    announcements: u32,
    cancellations: u32,
    late_results: u32,
    interrupted: bool,
}

impl From<&LiveTurn> for TurnFiguresJson {
    fn from(turn: &LiveTurn) -> Self {
        Self {
            took_ms: turn.took.as_millis(),
            tools_ms: turn.tools.as_millis(),
            calls: turn.calls,
            budget_misses: turn.missed,
            announcements: turn.announced,
            cancellations: turn.cancelled,
            late_results: turn.late,
            interrupted: turn.ending == LiveEnding::Interrupted,
        }
    }
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct SessionClosedJson<'a> {
    #[serde(flatten)]
    session: SessionNoticeJson<'a>,
    code: u16,
    reason: String,
}
