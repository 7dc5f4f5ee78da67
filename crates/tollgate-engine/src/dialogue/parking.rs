//! Calls of legacy servers that wait, mid-call, for a modern caller to come back with answers.
//! The call lives in a task of its own; the caller holds a sealed ticket.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tollgate_core::json::Object;
use tollgate_core::policy::Permitted;
use tollgate_mcp::client::{Answer, Event, Events, Progress, Question};
use tollgate_mcp::meta::ClientFacts;
use tollgate_mcp::tasks::{self, Task};

use super::rounds::Asking;
use super::{EVENT_QUEUE, PATIENCE, Step, step};
use crate::backend::{Failure, Job, Line};
use crate::caller::Caller;

/// A call that runs on its own and can be picked up again. Dropping it cancels it upstream.
pub(crate) struct Detached {
    _task: Task,
    done: oneshot::Receiver<Result<Answer, Failure>>,
    events: mpsc::Receiver<Event>,
    /// What is left of the call's own time; it does not pass while the call is parked.
    pub(crate) left: Duration,
    asked: Vec<(Asking, Reply)>,
}

type Reply = oneshot::Sender<Result<Box<RawValue>, tollgate_mcp::code::ErrorObject>>;

impl Detached {
    pub(crate) fn start(
        line: Arc<dyn Line>,
        request: &Permitted<'_>,
        caller: &Caller<'_>,
        left: Duration,
    ) -> Self {
        let (events, received) = mpsc::channel(EVENT_QUEUE);
        let (done, ended) = oneshot::channel();
        let owned = Owned {
            method: request.kind().method(),
            params: request.params().clone().into_owned(),
            arguments: request.arguments().cloned(),
            client: caller.client.clone(),
            progress: caller.progress(),
        };
        let task = tasks::spawn("call that may be parked", async move {
            let limit = PATIENCE + left;
            let running = tokio::time::timeout(limit, line.run(owned.job(events))).await;
            let lost = || Err(Failure::Lost("nobody came back to the call".to_owned()));
            // The caller may be gone; then nobody wants to know.
            let _ = done.send(running.unwrap_or_else(|_| lost()));
        });
        Self { _task: task, done: ended, events: received, left, asked: Vec::new() }
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

/// All that a job needs, owned.
struct Owned {
    method: &'static str,
    params: Object<'static>,
    arguments: Option<Value>,
    client: ClientFacts,
    progress: Progress,
}

impl Owned {
    fn job(&self, events: Events) -> Job<'_> {
        Job {
            method: self.method,
            params: self.params.clone(),
            arguments: self.arguments.as_ref(),
            client: &self.client,
            mirrored: Vec::new(),
            events: Some(events),
            progress: self.progress,
        }
    }
}

/// Where detached calls wait. Bounded, and emptied of what nobody came back for.
#[derive(Default)]
pub(crate) struct Parking {
    calls: Mutex<HashMap<u64, (Detached, Instant)>>,
    next: AtomicU64,
}

impl Parking {
    const MOST: usize = 1_000;

    /// `None` if too many calls are waiting already.
    pub(crate) fn park(&self, call: Detached, now: Instant) -> Option<u64> {
        let mut calls = self.calls.lock();
        calls.retain(|_, (_, until)| *until > now);
        if calls.len() >= Self::MOST {
            return None;
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        calls.insert(id, (call, now + PATIENCE));
        Some(id)
    }

    /// Each ticket is good once.
    pub(crate) fn take(&self, id: u64) -> Option<Detached> {
        self.calls.lock().remove(&id).map(|(call, _)| call)
    }
}
