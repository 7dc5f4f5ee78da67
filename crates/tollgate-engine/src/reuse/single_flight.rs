//! Single flight: calls that several may wait for, each under its own deadline. A flight runs in a
//! task of its own and belongs to those who wait: when the last of them is gone, it is cancelled.
//!
//! Nobody is asked anything for a flight, and its progress goes to the one who started it.

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
use tollgate_mcp::client::{Event, ProgressReporting, ServerEventSender};
use tollgate_mcp::meta::ClientFacts;
use tollgate_mcp::tasks::{self, Task};

use super::ReuseCall;
use super::cache::{CacheHit, CacheKey};
use super::late_calls::LateCallSlot;
use crate::backend::BackendError;
use crate::caller::{CacheFreshness, Caller};
use crate::calls::CallProgress;
use crate::dialogue::EVENT_QUEUE;
use crate::executor::{BackendOutcome, PlannedCall};

/// How much longer than to its end a flight is waited for.
const GRACE: Duration = Duration::from_millis(10);

/// Those under way that others may join, by what they will answer.
#[derive(Default)]
pub(super) struct SingleFlightGroup {
    running: Mutex<HashMap<CacheKey, (u64, Weak<Flight>)>>,
    next: AtomicU64,
}

/// A call under way. Dropping the last hold of it cancels it at the server.
pub(crate) struct Flight {
    _task: Task,
    /// Wakes those who wait in the order in which they came.
    completed: Shared<oneshot::Receiver<Arc<Completed>>>,
    pub(super) cargo: Arc<Payload>,
    /// Taken when it outlives the turn of somebody who waited.
    pub(super) late: Mutex<Option<LateCallSlot>>,
}

/// What a flight carries: all that it needs of the one who started it, as its own.
pub(super) struct Payload {
    pub(super) turn: Turn,
    pub(super) planned: Planned<'static>,
    pub(super) tool: Arc<Tool>,
    /// `None`: nobody can join it, and its answer is not kept.
    pub(super) key: Option<CacheKey>,
    /// Of whoever started it.
    pub(super) course: Option<Arc<CallProgress>>,
    client: ClientFacts,
    progress: ProgressReporting,
    events: Option<ServerEventSender>,
    id: u64,
    flights: Arc<SingleFlightGroup>,
}

/// How a flight ended.
#[derive(Debug)]
pub(super) struct Completed {
    /// `None`: the server wanted to know something, and the call was given up.
    pub(super) ran: Option<BackendOutcome>,
    /// The answer was kept, and is good for so long.
    pub(super) kept: Option<Duration>,
}

/// A place on a flight.
pub(super) struct Subscriber {
    pub(super) flight: Arc<Flight>,
    /// What the server says on the way, for the one who started it.
    said: Option<mpsc::Receiver<Event>>,
}

/// What there is for somebody who wants an answer that may be shared.
pub(super) enum FlightJoin {
    Kept(CacheHit),
    On(Subscriber),
    /// On one that another caller started.
    Joined(Subscriber),
}

impl SingleFlightGroup {
    /// A place on the flight that is under way, or what it brought if it has just landed, or else
    /// a place on a new one. Who wants it fresh gets a new one.
    pub(super) fn join(&self, key: &CacheKey, trip: &ReuseCall<'_>) -> FlightJoin {
        let mut running = self.running.lock();
        if trip.call.caller.freshness == CacheFreshness::Any {
            if let Some(flight) = running.get(key).and_then(|(_, flight)| flight.upgrade()) {
                return FlightJoin::Joined(Subscriber { flight, said: None });
            }
            if let Some(hit) = trip.look(key) {
                return FlightJoin::Kept(hit);
            }
        }
        // It cannot take itself off the table before it is on it: that is locked.
        let boarded = trip.launch(Some(key.clone()));
        let flight = &boarded.flight;
        running.insert(key.clone(), (flight.cargo.id, Arc::downgrade(flight)));
        FlightJoin::On(boarded)
    }

