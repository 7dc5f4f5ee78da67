//! The model's calls that are ours to answer, each from the moment it is complete until its answer
//! is with the provider. Says what is to be posted; posts nothing.

use std::collections::HashMap;

use tollgate_core::tool::Delivery;

use crate::realtime::events::{Answer, Answered};

/// Calls that can be told from new ones.
const REMEMBERED: usize = 1024;

#[derive(Default)]
pub(super) struct Calls {
    /// In the order they came; kept after their answers, so that an id runs once and can be forged
    /// by nobody.
    order: Vec<String>,
    entries: HashMap<String, Entry>,
}

struct Entry {
    response: String,
    name: String,
    arguments: String,
    delivery: Delivery,
    stage: Stage,
}

enum Stage {
    /// Its response is not over: no answer may be sent.
    Early(Vec<Answer>),
    /// Its response is over.
    Running,
    /// Nobody waits for it: its answer calls for no response.
    Abandoned,
    /// Answered for now.
    Pending,
    Answered,
}

/// An answer that may be sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) call_id: String,
    pub(super) outcome: String,
    pub(super) means: Means,
    pub(super) then: Then,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// The call's own output.
    Output,
    /// A call that only we made, since the call itself has its output already.
    Pair { name: String, arguments: String },
}

/// What the model shall do with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Nothing,
    Speak,
    /// Even if it is speaking of something else.
    BreakOff,
}

/// A call as it came.
pub(super) struct Made<'a> {
    pub(super) response: &'a str,
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
    pub(super) delivery: Delivery,
}

impl Calls {
    pub(super) fn knows(&self, id: &str) -> bool {
        self.entries.contains_key(id)
    }

    /// `false` if the id was there before.
    pub(super) fn make(&mut self, id: &str, made: &Made<'_>) -> bool {
        self.insert(id, made, Stage::Early(Vec::new()))
    }

    /// One that was never run: what it gets is sent elsewhere.
    pub(super) fn settled(&mut self, id: &str, made: &Made<'_>) -> bool {
        self.insert(id, made, Stage::Answered)
    }

    fn insert(&mut self, id: &str, made: &Made<'_>, stage: Stage) -> bool {
        if self.knows(id) {
            return false;
        }
        let entry = Entry {
            response: made.response.to_owned(),
            name: made.name.to_owned(),
            arguments: made.arguments.to_owned(),
            delivery: made.delivery,
            stage,
        };
        self.order.push(id.to_owned());
        self.entries.insert(id.to_owned(), entry);
        self.forget();
        true
    }

    /// The oldest that is answered, when there are many.
    fn forget(&mut self) {
        if self.order.len() <= REMEMBERED {
            return;
        }
        let is_answered = |id: &String| {
            self.entries.get(id).is_none_or(|entry| matches!(entry.stage, Stage::Answered))
        };
        if let Some(at) = self.order.iter().position(is_answered) {
            let oldest = self.order.remove(at);
            self.entries.remove(&oldest);
        }
    }

    /// The response stands: its calls, and the answers that waited for that.
    pub(super) fn stand(&mut self, response: &str) -> (Vec<String>, Vec<Due>) {
        let mut due = Vec::new();
        let ids = self.early(response);
        for id in &ids {
            for answer in self.open(id, Stage::Running) {
                due.extend(self.answer(answer));
            }
        }
        (ids, due)
    }

    /// The response does not stand: the calls of it that still run, and answers that are there.
    pub(super) fn fall(&mut self, response: &str) -> (Vec<String>, Vec<Due>) {
        let (mut running, mut due) = (Vec::new(), Vec::new());
        for id in self.early(response) {
            let answers = self.open(&id, Stage::Abandoned);
            if answers.is_empty() {
                running.push(id);
            }
            for answer in answers {
                due.extend(self.answer(answer));
            }
        }
        (running, due)
    }

    /// The caller took the turn: calls that nobody waits for any more.
    pub(super) fn abandon(&mut self) -> Vec<String> {
        let waiting: Vec<String> = self.waiting().map(str::to_owned).collect();
        for id in &waiting {
            if let Some(entry) = self.entries.get_mut(id) {
                entry.stage = Stage::Abandoned;
            }
        }
        waiting
    }

    /// Whether the turn waits for an answer.
    pub(super) fn any_waiting(&self) -> bool {
        self.waiting().next().is_some()
    }

    /// Whether the call has no answer yet, and somebody wants it.
    pub(super) fn is_wanted(&self, id: &str) -> bool {
        self.entries.get(id).is_some_and(|entry| matches!(entry.stage, Stage::Running))
    }

    /// Somebody else answered it. `true` if it still runs.
    pub(super) fn answered_elsewhere(&mut self, id: &str) -> bool {
        let Some(entry) = self.entries.get_mut(id) else { return false };
        let before = std::mem::replace(&mut entry.stage, Stage::Answered);
        match before {
            Stage::Early(answers) => answers.is_empty(),
            Stage::Running | Stage::Abandoned => true,
            Stage::Pending | Stage::Answered => false,
        }
    }

    /// Takes an answer in; what of it can be sent now.
    pub(super) fn answer(&mut self, answer: Answer) -> Option<Due> {
        let entry = self.entries.get_mut(&answer.id)?;
        let then = match &mut entry.stage {
            Stage::Early(answers) => {
                answers.push(answer);
                return None;
            }
            Stage::Answered => return None,
            Stage::Pending if answer.answered != Answered::Late => return None,
            Stage::Abandoned => Then::Nothing,
            Stage::Running | Stage::Pending => then(answer.answered, answer.delivery),
        };
        let means = match entry.stage {
            Stage::Pending => Means::Pair {
                name: std::mem::take(&mut entry.name),
                arguments: std::mem::take(&mut entry.arguments),
            },
            _ => Means::Output,
        };
        entry.stage = match answer.answered {
            Answered::Pending => Stage::Pending,
            Answered::Done | Answered::Late | Answered::Cancelled => {
                (entry.name, entry.arguments) = (String::new(), String::new());
                Stage::Answered
            }
        };
        Some(Due { call_id: answer.id, outcome: answer.outcome, means, then })
    }

    fn waiting(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(String::as_str).filter(|id| {
            self.entries.get(*id).is_some_and(|entry| {
                matches!(entry.stage, Stage::Running) && entry.delivery == Delivery::Wait
            })
        })
    }

    fn early(&self, response: &str) -> Vec<String> {
        let of_it = |id: &&String| {
            self.entries.get(*id).is_some_and(|entry| {
                entry.response == response && matches!(entry.stage, Stage::Early(_))
            })
        };
        self.order.iter().filter(of_it).cloned().collect()
    }

    /// The answers that came early.
    fn open(&mut self, id: &str, stage: Stage) -> Vec<Answer> {
        let Some(entry) = self.entries.get_mut(id) else { return Vec::new() };
        match std::mem::replace(&mut entry.stage, stage) {
            Stage::Early(answers) => answers,
            Stage::Running | Stage::Abandoned | Stage::Pending | Stage::Answered => Vec::new(),
        }
    }
}

fn then(answered: Answered, delivery: Delivery) -> Then {
    match (answered, delivery) {
        (Answered::Cancelled, _) | (_, Delivery::Silent) => Then::Nothing,
        (Answered::Pending, Delivery::WhenIdle | Delivery::Interrupt) => Then::Nothing,
        (Answered::Done | Answered::Late, Delivery::Interrupt) => Then::BreakOff,
        (_, Delivery::Wait | Delivery::WhenIdle) => Then::Speak,
    }
}
