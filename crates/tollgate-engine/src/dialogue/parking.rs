//! Calls of legacy servers that wait, mid-call, for a modern caller to come back with answers.
//! The call lives in a task of its own; the caller holds a sealed ticket.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};
use tollgate_core::call::CallId;
use tollgate_core::json::Object;
use tollgate_core::lease::{Lease, Revoked};
use tollgate_core::policy::Permitted;
use tollgate_core::turn::{Principal, Turn};
use tollgate_mcp::client::{Answer, Event, Events, Progress, Question};
use tollgate_mcp::meta::ClientFacts;
use tollgate_mcp::tasks::{self, Task};

use super::rounds::Asking;
use super::{EVENT_QUEUE, PATIENCE, Step, step};
use crate::audit::{Act, Decision, Ledger};
use crate::backend::{Departure, Failure, Job, Line, WaitsFor};
use crate::caller::Caller;

/// A call that runs on its own and can be picked up again. Dropping it cancels it upstream.
pub(crate) struct Detached {
    _task: Task,
    done: oneshot::Receiver<Result<Answer, Failure>>,
    events: mpsc::Receiver<Event>,
    departure: Arc<Departure>,
    /// What is left of the call's own time; it does not pass while the call is parked.
    pub(crate) left: Duration,
    asked: Vec<(Asking, Reply)>,
    waits: watch::Sender<WaitsFor>,
    /// Of the turn in which it began.
    lease: Lease,
}

type Reply = oneshot::Sender<Result<Box<RawValue>, tollgate_mcp::code::ErrorObject>>;

impl Detached {
    pub(crate) fn start(
        line: Arc<dyn Line>,
        request: &Permitted<'_>,
        ((turn, id), caller): ((&Turn, Option<CallId>), &Caller<'_>),
        (departure, left): (Departure, Duration),
    ) -> Self {
        let (events, received) = mpsc::channel(EVENT_QUEUE);
        let (done, ended) = oneshot::channel();
        let (waits, waited) = watch::channel(WaitsFor::Server);
        let departure = Arc::new(departure);
        let owned = Owned {
            method: request.kind().method(),
            params: request.params().clone().into_owned(),
            turn: turn.clone(),
            id,
            client: caller.client.clone(),
            progress: caller.progress,
            departure: Arc::clone(&departure),
        };
        let task = tasks::spawn("call that may be parked", async move {
            let answer = line.run(owned.job(events, waited)).await;
            // The caller may be gone; then nobody wants to know.
            let _ = done.send(answer);
        });
        let (asked, lease) = (Vec::new(), turn.lease.clone());
        Self { _task: task, done: ended, events: received, departure, left, asked, waits, lease }
    }

    pub(crate) fn departure(&self) -> &Departure {
        &self.departure
    }

    /// Waits for the end or the next question.
    pub(crate) async fn next(&mut self, listener: Option<&Events>, until: Instant) -> Step {
        let done = &mut self.done;
        let ended = async move {
            let lost = |_| Err(Failure::Lost("the call was dropped".to_owned()));
            done.await.unwrap_or_else(lost)
        };
        tokio::pin!(ended);
        let mut running: super::Running<'_> = ended;
        step(&mut running, &mut self.events, listener, until).await
    }

    pub(crate) fn remember(&mut self, question: Question) {
        let key = format!("q{}", self.asked.len() + 1);
        let Question { method, params, reply } = question;
        self.asked.push((Asking { key, method, params }, reply));
        self.waits.send_replace(WaitsFor::Person);
    }

    /// Hands over what the caller brought back; questions without an answer stay open.
    pub(crate) fn answer(&mut self, responses: Option<&RawValue>) {
        let responses = responses.and_then(|raw| Object::parse(raw.get()).ok()).unwrap_or_default();
        for (asking, reply) in std::mem::take(&mut self.asked) {
            match responses.get(&asking.key) {
                // A server that stopped waiting does not need it.
                Some(answer) => drop(reply.send(Ok(answer.to_owned()))),
                None => self.asked.push((asking, reply)),
            }
        }
        if !self.is_asking() {
            self.waits.send_replace(WaitsFor::Server);
        }
    }

    pub(crate) fn is_asking(&self) -> bool {
        !self.asked.is_empty()
    }

    pub(crate) fn open_questions(&self) -> Vec<Asking> {
        let copy = |(asking, _): &(Asking, Reply)| Asking {
            key: asking.key.clone(),
            method: asking.method.clone(),
            params: asking.params.clone(),
        };
        self.asked.iter().map(copy).collect()
    }
}

/// All that a job for a legacy server needs, owned.
struct Owned {
    method: &'static str,
    params: Object<'static>,
    turn: Turn,
    id: Option<CallId>,
    client: ClientFacts,
    progress: Progress,
    departure: Arc<Departure>,
}

impl Owned {
    fn job(&self, events: Events, waits: watch::Receiver<WaitsFor>) -> Job<'_> {
        Job {
            method: self.method,
            params: self.params.clone(),
            arguments: None,
            turn: &self.turn,
            id: self.id,
            trace: self.turn.trace.as_ref(),
            client: &self.client,
            mirrored: Vec::new(),
            events: Some(events),
            progress: self.progress,
            waits: Some(waits),
            until: None,
            departure: &self.departure,
        }
    }
}

/// Where detached calls wait. Bounded; what nobody comes back for in time is dropped, and so is what
/// its caller may not go on with.
pub(crate) struct Parking {
    ledger: Arc<Ledger>,
    calls: Arc<Mutex<HashMap<u64, Parked>>>,
    next: AtomicU64,
}

struct Parked {
    call: Detached,
    principal: Principal,
    /// Drops the call when its time is over.
    _expiry: Task,
}

impl Parking {
    const MOST: usize = 1_000;
    const MOST_OF_ONE: usize = 32;

    pub(crate) fn new(ledger: Arc<Ledger>) -> Self {
        Self { ledger, calls: Arc::default(), next: AtomicU64::new(0) }
    }

    /// `None` if too many calls are waiting already.
    pub(crate) fn park(&self, call: Detached, principal: &Principal) -> Option<u64> {
        let mut calls = self.calls.lock();
        let own = calls.values().filter(|parked| parked.principal == *principal).count();
        if calls.len() >= Self::MOST || own >= Self::MOST_OF_ONE {
            return None;
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (all, ledger) = (Arc::clone(&self.calls), Arc::clone(&self.ledger));
        let revoked = call.lease.wait();
        let expiry = tasks::spawn("expiry of a parked call", async move {
            let why = tokio::select! {
                () = tokio::time::sleep(PATIENCE) => None,
                why = revoked => Some(why),
            };
            let late = all.lock().remove(&id);
            if let (Some(parked), Some(why)) = (&late, why) {
                note_revoked(&ledger, &parked.principal, &why);
            }
            drop(late);
        });
        calls.insert(id, Parked { call, principal: principal.clone(), _expiry: expiry });
        Some(id)
    }

    /// Each ticket is good once.
    pub(crate) fn take(&self, id: u64) -> Option<Detached> {
        self.calls.lock().remove(&id).map(|parked| parked.call)
    }
}

fn note_revoked(ledger: &Ledger, principal: &Principal, why: &Revoked) {
    let why = format!("a call that waited for its caller's answers: {why}");
    ledger.note_later(Decision::new(Act::Revocation, principal, "revoked").because(&why));
}
