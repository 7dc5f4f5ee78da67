//! How notices of live sessions are shown.

use serde::Serialize;
use tollgate_core::tool::hidden::visible;
use tollgate_engine::notices::{LiveEnding, LiveEvent, LiveSession, LiveTurn};

use crate::events::Event;

pub(super) fn event(session: &LiveSession, event: &LiveEvent) -> Event {
    let session = SessionJson::from(session);
    match event {
        LiveEvent::Opened => Event::new("session_opened", &session),
        LiveEvent::Tier { tier, reason } => {
            let tier = tier.map(|tier| tier.as_str());
            Event::new("session_tier", &TierJson { session, tier, reason })
        }
        LiveEvent::Turn(turn) => {
            Event::new("session_turn", &TurnJson { session, turn: FiguresJson::from(turn) })
        }
        LiveEvent::Closed { code, reason } => Event::new(
            "session_closed",
            &ClosedJson { session, code: *code, reason: visible(reason) },
        ),
    }
}

#[derive(Serialize)]
struct SessionJson<'a> {
    session: &'a str,
    principal: &'a str,
    agent: &'a str,
    dialect: &'static str,
    model: &'a str,
}

impl<'a> From<&'a LiveSession> for SessionJson<'a> {
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

#[derive(Serialize)]
struct TierJson<'a> {
    #[serde(flatten)]
    session: SessionJson<'a>,
    /// `null`: without a budget.
    tier: Option<&'static str>,
    reason: &'a str,
}

#[derive(Serialize)]
struct TurnJson<'a> {
    #[serde(flatten)]
    session: SessionJson<'a>,
    #[serde(flatten)]
    turn: FiguresJson,
}

#[derive(Serialize)]
struct FiguresJson {
    took_ms: u128,
    tools_ms: u128,
    calls: u32,
    budget_misses: u32,
    announcements: u32,
    cancellations: u32,
    late_results: u32,
    interrupted: bool,
}

impl From<&LiveTurn> for FiguresJson {
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

#[derive(Serialize)]
struct ClosedJson<'a> {
    #[serde(flatten)]
    session: SessionJson<'a>,
    code: u16,
    reason: String,
}
