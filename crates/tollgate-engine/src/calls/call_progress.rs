//! One call, from its beginning to its end, as people see it. What is known at the beginning stands
//! in plain fields; what comes later is put in once, and may be looked at meanwhile.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use tollgate_core::budget::Tier;
use tollgate_core::call::{CallId, ResultSource};
use tollgate_core::id::{AgentId, ServerId, ToolName};
use tollgate_core::turn::{Principal, Turn, TurnId};

use super::steps::{AttemptStatus, AttemptTiming, CallStep, CallSteps, StepTiming};
use crate::record::{CallEnding, CallRecord};

/// What is known of a call when it begins.
pub(crate) struct CallProgressStart<'a> {
    pub(crate) record: &'a CallRecord,
    pub(crate) turn: &'a Turn,
    pub(crate) made: CallReason,
    pub(crate) began: Instant,
}

/// Why there is a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallReason {
    /// Somebody wants what comes of it.
    Asked,
    /// The gateway wants to know how long it takes.
    ToMeasure,
}

#[derive(Debug)]
pub struct CallProgress {
    pub id: CallId,
    pub turn: TurnId,
    /// The call that runs a program, if a program made this one.
    pub within: Option<CallId>,
    pub at: SystemTime,
    pub principal: Principal,
    pub agent: AgentId,
    pub made: CallReason,
    pub method: &'static str,
    /// As it was asked for.
    pub name: Arc<str>,
    pub tier: Tier,
    pub turn_began: SystemTime,
    /// Of the turn, from its beginning on; `None`: no budget.
    pub span: Option<Duration>,
    pub began: Instant,
    target: OnceLock<CallTarget>,
    /// It was handed to its server. One that was not had no effect.
    sent: AtomicBool,
    /// Its server is no other program.
    in_process: AtomicBool,
    steps: CallSteps,
    end: OnceLock<CallSummary>,
    /// Its place among those that are over.
    number: AtomicU64,
}

/// What it is for, once that is known.
#[derive(Debug)]
pub struct CallTarget {
    pub server: ServerId,
    /// As its server says it.
    pub tool: Option<ToolName>,
}

/// What came of it.
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

    /// What it went through so far, in the order in which it was begun.
    pub fn steps(&self) -> Vec<StepTiming> {
        self.steps.all(self.summary().map(|ended| ended.duration))
    }

    /// Of its turn; `None`: no budget.
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

    /// It was there from then to then.
    pub(crate) fn record_step(&self, step: CallStep, from: Instant, to: Instant) {
        let at = self.steps.begin(step, self.since(from));
        self.steps.end(at, self.since(to));
    }

    /// It is there from now on; the way to say when that is over.
    pub(crate) fn enter(&self, step: CallStep, now: Instant) -> usize {
        self.steps.begin(step, self.since(now))
    }

    pub(crate) fn leave(&self, step: usize, now: Instant) {
        self.steps.end(step, self.since(now));
    }

    /// It sets out for its server.
    pub(crate) fn begin_attempt(self: &Arc<Self>, now: Instant) -> AttemptTiming {
        AttemptTiming::new(self, self.steps.begin_attempt(self.since(now)))
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

    /// How long it was at other programs, each time, and how that went. What its server said last may
    /// turn out to be an error.
    pub(super) fn attempts(
        &self,
        record: &CallRecord,
    ) -> impl Iterator<Item = (Duration, AttemptStatus)> {
        let wrong = record.end.is_error().then(|| self.steps.attempts().count());
        let counted = !self.in_process.load(Ordering::Relaxed);
        let numbered = (1..).zip(self.steps.attempts()).filter(move |_| counted);
        numbered.map(move |(number, (span, went))| match wrong == Some(number) {
            true => (span, AttemptStatus::Wrong),
            false => (span, went),
        })
    }

    /// Of its duration, what no person was waited for.
    pub(super) fn working_time(&self, duration: Duration) -> Duration {
        let waited: Duration = self.steps.spans(CallStep::Leave, duration).sum();
        duration.saturating_sub(waited)
    }

    pub(super) fn number(&self) -> &AtomicU64 {
        &self.number
    }

    pub(super) fn steps_taken(&self) -> &CallSteps {
        &self.steps
    }

    pub(super) fn since(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.began)
    }
}
