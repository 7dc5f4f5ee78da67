//! Runs one planned call on its backend, within its deadline.
//! Called by the gate only. Knows nothing of agents or policies.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arc_swap::ArcSwap;
use serde_json::value::RawValue;
use tollgate_core::call::Status;
use tollgate_core::failpoint;
use tollgate_core::id::ServerId;
use tollgate_core::json::Object;
use tollgate_core::plan::Planned;
use tollgate_core::policy::Permitted;
use tollgate_core::tool::{Reach, Tool};
use tollgate_core::turn::Turn;
use tollgate_mcp::Era;
use tollgate_mcp::client::{Answer, AnswerKind, Events};
use tollgate_mcp::meta::ClientFacts;

use crate::backend::{Backend, Departure, Failure, Job, Line, WaitsFor};
use crate::caller::{CallError, Caller, Dialogue, Purpose};
use crate::calls::{Course, Leg, Went};
use crate::clock::Clock;
use crate::dialogue::Ended;
use crate::dialogue::parking::Parking;
use crate::meters::Meters;
use crate::meters::sample::{Came, Spent, sample};
use crate::mirror;
use crate::seal::Seal;
use crate::spans::{Span, Tracer};

mod attempt;
mod conversation;

pub(crate) struct Executor {
    /// Swapped whole when the config changes.
    pub(crate) backends: ArcSwap<HashMap<ServerId, Arc<dyn Backend>>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seal: Seal,
    pub(crate) parking: Parking,
    pub(crate) meters: Arc<Meters>,
    pub(crate) tracer: Tracer,
}

/// One run of a call, over.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) ran: Ran,
    /// A person, if one was asked in the course of it.
    pub(crate) waited_for: WaitsFor,
    /// Of a tool's answer; everything else is measured by now.
    pub(crate) unjudged: Option<Unjudged>,
}

/// An answer of which it is not known yet what it is worth. Whoever finds out has to say so, by
/// [`Executor::judged`].
#[derive(Debug)]
pub(crate) struct Unjudged {
    tool: Arc<Tool>,
    purpose: Purpose,
    spent: Spent,
}

/// A call to be run: what, for whom.
#[derive(Clone, Copy)]
pub(crate) struct Call<'c> {
    pub(crate) turn: &'c Turn,
    /// Where its steps are noted; `None`: nobody looks.
    pub(crate) course: Option<&'c Arc<Course>>,
    pub(crate) planned: &'c Planned<'c>,
    pub(crate) caller: &'c Caller<'c>,
}

/// How a call came out of its backend.
#[derive(Debug, Clone)]
pub(crate) enum Ran {
    Answered(Result<Answer, Failure>),
    TimedOut,
    /// The caller is to come back with answers to this.
    InputRequired(Box<RawValue>),
}

impl Run {
    fn unsent(ran: Ran) -> Self {
        Self { ran, waited_for: WaitsFor::Server, unjudged: None }
    }
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
    turn: &'e Turn,
    course: Option<&'e Arc<Course>>,
    leg: Option<Leg>,
    departure: Departure,
    asked: AtomicBool,
    span: Span,
}

impl<'e> Errand<'e> {
    fn request(&self) -> &'e Permitted<'e> {
        self.planned.permitted()
    }

    fn job<'j>(&'j self, params: Object<'j>, events: Option<Events>) -> Job<'j> {
        Job {
            method: self.request().kind().method(),
            params,
            arguments: self.request().arguments(),
            turn: self.turn,
            id: self.course.map(|course| course.id),
            trace: self.span.trace(),
            client: self.caller.client,
            mirrored: mirror::headers(self.request()),
            events,
            progress: self.caller.progress,
            waits: None,
            until: Some(self.planned.deadline().instant()),
            departure: &self.departure,
        }
    }

    /// The server wants to know something that only a person can say.
    fn note_question(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }
}

impl Executor {
    pub(crate) async fn run(&self, call: Call<'_>) -> Result<Run, CallError> {
        failpoint::hit("execute");
        let mut errand = match self.set_out(call).await {
            Ok(errand) => errand,
            Err(ran) => return Ok(Run::unsent(ran)),
        };
        let _visit = self.meters.visit(call.planned.permitted().server());
        let ran = self.converse(&errand).await;
        attempt::end(&mut errand.span, ran.as_ref());
        Ok(self.over(&errand, ran?))
    }

    /// Runs a call that nobody is asked anything for. `None` if the server asks all the same; the
    /// call is then given up, and who can be asked may run it.
    pub(crate) async fn alone(&self, call: Call<'_>) -> Option<Run> {
        let mut errand = match self.set_out(call).await {
            Ok(errand) => errand,
            Err(ran) => return Some(Run::unsent(ran)),
        };
        let _visit = self.meters.visit(call.planned.permitted().server());
        let ran = match errand.line.era() {
            Era::Modern => self.plain(&errand).await,
            Era::Legacy => self.watched(&errand).await.ok()?,
        };
        attempt::end(&mut errand.span, Ok(&ran));
        Some(self.over(&errand, ran))
    }

