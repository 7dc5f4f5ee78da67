//! Caching, single flight, retries, hedging and late calls, between the plan and the executor.
//!
//! Called by the gate only. Calls that must not be repeated pass through unchanged.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tollgate_core::call::CallStatus;
use tollgate_core::json;
use tollgate_core::shaping::{self, ResultCaps, ResultConsumer};
use tollgate_core::tool::{self, Tool};
use tollgate_mcp::answer_budget::{AnswerAccount, SMALL_ANSWER};
use tollgate_mcp::client::{Answer, AnswerKind};
use tollgate_mcp::error_code;
use tollgate_mcp::memory_budget::NoRoomError;
use tollgate_mcp::meta::TASKS_EXTENSION;
use tollgate_mcp::offload::offload_if_large;

use crate::backend::BackendError;
use crate::caller::{
    CacheFreshness, CallError, CallPurpose, Caller, Dialogue, LateResultPolicy, OverflowPolicy,
};
use crate::calls::CallStep;
use crate::executor::{AttemptOutcome, BackendOutcome, Executor, PendingSample, PlannedCall};

mod cache;
mod exact_numbers;
mod hedging;
mod late_call_slots;
mod late_calls;
mod retry_policy;
mod server_budget;
mod single_flight;

use cache::{AnswerCache, CacheHit, CacheKey, CachedAnswer};
use hedging::AttemptRunner;
use late_call_slots::LateCallSlots;
pub(crate) use late_calls::LateCall;
use server_budget::{ServerBudget, ServerBudgets};
use single_flight::{Completed, Flight, FlightJoin, Payload, SingleFlightGroup, Subscriber};

/// Samples needed to tell when a tool is slower than usual.
const ENOUGH_CALLS: usize = 20;

#[derive(Clone)]
pub(crate) struct CallReuse(Arc<ReuseInner>);

struct ReuseInner {
    executor: Arc<Executor>,
    cache: AnswerCache,
    flights: Arc<SingleFlightGroup>,
    accounts: Arc<ServerBudgets>,
    late: Arc<LateCallSlots>,
    looks: CacheCounters,
}

/// Cache statistics since the start, for tools with cacheable answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStats {
    pub hits: u64,
    pub misses: u64,
    /// An equal call was in flight.
    pub shared: u64,
}

#[derive(Default)]
struct CacheCounters {
    hits: AtomicU64,
    misses: AtomicU64,
    shared: AtomicU64,
}

/// How a call ended.
pub(crate) enum ReuseOutcome {
    Over(CallCompletion),
    /// The turn has ended before the call, which may continue.
    Late(LateCall),
}

/// A finished call.
pub(crate) struct CallCompletion {
    pub(crate) ran: BackendOutcome,
    pub(crate) reused: CacheUse,
    pub(crate) unjudged: Option<PendingSample>,
}

/// Whether an answer came from the cache, or went there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheUse {
    Not,
    /// From the cache: its age, and its time to live.
    From {
        age: Duration,
        good_for: Duration,
    },
    /// New, and stored in the cache.
    Stored {
        good_for: Duration,
    },
}

impl CallCompletion {
    pub(crate) fn timed_out() -> Self {
        Self { ran: BackendOutcome::TimedOut, reused: CacheUse::Not, unjudged: None }
    }

    /// Reserves memory for an answer that was not read for this call: of the cache, of a shared
    /// call, or of a tool in this process.
    pub(crate) async fn within_memory(self) -> Self {
        match has_room_for(&self.ran).await {
            Ok(()) => self,
            Err(NoRoomError) => Self::no_room(),
        }
    }

    fn no_room() -> Self {
        let no_room = BackendOutcome::Answered(Err(BackendError::NoRoom));
        Self { ran: no_room, reused: CacheUse::Not, unjudged: None }
    }
}

impl From<AttemptOutcome> for CallCompletion {
    fn from(run: AttemptOutcome) -> Self {
        Self { ran: run.ran, reused: CacheUse::Not, unjudged: run.unjudged }
    }
}

impl CallReuse {
    pub(crate) fn new(executor: Arc<Executor>) -> Self {
        let accounts = Arc::<ServerBudgets>::default();
        Self(Arc::new(ReuseInner {
            cache: AnswerCache::new(),
            flights: Arc::default(),
            late: Arc::new(LateCallSlots::new(Arc::clone(&accounts))),
            accounts,
            looks: CacheCounters::default(),
            executor,
        }))
    }

