//! The executor: runs one planned call on its backend, within its deadline. Called by the gate
//! only. Independent of agents and policies.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arc_swap::ArcSwap;
use serde_json::value::RawValue;
use tollgate_core::call::CallStatus;
use tollgate_core::failpoint;
use tollgate_core::id::ServerId;
use tollgate_core::json::Object;
use tollgate_core::plan::Planned;
use tollgate_core::policy::Permitted;
use tollgate_core::tool::{Tool, ToolReach};
use tollgate_core::turn::Turn;
use tollgate_mcp::Era;
use tollgate_mcp::client::{Answer, AnswerKind, ServerEventSender};
use tollgate_mcp::meta::ClientFacts;

use crate::backend::{
    Backend, BackendConnection, BackendError, BackendJob, SendTimestamp, WaitsFor,
};
use crate::caller::{CallError, CallPurpose, Caller, Dialogue};
use crate::calls::{AttemptStatus, AttemptTiming, CallProgress};
use crate::clock::Clock;
use crate::dialogue::DialogueEnd;
use crate::dialogue::parking::CallParking;
use crate::meters::ToolMeters;
use crate::meters::sample::{CallTiming, MeasuredReturn, sample};
use crate::mirrored_headers;
use crate::random::RandomSource;
use crate::seal::Seal;
use crate::spans::{TraceSpan, Tracer};

mod attempt_span;
mod dialogue_modes;

pub(crate) struct Executor {
    /// Replaced as a whole on a config reload.
    pub(crate) backends: ArcSwap<HashMap<ServerId, Arc<dyn Backend>>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn RandomSource>,
    pub(crate) seal: Seal,
    pub(crate) parking: CallParking,
    pub(crate) meters: Arc<ToolMeters>,
    pub(crate) tracer: Tracer,
}

/// A finished attempt.
#[derive(Debug)]
pub(crate) struct AttemptOutcome {
    pub(crate) ran: BackendOutcome,
    /// `Person` if someone was asked during the attempt.
    pub(crate) waited_for: WaitsFor,
    /// The sample of a tool's answer; all other outcomes are measured already.
    pub(crate) unjudged: Option<PendingSample>,
}

/// The sample of an answer whose status is not known yet. It has to be completed with
/// [`Executor::record_status`].
#[derive(Debug)]
pub(crate) struct PendingSample {
    tool: Arc<Tool>,
    purpose: CallPurpose,
    spent: CallTiming,
}

/// A call to run, and its caller.
#[derive(Clone, Copy)]
pub(crate) struct PlannedCall<'c> {
    pub(crate) turn: &'c Turn,
    /// Records its steps; `None`: not tracked.
    pub(crate) call_progress: Option<&'c Arc<CallProgress>>,
    pub(crate) planned: &'c Planned<'c>,
    pub(crate) caller: &'c Caller<'c>,
}

/// The outcome of a call at its backend.
#[derive(Debug, Clone)]
pub(crate) enum BackendOutcome {
    Answered(Result<Answer, BackendError>),
    TimedOut,
    /// The caller has to return with answers.
    InputRequired(Box<RawValue>),
}

impl AttemptOutcome {
    fn unsent(ran: BackendOutcome) -> Self {
        Self { ran, waited_for: WaitsFor::Server, unjudged: None }
    }
}

impl From<DialogueEnd> for BackendOutcome {
    fn from(ended: DialogueEnd) -> Self {
        match ended {
            DialogueEnd::Answered(answer) => Self::Answered(answer),
            DialogueEnd::TimedOut => Self::TimedOut,
        }
    }
}

/// One attempt: what to run, and for whom.
struct CallAttempt<'e> {
    line: Arc<dyn BackendConnection>,
    planned: &'e Planned<'e>,
    caller: &'e Caller<'e>,
    turn: &'e Turn,
    call_progress: Option<&'e Arc<CallProgress>>,
    timing: Option<AttemptTiming>,
    departure: SendTimestamp,
    asked_client: AtomicBool,
    span: TraceSpan,
}

impl<'e> CallAttempt<'e> {
    fn request(&self) -> &'e Permitted<'e> {
        self.planned.permitted_request()
    }

