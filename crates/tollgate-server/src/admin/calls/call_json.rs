//! JSON representation of a call, running or finished.

use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::call::{CallId, ResultSource};
use tollgate_core::date;
use tollgate_core::id::ToolName;
use tollgate_engine::calls::{CallProgress, CallReason, Event as CallEvent, StepTiming};

use crate::events::ServerSentEvent;
use crate::tier_assignment::milliseconds;
use crate::wire_schema::{TierWord, Time};

#[derive(JsonSchema, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the wire has two")]
pub(crate) struct CallJson<'a> {
    id: &'a str,
    turn: &'a str,
    /// the call whose program made it
    within: Option<&'a str>,
    #[schemars(with = "Time")]
    at: String,
    principal: &'a str,
    agent: &'a str,
    /// a probe of the gateway
    probe: bool,
    method: &'static str,
    name: &'a str,
    server: Option<&'a str>,
    tool: Option<&'a str>,
    #[schemars(with = "TierWord")]
    tier: &'static str,
    /// `null` while it runs
    outcome: Option<&'static str>,
    detail: Option<&'a str>,
    cached: bool,
    /// elapsed time while it runs
    duration_ms: f64,
    result_bytes: usize,
    #[schemars(with = "Time")]
    turn_began: String,
    /// of the turn, measured from `turn_began`
    deadline_ms: Option<f64>,
    /// measured from the start of the call
    steps: Vec<CallStepJson>,
}

#[derive(JsonSchema, Serialize)]
struct CallStepJson {
    step: &'static str,
    from_ms: f64,
    to_ms: Option<f64>,
}

impl<'a> CallJson<'a> {
    pub(super) fn new(course: &'a CallProgress, now: Instant) -> Self {
        let target = course.target();
        let ended = course.summary();
        let so_far = || now.saturating_duration_since(course.began);
        Self {
            id: course.id.as_str(),
            turn: course.turn.as_str(),
            within: course.within.as_ref().map(CallId::as_str),
            at: date::format_rfc3339_millis(course.at),
            principal: course.principal.as_str(),
            agent: course.agent.as_str(),
            probe: course.made == CallReason::ToMeasure,
            method: course.method,
            name: &course.name,
            server: target.map(|target| target.server.as_str()),
            tool: target.and_then(|target| target.tool.as_ref()).map(ToolName::as_str),
            tier: course.tier.as_str(),
            outcome: ended.map(|ended| ended.end.as_str()),
            detail: ended.and_then(|ended| ended.detail.as_deref()),
            cached: ended.is_some_and(|ended| ended.source == ResultSource::Cached),
            duration_ms: milliseconds(ended.map_or_else(so_far, |ended| ended.duration)),
            result_bytes: ended.map_or(0, |ended| ended.result_bytes),
            turn_began: date::format_rfc3339_millis(course.turn_began),
            deadline_ms: course.span.map(milliseconds),
            steps: course.steps().into_iter().map(CallStepJson::from).collect(),
        }
    }
}

impl From<StepTiming> for CallStepJson {
    fn from(StepTiming { step, from, to }: StepTiming) -> Self {
        let to_ms = to.map(milliseconds);
        Self { step: step.as_str(), from_ms: milliseconds(from), to_ms }
    }
}

/// The event of `/api/events`. A call that finished since its start event is reported as finished.
pub(in crate::admin) fn event(event: &CallEvent, now: Instant) -> ServerSentEvent {
    match event {
        CallEvent::Started(course) => {
            ServerSentEvent::new("call_started", &CallJson::new(course, now))
        }
        CallEvent::Done(course) => ServerSentEvent::new("call_done", &CallJson::new(course, now)),
    }
}