    /// Dropping the future cancels the call at the server, unless other callers wait for it.
    pub(crate) async fn run(&self, call: PlannedCall<'_>) -> Result<ReuseOutcome, CallError> {
        let reuse_call = self.reuse_call(call);
        if let Some(reuse_call) = &reuse_call {
            match reuse_call.strategy() {
                Strategy::Straight => reuse_call.account.budget.earn(),
                way => return Box::pin(reuse_call.run(way)).await,
            }
        }
        // The common path: no lock and no allocation.
        let run = self.0.executor.run(call).await?;
        let run = match &reuse_call {
            Some(reuse_call) if retry_policy::is_retryable(&run) => {
                Box::pin(reuse_call.attempts().retry_attended(run)).await?
            }
            _ => run,
        };
        Ok(ReuseOutcome::Over(run.into()))
    }

    pub(crate) fn cache_stats(&self) -> CacheStats {
        let CacheCounters { hits, misses, shared } = &self.0.looks;
        let [hits, misses, shared] = [hits, misses, shared].map(|it| it.load(Ordering::Relaxed));
        CacheStats { hits, misses, shared }
    }

    /// `None` for a call that must not be repeated.
    fn reuse_call<'t>(&'t self, call: PlannedCall<'t>) -> Option<ReuseCall<'t>> {
        let tool = repeatable(call)?;
        let account = self.0.accounts.of(call.planned.permitted_request().server());
        Some(ReuseCall { parts: &self.0, call, tool, account })
    }
}

/// The tool, if this call may be repeated or served from the cache. Not for probes, which measure
/// the tool itself, nor for callers that bring answers: their call has already begun.
fn repeatable<'c>(PlannedCall { planned, caller, .. }: PlannedCall<'c>) -> Option<&'c Arc<Tool>> {
    let tool = planned.permitted_request().tool()?;
    let is_under_way = matches!(&caller.dialogue, Dialogue::Rounds(retry) if !retry.is_empty());
    let serves = caller.purpose == CallPurpose::Serve && !is_under_way;
    (tool.terms.idempotent && serves).then_some(tool)
}

/// A repeatable call in progress.
struct ReuseCall<'t> {
    parts: &'t Arc<ReuseInner>,
    call: PlannedCall<'t>,
    tool: &'t Arc<Tool>,
    account: Arc<ServerBudget>,
}

/// How a repeatable call is run.
enum Strategy {
    /// Once, with a retry if the connection breaks.
    Straight,
    /// Together with all calls with the same key (single flight).
    Shared(CacheKey),
    /// Detached, so that it can continue after its turn.
    Detached,
    /// With a second attempt after this time.
    Hedged(Duration),
}

