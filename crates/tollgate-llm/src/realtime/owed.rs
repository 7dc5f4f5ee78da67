//! Which answers a provider is still owed: its calls of ours, each from its request until it was
//! answered or taken back. Kept by machines whose protocol answers a call at most once.

use std::collections::{HashMap, VecDeque};

use super::events::Answered;

/// Calls that are over and still known, so that one that comes again is not run again.
const REMEMBERED: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Owed {
    calls: HashMap<String, Owing>,
    /// The ids of those that are over, oldest first.
    over: VecDeque<String>,
}

#[derive(Debug)]
struct Owing {
    name: String,
    stands: Stands,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    Running,
    /// The provider took it back: it wants no answer any more, and one is still to come to us.
    TakenBack,
    /// The provider was told that it takes longer.
    Pending,
    Over,
}

/// What is to be done with an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The provider waits for it, by this name.
    Answer(String),
    /// The provider was answered before; this is what came of it.
    Late(String),
    Nothing,
}

impl Owed {
    /// `false` if this call came before.
    pub(super) fn begin(&mut self, id: &str, name: &str) -> bool {
        if self.calls.contains_key(id) {
            return false;
        }
        let owing = Owing { name: name.to_owned(), stands: Stands::Running };
        self.calls.insert(id.to_owned(), owing);
        true
    }

    /// One of ours, now or before.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    /// The provider wants no answer any more. `true` if there is something to stop.
    pub(super) fn take_back(&mut self, id: &str) -> bool {
        match self.calls.get_mut(id) {
            Some(owing) if owing.stands == Stands::Running => {
                owing.stands = Stands::TakenBack;
                true
            }
            _ => false,
        }
    }

    pub(super) fn due(&mut self, id: &str, answered: Answered) -> Due {
        let Some(owing) = self.calls.get_mut(id) else { return Due::Nothing };
        let name = owing.name.clone();
        let due = match (owing.stands, answered) {
            (Stands::Running, _) => Due::Answer(name),
            (Stands::Pending, Answered::Late) => Due::Late(name),
            (Stands::Pending | Stands::TakenBack | Stands::Over, _) => Due::Nothing,
        };
        let stands = match (owing.stands, answered) {
            (Stands::Running | Stands::Pending, Answered::Pending) => Stands::Pending,
            (Stands::Pending, Answered::Done | Answered::Cancelled) => Stands::Pending,
            _ => Stands::Over,
        };
        let ends = stands == Stands::Over && owing.stands != Stands::Over;
        owing.stands = stands;
        if ends {
            self.forget_later(id.to_owned());
        }
        due
    }

    /// The provider waits for its answer.
    pub(super) fn is_owed(&self, id: &str) -> bool {
        self.calls.get(id).is_some_and(|owing| owing.stands == Stands::Running)
    }

    /// The provider waits for some answer.
    pub(super) fn is_waited_for(&self) -> bool {
        self.calls.values().any(|owing| owing.stands == Stands::Running)
    }

    fn forget_later(&mut self, id: String) {
        self.over.push_back(id);
        if self.over.len() > REMEMBERED
            && let Some(oldest) = self.over.pop_front()
        {
            self.calls.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::Answered::{Cancelled, Done, Late, Pending};
    use super::{Due, Owed, REMEMBERED};

    fn answer() -> Due {
        Due::Answer("roll".to_owned())
    }

    #[test]
    fn a_call_is_answered_once_and_its_late_result_once() {
        for (answers, expected) in [
            (&[Done, Done, Late][..], &[answer(), Due::Nothing, Due::Nothing][..]),
            (&[Cancelled, Done], &[answer(), Due::Nothing]),
            (&[Late, Done], &[answer(), Due::Nothing]),
            (
                &[Pending, Pending, Late, Late],
                &[answer(), Due::Nothing, Due::Late("roll".to_owned()), Due::Nothing],
            ),
        ] {
            let mut owed = Owed::default();
            assert!(owed.begin("c", "roll"));
            let due: Vec<Due> = answers.iter().map(|it| owed.due("c", *it)).collect();
            assert_eq!(due, expected, "{answers:?}");
            assert!(!owed.begin("c", "roll"));
        }
    }

    #[test]
    fn what_was_taken_back_is_never_answered() {
        for answered in [Done, Pending, Cancelled] {
            let mut owed = Owed::default();
            owed.begin("c", "roll");
            assert!(owed.take_back("c"));
            assert!(!owed.take_back("c"));
            assert_eq!(owed.due("c", answered), Due::Nothing, "{answered:?}");
            assert_eq!(owed.due("c", Late), Due::Nothing, "{answered:?}");
        }
    }

    #[test]
    fn old_calls_are_forgotten_and_running_ones_never() {
        let mut owed = Owed::default();
        owed.begin("runs", "roll");
        for number in 0..2 * REMEMBERED {
            let id = number.to_string();
            owed.begin(&id, "roll");
            owed.due(&id, Done);
        }
        assert!(!owed.knows("0"));
        assert_eq!(owed.calls.len(), REMEMBERED + 1);
        assert_eq!(owed.due("runs", Done), answer());
    }
}
