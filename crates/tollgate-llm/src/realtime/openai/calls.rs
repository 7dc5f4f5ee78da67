//! Calls that the gateway answers, from their completion until the provider has the answer. Decides
//! what is sent; sends nothing.

use std::collections::HashMap;

use tollgate_core::tool::ResultDelivery;

use crate::realtime::events::{AnswerStage, CallAnswer};
use crate::realtime::handover::UnansweredCall;

/// Remembered calls, to detect duplicates.
const MAX_REMEMBERED_CALLS: usize = 1024;

#[derive(Default)]
pub(super) struct OpenAiCalls {
    /// In order of arrival; kept after their answers, so that each id runs once and cannot be
    /// forged.
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
    /// Its response is not over: no answer may be sent yet.
    Early(Vec<CallAnswer>),
    /// Its response is over.
    Running,
    /// Made on a connection of another protocol: this one has no call that could be answered.
    Lost,
    /// No longer awaited: its answer triggers no response.
    Abandoned,
    /// Answered as pending.
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
    pub(super) answered: AnswerStage,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum AnswerItemKind {
    /// As the output of the call.
    Output,
    /// As a new call created by us, because the call itself already has its output.
    Pair { name: String, arguments: String },
}

/// What the model does after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterAnswer {
    Nothing,
    Speak,
    /// Speaks at once, interrupting its current speech.
    BreakOff,
}

