//! Runs one planned call on its backend, within its deadline.
//! Called by the gate only. Knows nothing of agents or policies.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};
use tollgate_core::id::ServerId;
use tollgate_core::json::Object;
use tollgate_core::plan::Planned;
use tollgate_core::policy::Permitted;
use tollgate_core::turn::Principal;
use tollgate_mcp::Era;
use tollgate_mcp::client::{Answer, AnswerKind, Events};
use tollgate_mcp::meta::ClientFacts;

use crate::backend::{Backend, Failure, Job, Line, WaitsFor};
use crate::caller::{CallError, Caller, Dialogue, Retry};
use crate::clock::Clock;
use crate::dialogue::parking::{Detached, Parking};
use crate::dialogue::rounds::{self, MOST_ROUNDS, Sealer, State, Wanted};
use crate::dialogue::{self, EVENT_QUEUE, Ended, Hearer, Running, Step, Timer};
use crate::mirror;
use crate::seal::Seal;

pub(crate) struct Executor {
    pub(crate) backends: HashMap<ServerId, Arc<dyn Backend>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seal: Seal,
    pub(crate) parking: Parking,
}

/// How a call came out of its backend.
pub(crate) enum Ran {
    Answered(Result<Answer, Failure>),
    TimedOut,
    /// The caller is to come back with answers to this.
    InputRequired(Box<RawValue>),
}

impl From<Ended> for Ran {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Answered(answer) => Self::Answered(answer),
            Ended::TimedOut => Self::TimedOut,
        }
    }
}

/// One call on its way: what to run, for whom.
struct Errand<'e> {
    line: Arc<dyn Line>,
    planned: &'e Planned<'e>,
    caller: &'e Caller<'e>,
    principal: &'e Principal,
}

impl<'e> Errand<'e> {
    fn request(&self) -> &'e Permitted<'e> {
        self.planned.permitted()
    }

    fn job(&self, params: Object<'e>, events: Option<Events>) -> Job<'e> {
        Job {
            method: self.request().kind().method(),
            params,
            arguments: self.request().arguments(),
            client: self.caller.client,
            mirrored: mirror::headers(self.request()),
            events,
            progress: self.caller.progress,
            waits: None,
        }
    }
}

/// Questions that come together are asked together.
const COALESCE: Duration = Duration::from_millis(5);

impl Executor {
    pub(crate) async fn run(
        &self,
        principal: &Principal,
        planned: &Planned<'_>,
        caller: &Caller<'_>,
    ) -> Result<Ran, CallError> {
        let server = planned.permitted().server();
        let Some(backend) = self.backends.get(server) else {
            let reason = "it is not configured any more".to_owned();
            return Ok(Ran::Answered(Err(Failure::Offline { state: "offline", reason })));
        };
        // The era is known only once the server is there; the line then keeps it.
        let until = planned.deadline().instant();
        let line = match tokio::time::timeout_at(until.into(), backend.line()).await {
            Err(_) => return Ok(Ran::TimedOut),
            Ok(Err(failure)) => return Ok(Ran::Answered(Err(failure))),
            Ok(Ok(line)) => line,
        };
        let era = line.era();
        let errand = Errand { line, planned, caller, principal };
        match (&caller.dialogue, era) {
            (Dialogue::Live, Era::Legacy) => Ok(self.live(&errand, caller.client).await),
            (Dialogue::Nobody, Era::Legacy) => {
                Ok(self.live(&errand, &ClientFacts::default()).await)
            }
            (Dialogue::Live, Era::Modern) if caller.client.can_answer() => {
                Box::pin(self.live_rounds(&errand)).await
            }
            (Dialogue::Rounds(retry), Era::Modern) => self.passed_rounds(&errand, retry).await,
            (Dialogue::Rounds(retry), Era::Legacy) if caller.client.can_answer() => {
                Box::pin(self.parked(&errand, retry)).await
            }
            (Dialogue::Rounds(_), Era::Legacy) => self.unasked(&errand).await,
            (Dialogue::Live | Dialogue::Nobody, Era::Modern) => Ok(self.plain(&errand).await),
        }
    }

    /// Nobody can be asked anything: straight to the backend and back.
    async fn plain(&self, errand: &Errand<'_>) -> Ran {
        let job = errand.job(errand.request().params().clone(), errand.caller.events.clone());
        let until = errand.planned.deadline().instant();
        match tokio::time::timeout_at(until.into(), errand.line.run(job)).await {
            Ok(answer) => Ran::Answered(answer),
            Err(_) => Ran::TimedOut,
        }
    }

    /// A legacy server may ask whoever it serves; a modern caller that cannot be asked is owed the
    /// error that says what it lacks.
    async fn unasked(&self, errand: &Errand<'_>) -> Result<Ran, CallError> {
        let (sender, mut received) = mpsc::channel(EVENT_QUEUE);
        let job = errand.job(errand.request().params().clone(), Some(sender));
        let mut running = errand.line.run(job);
        let until = errand.planned.deadline().instant();
        let events = errand.caller.events.as_ref();
        let mut watched: Running<'_> = running.as_mut();
        match dialogue::step(&mut watched, &mut received, events, until).await {
            Step::Ended(answer) => Ok(Ran::Answered(answer)),
            Step::TimedOut => Ok(Ran::TimedOut),
            Step::Asked(question) => {
                let (method, params) = (&question.method, question.params.as_deref());
                match dialogue::missing_capability(errand.caller.client, method, params) {
                    Some((capability, required)) => Err(CallError::MissingCapability {
                        capability: capability.to_owned(),
                        required,
                    }),
                    None => Ok(broken_question()),
                }
            }
        }
    }

