//! Between the plan and the executor: answers that were kept, calls that are shared, second
//! attempts, and calls that go on when their turn is over.
//!
//! Called by the gate only. What must not
//! be repeated passes straight through.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tollgate_core::call::Status;
use tollgate_core::json;
use tollgate_core::shaping::{self, Caps, Consumer};
use tollgate_core::tool::{self, Tool};
use tollgate_mcp::client::{Answer, AnswerKind};
use tollgate_mcp::code;
use tollgate_mcp::large::aside;
use tollgate_mcp::meta::TASKS_EXTENSION;

use crate::backend::Failure;
use crate::caller::{CallError, Caller, Dialogue, Freshness, Late, Purpose, Rest};
use crate::calls::Step;
use crate::executor::{Call, Executor, Ran, Run, Unjudged};

mod account;
mod attempts;
mod cache;
mod flight;
mod late;
mod numbers;
mod retry;

use account::{Account, Accounts};
use attempts::Attempts;
use cache::{Cache, Hit, Kept, Key};
use flight::{Boarded, Cargo, Flight, Flights, Landed, Place};
pub(crate) use late::LateCall;
use late::Slots;

/// So many calls tell when a tool is slower than usual.
const ENOUGH_CALLS: usize = 20;

#[derive(Clone)]
pub(crate) struct Reuse(Arc<Parts>);

struct Parts {
    executor: Arc<Executor>,
    cache: Cache,
    flights: Arc<Flights>,
    accounts: Arc<Accounts>,
    late: Arc<Slots>,
    looks: Looks,
}

/// What there was for calls whose answers may be kept, since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookedUp {
    pub hits: u64,
    pub misses: u64,
    /// The same call was under way.
    pub shared: u64,
}

#[derive(Default)]
struct Looks {
    hits: AtomicU64,
    misses: AtomicU64,
    shared: AtomicU64,
}

/// How a call came back.
pub(crate) enum Came {
    Over(Over),
    /// The turn is over; the call is not, and may go on.
    Late(LateCall),
}

/// A call that is over.
pub(crate) struct Over {
    pub(crate) ran: Ran,
    pub(crate) reused: Reused,
    pub(crate) unjudged: Option<Unjudged>,
}

/// Whether an answer was used before, or will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reused {
    Not,
    /// It is from before: so old, and good for so long in all.
    From {
        age: Duration,
        good_for: Duration,
    },
    /// It is new, and was kept.
    Kept {
        good_for: Duration,
    },
}

impl Over {
    pub(crate) fn timed_out() -> Self {
        Self { ran: Ran::TimedOut, reused: Reused::Not, unjudged: None }
    }
}

impl From<Run> for Over {
    fn from(run: Run) -> Self {
        Self { ran: run.ran, reused: Reused::Not, unjudged: run.unjudged }
    }
}

impl Reuse {
    pub(crate) fn new(executor: Arc<Executor>) -> Self {
        let accounts = Arc::<Accounts>::default();
        Self(Arc::new(Parts {
            cache: Cache::new(),
            flights: Arc::default(),
            late: Arc::new(Slots::new(Arc::clone(&accounts))),
            accounts,
            looks: Looks::default(),
            executor,
        }))
    }

    /// Dropping the future cancels the call at the server, unless others wait for it too.
    pub(crate) async fn run(&self, call: Call<'_>) -> Result<Came, CallError> {
        let trip = self.trip(call);
        if let Some(trip) = &trip {
            match trip.way() {
                Way::Straight => trip.account.budget.earn(),
                way => return Box::pin(trip.take(way)).await,
            }
        }
        // Most calls go here: without a lock, and with nothing allocated.
        let run = self.0.executor.run(call).await?;
        let run = match &trip {
            Some(trip) if retry::may_mend(&run) => Box::pin(trip.attempts().again(run)).await?,
            _ => run,
        };
        Ok(Came::Over(run.into()))
    }

    pub(crate) fn looked_up(&self) -> LookedUp {
        let Looks { hits, misses, shared } = &self.0.looks;
        let [hits, misses, shared] = [hits, misses, shared].map(|it| it.load(Ordering::Relaxed));
        LookedUp { hits, misses, shared }
    }

    /// `None` for what must not be repeated.
    fn trip<'t>(&'t self, call: Call<'t>) -> Option<Trip<'t>> {
        let tool = repeatable(call)?;
        let account = self.0.accounts.of(call.planned.permitted().server());
        Some(Trip { parts: &self.0, call, tool, account })
    }
}

