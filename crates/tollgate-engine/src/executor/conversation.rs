//! The ways in which a call may ask whoever made it, by the eras of both. See `dialogue` for the
//! parts; here they are put together.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc, watch};
use tollgate_core::json::Object;
use tollgate_core::plan::Planned;
use tollgate_core::turn::{Principal, Turn};
use tollgate_mcp::client::{AnswerKind, Question};
use tollgate_mcp::meta::ClientFacts;

use super::{Errand, Executor, Ran};
use crate::backend::{Departure, Failure, Job, WaitsFor};
use crate::caller::{CallError, Retry};
use crate::dialogue::parking::Detached;
use crate::dialogue::rounds::{self, MOST_ROUNDS, Sealer, State, Wanted};
use crate::dialogue::{self, EVENT_QUEUE, Hearer, Running, Step, Timer};

/// Questions that come together are asked together.
const COALESCE: Duration = Duration::from_millis(5);

impl Executor {
    /// A legacy server may ask whoever it serves; a modern caller that cannot be asked is owed the
    /// error that says what it lacks.
    pub(super) async fn unasked(&self, errand: &Errand<'_>) -> Result<Ran, CallError> {
        let question = match self.watched(errand).await {
            Ok(ran) => return Ok(ran),
            Err(question) => question,
        };
        let (method, params) = (&question.method, question.params.as_deref());
        match dialogue::missing_capability(errand.caller.client, method, params) {
            Some((capability, required)) => {
                let capability = capability.to_owned();
                Err(CallError::MissingCapability { capability, required })
            }
            None => Ok(broken_question()),
        }
    }

    /// Runs until the end or the first question of a legacy server.
    pub(super) async fn watched(&self, errand: &Errand<'_>) -> Result<Ran, Question> {
        let (sender, mut received) = mpsc::channel(EVENT_QUEUE);
        let job = errand.job(errand.request().params().clone(), Some(sender));
        let mut running = errand.line.run(job);
        let until = errand.planned.deadline().instant();
        let events = errand.caller.events.as_ref();
        let mut watched: Running<'_> = running.as_mut();
        match dialogue::step(&mut watched, &mut received, events, until).await {
            Step::Ended(answer) => Ok(Ran::Answered(answer)),
            Step::TimedOut => Ok(Ran::TimedOut),
            Step::Asked(question) => Err(question),
        }
    }

    /// A legacy server may ask in the middle of a call, whatever its caller can be asked.
    pub(super) async fn live(&self, errand: &Errand<'_>, client: &ClientFacts) -> Ran {
        let Some(events) = &errand.caller.events else { return self.plain(errand).await };
        let (sender, mut received) = mpsc::channel(EVENT_QUEUE);
        let waits = watch::Sender::new(WaitsFor::Server);
        let job = Job {
            waits: Some(waits.subscribe()),
            ..errand.job(errand.request().params().clone(), Some(sender))
        };
        let mut running = errand.line.run(job);
        let mut timer = self.timer(errand.planned);
        let hearer = Hearer { client, events, waits };
        let ended = dialogue::live(running.as_mut(), &mut received, &hearer, &mut timer).await;
        if timer.stood_still {
            errand.note_question();
        }
        ended.into()
    }

    /// A modern server, a caller that can be asked at once: the rounds run here.
    pub(super) async fn live_rounds(&self, errand: &Errand<'_>) -> Result<Ran, CallError> {
        let Some(events) = &errand.caller.events else { return Ok(self.plain(errand).await) };
        let mut timer = self.timer(errand.planned);
        let waits = watch::Sender::new(WaitsFor::Server);
        let hearer = Hearer { client: errand.caller.client, events, waits };
        let mut retry = Retry::default();
        for _ in 0..MOST_ROUNDS {
            let params = rounds::with_answers(errand.request().params(), &retry);
            let job = errand.job(params, Some(events.clone()));
            let running = errand.line.run(Job { until: Some(timer.until()), ..job });
            let answer = match tokio::time::timeout_at(timer.until().into(), running).await {
                Err(_) => return Ok(Ran::TimedOut),
                Ok(Ok(answer)) if answer.kind == AnswerKind::InputRequired => answer,
                Ok(ended) => return Ok(Ran::Answered(ended)),
            };
            errand.note_question();
            let Some(wanted) = Wanted::read(&answer.result) else { return Ok(broken_question()) };
            retry = match timer.paused(rounds::ask_all(&hearer, wanted)).await {
                None => return Ok(Ran::TimedOut),
                Some(answers) => answers.map_err(CallError::Upstream)?,
            };
        }
        let endless = format!("the server asked more than {MOST_ROUNDS} times without an answer");
        Ok(Ran::Answered(Err(Failure::Unusable(endless))))
    }