    /// A legacy server may ask in the middle of a call, whatever its caller can be asked.
    async fn live(&self, errand: &Errand<'_>, client: &ClientFacts) -> Ran {
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
        dialogue::live(running.as_mut(), &mut received, &hearer, &mut timer).await.into()
    }

    /// A modern server, a caller that can be asked at once: the rounds run here.
    async fn live_rounds(&self, errand: &Errand<'_>) -> Result<Ran, CallError> {
        let Some(events) = &errand.caller.events else { return Ok(self.plain(errand).await) };
        let mut timer = self.timer(errand.planned);
        let waits = watch::Sender::new(WaitsFor::Server);
        let hearer = Hearer { client: errand.caller.client, events, waits };
        let mut retry = Retry::default();
        for _ in 0..MOST_ROUNDS {
            let params = rounds::with_answers(errand.request().params(), &retry);
            let running = errand.line.run(errand.job(params, Some(events.clone())));
            let answer = match tokio::time::timeout_at(timer.until().into(), running).await {
                Err(_) => return Ok(Ran::TimedOut),
                Ok(Ok(answer)) if answer.kind == AnswerKind::InputRequired => answer,
                Ok(ended) => return Ok(Ran::Answered(ended)),
            };
            let Some(wanted) = Wanted::read(&answer.result) else { return Ok(broken_question()) };
            retry = match timer.paused(rounds::ask_all(&hearer, wanted)).await {
                None => return Ok(Ran::TimedOut),
                Some(answers) => answers.map_err(CallError::Upstream)?,
            };
        }
        let endless = format!("the server asked more than {MOST_ROUNDS} times without an answer");
        Ok(Ran::Answered(Err(Failure::Lost(endless))))
    }

    /// Modern on both sides: the caller carries the server's state, sealed.
    async fn passed_rounds(&self, errand: &Errand<'_>, retry: &Retry) -> Result<Ran, CallError> {
        let sealer = self.sealer(errand.principal);
        let mut inner = retry.clone();
        if let Some(state) = &retry.state {
            inner.state = match sealer.open(state, errand.request())? {
                State::Inner(state) => Some(state),
                State::Parked(_) => {
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
        if let Some(state) = result.string("requestState") {
            let sealed = sealer.close(&State::Inner(state.into_owned()), errand.request());
            result.set_string("requestState", &sealed);
        }
        Ok(Ran::InputRequired(result.to_raw()))
    }

    /// A legacy server that may ask, a caller that comes back with answers.
    async fn parked(&self, errand: &Errand<'_>, retry: &Retry) -> Result<Ran, CallError> {
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
        let now = self.clock.now();
        let until = now + call.left;
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
            call.remember(question);
            next = call.next(events, until.min(self.clock.now() + COALESCE)).await;
            if matches!(next, Step::TimedOut) {
                call.left = until.saturating_duration_since(self.clock.now());
                return Ok(self.park(errand, call));
            }
        }
        Ok(match next {
            Step::Ended(answer) => Ran::Answered(answer),
            Step::TimedOut | Step::Asked(_) => Ran::TimedOut,
        })
    }

    fn detach(&self, errand: &Errand<'_>) -> Detached {
        let left = errand.planned.deadline().left(self.clock.now());
        Detached::start(Arc::clone(&errand.line), errand.request(), errand.caller, left)
    }

    /// `None` if the call is gone but may simply be run again.
    fn unpark(&self, errand: &Errand<'_>, state: &str) -> Result<Option<Detached>, CallError> {
        let waiting = match self.sealer(errand.principal).open(state, errand.request())? {
            State::Parked(id) => self.parking.take(id),
            State::Inner(_) => None,
        };
        let again = errand.request().tool().is_none_or(|tool| tool.terms.idempotent);
        match waiting {
            None if !again => Err(CallError::BadState("the call is gone; start it again")),
            waiting => Ok(waiting),
        }
    }

    fn park(&self, errand: &Errand<'_>, call: Detached) -> Ran {
        let questions = call.open_questions();
        let Some(id) = self.parking.park(call, errand.principal) else {
            let full = "too many calls wait for answers already; try again later".to_owned();
            let retry_after = Duration::from_secs(5);
            return Ran::Answered(Err(Failure::Resting { reason: full, retry_after }));
        };
        let state = self.sealer(errand.principal).close(&State::Parked(id), errand.request());
        Ran::InputRequired(rounds::input_required(&questions, Some(&state)))
    }

    fn timer(&self, planned: &Planned<'_>) -> Timer<'_> {
        Timer {
            clock: &*self.clock,
            deadline: planned.deadline().instant(),
            wall: planned.wall().map(tollgate_core::budget::Deadline::instant),
        }
    }

    fn sealer<'s>(&'s self, principal: &'s Principal) -> Sealer<'s> {
        let now: SystemTime = self.clock.wall();
        Sealer { seal: &self.seal, principal, now }
    }
}

fn broken_question() -> Ran {
    let what = "the server asked a question that cannot be read".to_owned();
    Ran::Answered(Err(Failure::Lost(what)))
}
