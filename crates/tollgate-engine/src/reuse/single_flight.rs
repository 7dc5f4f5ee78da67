//! Single flight: several callers wait for one call, each with its own deadline. A flight runs in
//! its own task and is cancelled when the last caller is gone.
//!
//! Callers of a flight are not asked questions, and its progress goes to the caller that started
//! it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::Shared;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tollgate_core::plan::Planned;
use tollgate_core::tool::Tool;
use tollgate_core::turn::Turn;
use tollgate_mcp::answer_budget::AnswerAccount;
use tollgate_mcp::client::{Event, ProgressReporting, ServerEventSender};
use tollgate_mcp::meta::ClientFacts;
use tollgate_mcp::tasks::{self, Task};

use super::ReuseCall;
use super::cache::{CacheHit, CacheKey};
use super::late_call_slots::LateCallSlot;
use crate::backend::BackendError;
use crate::caller::{CacheFreshness, Caller};
use crate::calls::CallProgress;
use crate::dialogue::EVENT_QUEUE;
use crate::executor::{BackendOutcome, PlannedCall};

/// How much longer than its deadline a flight is awaited.
const GRACE: Duration = Duration::from_millis(10);

/// Flights that other callers may join, by key.
#[derive(Default)]
pub(super) struct SingleFlightGroup {
    running: Mutex<HashMap<CacheKey, (u64, Weak<Flight>)>>,
    next: AtomicU64,
}

/// A call in progress. Dropping the last reference cancels it at the server.
pub(crate) struct Flight {
    _task: Task,
    /// Wakes waiters in the order in which they came.
    completed: Shared<oneshot::Receiver<Arc<Completed>>>,
    pub(super) payload: Arc<Payload>,
    /// Taken when the flight outlives the turn of a caller.
    pub(super) late: Mutex<Option<LateCallSlot>>,
}

/// An owned copy of everything that a flight needs from its first caller.
pub(super) struct Payload {
    pub(super) turn: Turn,
    pub(super) planned: Planned<'static>,
    pub(super) tool: Arc<Tool>,
    /// `None`: it cannot be joined, and its answer is not cached.
    pub(super) key: Option<CacheKey>,
    /// Of the caller that started it.
    pub(super) call_progress: Option<Arc<CallProgress>>,
    client: ClientFacts,
    progress: ProgressReporting,
    events: Option<ServerEventSender>,
    id: u64,
    flights: Arc<SingleFlightGroup>,
}

/// How a flight ended.
#[derive(Debug)]
pub(super) struct Completed {
    /// `None`: the server asked a question, and the call was cancelled.
    pub(super) ran: Option<BackendOutcome>,
    /// The answer was cached, with this time to live.
    pub(super) cached_for: Option<Duration>,
}

/// A caller that waits for a flight.
pub(super) struct Subscriber {
    pub(super) flight: Arc<Flight>,
    /// Events of the server, for the caller that started the flight.
    events: Option<mpsc::Receiver<Event>>,
}

/// The result of joining a flight.
pub(super) enum FlightJoin {
    Cached(CacheHit),
    On(Subscriber),
    /// A flight that another caller started.
    Joined(Subscriber),
}

impl SingleFlightGroup {
    /// Joins the flight in progress, or takes its cached answer if it has just ended, or starts a
    /// new one. A caller that wants a fresh answer always starts a new one.
    pub(super) fn join(&self, key: &CacheKey, call: &ReuseCall<'_>) -> FlightJoin {
        let mut running = self.running.lock();
        if call.call.caller.freshness == CacheFreshness::Any {
            if let Some(flight) = running.get(key).and_then(|(_, flight)| flight.upgrade()) {
                return FlightJoin::Joined(Subscriber { flight, events: None });
            }
            if let Some(hit) = call.look(key) {
                return FlightJoin::Cached(hit);
            }
        }
        // The flight cannot remove itself from the table before it is inserted: the table is
        // locked.
        let subscriber = call.launch(Some(key.clone()));
        let flight = &subscriber.flight;
        running.insert(key.clone(), (flight.payload.id, Arc::downgrade(flight)));
        FlightJoin::On(subscriber)
    }

