//! The progress of one call, for display. What is known at the beginning is in plain fields; later
//! facts are set once and can be read concurrently.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use tollgate_core::budget::Tier;
use tollgate_core::call::{CallId, ResultSource};
use tollgate_core::id::{AgentId, ServerId, ToolName};
use tollgate_core::turn::{Principal, Turn, TurnId};

use super::steps::{AttemptStatus, CallStep, CallSteps, StepTiming};
use crate::record::{CallEnding, CallRecord};

/// What is known of a call at its beginning.
pub(crate) struct CallProgressStart<'a> {
    pub(crate) record: &'a CallRecord,
    pub(crate) turn: &'a Turn,
    pub(crate) made: CallReason,
    pub(crate) began: Instant,
}

/// Why a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallReason {
    /// A caller wants the result.
    Caller,
    /// The gateway measures the latency.
    ToMeasure,
}

#[derive(Debug)]
pub struct CallProgress {
    pub id: CallId,
    pub turn: TurnId,
    /// The call of the program that made this call, if any.
    pub within: Option<CallId>,
    pub at: SystemTime,
    pub principal: Principal,
    pub agent: AgentId,
    pub made: CallReason,
    pub method: &'static str,
    /// The name as requested.
    pub name: Arc<str>,
    pub tier: Tier,
    pub turn_began: SystemTime,
    /// Length of the turn, from its beginning; `None`: no budget.
    pub span: Option<Duration>,
    pub began: Instant,
    target: OnceLock<CallTarget>,
    /// Whether it was sent to its server. If not, it had no effect.
    sent: AtomicBool,
    /// Whether its server runs in this process.
    in_process: AtomicBool,
    steps: CallSteps,
    end: OnceLock<CallSummary>,
    /// Its number among the finished calls.
    number: AtomicU64,
}

/// The target of the call, once it is known.
#[derive(Debug)]
pub struct CallTarget {
    pub server: ServerId,
    /// The tool's name at its server.
    pub tool: Option<ToolName>,
}

/// The outcome of the call.
#[derive(Debug)]
pub struct CallSummary {
    pub end: CallEnding,
    pub detail: Option<Cow<'static, str>>,
    pub source: ResultSource,
    pub duration: Duration,
    pub result_bytes: usize,
}

impl CallProgress {
    pub(super) fn new(
        CallProgressStart { record, turn, made, began }: CallProgressStart<'_>,
    ) -> Self {
        let since = began.saturating_duration_since(turn.began);
        Self {
            id: record.call,
            turn: turn.id,
            within: record.within,
            at: record.at,
            principal: record.principal.clone(),
            agent: record.agent.clone(),
            made,
            method: record.method,
            name: Arc::clone(&record.name),
            tier: record.tier,
            turn_began: record.at.checked_sub(since).unwrap_or(record.at),
            span: turn.span(),
            began,
            target: OnceLock::new(),
            sent: AtomicBool::new(false),
            in_process: AtomicBool::new(false),
            steps: CallSteps::default(),
            end: OnceLock::new(),
            number: AtomicU64::new(0),
        }
    }

    pub fn target(&self) -> Option<&CallTarget> {
        self.target.get()
    }

    /// `None` while it runs.
    pub fn summary(&self) -> Option<&CallSummary> {
        self.end.get()
    }

    /// The steps so far, in the order in which they began.
    pub fn steps(&self) -> Vec<StepTiming> {
        self.steps.all(self.summary().map(|ended| ended.duration))
    }

    /// Deadline of its turn; `None`: no budget.
    pub(super) fn deadline(&self) -> Option<SystemTime> {
        self.span.and_then(|span| self.turn_began.checked_add(span))
    }

    pub(crate) fn set_target(&self, server: &ServerId, tool: Option<&ToolName>) {
        self.target.get_or_init(|| CallTarget { server: server.clone(), tool: tool.cloned() });
    }

    pub(crate) fn send(&self) {
        self.sent.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_sent(&self) -> bool {
        self.sent.load(Ordering::Relaxed)
    }

    pub(crate) fn mark_in_process(&self) {
        self.in_process.store(true, Ordering::Relaxed);
    }

    /// Records a step that has ended.
    pub(crate) fn record_step(&self, step: CallStep, from: Instant, to: Instant) {
        let at = self.steps.begin(step, self.since(from));
        self.steps.end(at, self.since(to));
    }

    /// Begins a step; the returned index is used to end it.
    pub(crate) fn enter(&self, step: CallStep, now: Instant) -> usize {
        self.steps.begin(step, self.since(now))
    }

    pub(crate) fn leave(&self, step: usize, now: Instant) {
        self.steps.end(step, self.since(now));
    }

    /// Begins an attempt at its server.
    pub(crate) fn begin_attempt(self: &Arc<Self>, now: Instant) -> AttemptTiming {
        let place = self.steps.begin_attempt(self.since(now));
        AttemptTiming { call_progress: Arc::clone(self), place }
    }

    pub(super) fn close(&self, record: &CallRecord) {
        self.end.get_or_init(|| CallSummary {
            end: record.end,
            detail: record.detail.clone(),
            source: record.source,
            duration: record.duration,
            result_bytes: record.result_bytes,
        });
    }

    /// Duration and status of each attempt at an external server. The last answer may turn out to
    /// be an error.
    pub(super) fn attempts(
        &self,
        record: &CallRecord,
    ) -> impl Iterator<Item = (Duration, AttemptStatus)> {
        let wrong = record.end.is_error().then(|| self.steps.attempts().count());
        let counted = !self.in_process.load(Ordering::Relaxed);
        let numbered = (1..).zip(self.steps.attempts()).filter(move |_| counted);
        numbered.map(move |(number, (span, went))| {
            if wrong == Some(number) { (span, AttemptStatus::Wrong) } else { (span, went) }
        })
    }

    /// Its duration without the time spent waiting for people.
    pub(super) fn working_time(&self, duration: Duration) -> Duration {
        let waited: Duration = self.steps.spans(CallStep::Leave, duration).sum();
        duration.saturating_sub(waited)
    }

    pub(super) fn number(&self) -> &AtomicU64 {
        &self.number
    }

    pub(super) fn since(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.began)
    }
}

/// One attempt at a server: the time queued, and the time there.
#[derive(Debug, Clone)]
pub(crate) struct AttemptTiming {
    call_progress: Arc<CallProgress>,
    place: usize,
}

impl AttemptTiming {
    /// It got a permit and is sent to the server now.
    pub(crate) fn mark_sent(&self, now: Instant) {
        self.call_progress.steps.begin_at_server(self.place, self.call_progress.since(now));
    }

    /// It returned, or was never sent.
    pub(crate) fn finish(&self, now: Instant, status: AttemptStatus) {
        self.call_progress.steps.end_attempt(self.place, self.call_progress.since(now), status);
    }
}
