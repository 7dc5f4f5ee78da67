//! One call, from its beginning to its end, as people see it. What is known at the beginning stands
//! in plain fields; what comes later is put in once, and may be looked at meanwhile.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use tollgate_core::budget::Tier;
use tollgate_core::call::{CallId, Source};
use tollgate_core::id::{AgentId, ServerId, ToolName};
use tollgate_core::turn::{Principal, Turn, TurnId};

use super::steps::{Leg, Step, Steps, Stretch, Went};
use crate::record::{CallRecord, End};

/// What is known of a call when it begins.
pub(crate) struct Opening<'a> {
    pub(crate) record: &'a CallRecord,
    pub(crate) turn: &'a Turn,
    pub(crate) made: Made,
    pub(crate) began: Instant,
}

/// Why there is a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// Somebody wants what comes of it.
    Asked,
    /// The gateway wants to know how long it takes.
    ToMeasure,
}

#[derive(Debug)]
pub struct Course {
    pub id: CallId,
    pub turn: TurnId,
    /// The call that runs a program, if a program made this one.
    pub within: Option<CallId>,
    pub at: SystemTime,
    pub principal: Principal,
    pub agent: AgentId,
    pub made: Made,
    pub method: &'static str,
    /// As it was asked for.
    pub name: Arc<str>,
    pub tier: Tier,
    pub turn_began: SystemTime,
    /// Of the turn, from its beginning on; `None`: no budget.
    pub span: Option<Duration>,
    pub began: Instant,
    target: OnceLock<Target>,
    /// It was handed to its server. One that was not had no effect.
    sent: AtomicBool,
    /// Its server is no other program.
    in_process: AtomicBool,
    steps: Steps,
    end: OnceLock<Ended>,
    /// Its place among those that are over.
    number: AtomicU64,
}

/// What it is for, once that is known.
#[derive(Debug)]
pub struct Target {
    pub server: ServerId,
    /// As its server says it.
    pub tool: Option<ToolName>,
}

/// What came of it.
#[derive(Debug)]
pub struct Ended {
    pub end: End,
    pub detail: Option<Cow<'static, str>>,
    pub source: Source,
    pub duration: Duration,
    pub result_bytes: usize,
}

impl Course {
    pub(super) fn new(Opening { record, turn, made, began }: Opening<'_>) -> Self {
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
            steps: Steps::default(),
            end: OnceLock::new(),
            number: AtomicU64::new(0),
        }
    }

    pub fn target(&self) -> Option<&Target> {
        self.target.get()
    }

    /// `None` while it runs.
    pub fn ended(&self) -> Option<&Ended> {
        self.end.get()
    }

    /// What it went through so far, in the order in which it was begun.
    pub fn steps(&self) -> Vec<Stretch> {
        self.steps.all(self.ended().map(|ended| ended.duration))
    }

    /// Of its turn; `None`: no budget.
    pub(super) fn deadline(&self) -> Option<SystemTime> {
        self.span.and_then(|span| self.turn_began.checked_add(span))
    }

    pub(crate) fn aim(&self, server: &ServerId, tool: Option<&ToolName>) {
        self.target.get_or_init(|| Target { server: server.clone(), tool: tool.cloned() });
    }

    pub(crate) fn send(&self) {
        self.sent.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_sent(&self) -> bool {
        self.sent.load(Ordering::Relaxed)
    }

    pub(crate) fn stays_inside(&self) {
        self.in_process.store(true, Ordering::Relaxed);
    }

    /// It was there from then to then.
    pub(crate) fn passed(&self, step: Step, from: Instant, to: Instant) {
        let at = self.steps.begin(step, self.since(from));
        self.steps.end(at, self.since(to));
    }

    /// It is there from now on; the way to say when that is over.
    pub(crate) fn enter(&self, step: Step, now: Instant) -> usize {
        self.steps.begin(step, self.since(now))
    }

    pub(crate) fn leave(&self, step: usize, now: Instant) {
        self.steps.end(step, self.since(now));
    }

    /// It sets out for its server.
    pub(crate) fn leg(self: &Arc<Self>, now: Instant) -> Leg {
        Leg::new(self, self.steps.leg(self.since(now)))
    }

    pub(super) fn close(&self, record: &CallRecord) {
        self.end.get_or_init(|| Ended {
            end: record.end,
            detail: record.detail.clone(),
            source: record.source,
            duration: record.duration,
            result_bytes: record.result_bytes,
        });
    }

    /// How long it was at other programs, each time, and how that went. What its server said last may
    /// turn out to be an error.
    pub(super) fn attempts(&self, record: &CallRecord) -> impl Iterator<Item = (Duration, Went)> {
        let wrong = record.end.is_error().then(|| self.steps.attempts().count());
        let counted = !self.in_process.load(Ordering::Relaxed);
        let numbered = (1..).zip(self.steps.attempts()).filter(move |_| counted);
        numbered.map(move |(number, (span, went))| match wrong == Some(number) {
            true => (span, Went::Wrong),
            false => (span, went),
        })
    }

    /// Of its duration, what no person was waited for.
    pub(super) fn worked(&self, duration: Duration) -> Duration {
        let waited: Duration = self.steps.spans(Step::Leave, duration).sum();
        duration.saturating_sub(waited)
    }

    pub(super) fn number(&self) -> &AtomicU64 {
        &self.number
    }

    pub(super) fn steps_taken(&self) -> &Steps {
        &self.steps
    }

    pub(super) fn since(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.began)
    }
}