    /// Waits until a server that broke off, or was not there, is in service; not for one that is
    /// not to be expected by then.
    pub(crate) async fn returned(&self, server: &ServerId, until: Instant) -> bool {
        match self.backend(server) {
            Some(backend) => backend.returned(until).await,
            None => false,
        }
    }

    fn backend(&self, server: &ServerId) -> Option<Arc<dyn Backend>> {
        self.backends.load().get(server).map(Arc::clone)
    }

    /// Finds the way to the call's server. It may have to be woken, which the deadline bounds.
    async fn set_out<'e>(&self, call: Call<'e>) -> Result<Errand<'e>, Ran> {
        let Call { turn, course, planned, caller } = call;
        let leg = course.map(|course| course.leg(self.clock.now()));
        let Some(backend) = self.backend(planned.permitted().server()) else {
            let reason = "it is not configured any more".to_owned();
            return Err(Ran::Answered(Err(Failure::Offline { state: "offline", reason })));
        };
        let until = planned.deadline().instant();
        let line = match tokio::time::timeout_at(until.into(), backend.line()).await {
            Err(_) => return Err(Ran::TimedOut),
            Ok(Err(failure)) => return Err(Ran::Answered(Err(failure))),
            Ok(Ok(line)) => line,
        };
        if let (Some(course), None) = (course, line.peer()) {
            course.stays_inside();
        }
        let departure = Departure::noted(Arc::clone(&self.clock), leg.clone());
        let asked = AtomicBool::new(false);
        let span = match caller.purpose {
            Purpose::Serve => attempt::begin(&self.tracer, turn, planned.permitted(), &*line),
            Purpose::Probe | Purpose::BlindProbe => Span::default(),
        };
        Ok(Errand { line, planned, caller, turn, course, leg, departure, asked, span })
    }

    fn over(&self, errand: &Errand<'_>, ran: Ran) -> Run {
        let now = self.clock.now();
        if let Some(leg) = &errand.leg {
            let went = match &ran {
                Ran::Answered(Ok(_)) | Ran::InputRequired(_) => Went::Well,
                Ran::Answered(Err(_)) | Ran::TimedOut => Went::Wrong,
            };
            leg.over(now, went);
        }
        let waited_for = match errand.asked.load(Ordering::Relaxed) {
            true => WaitsFor::Person,
            false => WaitsFor::Server,
        };
        let (Some(tool), Some(began)) = (errand.request().tool(), errand.departure.at()) else {
            return Run { ran, waited_for, unjudged: None };
        };
        let planned = errand.planned;
        let spent = Spent {
            took: now.saturating_duration_since(began),
            had: planned.deadline().left(began),
            own: planned.own().left(planned.started()),
            ceiling: self.meters.ceiling(&tool.id),
            waited_for,
        };
        let unjudged = Unjudged { tool: Arc::clone(tool), purpose: errand.caller.purpose, spent };
        let came = match &ran {
            Ran::Answered(Ok(answer)) if answer.kind == AnswerKind::Complete => {
                return Run { ran, waited_for, unjudged: Some(unjudged) };
            }
            Ran::Answered(Ok(_)) | Ran::InputRequired(_) => Came::Unfinished,
            Ran::Answered(Err(failure)) => Came::Failure(failure),
            Ran::TimedOut => Came::Late,
        };
        self.measure(&unjudged, came);
        Run { ran, waited_for, unjudged: None }
    }

    /// An answer turned out to be worth this.
    pub(crate) fn judged(&self, unjudged: &Unjudged, status: Status) {
        self.measure(unjudged, Came::Result(status));
    }

    fn measure(&self, run: &Unjudged, came: Came<'_>) {
        // How long a program takes, and whether it fails, is up to whoever wrote it.
        if run.tool.terms.reach == Reach::Means {
            return;
        }
        // With arguments that nobody meant, an error says nothing about the tool.
        let is_error = matches!(came, Came::Result(Status::Error) | Came::Failure(_));
        if run.purpose == Purpose::BlindProbe && is_error {
            return;
        }
        if let Some(sample) = sample(came, &run.spent) {
            self.meters.record(&run.tool.id, sample);
        }
    }

    /// The era is known only once the server is there; the line then keeps it.
    async fn converse(&self, errand: &Errand<'_>) -> Result<Ran, CallError> {
        let caller = errand.caller;
        match (&caller.dialogue, errand.line.era()) {
            (Dialogue::Live, Era::Legacy) => Ok(self.live(errand, caller.client).await),
            (Dialogue::Nobody, Era::Legacy) => Ok(self.live(errand, &ClientFacts::default()).await),
            (Dialogue::Live, Era::Modern) if caller.client.can_answer() => {
                Box::pin(self.live_rounds(errand)).await
            }
            (Dialogue::Rounds(retry), Era::Modern) => self.passed_rounds(errand, retry).await,
            (Dialogue::Rounds(retry), Era::Legacy) if caller.client.can_answer() => {
                Box::pin(self.parked(errand, retry)).await
            }
            (Dialogue::Rounds(_), Era::Legacy) => self.unasked(errand).await,
            (Dialogue::Live | Dialogue::Nobody, Era::Modern) => Ok(self.plain(errand).await),
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
}
