//! Calls that several may wait for, each under its own deadline. A flight runs in a task of its
//! own and belongs to those who wait: when the last of them is gone, it is cancelled.
//!
//! Nobody is asked anything for a flight, and its progress goes to the one who started it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tollgate_core::plan::Planned;
use tollgate_core::tool::Tool;
use tollgate_core::turn::Turn;
use tollgate_mcp::client::{Event, Events, Progress};
use tollgate_mcp::meta::ClientFacts;
use tollgate_mcp::tasks::{self, Task};

use super::Trip;
use super::cache::{Hit, Key};
use super::late::Slot;
use crate::backend::Failure;
use crate::caller::{Caller, Freshness};
use crate::calls::Course;
use crate::dialogue::EVENT_QUEUE;
use crate::executor::{Call, Ran};

/// How much longer than to its end a flight is waited for.
const GRACE: Duration = Duration::from_millis(10);

/// Those under way that others may join, by what they will answer.
#[derive(Default)]
pub(super) struct Flights {
    running: Mutex<HashMap<Key, (u64, Weak<Flight>)>>,
    next: AtomicU64,
}

/// A call under way. Dropping the last hold of it cancels it at the server.
pub(crate) struct Flight {
    _task: Task,
    landed: watch::Receiver<Option<Arc<Landed>>>,
    pub(super) cargo: Arc<Cargo>,
    /// Taken when it outlives the turn of somebody who waited.
    pub(super) late: Mutex<Option<Slot>>,
}

/// What a flight carries: all that it needs of the one who started it, as its own.
pub(super) struct Cargo {
    pub(super) turn: Turn,
    pub(super) planned: Planned<'static>,
    pub(super) tool: Arc<Tool>,
    /// `None`: nobody can join it, and its answer is not kept.
    pub(super) key: Option<Key>,
    /// Of whoever started it.
    pub(super) course: Option<Arc<Course>>,
    client: ClientFacts,
    progress: Progress,
    events: Option<Events>,
    id: u64,
    flights: Arc<Flights>,
}

/// How a flight ended.
#[derive(Debug)]
pub(super) struct Landed {
    /// `None`: the server wanted to know something, and the call was given up.
    pub(super) ran: Option<Ran>,
    /// The answer was kept, and is good for so long.
    pub(super) kept: Option<Duration>,
}

/// A place on a flight.
pub(super) struct Boarded {
    pub(super) flight: Arc<Flight>,
    /// What the server says on the way, for the one who started it.
    said: Option<mpsc::Receiver<Event>>,
}

/// What there is for somebody who wants an answer that may be shared.
pub(super) enum Place {
    Kept(Hit),
    On(Boarded),
    /// On one that another caller started.
    Joined(Boarded),
}

impl Flights {
    /// A place on the flight that is under way, or what it brought if it has just landed, or else
    /// a place on a new one. Who wants it fresh gets a new one.
    pub(super) fn board(&self, key: &Key, trip: &Trip<'_>) -> Place {
        let mut running = self.running.lock();
        if trip.call.caller.freshness == Freshness::Any {
            if let Some(flight) = running.get(key).and_then(|(_, flight)| flight.upgrade()) {
                return Place::Joined(Boarded { flight, said: None });
            }
            if let Some(hit) = trip.look(key) {
                return Place::Kept(hit);
            }
        }
        // It cannot take itself off the table before it is on it: that is locked.
        let boarded = trip.launch(Some(key.clone()));
        let flight = &boarded.flight;
        running.insert(key.clone(), (flight.cargo.id, Arc::downgrade(flight)));
        Place::On(boarded)
    }

    fn remove(&self, cargo: &Cargo) {
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
        trip: &Trip<'_>,
        key: Option<Key>,
        fly: impl FnOnce(Arc<Cargo>) -> F,
    ) -> Boarded
    where
        F: Future<Output = Landed> + Send + 'static,
    {
        let Call { turn, planned, caller, course } = trip.call;
        let flights = &trip.parts.flights;
        let (events, said) = caller.events.as_ref().map(|_| mpsc::channel(EVENT_QUEUE)).unzip();
        let cargo = Arc::new(Cargo {
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
        let (land, landed) = watch::channel(None);
        let (flying, carried) = (fly(Arc::clone(&cargo)), Arc::clone(&cargo));
        let task = tasks::spawn("shared call", async move {
            let landed = flying.await;
            // What comes from now on is to find what was kept, and not this.
            carried.flights.remove(&carried);
            land.send_replace(Some(Arc::new(landed)));
        });
        let flight = Self { _task: task, landed, cargo, late: Mutex::new(None) };
        Boarded { flight: Arc::new(flight), said }
    }

    /// When it is given up for good.
    pub(super) fn until(&self) -> Instant {
        self.cargo.planned.deadline().instant()
    }

    pub(super) async fn landed(&self) -> Arc<Landed> {
        let mut landed = self.landed.clone();
        let over = landed.wait_for(Option::is_some).await;
        let over = over.ok().and_then(|over| over.as_ref().map(Arc::clone));
        over.unwrap_or_else(|| {
            let dropped = Failure::Lost("the call was dropped".to_owned());
            Arc::new(Landed { ran: Some(Ran::Answered(Err(dropped))), kept: None })
        })
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.cargo.flights.remove(&self.cargo);
    }
}

impl Cargo {
    pub(super) fn caller(&self) -> Caller<'_> {
        let (events, progress) = (self.events.clone(), self.progress);
        Caller { events, progress, ..Caller::silent(&self.client) }
    }
}

impl Boarded {
    /// Waits for the end, but not longer than `until`. Passes on what is said meanwhile.
    pub(super) async fn wait(
        &mut self,
        until: Instant,
        events: Option<&Events>,
    ) -> Option<Arc<Landed>> {
        // A flight that is given up by then says so itself, unless its thread has no time for it.
        let ends_first = self.flight.until() <= until;
        let until = if ends_first { until + GRACE } else { until };
        let landed = self.flight.landed();
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
fn pass_on(event: Event, events: Option<&Events>) {
    if let Some(events) = events {
        let _ = events.try_send(event);
    }
}