    /// Modern on both sides: the caller carries the server's state, sealed.
    pub(super) async fn passed_rounds(
        &self,
        errand: &Errand<'_>,
        retry: &Retry,
    ) -> Result<Ran, CallError> {
        let sealer = self.sealer(&errand.turn.principal);
        if !retry.is_empty() {
            errand.note_question();
        }
        let mut inner = retry.clone();
        if let Some(state) = &retry.state {
            inner.state = match sealer.open(state, errand.request())? {
                State::Inner(state) => Some(state),
                State::Parked(_) | State::Approval(_) => {
                    return Err(CallError::BadState("the call is gone; start it again"));
                }
            };
        }
        let params = rounds::with_answers(errand.request().params(), &inner);
        let running = errand.line.run(errand.job(params, errand.caller.events.clone()));
        let until = errand.planned.deadline().instant();
        let answer = match tokio::time::timeout_at(until.into(), running).await {
            Err(_) => return Ok(Ran::TimedOut),
            Ok(Ok(answer)) if answer.kind == AnswerKind::InputRequired => answer,
            Ok(ended) => return Ok(Ran::Answered(ended)),
        };
        errand.note_question();
        let Some(wanted) = Wanted::read(&answer.result) else { return Ok(broken_question()) };
        for asking in &wanted.requests {
            let (method, params) = (&asking.method, asking.params.as_deref());
            let missing = dialogue::missing_capability(errand.caller.client, method, params);
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
            let sealed = sealer.close(&State::Inner(state.into_owned()), errand.request());
            result.set_string("requestState", &sealed);
        }
        Ok(Ran::InputRequired(result.to_raw()))
    }

    /// A legacy server that may ask, a caller that comes back with answers.
    pub(super) async fn parked(
        &self,
        errand: &Errand<'_>,
        retry: &Retry,
    ) -> Result<Ran, CallError> {
        if !retry.is_empty() {
            errand.note_question();
        }
        let mut call = match &retry.state {
            None => self.detach(errand),
            Some(state) => match self.unpark(errand, state)? {
                Some(call) => call,
                None => self.detach(errand),
            },
        };
        call.answer(retry.responses.as_deref());
        if call.is_asking() {
            return Ok(self.park(errand, call));
        }
        // The turn in which the caller came back has a wall of its own.
        let until = self.clock.now() + call.left;
        let until = errand.planned.wall().map_or(until, |wall| until.min(wall.instant()));
        let events = errand.caller.events.as_ref();
        let mut next = call.next(events, until).await;
        while let Step::Asked(question) = next {
            let client = errand.caller.client;
            let missing =
                dialogue::missing_capability(client, &question.method, question.params.as_deref());
            if let Some((capability, required)) = missing {
                let capability = capability.to_owned();
                return Err(CallError::MissingCapability { capability, required });
            }
            errand.note_question();
            call.remember(question);
            next = call.next(events, until.min(self.clock.now() + COALESCE)).await;
            if matches!(next, Step::TimedOut) {
                call.left = until.saturating_duration_since(self.clock.now());
                return Ok(self.park(errand, call));
            }
        }
        errand.departure.follow(call.departure());
        Ok(match next {
            Step::Ended(answer) => Ran::Answered(answer),
            Step::TimedOut | Step::Asked(_) => Ran::TimedOut,
        })
    }

    fn detach(&self, errand: &Errand<'_>) -> Detached {
        let left = errand.planned.deadline().left(self.clock.now());
        let departure = Departure::noted(Arc::clone(&self.clock), errand.leg.clone());
        let line = Arc::clone(&errand.line);
        let id = errand.course.map(|course| course.id);
        let turn = Turn { trace: errand.span.trace().cloned(), ..errand.turn.clone() };
        let whose = ((&turn, id), errand.caller);
        Detached::start(line, errand.request(), whose, (departure, left))
    }

    /// `None` if the call is gone but may simply be run again.
    fn unpark(&self, errand: &Errand<'_>, state: &str) -> Result<Option<Detached>, CallError> {
        let waiting = match self.sealer(&errand.turn.principal).open(state, errand.request())? {
            State::Parked(id) => self.parking.take(id),
            State::Inner(_) | State::Approval(_) => None,
        };
        let again = errand.request().tool().is_none_or(|tool| tool.terms.idempotent);
        match waiting {
            None if !again => Err(CallError::BadState("the call is gone; start it again")),
            waiting => Ok(waiting),
        }
    }

    fn park(&self, errand: &Errand<'_>, call: Detached) -> Ran {
        let questions = call.open_questions();
        let Some(id) = self.parking.park(call, &errand.turn.principal) else {
            let full = "too many calls wait for answers already; try again later".to_owned();
            let retry_after = Duration::from_secs(5);
            return Ran::Answered(Err(Failure::Resting { reason: full, retry_after }));
        };
        let state = self.sealer(&errand.turn.principal).close(&State::Parked(id), errand.request());
        Ran::InputRequired(rounds::input_required(&questions, Some(&state)))
    }

    fn timer(&self, planned: &Planned<'_>) -> Timer<'_> {
        Timer {
            clock: &*self.clock,
            deadline: planned.deadline().instant(),
            wall: planned.wall().map(tollgate_core::budget::Deadline::instant),
            stood_still: false,
        }
    }

    fn sealer<'s>(&'s self, principal: &'s Principal) -> Sealer<'s> {
        let now: SystemTime = self.clock.wall();
        Sealer { seal: &self.seal, principal, now }
    }
}

fn broken_question() -> Ran {
    let what = "the server asked a question that cannot be read".to_owned();
    Ran::Answered(Err(Failure::Unusable(what)))
}