/// The tool, if this call of it may be made twice, or not at all. Probes measure what they call;
/// who brings answers to questions has begun a call that is theirs alone.
fn repeatable<'c>(Call { planned, caller, .. }: Call<'c>) -> Option<&'c Arc<Tool>> {
    let tool = planned.permitted().tool()?;
    let is_under_way = matches!(&caller.dialogue, Dialogue::Rounds(retry) if !retry.is_empty());
    let serves = caller.purpose == Purpose::Serve && !is_under_way;
    (tool.terms.idempotent && serves).then_some(tool)
}

/// A call that may be repeated, on its way.
struct Trip<'t> {
    parts: &'t Arc<Parts>,
    call: Call<'t>,
    tool: &'t Arc<Tool>,
    account: Arc<Account>,
}

/// How such a call is made.
enum Way {
    /// Once, and once more if it breaks.
    Straight,
    /// Together with all that have the same key.
    Shared(Key),
    /// Such that it can go on when its turn is over.
    Detached,
    /// With a second attempt after so long.
    Hedged(Duration),
}

impl Trip<'_> {
    fn way(&self) -> Way {
        let Call { turn, planned, caller, .. } = self.call;
        let is_cacheable = !self.tool.terms.cacheable.is_zero();
        let key = || Key::of(&turn.principal, planned.permitted());
        if let Some(key) = is_cacheable.then(key).flatten() {
            return Way::Shared(key);
        }
        let is_delivered = caller.late == Late::Delivered && caller.rest == Rest::Readable;
        if is_delivered && planned.deadline() < planned.own() {
            return Way::Detached;
        }
        self.parts.hedge(self.tool).map_or(Way::Straight, Way::Hedged)
    }

    async fn take(&self, way: Way) -> Result<Came, CallError> {
        match way {
            Way::Straight => self.by_itself().await,
            Way::Shared(key) => self.shared(&key).await,
            Way::Detached => self.aboard(self.launch(None)).await,
            Way::Hedged(delay) => match self.attempts().alone(Some(delay)).await {
                Some(run) if is_for(self.call.caller, &run.ran) => Ok(Came::Over(run.into())),
                _ => self.by_itself().await,
            },
        }
    }

    fn attempts(&self) -> Attempts<'_> {
        let budget = &self.account.budget;
        Attempts { executor: &self.parts.executor, budget, call: self.call }
    }

    /// An answer from before, or from a call that others wait for too.
    async fn shared(&self, key: &Key) -> Result<Came, CallError> {
        let may_be_old = self.call.caller.freshness == Freshness::Any;
        if let Some(hit) = may_be_old.then(|| self.look(key)).flatten() {
            return Ok(self.hit(hit));
        }
        match self.parts.flights.board(key, self) {
            Place::Kept(hit) => Ok(self.hit(hit)),
            Place::On(boarded) => {
                self.parts.looks.misses.fetch_add(1, Ordering::Relaxed);
                self.aboard(boarded).await
            }
            Place::Joined(boarded) => self.joined(boarded).await,
        }
    }

    fn look(&self, key: &Key) -> Option<Hit> {
        let now = self.parts.executor.clock.now();
        self.parts.cache.get(key, self.tool.terms.cacheable, now)
    }

    fn hit(&self, Hit { result, age }: Hit) -> Came {
        self.parts.looks.hits.fetch_add(1, Ordering::Relaxed);
        let reused = Reused::From { age, good_for: self.tool.terms.cacheable };
        let answer = Answer { kind: AnswerKind::Complete, result };
        Came::Over(Over { ran: Ran::Answered(Ok(answer)), reused, unjudged: None })
    }

    fn launch(&self, key: Option<Key>) -> Boarded {
        let parts = Arc::clone(self.parts);
        Flight::launch(self, key, |cargo| parts.fly(cargo))
    }

    /// Waits for a flight until the turn is over, and leaves it to itself then, if it may go on and
    /// the caller can come back for what it brings.
    async fn aboard(&self, mut boarded: Boarded) -> Result<Came, CallError> {
        let Call { planned, caller, .. } = self.call;
        match boarded.wait(planned.deadline().instant(), caller.events.as_ref()).await {
            Some(landed) => match &landed.ran {
                Some(ran) if is_for(caller, ran) => Ok(Came::Over(landed.over())),
                // Calling again would lead to the same question.
                None if !is_owed_the_question(caller) => Ok(Came::Over(landed.over())),
                _ => self.by_itself().await,
            },
            None if caller.rest == Rest::Readable
                && planned.deadline().instant() < boarded.flight.until() =>
            {
                let late = LateCall::of(boarded.flight, &self.parts.late);
                Ok(late.map_or_else(|| Came::Over(Over::timed_out()), Came::Late))
            }
            None => Ok(Came::Over(Over::timed_out())),
        }
    }

    /// The same on a flight of somebody else.
    async fn joined(&self, boarded: Boarded) -> Result<Came, CallError> {
        self.parts.looks.shared.fetch_add(1, Ordering::Relaxed);
        let (clock, course) = (&self.parts.executor.clock, self.call.course);
        let waiting = course.map(|course| (course, course.enter(Step::Shared, clock.now())));
        let came = self.aboard(boarded).await;
        if let Some((course, step)) = waiting {
            course.leave(step, clock.now());
        }
        came
    }

    /// What nobody else can have: somebody is asked, or there is a task to come back for.
    async fn by_itself(&self) -> Result<Came, CallError> {
        Ok(Came::Over(self.parts.executor.run(self.call).await?.into()))
    }
}

