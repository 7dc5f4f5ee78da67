//! The model's calls that are ours to answer, each from the moment it is complete until its answer
//! is with the provider. Says what is to be posted; posts nothing.

use std::collections::HashMap;

use tollgate_core::tool::ResultDelivery;

use crate::realtime::events::{AnswerStage, CallAnswer};

/// Calls that can be told from new ones.
const MAX_REMEMBERED_CALLS: usize = 1024;

#[derive(Default)]
pub(super) struct OpenAiCalls {
    /// In the order they came; kept after their answers, so that an id runs once and can be forged
    /// by nobody.
    order: Vec<String>,
    entries: HashMap<String, OpenAiCallEntry>,
}

struct OpenAiCallEntry {
    response: String,
    name: String,
    arguments: String,
    delivery: ResultDelivery,
    stage: OpenAiCallStage,
}

enum OpenAiCallStage {
    /// Its response is not over: no answer may be sent.
    Early(Vec<CallAnswer>),
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
pub(super) struct DueAnswer {
    pub(super) call_id: String,
    pub(super) outcome: String,
    pub(super) means: AnswerItemKind,
    pub(super) then: AfterAnswer,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum AnswerItemKind {
    /// The call's own output.
    Output,
    /// A call that only we made, since the call itself has its output already.
    Pair { name: String, arguments: String },
}

/// What the model shall do with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterAnswer {
    Nothing,
    Speak,
    /// Even if it is speaking of something else.
    BreakOff,
}

/// A call as it came.
pub(super) struct OpenAiCallRequest<'a> {
    pub(super) response: &'a str,
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
    pub(super) delivery: ResultDelivery,
}

impl OpenAiCalls {
    pub(super) fn knows(&self, id: &str) -> bool {
        self.entries.contains_key(id)
    }

    /// `false` if the id was there before.
    pub(super) fn make(&mut self, id: &str, made: &OpenAiCallRequest<'_>) -> bool {
        self.insert(id, made, OpenAiCallStage::Early(Vec::new()))
    }

    /// One that was never run: what it gets is sent elsewhere.
    pub(super) fn insert_answered(&mut self, id: &str, made: &OpenAiCallRequest<'_>) -> bool {
        self.insert(id, made, OpenAiCallStage::Answered)
    }

    fn insert(&mut self, id: &str, made: &OpenAiCallRequest<'_>, stage: OpenAiCallStage) -> bool {
        if self.knows(id) {
            return false;
        }
        let entry = OpenAiCallEntry {
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
        if self.order.len() <= MAX_REMEMBERED_CALLS {
            return;
        }
        let is_answered = |id: &String| {
            self.entries
                .get(id)
                .is_none_or(|entry| matches!(entry.stage, OpenAiCallStage::Answered))
        };
        if let Some(at) = self.order.iter().position(is_answered) {
            let oldest = self.order.remove(at);
            self.entries.remove(&oldest);
        }
    }

    /// The response stands: its calls, and the answers that waited for that.
    pub(super) fn stand(&mut self, response: &str) -> (Vec<String>, Vec<DueAnswer>) {
        let mut due = Vec::new();
        let ids = self.early(response);
        for id in &ids {
            for answer in self.open(id, OpenAiCallStage::Running) {
                due.extend(self.answer(answer));
            }
        }
        (ids, due)
    }

    /// The response does not stand: the calls of it that still run, and answers that are there.
    pub(super) fn fall(&mut self, response: &str) -> (Vec<String>, Vec<DueAnswer>) {
        let (mut running, mut due) = (Vec::new(), Vec::new());
        for id in self.early(response) {
            let answers = self.open(&id, OpenAiCallStage::Abandoned);
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
                entry.stage = OpenAiCallStage::Abandoned;
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
        self.entries.get(id).is_some_and(|entry| matches!(entry.stage, OpenAiCallStage::Running))
    }

    /// Somebody else answered it. `true` if it still runs.
    pub(super) fn mark_answered(&mut self, id: &str) -> bool {
        let Some(entry) = self.entries.get_mut(id) else { return false };
        let before = std::mem::replace(&mut entry.stage, OpenAiCallStage::Answered);
        match before {
            OpenAiCallStage::Early(answers) => answers.is_empty(),
            OpenAiCallStage::Running | OpenAiCallStage::Abandoned => true,
            OpenAiCallStage::Pending | OpenAiCallStage::Answered => false,
        }
    }

    /// Takes an answer in; what of it can be sent now.
    pub(super) fn answer(&mut self, answer: CallAnswer) -> Option<DueAnswer> {
        let entry = self.entries.get_mut(&answer.id)?;
        let then = match &mut entry.stage {
            OpenAiCallStage::Early(answers) => {
                answers.push(answer);
                return None;
            }
            OpenAiCallStage::Answered => return None,
            OpenAiCallStage::Pending if answer.answered != AnswerStage::Late => return None,
            OpenAiCallStage::Abandoned => AfterAnswer::Nothing,
            OpenAiCallStage::Running | OpenAiCallStage::Pending => {
                then(answer.answered, answer.delivery)
            }
        };
        let means = match entry.stage {
            OpenAiCallStage::Pending => AnswerItemKind::Pair {
                name: std::mem::take(&mut entry.name),
                arguments: std::mem::take(&mut entry.arguments),
            },
            _ => AnswerItemKind::Output,
        };
        entry.stage = match answer.answered {
            AnswerStage::Pending => OpenAiCallStage::Pending,
            AnswerStage::Done | AnswerStage::Late | AnswerStage::Cancelled => {
                (entry.name, entry.arguments) = (String::new(), String::new());
                OpenAiCallStage::Answered
            }
        };
        Some(DueAnswer { call_id: answer.id, outcome: answer.outcome, means, then })
    }

    fn waiting(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(String::as_str).filter(|id| {
            self.entries.get(*id).is_some_and(|entry| {
                matches!(entry.stage, OpenAiCallStage::Running)
                    && entry.delivery == ResultDelivery::Wait
            })
        })
    }

    fn early(&self, response: &str) -> Vec<String> {
        let of_it = |id: &&String| {
            self.entries.get(*id).is_some_and(|entry| {
                entry.response == response && matches!(entry.stage, OpenAiCallStage::Early(_))
            })
        };
        self.order.iter().filter(of_it).cloned().collect()
    }

    /// The answers that came early.
    fn open(&mut self, id: &str, stage: OpenAiCallStage) -> Vec<CallAnswer> {
        let Some(entry) = self.entries.get_mut(id) else { return Vec::new() };
        match std::mem::replace(&mut entry.stage, stage) {
            OpenAiCallStage::Early(answers) => answers,
            OpenAiCallStage::Running
            | OpenAiCallStage::Abandoned
            | OpenAiCallStage::Pending
            | OpenAiCallStage::Answered => Vec::new(),
        }
    }
}

fn then(answered: AnswerStage, delivery: ResultDelivery) -> AfterAnswer {
    match (answered, delivery) {
        (AnswerStage::Cancelled, _) | (_, ResultDelivery::Silent) => AfterAnswer::Nothing,
        (AnswerStage::Pending, ResultDelivery::WhenIdle | ResultDelivery::Interrupt) => {
            AfterAnswer::Nothing
        }
        (AnswerStage::Done | AnswerStage::Late, ResultDelivery::Interrupt) => AfterAnswer::BreakOff,
        (_, ResultDelivery::Wait | ResultDelivery::WhenIdle) => AfterAnswer::Speak,
    }
}
