//! The calls of a session: the gateway's from the moment that a model makes one until all is said
//! about it, and the client's as far as a reconnection has to know of them. Called by the machine;
//! decides how each is answered, sends nothing.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tollgate_core::tool::Delivery;

use super::family::Meanwhile;
use super::wire::{self, Addressee, More, Scheduled};
use crate::realtime::events::{Action, Answer, Answered};

/// How long a call has to stand before its writes are done, and how long a provider has to take
/// calls back after an interruption: it says both, in no order.
pub(super) const QUIET: Duration = Duration::from_millis(200);

/// Ids that are remembered after their call is over, so that nobody answers or makes it again.
const REMEMBERED: usize = 512;

/// A client that has not answered for so long will not: nobody waits for it.
const UNANSWERED: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Calls {
    open: Vec<Open>,
    over: VecDeque<String>,
    clients: Vec<Theirs>,
    unnamed: u64,
}

/// A call of the gateway's.
#[derive(Debug)]
struct Open {
    id: String,
    /// Whether the provider knows it by its id.
    named: Named,
    name: String,
    delivery: Option<Delivery>,
    meanwhile: Meanwhile,
    /// When its writes may be done, until they may.
    unsure: Option<Instant>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Yes,
    No,
}

#[derive(Debug)]
enum Stage {
    /// The provider has no answer yet.
    Running,
    /// The caller took the turn; an answer waits in case that the provider takes the call back.
    Interrupted { until: Instant, answer: Option<Answer> },
    /// The provider knows that it is pending, and takes the result as one answer more.
    Continues,
    /// The provider has its answer; the result can only be told.
    Told,
    /// Made on a connection that is gone: a result can only be told.
    Lost,
}

/// A call of the client's that it has not answered.
#[derive(Debug)]
struct Theirs {
    id: String,
    name: String,
    made: Instant,
    connection: Connection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connection {
    This,
    Gone,
}

/// What a call came to, for the provider.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// The message that answers it.
    Response(String),
    /// Words, since no message could.
    Words(Delivery, String),
}

/// A call as the machine has read it.
#[derive(Debug)]
pub(super) struct Made<'a> {
    pub id: Option<&'a str>,
    pub name: &'a str,
    /// As its tool is declared.
    pub delivery: Option<Delivery>,
    pub meanwhile: Meanwhile,
}

impl Calls {
    /// A call of the gateway's; gives the id to run it under. `None`: it was made before.
    pub(super) fn made(&mut self, made: &Made<'_>, now: Instant) -> Option<String> {
        let (id, named) = match made.id.filter(|id| !id.is_empty()) {
            Some(id) if self.is_ours(id) => return None,
            Some(id) => (id.to_owned(), Named::Yes),
            None => {
                self.unnamed += 1;
                (format!("tollgate-{}", self.unnamed), Named::No)
            }
        };
        self.open.push(Open {
            id: id.clone(),
            named,
            name: made.name.to_owned(),
            delivery: made.delivery,
            meanwhile: made.meanwhile,
            unsure: Some(now + QUIET),
            stage: Stage::Running,
        });
        Some(id)
    }

    pub(super) fn is_ours(&self, id: &str) -> bool {
        self.open.iter().any(|call| call.id == id) || self.over.iter().any(|over| over == id)
    }

