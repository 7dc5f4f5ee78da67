//! Runs a call with questions to its caller, by the eras of server and caller. The parts are in
//! `dialogue`; they are combined here.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc, watch};
use tollgate_core::json::Object;
use tollgate_core::plan::Planned;
use tollgate_core::turn::{Principal, Turn};
use tollgate_mcp::client::{AnswerKind, Question};
use tollgate_mcp::meta::ClientFacts;

use super::{BackendOutcome, CallAttempt, Executor};
use crate::backend::{BackendError, BackendJob, SendTimestamp, WaitsFor};
use crate::caller::{CallError, RoundAnswers};
use crate::dialogue::parking::{CallToDetach, DetachedCall};
use crate::dialogue::rounds::{self, InputRequests, MAX_ROUNDS, RequestState, RequestStateSealer};
use crate::dialogue::{self, AnswerFuture, CallTimer, DialogueStep, EVENT_QUEUE, LiveCaller};

/// Questions that arrive within this time are asked together.
const COALESCE: Duration = Duration::from_millis(5);

impl Executor {
    /// A legacy server may ask any client; a modern caller that cannot be asked gets an error that
    /// names the missing capability.
    pub(super) async fn run_for_unaskable_caller(
        &self,
        attempt: &CallAttempt<'_>,
    ) -> Result<BackendOutcome, CallError> {
        let question = match self.run_until_question(attempt).await {
            Ok(ran) => return Ok(ran),
            Err(question) => question,
        };
        let method = &question.method;
        let params = question.params.as_deref();
        match dialogue::missing_capability(attempt.caller.client, method, params) {
            Some((capability, required)) => {
                let capability = capability.to_owned();
                Err(CallError::MissingCapability { capability, required })
            }
            None => Ok(broken_question()),
        }
    }

    /// Runs until the end or the first question of a legacy server.
    pub(super) async fn run_until_question(
        &self,
        attempt: &CallAttempt<'_>,
    ) -> Result<BackendOutcome, Question> {
        let (sender, mut received) = mpsc::channel(EVENT_QUEUE);
        let job = attempt.job(attempt.request().params().clone(), Some(sender));
        let mut running = attempt.line.run(job);
        let until = attempt.planned.deadline().instant();
        let events = attempt.caller.events.as_ref();
        let mut watched: AnswerFuture<'_> = running.as_mut();
        match dialogue::step(&mut watched, &mut received, events, until).await {
            DialogueStep::Ended(answer) => Ok(BackendOutcome::Answered(answer)),
            DialogueStep::TimedOut => Ok(BackendOutcome::TimedOut),
            DialogueStep::Question(question) => Err(question),
        }
    }

    /// A legacy server, which may ask during a call whatever its caller supports.
    pub(super) async fn run_live(
        &self,
        attempt: &CallAttempt<'_>,
        client: &ClientFacts,
    ) -> BackendOutcome {
        let Some(events) = &attempt.caller.events else { return self.run_plain(attempt).await };
        let (sender, mut received) = mpsc::channel(EVENT_QUEUE);
        let waits = watch::Sender::new(WaitsFor::Server);
        let job = BackendJob {
            waits: Some(waits.subscribe()),
            ..attempt.job(attempt.request().params().clone(), Some(sender))
        };
        let mut running = attempt.line.run(job);
        let mut timer = self.timer(attempt.planned);
        let live_caller = LiveCaller { client, events, waits };
        let ended = dialogue::live(running.as_mut(), &mut received, &live_caller, &mut timer).await;
        if timer.stood_still {
            attempt.note_question();
        }
        ended.into()
    }