    fn job<'j>(&'j self, params: Object<'j>, events: Option<ServerEventSender>) -> BackendJob<'j> {
        BackendJob {
            method: self.request().kind().method(),
            params,
            arguments: self.request().arguments(),
            turn: self.turn,
            id: self.call_progress.map(|call_progress| call_progress.id),
            trace: self.span.trace(),
            client: self.caller.client,
            mirrored: mirrored_headers::headers(self.request()),
            events,
            progress: self.caller.progress,
            waits: None,
            until: Some(self.planned.deadline().instant()),
            departure: &self.departure,
        }
    }

    /// The server asked a question that only a person can answer.
    fn note_question(&self) {
        self.asked_client.store(true, Ordering::Relaxed);
    }
}

impl Executor {
    pub(crate) async fn run(&self, call: PlannedCall<'_>) -> Result<AttemptOutcome, CallError> {
        failpoint::hit("execute");
        let mut attempt = match self.begin_attempt(call).await {
            Ok(attempt) => attempt,
            Err(ran) => return Ok(AttemptOutcome::unsent(ran)),
        };
        let _visit = self.meters.enter_server(call.planned.permitted_request().server());
        let outcome = self.run_with_dialogue(&attempt).await;
        attempt_span::end(&mut attempt.span, outcome.as_ref());
        Ok(self.finish_attempt(&attempt, outcome?))
    }

    /// Runs a call without a caller to ask. `None` if the server asks anyway; the call is then
    /// cancelled, and a caller that can be asked may run it.
    pub(crate) async fn run_unattended(&self, call: PlannedCall<'_>) -> Option<AttemptOutcome> {
        let mut attempt = match self.begin_attempt(call).await {
            Ok(attempt) => attempt,
            Err(ran) => return Some(AttemptOutcome::unsent(ran)),
        };
        let _visit = self.meters.enter_server(call.planned.permitted_request().server());
        let outcome = match attempt.line.era() {
            Era::Modern => self.run_plain(&attempt).await,
            Era::Legacy => self.run_until_question(&attempt).await.ok()?,
        };
        attempt_span::end(&mut attempt.span, Ok(&outcome));
        Some(self.finish_attempt(&attempt, outcome))
    }

    /// Waits until a lost or absent server is available; returns at once if it is not expected to
    /// be by then.
    pub(crate) async fn wait_until_available(&self, server: &ServerId, until: Instant) -> bool {
        match self.backend(server) {
            Some(backend) => backend.wait_until_available(until).await,
            None => false,
        }
    }

    fn backend(&self, server: &ServerId) -> Option<Arc<dyn Backend>> {
        self.backends.load().get(server).map(Arc::clone)
    }