/// A call as received.
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

    /// `false` if the id is a duplicate.
    pub(super) fn make(&mut self, id: &str, made: &OpenAiCallRequest<'_>) -> bool {
        self.insert(id, made, OpenAiCallStage::Early(Vec::new()))
    }

    /// Adds a call that was never run: it is answered elsewhere.
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

    /// Forgets the oldest answered call when there are too many.
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

    /// The response is confirmed: returns its calls, and the answers that waited for it.
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

    /// The response was cancelled or failed: returns its running calls, and the answers that exist.
    pub(super) fn fall(&mut self, response: &str) -> (Vec<String>, Vec<DueAnswer>) {
        let mut running = Vec::new();
        let mut due = Vec::new();
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

    /// The connection of all responses is gone. Calls that were complete and change nothing go on.
    /// Returns the others, which are not to be run, and the answers that exist.
    pub(super) fn lose_responses(
        &mut self,
        is_read_only: impl Fn(&str) -> bool,
    ) -> (Vec<String>, Vec<DueAnswer>) {
        let is_early = |id: &&String| {
            let entry = self.entries.get(*id);
            entry.is_some_and(|entry| matches!(entry.stage, OpenAiCallStage::Early(_)))
        };
        let early: Vec<String> = self.order.iter().filter(is_early).cloned().collect();
        let mut cut_off = Vec::new();
        let mut due = Vec::new();
        for id in early {
            let reads = self.entries.get(&id).is_some_and(|entry| is_read_only(&entry.name));
            let stage = if reads { OpenAiCallStage::Running } else { OpenAiCallStage::Abandoned };
            let answers = self.open(&id, stage);
            if answers.is_empty() && !reads {
                cut_off.push(id);
            }
            for answer in answers {
                due.extend(self.answer(answer));
            }
        }
        (cut_off, due)
    }

    /// The calls without a final answer, for a connection of another protocol.
    pub(super) fn unanswered_calls(&self) -> Vec<UnansweredCall> {
        let call = |id: &String| {
            let entry = self.entries.get(id)?;
            let (delivery, is_pending) = match entry.stage {
                OpenAiCallStage::Running | OpenAiCallStage::Lost => (entry.delivery, false),
                OpenAiCallStage::Pending => (entry.delivery, true),
                OpenAiCallStage::Abandoned => (ResultDelivery::Silent, false),
                OpenAiCallStage::Early(_) | OpenAiCallStage::Answered => return None,
            };
            let name = entry.name.clone();
            let arguments = entry.arguments.clone();
            Some(UnansweredCall { id: id.clone(), name, arguments, delivery, is_pending })
        };
        self.order.iter().filter_map(call).collect()
    }

    /// Calls that were made on a connection of another protocol.
    pub(super) fn take_over(&mut self, calls: &[UnansweredCall]) {
        for UnansweredCall { id, name, arguments, delivery, is_pending } in calls {
            let made = OpenAiCallRequest { response: "", name, arguments, delivery: *delivery };
            let stage = if *is_pending { OpenAiCallStage::Pending } else { OpenAiCallStage::Lost };
            self.insert(id, &made, stage);
        }
    }

    /// Whether any call has no answer at all.
    pub(super) fn any_running(&self) -> bool {
        self.entries.values().any(|entry| {
            matches!(
                entry.stage,
                OpenAiCallStage::Early(_)
                    | OpenAiCallStage::Running
                    | OpenAiCallStage::Lost
                    | OpenAiCallStage::Abandoned
            )
        })
    }

    /// The turn was taken over: marks the awaited calls as abandoned, and returns them.
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

    /// Whether the call has no answer yet, and is still awaited.
    pub(super) fn is_awaited(&self, id: &str) -> bool {
        self.entries.get(id).is_some_and(|entry| {
            matches!(entry.stage, OpenAiCallStage::Running | OpenAiCallStage::Lost)
        })
    }

    /// The conversation has an output of this call. `true` if the call still runs: then another
    /// side answered it. An output that follows ours may be its echo, so a pending call stays
    /// pending, and its result is told.
    pub(super) fn note_output(&mut self, id: &str) -> bool {
        let Some(entry) = self.entries.get_mut(id) else { return false };
        if matches!(entry.stage, OpenAiCallStage::Pending | OpenAiCallStage::Answered) {
            return false;
        }
        self.mark_answered(id)
    }

    /// The call was answered by another side. `true` if it still runs.
    pub(super) fn mark_answered(&mut self, id: &str) -> bool {
        let Some(entry) = self.entries.get_mut(id) else { return false };
        let before = std::mem::replace(&mut entry.stage, OpenAiCallStage::Answered);
        match before {
            OpenAiCallStage::Early(answers) => answers.is_empty(),
            OpenAiCallStage::Running | OpenAiCallStage::Lost | OpenAiCallStage::Abandoned => true,
            OpenAiCallStage::Pending | OpenAiCallStage::Answered => false,
        }
    }

    /// Records an answer; returns what can be sent now.
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
            OpenAiCallStage::Lost if answer.answered == AnswerStage::Pending => {
                entry.stage = OpenAiCallStage::Pending;
                return None;
            }
            OpenAiCallStage::Lost if answer.answered == AnswerStage::Cancelled => {
                entry.stage = OpenAiCallStage::Answered;
                return None;
            }
            OpenAiCallStage::Running | OpenAiCallStage::Lost | OpenAiCallStage::Pending => {
                then(answer.answered, answer.delivery)
            }
        };
        let means = match entry.stage {
            OpenAiCallStage::Pending | OpenAiCallStage::Lost => AnswerItemKind::Pair {
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
        let CallAnswer { id: call_id, answered, outcome, .. } = answer;
        Some(DueAnswer { call_id, outcome, means, then, answered })
    }

    fn waiting(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(String::as_str).filter(|id| {
            self.entries.get(*id).is_some_and(|entry| {
                matches!(entry.stage, OpenAiCallStage::Running | OpenAiCallStage::Lost)
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

    /// Sets the stage, and returns the answers that arrived early.
    fn open(&mut self, id: &str, stage: OpenAiCallStage) -> Vec<CallAnswer> {
        let Some(entry) = self.entries.get_mut(id) else { return Vec::new() };
        match std::mem::replace(&mut entry.stage, stage) {
            OpenAiCallStage::Early(answers) => answers,
            OpenAiCallStage::Running
            | OpenAiCallStage::Lost
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