    /// A modern server and a caller that can be asked live: the rounds run here.
    pub(super) async fn run_live_rounds(
        &self,
        attempt: &CallAttempt<'_>,
    ) -> Result<BackendOutcome, CallError> {
        let Some(events) = &attempt.caller.events else { return Ok(self.run_plain(attempt).await) };
        let mut timer = self.timer(attempt.planned);
        let waits = watch::Sender::new(WaitsFor::Server);
        let live_caller = LiveCaller { client: attempt.caller.client, events, waits };
        let mut retry = RoundAnswers::default();
        for _ in 0..MAX_ROUNDS {
            let params = rounds::with_answers(attempt.request().params(), &retry);
            let job = attempt.job(params, Some(events.clone()));
            let running = attempt.line.run(BackendJob { until: Some(timer.until()), ..job });
            let answer = match tokio::time::timeout_at(timer.until().into(), running).await {
                Err(_) => return Ok(BackendOutcome::TimedOut),
                Ok(Ok(answer)) if answer.kind == AnswerKind::InputRequired => answer,
                Ok(ended) => return Ok(BackendOutcome::Answered(ended)),
            };
            attempt.note_question();
            let Some(wanted) = InputRequests::read(&answer.result) else {
                return Ok(broken_question());
            };
            retry = match timer.run_paused(rounds::ask_all(&live_caller, wanted)).await {
                None => return Ok(BackendOutcome::TimedOut),
                Some(answers) => answers.map_err(CallError::Upstream)?,
            };
        }
        let endless = format!("the server asked more than {MAX_ROUNDS} times without an answer");
        Ok(BackendOutcome::Answered(Err(BackendError::Unusable(endless))))
    }

    /// Both sides modern: the caller carries the server's state, sealed.
    pub(super) async fn run_passed_through_rounds(
        &self,
        attempt: &CallAttempt<'_>,
        retry: &RoundAnswers,
    ) -> Result<BackendOutcome, CallError> {
        let sealer = self.sealer(&attempt.turn.principal);
        if !retry.is_empty() {
            attempt.note_question();
        }
        let mut inner = retry.clone();
        if let Some(state) = &retry.state {
            inner.state = match sealer.open(state, attempt.request())? {
                RequestState::Inner(state) => Some(state),
                RequestState::Parked(_) | RequestState::Approval(_) => {
                    return Err(CallError::BadState("the call has expired; start it again"));
                }
            };
        }
        let params = rounds::with_answers(attempt.request().params(), &inner);
        let running = attempt.line.run(attempt.job(params, attempt.caller.events.clone()));
        let until = attempt.planned.deadline().instant();
        let answer = match tokio::time::timeout_at(until.into(), running).await {
            Err(_) => return Ok(BackendOutcome::TimedOut),
            Ok(Ok(answer)) if answer.kind == AnswerKind::InputRequired => answer,
            Ok(ended) => return Ok(BackendOutcome::Answered(ended)),
        };
        attempt.note_question();
        let Some(wanted) = InputRequests::read(&answer.result) else {
            return Ok(broken_question());
        };
        for asking in &wanted.requests {
            let method = &asking.method;
            let params = asking.params.as_deref();
            let missing = dialogue::missing_capability(attempt.caller.client, method, params);
            if let Some((capability, required)) = missing {
                let capability = capability.to_owned();
                return Err(CallError::MissingCapability { capability, required });
            }
        }
        let mut result = Object::parse(answer.result.get()).unwrap_or_default();
        if let Some(questions) = result.get("inputRequests").map(rounds::clean) {
            result.set("inputRequests", questions);
        }
        if let Some(state) = result.string("requestState") {
            let sealed = sealer.close(&RequestState::Inner(state.into_owned()), attempt.request());
            result.set_string("requestState", &sealed);
        }
        Ok(BackendOutcome::InputRequired(result.to_raw()))
    }

