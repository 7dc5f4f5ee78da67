//! Who has the floor in a Deepgram session, and in which turn.

use crate::realtime::events::{Action, Form, Step, TurnEvent};

#[derive(Debug, Default)]
pub(super) struct Floor {
    pub(super) turn: Turn,
    pub(super) speaker: Speaker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Speaker {
    #[default]
    Nobody,
    Caller,
    Agent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Turn {
    #[default]
    None,
    /// Calls come before it is certain that the caller has finished.
    Early,
    /// The model has not said anything to it yet, or calls a tool.
    Thinking,
    Answered,
}

impl Floor {
    /// What the caller said, once that is certain.
    pub(super) fn heard(&mut self, text: &str) -> Step {
        self.speaker = Speaker::Nobody;
        let mut actions = vec![Action::Heard { text: text.to_owned(), form: Form::Final }];
        match self.turn {
            Turn::None => actions.push(Action::Turn(TurnEvent::Began)),
            Turn::Answered => {
                actions.insert(0, Action::Turn(TurnEvent::Ended));
                actions.push(Action::Turn(TurnEvent::Began));
            }
            Turn::Early | Turn::Thinking => {}
        }
        self.turn = Turn::Thinking;
        Step::forward().and(actions)
    }

    pub(super) fn interrupted(&mut self) -> Option<Action> {
        let was = std::mem::take(&mut self.turn);
        (was != Turn::None).then_some(Action::Turn(TurnEvent::Interrupted))
    }
}
