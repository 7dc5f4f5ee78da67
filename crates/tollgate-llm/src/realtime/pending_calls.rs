//! Pending calls: the answers that a provider still waits for, from the call until it is answered
//! or cancelled, and late results.
//!
//! Used by state machines whose protocol answers a call at most once.

use std::collections::{HashMap, VecDeque};

use super::events::AnswerStage;

/// Finished calls that are remembered, so that a duplicate is not run again.
const MAX_REMEMBERED_CALLS: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct PendingCalls {
    calls: HashMap<String, PendingCall>,
    /// Ids of finished calls, oldest first.
    over: VecDeque<String>,
}

#[derive(Debug)]
struct PendingCall {
    name: String,
    stands: PendingCallState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingCallState {
    Running,
    /// Cancelled by the provider: it wants no answer any more, but we still expect one.
    TakenBack,
    /// The provider was told that the call is pending.
    Pending,
    Over,
}

/// What to do with an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AnswerDue {
    /// The provider waits for it; the tool's name.
    Answer(String),
    /// The provider was already answered; this is the late result.
    Late(String),
    Nothing,
}

impl PendingCalls {
    /// `false` if the call is a duplicate.
    pub(super) fn begin(&mut self, id: &str, name: &str) -> bool {
        if self.calls.contains_key(id) {
            return false;
        }
        let owing = PendingCall { name: name.to_owned(), stands: PendingCallState::Running };
        self.calls.insert(id.to_owned(), owing);
        true
    }

    /// Whether this is one of our calls, current or past.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    /// Cancelled by the provider. `true` if there is something to stop.
    pub(super) fn take_back(&mut self, id: &str) -> bool {
        match self.calls.get_mut(id) {
            Some(owing) if owing.stands == PendingCallState::Running => {
                owing.stands = PendingCallState::TakenBack;
                true
            }
            _ => false,
        }
    }

    pub(super) fn due(&mut self, id: &str, answered: AnswerStage) -> AnswerDue {
        let Some(owing) = self.calls.get_mut(id) else { return AnswerDue::Nothing };
        let name = owing.name.clone();
        let due = match (owing.stands, answered) {
            (PendingCallState::Running, _) => AnswerDue::Answer(name),
            (PendingCallState::Pending, AnswerStage::Late) => AnswerDue::Late(name),
            (
                PendingCallState::Pending | PendingCallState::TakenBack | PendingCallState::Over,
                _,
            ) => AnswerDue::Nothing,
        };
        let stands = match (owing.stands, answered) {
            (PendingCallState::Running | PendingCallState::Pending, AnswerStage::Pending) => {
                PendingCallState::Pending
            }
            (PendingCallState::Pending, AnswerStage::Done | AnswerStage::Cancelled) => {
                PendingCallState::Pending
            }
            _ => PendingCallState::Over,
        };
        let ends = stands == PendingCallState::Over && owing.stands != PendingCallState::Over;
        owing.stands = stands;
        if ends {
            self.forget_later(id.to_owned());
        }
        due
    }

    /// Whether the provider waits for the answer to this call.
    pub(super) fn is_pending(&self, id: &str) -> bool {
        self.calls.get(id).is_some_and(|owing| owing.stands == PendingCallState::Running)
    }

    /// Whether the provider waits for any answer.
    pub(super) fn is_waited_for(&self) -> bool {
        self.calls.values().any(|owing| owing.stands == PendingCallState::Running)
    }

    fn forget_later(&mut self, id: String) {
        self.over.push_back(id);
        if self.over.len() > MAX_REMEMBERED_CALLS
            && let Some(oldest) = self.over.pop_front()
        {
            self.calls.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::AnswerStage::{Cancelled, Done, Late, Pending};
    use super::{AnswerDue, MAX_REMEMBERED_CALLS, PendingCalls};

    fn answer() -> AnswerDue {
        AnswerDue::Answer("roll".to_owned())
    }

    #[test]
    fn a_call_is_answered_once_and_its_late_result_once() {
        for (answers, expected) in [
            (&[Done, Done, Late][..], &[answer(), AnswerDue::Nothing, AnswerDue::Nothing][..]),
            (&[Cancelled, Done], &[answer(), AnswerDue::Nothing]),
            (&[Late, Done], &[answer(), AnswerDue::Nothing]),
            (
                &[Pending, Pending, Late, Late],
                &[
                    answer(),
                    AnswerDue::Nothing,
                    AnswerDue::Late("roll".to_owned()),
                    AnswerDue::Nothing,
                ],
            ),
        ] {
            let mut pending = PendingCalls::default();
            assert!(pending.begin("c", "roll"));
            let due: Vec<AnswerDue> = answers.iter().map(|it| pending.due("c", *it)).collect();
            assert_eq!(due, expected, "{answers:?}");
            assert!(!pending.begin("c", "roll"));
        }
    }

    #[test]
    fn what_was_taken_back_is_never_answered() {
        for answered in [Done, Pending, Cancelled] {
            let mut pending = PendingCalls::default();
            pending.begin("c", "roll");
            assert!(pending.take_back("c"));
            assert!(!pending.take_back("c"));
            assert_eq!(pending.due("c", answered), AnswerDue::Nothing, "{answered:?}");
            assert_eq!(pending.due("c", Late), AnswerDue::Nothing, "{answered:?}");
        }
    }

    #[test]
    fn old_calls_are_forgotten_and_running_ones_never() {
        let mut pending = PendingCalls::default();
        pending.begin("runs", "roll");
        for number in 0..2 * MAX_REMEMBERED_CALLS {
            let id = number.to_string();
            pending.begin(&id, "roll");
            pending.due(&id, Done);
        }
        assert!(!pending.knows("0"));
        assert_eq!(pending.calls.len(), MAX_REMEMBERED_CALLS + 1);
        assert_eq!(pending.due("runs", Done), answer());
    }
}
