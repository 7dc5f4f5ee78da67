//! Calls of legacy servers that wait, mid-call, for a modern caller to return with answers. The
//! call runs in its own task; the caller holds a sealed ticket.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};
use tollgate_core::call::CallId;
use tollgate_core::json::Object;
use tollgate_core::lease::{RevocableLease, RevokedError};
use tollgate_core::policy::Permitted;
use tollgate_core::turn::{Principal, Turn};
use tollgate_mcp::answer_budget::AnswerAccount;
use tollgate_mcp::client::{Answer, Event, ProgressReporting, Question, ServerEventSender};
use tollgate_mcp::meta::ClientFacts;
use tollgate_mcp::tasks::{self, Task};

use super::rounds::InputQuestion;
use super::{ANSWER_TIMEOUT, DialogueStep, EVENT_QUEUE, step};
use crate::audit::{AuditAction, AuditLedger, Decision};
use crate::backend::{BackendConnection, BackendError, BackendJob, SendTimestamp, WaitsFor};
use crate::caller::Caller;

/// A call in its own task, which can be resumed. Dropping it cancels the call at the server.
pub(crate) struct DetachedCall {
    _task: Task,
    done: oneshot::Receiver<Result<Answer, BackendError>>,
    events: mpsc::Receiver<Event>,
    departure: Arc<SendTimestamp>,
    /// Time left of the call's own deadline; it does not pass while the call is parked.
    pub(crate) left: Duration,
    questions: Vec<(InputQuestion, QuestionReplySender)>,
    waits: watch::Sender<WaitsFor>,
    /// Lease of the turn in which it began.
    lease: RevocableLease,
}

type QuestionReplySender =
    oneshot::Sender<Result<Box<RawValue>, tollgate_mcp::error_code::JsonRpcError>>;

/// A call that goes on without its caller.
pub(crate) struct CallToDetach<'a> {
    pub(crate) request: &'a Permitted<'a>,
    pub(crate) turn: &'a Turn,
    pub(crate) id: Option<CallId>,
    pub(crate) caller: &'a Caller<'a>,
    pub(crate) departure: SendTimestamp,
    pub(crate) left: Duration,
}

impl DetachedCall {
    pub(crate) fn start(line: Arc<dyn BackendConnection>, detached: CallToDetach<'_>) -> Self {
        let CallToDetach { request, turn, id, caller, departure, left } = detached;
        let (events, received) = mpsc::channel(EVENT_QUEUE);
        let (done, ended) = oneshot::channel();
        let (waits, waited) = watch::channel(WaitsFor::Server);
        let departure = Arc::new(departure);
        let owned = OwnedJob {
            method: request.kind().method(),
            params: request.params().clone().into_owned(),
            turn: turn.clone(),
            id,
            client: caller.client.clone(),
            progress: caller.progress,
            departure: Arc::clone(&departure),
        };
        let account = AnswerAccount::current().unwrap_or_else(AnswerAccount::for_part);
        let task = tasks::spawn("call that may be parked", async move {
            let answer = account.scope(line.run(owned.job(events, waited))).await;
            // The caller may be gone.
            let _ = done.send(answer);
        });
        let questions = Vec::new();
        let lease = turn.lease.clone();
        Self {
            _task: task,
            done: ended,
            events: received,
            departure,
            left,
            questions,
            waits,
            lease,
        }
    }

    pub(crate) fn departure(&self) -> &SendTimestamp {
        &self.departure
    }

    /// Waits for the end or the next question.
    pub(crate) async fn next(
        &mut self,
        listener: Option<&ServerEventSender>,
        until: Instant,
    ) -> DialogueStep {
        let done = &mut self.done;
        let ended = async move {
            let lost = |_| Err(BackendError::Lost("the call was dropped".to_owned()));
            done.await.unwrap_or_else(lost)
        };
        tokio::pin!(ended);
        let mut running: super::AnswerFuture<'_> = ended;
        step(&mut running, &mut self.events, listener, until).await
    }