    /// The provider takes calls back: these are never answered. Gives the ids that are not the
    /// gateway's.
    pub(super) fn withdrawn<'i>(&mut self, ids: &[&'i str]) -> (Vec<Action>, Vec<&'i str>) {
        let (ours, others): (Vec<&str>, Vec<&str>) = ids.iter().partition(|id| self.is_ours(id));
        self.clients.retain(|call| !others.contains(&call.id.as_str()));
        let mut actions = Vec::new();
        for id in ours {
            let Some(call) = self.close(id) else { continue };
            // One that was interrupted is being stopped already.
            if !matches!(call.stage, Stage::Interrupted { .. }) {
                actions.push(Action::Cancel(call.id));
            }
        }
        (actions, others)
    }

    /// The caller took the turn. Calls that the model waits for are stopped, and so is what is not
    /// sure yet; one that it talks on beside is not part of what was interrupted.
    pub(super) fn interrupted(&mut self, now: Instant) -> Vec<Action> {
        let running = self.open.iter_mut().filter(|call| {
            let in_turn = call.meanwhile == Meanwhile::Waits || call.unsure.is_some();
            matches!(call.stage, Stage::Running) && in_turn
        });
        let stopped = running.map(|call| {
            call.unsure = None;
            call.stage = Stage::Interrupted { until: now + QUIET, answer: None };
            Action::Cancel(call.id.clone())
        });
        stopped.collect()
    }

    /// What is to be said about a call now. News of one that is over say nothing.
    pub(super) fn answered(&mut self, answer: Answer) -> Option<Reply> {
        let call = self.open.iter_mut().find(|call| call.id == answer.id)?;
        match &mut call.stage {
            Stage::Interrupted { answer: kept, .. } => {
                *kept = Some(answer);
                None
            }
            Stage::Running if answer.answered == Answered::Pending => Some(call.pending(&answer)),
            Stage::Running => self.close(&answer.id).map(|call| call.result(&answer)),
            Stage::Continues => self.close(&answer.id).map(|call| call.result(&answer)),
            Stage::Told => self.close(&answer.id).map(|call| call.words(&answer)),
            Stage::Lost => match answer.answered {
                Answered::Pending => {
                    call.stage = Stage::Told;
                    None
                }
                Answered::Cancelled => {
                    self.close(&answer.id);
                    None
                }
                Answered::Done | Answered::Late => {
                    self.close(&answer.id).map(|call| call.words(&answer))
                }
            },
        }
    }

    /// A word in between, where the provider takes several answers.
    pub(super) fn progress(&self, id: &str, outcome: &str) -> Option<String> {
        let call = self.open.iter().find(|call| call.id == id)?;
        let can = matches!(call.stage, Stage::Running | Stage::Continues)
            && call.meanwhile == Meanwhile::TalksOn
            && call.delivery != Some(Delivery::Silent);
        let scheduled = Scheduled { delivery: Delivery::WhenIdle, more: More::Follow };
        can.then(|| wire::response(&call.addressee(), outcome, Some(scheduled)))
    }

    /// What the time has decided: calls that stand, and answers that waited.
    pub(super) fn due(&mut self, now: Instant) -> (Vec<String>, Vec<Reply>) {
        let mut confirmed = Vec::new();
        let mut waited = Vec::new();
        for call in &mut self.open {
            if call.unsure.take_if(|until| *until <= now).is_some() {
                confirmed.push(call.id.clone());
            }
            if let Stage::Interrupted { until, answer } = &mut call.stage
                && *until <= now
            {
                waited.extend(answer.take());
                call.stage = Stage::Running;
            }
        }
        let replies = waited.into_iter().filter_map(|answer| self.answered(answer)).collect();
        (confirmed, replies)
    }

    pub(super) fn wakes(&self) -> Option<Instant> {
        let times = self.open.iter().flat_map(|call| {
            let interrupted = match call.stage {
                Stage::Interrupted { until, .. } => Some(until),
                _ => None,
            };
            [call.unsure, interrupted]
        });
        times.flatten().min()
    }

    /// Whether the model stands still for one of the gateway's.
    pub(super) fn hold_the_model(&self) -> bool {
        self.open.iter().any(|call| {
            call.meanwhile == Meanwhile::Waits
                && matches!(call.stage, Stage::Running | Stage::Interrupted { .. })
        })
    }

    /// Whether an answer is owed on this connection.
    pub(super) fn are_open(&self, now: Instant) -> bool {
        let ours = |call: &Open| matches!(call.stage, Stage::Running | Stage::Interrupted { .. });
        let theirs =
            |call: &Theirs| call.connection == Connection::This && now < call.made + UNANSWERED;
        self.open.iter().any(ours) || self.clients.iter().any(theirs)
    }

    /// The connection is gone, and with it every call that was made on it.
    pub(super) fn lose(&mut self) {
        let stopped: Vec<String> = self
            .open
            .iter()
            .filter(|call| matches!(call.stage, Stage::Interrupted { .. }))
            .map(|call| call.id.clone())
            .collect();
        for id in stopped {
            self.close(&id);
        }
        for call in &mut self.open {
            match call.stage {
                Stage::Running => call.stage = Stage::Lost,
                Stage::Continues => call.stage = Stage::Told,
                Stage::Interrupted { .. } | Stage::Told | Stage::Lost => (),
            }
        }
        for call in &mut self.clients {
            call.connection = Connection::Gone;
        }
    }

    pub(super) fn clients(&mut self, id: &str, name: &str, made: Instant) {
        if self.clients.len() == REMEMBERED {
            self.clients.remove(0);
        }
        let (id, name) = (id.to_owned(), name.to_owned());
        self.clients.push(Theirs { id, name, made, connection: Connection::This });
    }

    /// The client answers a call of its own. Gives the name of one that was lost.
    pub(super) fn answered_by_client(&mut self, id: &str) -> Option<String> {
        let at = self.clients.iter().position(|call| call.id == id)?;
        let call = self.clients.remove(at);
        (call.connection == Connection::Gone).then_some(call.name)
    }

    fn close(&mut self, id: &str) -> Option<Open> {
        let at = self.open.iter().position(|call| call.id == id)?;
        let call = self.open.remove(at);
        if self.over.len() == REMEMBERED {
            self.over.pop_front();
        }
        self.over.push_back(call.id.clone());
        Some(call)
    }
}

impl Open {
    fn addressee(&self) -> Addressee<'_> {
        let id = (self.named == Named::Yes).then_some(self.id.as_str());
        Addressee { id, name: &self.name }
    }

    fn scheduled(&self, answer: &Answer, more: More) -> Option<Scheduled> {
        match self.meanwhile {
            Meanwhile::Waits => None,
            Meanwhile::TalksOn => Some(Scheduled { delivery: answer.delivery, more }),
        }
    }

    fn result(&self, answer: &Answer) -> Reply {
        let scheduled = self.scheduled(answer, More::End);
        Reply::Response(wire::response(&self.addressee(), &answer.outcome, scheduled))
    }

    fn pending(&mut self, answer: &Answer) -> Reply {
        let scheduled = self.scheduled(answer, More::Follow);
        self.stage = if scheduled.is_some() { Stage::Continues } else { Stage::Told };
        Reply::Response(wire::response(&self.addressee(), &answer.outcome, scheduled))
    }

    fn words(&self, answer: &Answer) -> Reply {
        Reply::Words(answer.delivery, wire::words(&self.name, &answer.outcome))
    }
}
