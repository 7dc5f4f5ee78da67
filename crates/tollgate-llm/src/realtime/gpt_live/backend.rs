//! Backend model of a GPT-Live session: its responses, the calls in them, late results, and the
//! message that continues it.
//!
//! A response ends with its calls unanswered. Results are queued. One `response.create` continues
//! the model when no response runs and every call of the session has its result, the client's as
//! well as ours; before that the provider rejects it.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::GptLiveMessageIds;
use crate::realtime::events::{CallAnswer, DialectAction, RealtimeCall};
use crate::realtime::pending_calls::{AnswerDue, PendingCalls};

/// Id of a delegation; a response that the client started itself has none.
type DelegationId = Option<String>;

#[derive(Debug, Default)]
pub(super) struct GptLiveBackend {
    /// Running responses, with their calls.
    running: HashMap<DelegationId, Vec<BackendCall>>,
    /// Calls of finished responses without a result.
    open: Vec<BackendCall>,
    pending: PendingCalls,
    /// Results that wait for the end of their response.
    early: HashMap<String, String>,
    /// Items of our calls that are still being written.
    hidden: HashSet<String>,
    ours: ContinueRequest,
    clients: ContinueRequest,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct BackendCall {
    id: String,
    whose: BackendCallOwner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BackendCallOwner {
    Client,
    Ours,
}

/// Whether a side has requested the model to continue.
#[derive(Debug, Default, PartialEq, Eq)]
enum ContinueRequest {
    #[default]
    No,
    /// It has answered calls, and will send the request.
    Awaited,
    /// It has sent this request.
    Sent(String),
}

/// A result after the call was answered.
pub(super) struct BackendLateResult {
    pub(super) name: String,
}

impl GptLiveBackend {
    pub(super) fn begin_response(&mut self, delegation: DelegationId) {
        self.running.entry(delegation).or_default();
    }

    pub(super) fn hide(&mut self, item: &str) {
        self.hidden.insert(item.to_owned());
    }

    pub(super) fn is_hidden(&self, item: &str) -> bool {
        self.hidden.contains(item)
    }

    /// Whether this is one of our calls, current or past.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.pending.knows(id)
    }

    pub(super) fn is_pending(&self, id: &str) -> bool {
        self.pending.is_pending(id)
    }

    /// Whether there is unanswered work.
    pub(super) fn is_busy(&self) -> bool {
        !self.running.is_empty() || !self.open.is_empty()
    }

    pub(super) fn clients_call(&mut self, delegation: DelegationId, id: &str) {
        self.ask(delegation, BackendCall { id: id.to_owned(), whose: BackendCallOwner::Client });
    }

    /// Handles one of our calls, whose item is complete.
    pub(super) fn our_call(
        &mut self,
        delegation: DelegationId,
        call: RealtimeCall,
    ) -> Option<DialectAction> {
        if !self.pending.begin(&call.id, &call.name) {
            return None;
        }
        self.ask(delegation, BackendCall { id: call.id.clone(), whose: BackendCallOwner::Ours });
        Some(DialectAction::Run(call))
    }

    /// A response is complete: its calls are confirmed, and accept results.
    pub(super) fn complete_response(
        &mut self,
        delegation: &DelegationId,
        ids: &mut GptLiveMessageIds,
    ) -> Vec<DialectAction> {
        let calls = self.over(delegation);
        let ours = calls.iter().filter(|call| call.whose == BackendCallOwner::Ours);
        let confirmed: Vec<String> = ours.map(|call| call.id.clone()).collect();
        self.open.extend(calls);
        let mut actions = Vec::new();
        if !confirmed.is_empty() {
            actions.push(DialectAction::Confirm(confirmed.clone()));
        }
        for id in confirmed {
            if let Some(outcome) = self.early.remove(&id) {
                actions.push(self.result(&id, &outcome, ids));
            }
        }
        actions.extend(self.go_on(ids));
        actions
    }

    /// A response failed: the provider accepts no results for its calls.
    pub(super) fn fail_response(
        &mut self,
        delegation: &DelegationId,
        ids: &mut GptLiveMessageIds,
    ) -> Vec<DialectAction> {
        let calls = self.over(delegation);
        let mut actions = Vec::new();
        for call in calls {
            self.early.remove(&call.id);
            if self.pending.take_back(&call.id) {
                actions.push(DialectAction::Cancel(call.id));
            }
        }
        actions.extend(self.go_on(ids));
        actions
    }

    /// Handles an answer to one of our calls.
    pub(super) fn answer(
        &mut self,
        answer: &CallAnswer,
        ids: &mut GptLiveMessageIds,
    ) -> Result<Vec<DialectAction>, BackendLateResult> {
        match self.pending.due(&answer.id, answer.answered) {
            AnswerDue::Nothing => Ok(Vec::new()),
            AnswerDue::Late(name) => Err(BackendLateResult { name }),
            AnswerDue::Answer(_) if self.open.iter().any(|call| call.id == answer.id) => {
                let mut actions = vec![self.result(&answer.id, &answer.outcome, ids)];
                actions.extend(self.go_on(ids));
                Ok(actions)
            }
            AnswerDue::Answer(_) => {
                self.early.insert(answer.id.clone(), answer.outcome.clone());
                Ok(Vec::new())
            }
        }
    }

    /// Handles the client's result of one of its calls.
    pub(super) fn take_client_answer(
        &mut self,
        id: &str,
        ids: &mut GptLiveMessageIds,
    ) -> Option<DialectAction> {
        let mut is_known = false;
        for calls in self.running.values_mut().chain([&mut self.open]) {
            let before = calls.len();
            calls.retain(|call| call.id != id);
            is_known |= calls.len() != before;
        }
        if is_known && self.clients == ContinueRequest::No {
            self.clients = ContinueRequest::Awaited;
        }
        self.go_on(ids)
    }

    /// The client requests the model to continue. `false`: not now, because results of ours are
    /// missing.
    pub(super) fn client_goes_on(&mut self, message: &str) -> bool {
        let of_open = self.open.iter();
        let mut all = of_open.chain(self.running.values().flatten());
        if all.any(|call| call.whose == BackendCallOwner::Ours) {
            self.clients = ContinueRequest::Sent(message.to_owned());
            return false;
        }
        self.ours = ContinueRequest::No;
        self.clients = ContinueRequest::No;
        true
    }

    /// Removes a response that no longer runs.
    fn over(&mut self, delegation: &DelegationId) -> Vec<BackendCall> {
        let calls = self.running.remove(delegation).unwrap_or_default();
        if self.running.is_empty() {
            self.hidden.clear();
        }
        calls
    }

    fn ask(&mut self, delegation: DelegationId, call: BackendCall) {
        let calls = self.running.entry(delegation).or_default();
        if !calls.contains(&call) {
            calls.push(call);
        }
    }

    fn result(&mut self, id: &str, outcome: &str, ids: &mut GptLiveMessageIds) -> DialectAction {
        self.open.retain(|call| call.id != id);
        self.ours = ContinueRequest::Awaited;
        let item = json!({"type": "function_call_output", "call_id": id, "output": outcome});
        ids.send("response.item.create", json!({"item": item}))
    }

    fn go_on(&mut self, ids: &mut GptLiveMessageIds) -> Option<DialectAction> {
        if self.is_busy() {
            return None;
        }
        match std::mem::take(&mut self.clients) {
            ContinueRequest::Sent(message) => {
                self.ours = ContinueRequest::No;
                Some(DialectAction::ToProvider(message))
            }
            ContinueRequest::Awaited => {
                self.clients = ContinueRequest::Awaited;
                None
            }
            ContinueRequest::No if std::mem::take(&mut self.ours) == ContinueRequest::Awaited => {
                Some(ids.send("response.create", json!({})))
            }
            ContinueRequest::No => None,
        }
    }
}
