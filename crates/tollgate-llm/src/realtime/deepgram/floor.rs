//! Turn-taking and barge-in in a Deepgram session: the current speaker, and the state of the turn.

use crate::realtime::events::{DialectAction, DialectStep, TurnEvent, UtteranceStage};

#[derive(Debug, Default)]
pub(super) struct DeepgramFloor {
    pub(super) turn: DeepgramTurn,
    pub(super) speaker: DeepgramSpeaker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum DeepgramSpeaker {
    #[default]
    Nobody,
    Caller,
    Agent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum DeepgramTurn {
    #[default]
    None,
    /// Calls arrive before it is certain that the caller has finished.
    Early,
    /// The model has not answered yet, or calls a tool.
    Thinking,
    Answered,
}

impl DeepgramFloor {
    /// Handles the final transcript of the caller's utterance.
    pub(super) fn hear_final(&mut self, text: &str) -> DialectStep {
        self.speaker = DeepgramSpeaker::Nobody;
        let mut actions = vec![DialectAction::CallerSpeech {
            text: text.to_owned(),
            form: UtteranceStage::Final,
        }];
        match self.turn {
            DeepgramTurn::None => actions.push(DialectAction::Turn(TurnEvent::Began)),
            DeepgramTurn::Answered => {
                actions.insert(0, DialectAction::Turn(TurnEvent::Ended));
                actions.push(DialectAction::Turn(TurnEvent::Began));
            }
            DeepgramTurn::Early | DeepgramTurn::Thinking => {}
        }
        self.turn = DeepgramTurn::Thinking;
        DialectStep::forward().and(actions)
    }

    pub(super) fn barge_in(&mut self) -> Option<DialectAction> {
        let was = std::mem::take(&mut self.turn);
        (was != DeepgramTurn::None).then_some(DialectAction::Turn(TurnEvent::Interrupted))
    }
}
