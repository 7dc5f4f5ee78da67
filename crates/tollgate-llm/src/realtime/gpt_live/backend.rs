//! The backend model of a GPT-Live session: its responses, the calls in them, and the one message
//! with which it goes on.
//!
//! A response ends with its calls unanswered. Each result is queued, and the model goes on by one
//! `response.create` when no response runs and every call of the session has its result, the
//! client's like ours; before that it is refused.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::Ids;
use crate::realtime::events::{Action, Answer, Call};
use crate::realtime::owed::{Due, Owed};

/// A delegation's id; a response that the client began itself has none.
type Delegation = Option<String>;

#[derive(Debug, Default)]
pub(super) struct Backend {
    /// Responses that run, and their calls.
    running: HashMap<Delegation, Vec<Asked>>,
    /// Calls of responses that are over, as long as they have no result.
    open: Vec<Asked>,
    owed: Owed,
    /// Results that wait for the end of their response.
    early: HashMap<String, String>,
    /// Items of calls of ours that are being written.
    hidden: HashSet<String>,
    ours: Going,
    clients: Going,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked {
    id: String,
    whose: Whose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    Client,
    Ours,
}

/// Whether somebody has the model go on.
#[derive(Debug, Default, PartialEq, Eq)]
enum Going {
    #[default]
    No,
    /// They have answered calls, and will say so.
    Awaited,
    /// They said so, by this message.
    Said(String),
}

/// What came after a call was answered.
pub(super) struct LateResult {
    pub(super) name: String,
}

impl Backend {
    pub(super) fn began(&mut self, delegation: Delegation) {
        self.running.entry(delegation).or_default();
    }

    pub(super) fn hide(&mut self, item: &str) {
        self.hidden.insert(item.to_owned());
    }

    pub(super) fn is_hidden(&self, item: &str) -> bool {
        self.hidden.contains(item)
    }

    /// One of ours, now or before.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.owed.knows(id)
    }

    pub(super) fn is_owed(&self, id: &str) -> bool {
        self.owed.is_owed(id)
    }

    /// Work goes on that is not answered yet.
    pub(super) fn is_busy(&self) -> bool {
        !self.running.is_empty() || !self.open.is_empty()
    }

    pub(super) fn clients_call(&mut self, delegation: Delegation, id: &str) {
        self.ask(delegation, Asked { id: id.to_owned(), whose: Whose::Client });
    }

    /// A call of ours, whose item is complete.
    pub(super) fn our_call(&mut self, delegation: Delegation, call: Call) -> Option<Action> {
        if !self.owed.begin(&call.id, &call.name) {
            return None;
        }
        self.ask(delegation, Asked { id: call.id.clone(), whose: Whose::Ours });
        Some(Action::Run(call))
    }

    /// A response is whole: its calls stand, and take results.
    pub(super) fn completed(&mut self, delegation: &Delegation, ids: &mut Ids) -> Vec<Action> {
        let calls = self.over(delegation);
        let ours = calls.iter().filter(|asked| asked.whose == Whose::Ours);
        let confirmed: Vec<String> = ours.map(|asked| asked.id.clone()).collect();
        self.open.extend(calls);
        let mut actions = Vec::new();
        if !confirmed.is_empty() {
            actions.push(Action::Confirm(confirmed.clone()));
        }
        for id in confirmed {
            if let Some(outcome) = self.early.remove(&id) {
                actions.push(self.result(&id, &outcome, ids));
            }
        }
        actions.extend(self.go_on(ids));
        actions
    }

    /// A response came to nothing: the provider takes no results for its calls.
    pub(super) fn failed(&mut self, delegation: &Delegation, ids: &mut Ids) -> Vec<Action> {
        let calls = self.over(delegation);
        let mut actions = Vec::new();
        for asked in calls {
            self.early.remove(&asked.id);
            if self.owed.take_back(&asked.id) {
                actions.push(Action::Cancel(asked.id));
            }
        }
        actions.extend(self.go_on(ids));
        actions
    }

    /// Something came of a call of ours.
    pub(super) fn answered(
        &mut self,
        answer: &Answer,
        ids: &mut Ids,
    ) -> Result<Vec<Action>, LateResult> {
        match self.owed.due(&answer.id, answer.answered) {
            Due::Nothing => Ok(Vec::new()),
            Due::Late(name) => Err(LateResult { name }),
            Due::Answer(_) if self.open.iter().any(|asked| asked.id == answer.id) => {
                let mut actions = vec![self.result(&answer.id, &answer.outcome, ids)];
                actions.extend(self.go_on(ids));
                Ok(actions)
            }
            Due::Answer(_) => {
                self.early.insert(answer.id.clone(), answer.outcome.clone());
                Ok(Vec::new())
            }
        }
    }

    /// The client gives the result of a call of its own.
    pub(super) fn client_answered(&mut self, id: &str, ids: &mut Ids) -> Option<Action> {
        let mut is_known = false;
        for calls in self.running.values_mut().chain([&mut self.open]) {
            let before = calls.len();
            calls.retain(|asked| asked.id != id);
            is_known |= calls.len() != before;
        }
        if is_known && self.clients == Going::No {
            self.clients = Going::Awaited;
        }
        self.go_on(ids)
    }

    /// The client has the model go on. `false`: not now, results of ours are missing.
    pub(super) fn client_goes_on(&mut self, message: &str) -> bool {
        let of_open = self.open.iter();
        let mut all = of_open.chain(self.running.values().flatten());
        if all.any(|asked| asked.whose == Whose::Ours) {
            self.clients = Going::Said(message.to_owned());
            return false;
        }
        self.ours = Going::No;
        self.clients = Going::No;
        true
    }

    /// A response does not run any more.
    fn over(&mut self, delegation: &Delegation) -> Vec<Asked> {
        let calls = self.running.remove(delegation).unwrap_or_default();
        if self.running.is_empty() {
            self.hidden.clear();
        }
        calls
    }

    fn ask(&mut self, delegation: Delegation, asked: Asked) {
        let calls = self.running.entry(delegation).or_default();
        if !calls.contains(&asked) {
            calls.push(asked);
        }
    }

    fn result(&mut self, id: &str, outcome: &str, ids: &mut Ids) -> Action {
        self.open.retain(|asked| asked.id != id);
        self.ours = Going::Awaited;
        let item = json!({"type": "function_call_output", "call_id": id, "output": outcome});
        ids.send("response.item.create", json!({"item": item}))
    }

    fn go_on(&mut self, ids: &mut Ids) -> Option<Action> {
        if self.is_busy() {
            return None;
        }
        match std::mem::take(&mut self.clients) {
            Going::Said(message) => {
                self.ours = Going::No;
                Some(Action::ToProvider(message))
            }
            Going::Awaited => {
                self.clients = Going::Awaited;
                None
            }
            Going::No if std::mem::take(&mut self.ours) == Going::Awaited => {
                Some(ids.send("response.create", json!({})))
            }
            Going::No => None,
        }
    }
}