impl ReuseCall<'_> {
    fn strategy(&self) -> Strategy {
        let PlannedCall { turn, planned, caller, .. } = self.call;
        let is_cacheable = !self.tool.terms.cacheable.is_zero();
        let key = || CacheKey::of(&turn.principal, planned.permitted_request());
        if let Some(key) = is_cacheable.then(key).flatten() {
            return Strategy::Shared(key);
        }
        let is_delivered =
            caller.late == LateResultPolicy::Delivered && caller.rest == OverflowPolicy::Readable;
        if is_delivered && planned.deadline() < planned.own() {
            return Strategy::Detached;
        }
        self.parts.hedge(self.tool).map_or(Strategy::Straight, Strategy::Hedged)
    }

    async fn run(&self, way: Strategy) -> Result<ReuseOutcome, CallError> {
        match way {
            Strategy::Straight => self.run_alone().await,
            Strategy::Shared(key) => self.run_shared(&key).await,
            Strategy::Detached => self.await_flight(self.launch(None)).await,
            Strategy::Hedged(delay) => match self.attempts().run_unattended(Some(delay)).await {
                Some(run) if is_for(self.call.caller, &run.ran) => {
                    Ok(ReuseOutcome::Over(run.into()))
                }
                _ => self.run_alone().await,
            },
        }
    }

    fn attempts(&self) -> AttemptRunner<'_> {
        let budget = &self.account.budget;
        AttemptRunner { executor: &self.parts.executor, budget, call: self.call }
    }

    /// An answer from the cache, or from a shared call.
    async fn run_shared(&self, key: &CacheKey) -> Result<ReuseOutcome, CallError> {
        let may_be_old = self.call.caller.freshness == CacheFreshness::Any;
        if let Some(hit) = may_be_old.then(|| self.look(key)).flatten() {
            return Ok(self.hit(hit));
        }
        match self.parts.flights.join(key, self) {
            FlightJoin::Cached(hit) => Ok(self.hit(hit)),
            FlightJoin::On(subscriber) => {
                self.parts.looks.misses.fetch_add(1, Ordering::Relaxed);
                self.await_flight(subscriber).await
            }
            FlightJoin::Joined(subscriber) => self.join_flight(subscriber).await,
        }
    }

    fn look(&self, key: &CacheKey) -> Option<CacheHit> {
        let now = self.parts.executor.clock.now();
        self.parts.cache.get(key, self.tool.terms.cacheable, now)
    }

    fn hit(&self, CacheHit { result, age }: CacheHit) -> ReuseOutcome {
        self.parts.looks.hits.fetch_add(1, Ordering::Relaxed);
        let reused = CacheUse::From { age, good_for: self.tool.terms.cacheable };
        let answer = Answer { kind: AnswerKind::Complete, result };
        ReuseOutcome::Over(CallCompletion {
            ran: BackendOutcome::Answered(Ok(answer)),
            reused,
            unjudged: None,
        })
    }

    fn launch(&self, key: Option<CacheKey>) -> Subscriber {
        let parts = Arc::clone(self.parts);
        Flight::launch(self, key, |payload| parts.run_flight(payload))
    }

    /// Waits for a flight until the turn ends. Then leaves it running, if it may continue and the
    /// caller can read the result later.
    async fn await_flight(&self, mut subscriber: Subscriber) -> Result<ReuseOutcome, CallError> {
        let PlannedCall { planned, caller, .. } = self.call;
        match subscriber.wait(planned.deadline().instant(), caller.events.as_ref()).await {
            Some(completed) => match &completed.ran {
                Some(ran) if is_for(caller, ran) => {
                    Ok(ReuseOutcome::Over(completed.completion().await))
                }
                // Another call would lead to the same question.
                None if !needs_the_question(caller) => {
                    Ok(ReuseOutcome::Over(completed.completion().await))
                }
                _ => self.run_alone().await,
            },
            None if caller.rest == OverflowPolicy::Readable
                && planned.deadline().instant() < subscriber.flight.until() =>
            {
                let late = LateCall::of(subscriber.flight, &self.parts.late);
                Ok(late.map_or_else(
                    || ReuseOutcome::Over(CallCompletion::timed_out()),
                    ReuseOutcome::Late,
                ))
            }
            None => Ok(ReuseOutcome::Over(CallCompletion::timed_out())),
        }
    }

    /// The same for a flight that another caller started.
    async fn join_flight(&self, subscriber: Subscriber) -> Result<ReuseOutcome, CallError> {
        self.parts.looks.shared.fetch_add(1, Ordering::Relaxed);
        let clock = &self.parts.executor.clock;
        let call_progress = self.call.call_progress;
        let waiting = call_progress.map(|call_progress| {
            (call_progress, call_progress.enter(CallStep::Shared, clock.now()))
        });
        let completion = self.await_flight(subscriber).await;
        if let Some((call_progress, step)) = waiting {
            call_progress.leave(step, clock.now());
        }
        completion
    }

    /// For an answer that cannot be shared: the caller is asked something, or gets a task.
    async fn run_alone(&self) -> Result<ReuseOutcome, CallError> {
        Ok(ReuseOutcome::Over(self.parts.executor.run(self.call).await?.into()))
    }
}

/// Whether an answer of a flight, in which nobody could be asked, serves this caller. A caller that
/// can handle the question or the task has to make its own call.
fn is_for(caller: &Caller<'_>, ran: &BackendOutcome) -> bool {
    let can_be_asked =
        || !matches!(caller.dialogue, Dialogue::Nobody) && caller.client.can_answer();
    match ran {
        BackendOutcome::Answered(Ok(answer)) => match answer.kind {
            AnswerKind::Complete => true,
            AnswerKind::InputRequired => !can_be_asked(),
            AnswerKind::Task => !caller.client.has_extension(TASKS_EXTENSION),
        },
        BackendOutcome::Answered(Err(BackendError::Refused(error))) => {
            error.code != error_code::MISSING_CLIENT_CAPABILITY || !can_be_asked()
        }
        BackendOutcome::Answered(Err(_))
        | BackendOutcome::TimedOut
        | BackendOutcome::InputRequired(_) => true,
    }
}