/// Whether this is an answer for `caller`, though nobody could be asked for it. Who can do what
/// it wants has to call for itself.
fn is_for(caller: &Caller<'_>, ran: &Ran) -> bool {
    let can_be_asked =
        || !matches!(caller.dialogue, Dialogue::Nobody) && caller.client.can_answer();
    match ran {
        Ran::Answered(Ok(answer)) => match answer.kind {
            AnswerKind::Complete => true,
            AnswerKind::InputRequired => !can_be_asked(),
            AnswerKind::Task => !caller.client.has_extension(TASKS_EXTENSION),
        },
        Ran::Answered(Err(Failure::Refused(error))) => {
            error.code != code::MISSING_CLIENT_CAPABILITY || !can_be_asked()
        }
        Ran::Answered(Err(_)) | Ran::TimedOut | Ran::InputRequired(_) => true,
    }
}

/// Whether a question of a legacy server makes a difference to `caller`: it can be asked, or is to
/// be told what it lacks for that.
fn is_owed_the_question(caller: &Caller<'_>) -> bool {
    match caller.dialogue {
        Dialogue::Nobody => false,
        Dialogue::Live => caller.client.can_answer(),
        Dialogue::Rounds(_) => true,
    }
}

impl Parts {
    /// Runs a call that does not belong to one caller alone, and keeps its answer if it may.
    async fn fly(self: Arc<Self>, cargo: Arc<Cargo>) -> Landed {
        let caller = cargo.caller();
        let server = cargo.planned.permitted().server();
        let account = self.accounts.of(server);
        let (turn, planned) = (&cargo.turn, &cargo.planned);
        let call = Call { turn, course: cargo.course.as_ref(), planned, caller: &caller };
        let attempts = Attempts { executor: &self.executor, budget: &account.budget, call };
        let Some(run) = attempts.alone(self.hedge(&cargo.tool)).await else {
            return Landed { ran: None, kept: None };
        };
        let kept = self.judge(&cargo, &run).await;
        Landed { ran: Some(run.ran), kept }
    }

    /// Finds out what an answer is worth. For how long it was kept, if it was.
    async fn judge(&self, cargo: &Cargo, run: &Run) -> Option<Duration> {
        let Ran::Answered(Ok(Answer { kind: AnswerKind::Complete, result })) = &run.ran else {
            return None;
        };
        let came = self.executor.clock.now();
        let (tool, raw) = (Arc::clone(&cargo.tool), result.clone());
        let status = aside(result.get().len(), move || {
            let consumer = Consumer { caps: &Caps::mcp(), spare: None };
            shaping::shape(&tool, raw, Duration::ZERO, consumer).outcome.status
        });
        let status = status.await;
        if let Some(unjudged) = &run.unjudged {
            self.executor.judged(unjudged, status);
        }
        let is_good = matches!(status, Status::Ok | Status::NoResults);
        let key = cargo.key.as_ref().filter(|_| is_good)?;
        let kept = Kept { result: result.clone(), asked: cargo.planned.started(), came };
        self.cache.put(key, kept).then_some(cargo.tool.terms.cacheable)
    }

    /// After how long a second attempt starts beside the first: when nearly all others were done.
    fn hedge(&self, tool: &Tool) -> Option<Duration> {
        if tool.terms.attempts == tool::Attempts::One {
            return None;
        }
        let assigned = self.executor.meters.assigned(&tool.id)?;
        let figures = &assigned.figures;
        figures.p95().filter(|_| figures.timed() >= ENOUGH_CALLS)
    }
}

impl Landed {
    fn over(&self) -> Over {
        // One who could be asked is not there any more.
        let nobody = || {
            Ran::Answered(Ok(Answer {
                kind: AnswerKind::InputRequired,
                result: json::raw("{}".to_owned()),
            }))
        };
        let ran = self.ran.clone().unwrap_or_else(nobody);
        let reused = self.kept.map_or(Reused::Not, |good_for| Reused::Kept { good_for });
        Over { ran, reused, unjudged: None }
    }
}