    /// Connects to the call's server. Waking it up counts towards the deadline.
    async fn begin_attempt<'e>(
        &self,
        call: PlannedCall<'e>,
    ) -> Result<CallAttempt<'e>, BackendOutcome> {
        let PlannedCall { turn, call_progress, planned, caller } = call;
        let timing =
            call_progress.map(|call_progress| call_progress.begin_attempt(self.clock.now()));
        let Some(backend) = self.backend(planned.permitted_request().server()) else {
            let reason = "it is no longer in the config".to_owned();
            return Err(BackendOutcome::Answered(Err(BackendError::Offline {
                state: "offline",
                reason,
            })));
        };
        let until = planned.deadline().instant();
        let line = match tokio::time::timeout_at(until.into(), backend.connection()).await {
            Err(_) => return Err(BackendOutcome::TimedOut),
            Ok(Err(failure)) => return Err(BackendOutcome::Answered(Err(failure))),
            Ok(Ok(line)) => line,
        };
        if let (Some(call_progress), None) = (call_progress, line.peer()) {
            call_progress.mark_in_process();
        }
        let departure = SendTimestamp::with_timing(Arc::clone(&self.clock), timing.clone());
        let asked_client = AtomicBool::new(false);
        let span = match caller.purpose {
            CallPurpose::Serve => {
                attempt_span::begin(&self.tracer, turn, planned.permitted_request(), &*line)
            }
            CallPurpose::Probe | CallPurpose::BlindProbe => TraceSpan::default(),
        };
        Ok(CallAttempt {
            line,
            planned,
            caller,
            turn,
            call_progress,
            timing,
            departure,
            asked_client,
            span,
        })
    }

    fn finish_attempt(&self, attempt: &CallAttempt<'_>, ran: BackendOutcome) -> AttemptOutcome {
        let now = self.clock.now();
        if let Some(timing) = &attempt.timing {
            let went = match &ran {
                BackendOutcome::Answered(Ok(_)) | BackendOutcome::InputRequired(_) => {
                    AttemptStatus::Well
                }
                BackendOutcome::Answered(Err(_)) | BackendOutcome::TimedOut => AttemptStatus::Wrong,
            };
            timing.finish(now, went);
        }
        let waited_for = if attempt.asked_client.load(Ordering::Relaxed) {
            WaitsFor::Person
        } else {
            WaitsFor::Server
        };
        let (Some(tool), Some(began)) = (attempt.request().tool(), attempt.departure.at()) else {
            return AttemptOutcome { ran, waited_for, unjudged: None };
        };
        let planned = attempt.planned;
        let spent = CallTiming {
            took: now.saturating_duration_since(began),
            had: planned.deadline().remaining(began),
            own: planned.own().remaining(planned.started_at()),
            ceiling: self.meters.ceiling(&tool.id),
            waited_for,
        };
        let unjudged =
            PendingSample { tool: Arc::clone(tool), purpose: attempt.caller.purpose, spent };
        let answer_bytes = match &ran {
            BackendOutcome::Answered(Ok(answer)) if answer.kind == AnswerKind::Complete => {
                return AttemptOutcome { ran, waited_for, unjudged: Some(unjudged) };
            }
            BackendOutcome::Answered(Ok(_)) | BackendOutcome::InputRequired(_) => {
                MeasuredReturn::Unfinished
            }
            BackendOutcome::Answered(Err(failure)) => MeasuredReturn::Failure(failure),
            BackendOutcome::TimedOut => MeasuredReturn::Late,
        };
        self.measure(&unjudged, answer_bytes);
        AttemptOutcome { ran, waited_for, unjudged: None }
    }

    /// Completes the sample with the status of the answer.
    pub(crate) fn record_status(&self, unjudged: &PendingSample, status: CallStatus) {
        self.measure(unjudged, MeasuredReturn::Result(status));
    }

    fn measure(&self, run: &PendingSample, came: MeasuredReturn<'_>) {
        // The duration and failures of a program are up to its author.
        if run.tool.terms.reach == ToolReach::Means {
            return;
        }
        // With generated arguments, an error says nothing about the tool.
        let is_error =
            matches!(came, MeasuredReturn::Result(CallStatus::Error) | MeasuredReturn::Failure(_));
        if run.purpose == CallPurpose::BlindProbe && is_error {
            return;
        }
        if let Some(sample) = sample(came, &run.spent) {
            self.meters.record(&run.tool.id, sample);
        }
    }

    /// The era is known only once the server is connected; the connection keeps it.
    async fn run_with_dialogue(
        &self,
        attempt: &CallAttempt<'_>,
    ) -> Result<BackendOutcome, CallError> {
        let caller = attempt.caller;
        match (&caller.dialogue, attempt.line.era()) {
            (Dialogue::Live, Era::Legacy) => Ok(self.run_live(attempt, caller.client).await),
            (Dialogue::Nobody, Era::Legacy) => {
                Ok(self.run_live(attempt, &ClientFacts::default()).await)
            }
            (Dialogue::Live, Era::Modern) if caller.client.can_answer() => {
                Box::pin(self.run_live_rounds(attempt)).await
            }
            (Dialogue::Rounds(retry), Era::Modern) => {
                self.run_passed_through_rounds(attempt, retry).await
            }
            (Dialogue::Rounds(retry), Era::Legacy) if caller.client.can_answer() => {
                Box::pin(self.run_parkable(attempt, retry)).await
            }
            (Dialogue::Rounds(_), Era::Legacy) => self.run_for_unaskable_caller(attempt).await,
            (Dialogue::Live | Dialogue::Nobody, Era::Modern) => Ok(self.run_plain(attempt).await),
        }
    }

    /// Nobody can be asked: forwards the call and its answer.
    async fn run_plain(&self, attempt: &CallAttempt<'_>) -> BackendOutcome {
        let job = attempt.job(attempt.request().params().clone(), attempt.caller.events.clone());
        let until = attempt.planned.deadline().instant();
        match tokio::time::timeout_at(until.into(), attempt.line.run(job)).await {
            Ok(answer) => BackendOutcome::Answered(answer),
            Err(_) => BackendOutcome::TimedOut,
        }
    }
}