/// Whether a question of a legacy server matters to `caller`: it can be asked, or needs an error
/// that names the missing capability.
fn needs_the_question(caller: &Caller<'_>) -> bool {
    match caller.dialogue {
        Dialogue::Nobody => false,
        Dialogue::Live => caller.client.can_answer(),
        Dialogue::Rounds(_) => true,
    }
}

impl ReuseInner {
    /// Runs a shared or detached call, and caches its answer if possible.
    async fn run_flight(self: Arc<Self>, payload: Arc<Payload>) -> Completed {
        let caller = payload.caller();
        let server = payload.planned.permitted_request().server();
        let account = self.accounts.of(server);
        let turn = &payload.turn;
        let planned = &payload.planned;
        let call = PlannedCall {
            turn,
            call_progress: payload.call_progress.as_ref(),
            planned,
            caller: &caller,
        };
        let attempts = AttemptRunner { executor: &self.executor, budget: &account.budget, call };
        let Some(run) = attempts.run_unattended(self.hedge(&payload.tool)).await else {
            return Completed { ran: None, cached_for: None };
        };
        let cached_for = self.judge(&payload, &run).await;
        Completed { ran: Some(run.ran), cached_for }
    }

    /// Determines the status of an answer. Returns the time to live if it was cached.
    async fn judge(&self, payload: &Payload, run: &AttemptOutcome) -> Option<Duration> {
        let BackendOutcome::Answered(Ok(Answer { kind: AnswerKind::Complete, result })) = &run.ran
        else {
            return None;
        };
        let finished_at = self.executor.clock.now();
        let tool = Arc::clone(&payload.tool);
        let raw = result.clone();
        let status = offload_if_large(result.get().len(), move || {
            let consumer = ResultConsumer { caps: &ResultCaps::mcp(), spare: None };
            shaping::shape(&tool, raw, Duration::ZERO, consumer).outcome.status
        });
        let status = status.await;
        if let Some(unjudged) = &run.unjudged {
            self.executor.record_status(unjudged, status);
        }
        let is_good = matches!(status, CallStatus::Ok | CallStatus::NoResults);
        let key = payload.key.as_ref().filter(|_| is_good)?;
        let cached = CachedAnswer {
            result: result.clone(),
            called_at: payload.planned.started_at(),
            came: finished_at,
        };
        self.cache.put(key, cached).then_some(payload.tool.terms.cacheable)
    }

    /// Delay of the hedged attempt: the p95 of the tool's calls.
    fn hedge(&self, tool: &Tool) -> Option<Duration> {
        if tool.terms.attempts == tool::HedgingPolicy::One {
            return None;
        }
        let assigned = self.executor.meters.assigned_tier(&tool.id)?;
        let figures = &assigned.figures;
        figures.p95().filter(|_| figures.timed_calls() >= ENOUGH_CALLS)
    }
}

/// Waits until the current call has memory for a copy of the answer.
async fn has_room_for(ran: &BackendOutcome) -> Result<(), NoRoomError> {
    let (BackendOutcome::Answered(Ok(Answer { result, .. }))
    | BackendOutcome::InputRequired(result)) = ran
    else {
        return Ok(());
    };
    let length = result.get().len();
    match AnswerAccount::current().filter(|_| length > SMALL_ANSWER) {
        Some(account) => account.cover(length).await,
        None => Ok(()),
    }
}

impl Completed {
    /// A copy for one caller.
    async fn completion(&self) -> CallCompletion {
        if let Some(ran) = &self.ran
            && has_room_for(ran).await.is_err()
        {
            return CallCompletion::no_room();
        }
        // The server asked a question, but no caller could be asked.
        let nobody = || {
            BackendOutcome::Answered(Ok(Answer {
                kind: AnswerKind::InputRequired,
                result: json::raw("{}".to_owned()),
            }))
        };
        let outcome = self.ran.clone().unwrap_or_else(nobody);
        let reused =
            self.cached_for.map_or(CacheUse::Not, |good_for| CacheUse::Stored { good_for });
        CallCompletion { ran: outcome, reused, unjudged: None }
    }
}