    pub(crate) fn remember(&mut self, question: Question) {
        let key = format!("q{}", self.questions.len() + 1);
        let Question { method, params, reply } = question;
        self.questions.push((InputQuestion { key, method, params }, reply));
        self.waits.send_replace(WaitsFor::Person);
    }

    /// Passes on the caller's answers; questions without an answer stay open.
    pub(crate) fn answer(&mut self, responses: Option<&RawValue>) {
        let responses = responses.and_then(|raw| Object::parse(raw.get()).ok()).unwrap_or_default();
        for (asking, reply) in std::mem::take(&mut self.questions) {
            match responses.get(&asking.key) {
                // The server may no longer wait for it.
                Some(answer) => drop(reply.send(Ok(answer.to_owned()))),
                None => self.questions.push((asking, reply)),
            }
        }
        if !self.is_asking() {
            self.waits.send_replace(WaitsFor::Server);
        }
    }

    pub(crate) fn is_asking(&self) -> bool {
        !self.questions.is_empty()
    }

    pub(crate) fn open_questions(&self) -> Vec<InputQuestion> {
        let copy = |(asking, _): &(InputQuestion, QuestionReplySender)| InputQuestion {
            key: asking.key.clone(),
            method: asking.method.clone(),
            params: asking.params.clone(),
        };
        self.questions.iter().map(copy).collect()
    }
}

/// An owned copy of everything that a job for a legacy server needs.
struct OwnedJob {
    method: &'static str,
    params: Object<'static>,
    turn: Turn,
    id: Option<CallId>,
    client: ClientFacts,
    progress: ProgressReporting,
    departure: Arc<SendTimestamp>,
}

impl OwnedJob {
    fn job(&self, events: ServerEventSender, waits: watch::Receiver<WaitsFor>) -> BackendJob<'_> {
        BackendJob {
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

/// Parked calls. Bounded; a call is dropped when its caller does not return in time or is no longer
/// authorized.
pub(crate) struct CallParking {
    ledger: Arc<AuditLedger>,
    calls: Arc<Mutex<HashMap<u64, ParkedCall>>>,
    next: AtomicU64,
}

struct ParkedCall {
    call: DetachedCall,
    principal: Principal,
    /// Drops the call when it expires.
    _expiry: Task,
}

impl CallParking {
    const MAX_PARKED: usize = 1_000;
    const MAX_PARKED_PER_PRINCIPAL: usize = 32;

    pub(crate) fn new(ledger: Arc<AuditLedger>) -> Self {
        Self { ledger, calls: Arc::default(), next: AtomicU64::new(0) }
    }

    /// `None` if too many calls are parked.
    pub(crate) fn park(&self, call: DetachedCall, principal: &Principal) -> Option<u64> {
        let mut calls = self.calls.lock();
        let own = calls.values().filter(|parked| parked.principal == *principal).count();
        if calls.len() >= Self::MAX_PARKED || own >= Self::MAX_PARKED_PER_PRINCIPAL {
            return None;
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let all = Arc::clone(&self.calls);
        let ledger = Arc::clone(&self.ledger);
        let revoked = call.lease.wait();
        let expiry = tasks::spawn("expiry of a parked call", async move {
            let why = tokio::select! {
                () = tokio::time::sleep(ANSWER_TIMEOUT) => None,
                why = revoked => Some(why),
            };
            let late = all.lock().remove(&id);
            if let (Some(parked), Some(why)) = (&late, why) {
                note_revoked(&ledger, &parked.principal, &why);
            }
            drop(late);
        });
        calls.insert(id, ParkedCall { call, principal: principal.clone(), _expiry: expiry });
        Some(id)
    }

    /// Each ticket can be used once.
    pub(crate) fn take(&self, id: u64) -> Option<DetachedCall> {
        self.calls.lock().remove(&id).map(|parked| parked.call)
    }
}

fn note_revoked(ledger: &AuditLedger, principal: &Principal, why: &RevokedError) {
    let why = format!("a call that awaited input from its caller: {why}");
    ledger.note_later(Decision::new(AuditAction::Revocation, principal, "revoked").because(&why));
}
