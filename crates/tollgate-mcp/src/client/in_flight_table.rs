//! Table of requests in flight on one connection, by our ids. Routes progress, logs and questions
//! of the server to their request.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::{RequestError, ServerEventSender};
use crate::answer_budget::{AnswerAccount, AnswerPermit};
use crate::memory_budget::NoRoomError;

pub(super) type RequestOutcome = Result<Box<RawValue>, RequestError>;

#[derive(Debug)]
pub(super) struct InFlightTable {
    next: AtomicU64,
    state: Mutex<InFlightState>,
}

#[derive(Debug, Default)]
struct InFlightState {
    entries: HashMap<u64, InFlightEntry>,
    closed: Option<String>,
}

/// One request in flight.
#[derive(Debug, Default)]
pub(super) struct InFlightEntry {
    pub events: Option<ServerEventSender>,
    pub wants_logs: bool,
    pub kind: InFlightRequestKind,
    /// `None` if the answer arrives on its own stream (HTTP).
    pub reply: Option<oneshot::Sender<RequestOutcome>>,
    /// Resolves when the server has acknowledged a subscription.
    pub acknowledged: Option<oneshot::Sender<()>>,
    /// Holds the memory of the answer.
    pub account: Option<AnswerAccount>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum InFlightRequestKind {
    /// Made for a caller that may be asked.
    #[default]
    Call,
    /// Made by the connection itself: the server cannot ask anyone for it.
    Chore,
    Subscription,
}

/// The recipient of a message without a request id.
#[derive(Debug)]
pub(super) enum MessageAddressee {
    Nobody,
    /// The only request in flight.
    One {
        events: Option<ServerEventSender>,
        wants_logs: bool,
    },
    Several,
}

impl InFlightTable {
    pub(super) fn new() -> Self {
        Self { next: AtomicU64::new(1), state: Mutex::default() }
    }

    pub(super) fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Fails once the connection is closed.
    pub(super) fn insert(&self, id: u64, entry: InFlightEntry) -> Result<(), RequestError> {
        let mut state = self.state.lock();
        if let Some(reason) = &state.closed {
            return Err(RequestError::Lost(reason.clone()));
        }
        state.entries.insert(id, entry);
        Ok(())
    }

    /// Fails once the connection is closed.
    pub(super) fn still_open(&self) -> Result<(), RequestError> {
        match &self.state.lock().closed {
            Some(reason) => Err(RequestError::Lost(reason.clone())),
            None => Ok(()),
        }
    }

    pub(super) fn remove(&self, id: u64) -> Option<InFlightEntry> {
        self.state.lock().entries.remove(&id)
    }

    /// Delivers the outcome to its caller. `false`: there is none.
    pub(super) fn settle(&self, id: u64, outcome: RequestOutcome) -> bool {
        let reply = self.remove(id).and_then(|entry| entry.reply);
        reply.is_some_and(|reply| reply.send(outcome).is_ok())
    }

    /// Hands the memory of an answer to the request that it is for. Fails if its principal has no
    /// room for it.
    pub(super) fn charge(&self, id: u64, permit: &mut AnswerPermit) -> Result<(), NoRoomError> {
        if permit.is_empty() {
            return Ok(());
        }
        match self.account_of(id) {
            Some(account) => account.try_keep(std::mem::take(permit)),
            None => Ok(()),
        }
    }

    /// Who pays for the answer to this request.
    pub(super) fn account_of(&self, id: u64) -> Option<AnswerAccount> {
        self.state.lock().entries.get(&id).and_then(|entry| entry.account.clone())
    }

    /// Whether `id` was ever issued.
    pub(super) fn was_issued(&self, id: u64) -> bool {
        id != 0 && id < self.next.load(Ordering::Relaxed)
    }

    pub(super) fn events_of(&self, id: u64) -> Option<ServerEventSender> {
        self.state.lock().entries.get(&id)?.events.clone()
    }

    pub(super) fn acknowledge(&self, id: u64) {
        let mut state = self.state.lock();
        let waiting = state.entries.get_mut(&id).and_then(|entry| entry.acknowledged.take());
        if let Some(waiting) = waiting {
            let _ = waiting.send(());
        }
    }

    pub(super) fn is_subscription(&self, id: u64) -> bool {
        self.state
            .lock()
            .entries
            .get(&id)
            .is_some_and(|entry| entry.kind == InFlightRequestKind::Subscription)
    }

    /// The id of the only request in flight.
    pub(super) fn only(&self) -> Option<u64> {
        let state = self.state.lock();
        let mut ids = state.entries.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }

    pub(super) fn addressee(&self) -> MessageAddressee {
        let state = self.state.lock();
        let mut entries =
            state.entries.values().filter(|entry| entry.kind == InFlightRequestKind::Call);
        match (entries.next(), entries.next()) {
            (None, _) => MessageAddressee::Nobody,
            (Some(one), None) => {
                MessageAddressee::One { events: one.events.clone(), wants_logs: one.wants_logs }
            }
            (Some(_), Some(_)) => MessageAddressee::Several,
        }
    }

    /// Fails everything in flight, and all later requests. `false`: it was already closed.
    pub(super) fn close(&self, reason: &str) -> bool {
        let entries = {
            let mut state = self.state.lock();
            if state.closed.is_some() {
                return false;
            }
            state.closed = Some(reason.to_owned());
            std::mem::take(&mut state.entries)
        };
        for reply in entries.into_values().filter_map(|entry| entry.reply) {
            let _ = reply.send(Err(RequestError::Lost(reason.to_owned())));
        }
        true
    }
}

impl InFlightRequestKind {
    pub(super) fn of(method: &str) -> Self {
        match method {
            "subscriptions/listen" => Self::Subscription,
            "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/subscribe"
            | "resources/unsubscribe"
            | "logging/setLevel"
            | "ping"
            | "initialize"
            | "server/discover" => Self::Chore,
            _ => Self::Call,
        }
    }
}