    fn remove(&self, cargo: &Payload) {
        let Some(key) = &cargo.key else { return };
        let mut running = self.running.lock();
        if running.get(key).is_some_and(|(id, _)| *id == cargo.id) {
            running.remove(key);
        }
    }
}

impl Flight {
    /// Starts `fly` with what it is to carry. It ends within the call's own limit, by itself.
    pub(super) fn launch<F>(
        trip: &ReuseCall<'_>,
        key: Option<CacheKey>,
        fly: impl FnOnce(Arc<Payload>) -> F,
    ) -> Subscriber
    where
        F: Future<Output = Completed> + Send + 'static,
    {
        let PlannedCall { turn, planned, caller, course } = trip.call;
        let flights = &trip.parts.flights;
        let (events, said) = caller.events.as_ref().map(|_| mpsc::channel(EVENT_QUEUE)).unzip();
        let cargo = Arc::new(Payload {
            turn: turn.clone(),
            planned: planned.on_its_own(),
            tool: Arc::clone(trip.tool),
            key,
            course: course.map(Arc::clone),
            client: caller.client.clone(),
            progress: caller.progress,
            events,
            id: flights.next.fetch_add(1, Ordering::Relaxed),
            flights: Arc::clone(flights),
        });
        let (complete, completed) = oneshot::channel();
        let (flying, carried) = (fly(Arc::clone(&cargo)), Arc::clone(&cargo));
        let task = tasks::spawn("shared call", async move {
            let result = flying.await;
            // What comes from now on is to find what was kept, and not this.
            carried.flights.remove(&carried);
            // Nobody may be waiting any more.
            let _ = complete.send(Arc::new(result));
        });
        let completed = completed.shared();
        let flight = Self { _task: task, completed, cargo, late: Mutex::new(None) };
        Subscriber { flight: Arc::new(flight), said }
    }

    /// When it is given up for good.
    pub(super) fn until(&self) -> Instant {
        self.cargo.planned.deadline().instant()
    }

    pub(super) async fn wait(&self) -> Arc<Completed> {
        self.completed.clone().await.unwrap_or_else(|_| {
            let dropped = BackendError::Lost("the call was dropped".to_owned());
            Arc::new(Completed { ran: Some(BackendOutcome::Answered(Err(dropped))), kept: None })
        })
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.cargo.flights.remove(&self.cargo);
    }
}

impl Payload {
    pub(super) fn caller(&self) -> Caller<'_> {
        let (events, progress) = (self.events.clone(), self.progress);
        Caller { events, progress, ..Caller::silent(&self.client) }
    }
}

impl Subscriber {
    /// Waits for the end, but not longer than `until`. Passes on what is said meanwhile.
    pub(super) async fn wait(
        &mut self,
        until: Instant,
        events: Option<&ServerEventSender>,
    ) -> Option<Arc<Completed>> {
        // A flight that is given up by then says so itself, unless its thread has no time for it.
        let ends_first = self.flight.until() <= until;
        let until = if ends_first { until + GRACE } else { until };
        let landed = self.flight.wait();
        tokio::pin!(landed);
        loop {
            tokio::select! {
                biased;
                Some(event) = next(&mut self.said) => pass_on(event, events),
                landed = &mut landed => {
                    // What was said before the answer is heard before it.
                    while let Some(Ok(event)) = self.said.as_mut().map(mpsc::Receiver::try_recv) {
                        pass_on(event, events);
                    }
                    return Some(landed);
                }
                () = tokio::time::sleep_until(until.into()) => return None,
            }
        }
    }
}

async fn next(said: &mut Option<mpsc::Receiver<Event>>) -> Option<Event> {
    match said {
        Some(said) => said.recv().await,
        None => std::future::pending().await,
    }
}

/// A slow reader loses progress, not the call.
fn pass_on(event: Event, events: Option<&ServerEventSender>) {
    if let Some(events) = events {
        let _ = events.try_send(event);
    }
}