    fn remove(&self, payload: &Payload) {
        let Some(key) = &payload.key else { return };
        let mut running = self.running.lock();
        if running.get(key).is_some_and(|(id, _)| *id == payload.id) {
            running.remove(key);
        }
    }
}

impl Flight {
    /// Starts `fly` with its payload. It ends by itself within the call's deadline.
    pub(super) fn launch<F>(
        call: &ReuseCall<'_>,
        key: Option<CacheKey>,
        fly: impl FnOnce(Arc<Payload>) -> F,
    ) -> Subscriber
    where
        F: Future<Output = Completed> + Send + 'static,
    {
        let PlannedCall { turn, planned, caller, call_progress } = call.call;
        let flights = &call.parts.flights;
        let (events, receiver) = caller.events.as_ref().map(|_| mpsc::channel(EVENT_QUEUE)).unzip();
        let payload = Arc::new(Payload {
            turn: turn.clone(),
            planned: planned.on_its_own(),
            tool: Arc::clone(call.tool),
            key,
            call_progress: call_progress.map(Arc::clone),
            client: caller.client.clone(),
            progress: caller.progress,
            events,
            id: flights.next.fetch_add(1, Ordering::Relaxed),
            flights: Arc::clone(flights),
        });
        let (complete, completed) = oneshot::channel();
        let flying = fly(Arc::clone(&payload));
        let carried = Arc::clone(&payload);
        // What it reads is charged to the call that started it.
        let account = AnswerAccount::current().unwrap_or_else(AnswerAccount::for_part);
        let task = tasks::spawn("shared call", async move {
            let result = account.scope(flying).await;
            // From now on, callers find the cached answer instead of this flight.
            carried.flights.remove(&carried);
            // There may be no waiter left.
            let _ = complete.send(Arc::new(result));
        });
        let completed = completed.shared();
        let flight = Self { _task: task, completed, payload, late: Mutex::new(None) };
        Subscriber { flight: Arc::new(flight), events: receiver }
    }

    /// Its deadline.
    pub(super) fn until(&self) -> Instant {
        self.payload.planned.deadline().instant()
    }

    pub(super) async fn wait(&self) -> Arc<Completed> {
        self.completed.clone().await.unwrap_or_else(|_| {
            let dropped = BackendError::Lost("the call was dropped".to_owned());
            Arc::new(Completed {
                ran: Some(BackendOutcome::Answered(Err(dropped))),
                cached_for: None,
            })
        })
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.payload.flights.remove(&self.payload);
    }
}

impl Payload {
    pub(super) fn caller(&self) -> Caller<'_> {
        let events = self.events.clone();
        let progress = self.progress;
        Caller { events, progress, ..Caller::silent(&self.client) }
    }
}

impl Subscriber {
    /// Waits for the end, at most until `until`. Forwards events meanwhile.
    pub(super) async fn wait(
        &mut self,
        until: Instant,
        events: Option<&ServerEventSender>,
    ) -> Option<Arc<Completed>> {
        // A flight that times out by then reports it itself, unless its thread is starved.
        let ends_first = self.flight.until() <= until;
        let until = if ends_first { until + GRACE } else { until };
        let completed = self.flight.wait();
        tokio::pin!(completed);
        loop {
            tokio::select! {
                biased;
                Some(event) = next(&mut self.events) => pass_on(event, events),
                result = &mut completed => {
                    // Events sent before the answer are delivered before it.
                    while let Some(Ok(event)) = self.events.as_mut().map(mpsc::Receiver::try_recv) {
                        pass_on(event, events);
                    }
                    return Some(result);
                }
                () = tokio::time::sleep_until(until.into()) => return None,
            }
        }
    }
}

async fn next(receiver: &mut Option<mpsc::Receiver<Event>>) -> Option<Event> {
    match receiver {
        Some(receiver) => receiver.recv().await,
        None => std::future::pending().await,
    }
}

/// A slow reader loses progress events, not the call.
fn pass_on(event: Event, events: Option<&ServerEventSender>) {
    if let Some(events) = events {
        let _ = events.try_send(event);
    }
}