    /// A legacy server that may ask, and a caller that returns with answers.
    pub(super) async fn run_parkable(
        &self,
        attempt: &CallAttempt<'_>,
        retry: &RoundAnswers,
    ) -> Result<BackendOutcome, CallError> {
        if !retry.is_empty() {
            attempt.note_question();
        }
        let mut call = match &retry.state {
            None => self.detach(attempt),
            Some(state) => match self.unpark(attempt, state)? {
                Some(call) => call,
                None => self.detach(attempt),
            },
        };
        call.answer(retry.responses.as_deref());
        if call.is_asking() {
            return Ok(self.park(attempt, call));
        }
        // The turn in which the caller returned has its own wall.
        let until = self.clock.now() + call.left;
        let until = attempt.planned.wall().map_or(until, |wall| until.min(wall.instant()));
        let events = attempt.caller.events.as_ref();
        let mut next = call.next(events, until).await;
        while let DialogueStep::Question(question) = next {
            let client = attempt.caller.client;
            let missing =
                dialogue::missing_capability(client, &question.method, question.params.as_deref());
            if let Some((capability, required)) = missing {
                let capability = capability.to_owned();
                return Err(CallError::MissingCapability { capability, required });
            }
            attempt.note_question();
            call.remember(question);
            next = call.next(events, until.min(self.clock.now() + COALESCE)).await;
            if matches!(next, DialogueStep::TimedOut) {
                call.left = until.saturating_duration_since(self.clock.now());
                return Ok(self.park(attempt, call));
            }
        }
        attempt.departure.follow(call.departure());
        Ok(match next {
            DialogueStep::Ended(answer) => BackendOutcome::Answered(answer),
            DialogueStep::TimedOut | DialogueStep::Question(_) => BackendOutcome::TimedOut,
        })
    }

    fn detach(&self, attempt: &CallAttempt<'_>) -> DetachedCall {
        let left = attempt.planned.deadline().remaining(self.clock.now());
        let departure = SendTimestamp::with_timing(Arc::clone(&self.clock), attempt.timing.clone());
        let line = Arc::clone(&attempt.line);
        let id = attempt.call_progress.map(|call_progress| call_progress.id);
        let turn = Turn { trace: attempt.span.trace().cloned(), ..attempt.turn.clone() };
        let detached = CallToDetach {
            request: attempt.request(),
            turn: &turn,
            id,
            caller: attempt.caller,
            departure,
            left,
        };
        DetachedCall::start(line, detached)
    }

    /// `None` if the call is gone but can be run again.
    fn unpark(
        &self,
        attempt: &CallAttempt<'_>,
        state: &str,
    ) -> Result<Option<DetachedCall>, CallError> {
        let waiting = match self.sealer(&attempt.turn.principal).open(state, attempt.request())? {
            RequestState::Parked(id) => self.parking.take(id),
            RequestState::Inner(_) | RequestState::Approval(_) => None,
        };
        let again = attempt.request().tool().is_none_or(|tool| tool.terms.idempotent);
        match waiting {
            None if !again => Err(CallError::BadState("the call has expired; start it again")),
            waiting => Ok(waiting),
        }
    }

    fn park(&self, attempt: &CallAttempt<'_>, call: DetachedCall) -> BackendOutcome {
        let questions = call.open_questions();
        let Some(id) = self.parking.park(call, &attempt.turn.principal) else {
            let full = "too many calls are awaiting input; try again later".to_owned();
            let retry_after = Duration::from_secs(5);
            return BackendOutcome::Answered(Err(BackendError::Resting {
                reason: full,
                retry_after,
            }));
        };
        let state = self
            .sealer(&attempt.turn.principal)
            .close(&RequestState::Parked(id), attempt.request());
        BackendOutcome::InputRequired(rounds::input_required(&questions, Some(&state)))
    }

    fn timer(&self, planned: &Planned<'_>) -> CallTimer<'_> {
        CallTimer {
            clock: &*self.clock,
            deadline: planned.deadline().instant(),
            wall: planned.wall().map(tollgate_core::budget::Deadline::instant),
            stood_still: false,
        }
    }

    fn sealer<'s>(&'s self, principal: &'s Principal) -> RequestStateSealer<'s> {
        let now: SystemTime = self.clock.wall();
        RequestStateSealer { seal: &self.seal, principal, now }
    }
}

fn broken_question() -> BackendOutcome {
    let what = "the server asked an invalid question".to_owned();
    BackendOutcome::Answered(Err(BackendError::Unusable(what)))
}
