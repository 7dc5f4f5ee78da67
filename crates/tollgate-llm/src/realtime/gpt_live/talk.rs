//! Turns in a session that has none: both sides may speak at once, transcripts come in fragments
//! without an end, and nobody says when an answer is over. A pause does.

use std::time::{Duration, Instant};

use crate::realtime::events::{Action, Form, TurnEvent};

/// After so long without a word of the agent's its answer is over.
const PAUSE: Duration = Duration::from_millis(1_200);
/// Of one utterance no more is kept.
const LONGEST: usize = 16 << 10;

#[derive(Debug, Default)]
pub(super) struct Talk {
    /// What the caller says, until the agent answers.
    heard: String,
    /// The agent's answer so far.
    said: String,
    turn: Turn,
    ends: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Turn {
    #[default]
    None,
    Runs,
}

/// Whether the backend has something to do for the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Idle,
    Busy,
}

impl Talk {
    /// A fragment of what the caller says.
    pub(super) fn hear(&mut self, fragment: &str, work: Work) -> Vec<Action> {
        let mut actions = Vec::new();
        if !self.said.is_empty() {
            actions.extend(self.flush());
            self.heard.clear();
            // Work for the turn goes on whoever speaks.
            if self.turn == Turn::Runs && work == Work::Idle {
                self.turn = Turn::None;
                self.ends = None;
                actions.push(Action::Turn(TurnEvent::Interrupted));
            }
        }
        if self.heard.len() + fragment.len() <= LONGEST {
            self.heard.push_str(fragment);
        }
        actions.push(Action::Heard { text: self.heard.trim().to_owned(), form: Form::Partial });
        actions
    }

    /// The agent answers, or has somebody else do so: the caller has finished.
    pub(super) fn answer(&mut self) -> Vec<Action> {
        let heard = std::mem::take(&mut self.heard);
        let mut actions = Vec::new();
        if !heard.trim().is_empty() {
            let text = heard.trim().to_owned();
            actions.push(Action::Heard { text, form: Form::Final });
            if self.turn == Turn::None {
                self.turn = Turn::Runs;
                actions.push(Action::Turn(TurnEvent::Began));
            }
        }
        actions
    }

    /// A fragment of what the agent says.
    pub(super) fn say(&mut self, fragment: &str, now: Instant) -> Vec<Action> {
        let actions = self.answer();
        if self.said.len() + fragment.len() <= LONGEST {
            self.said.push_str(fragment);
        }
        self.ends = Some(now + PAUSE);
        actions
    }

    pub(super) fn wakes(&self) -> Option<Instant> {
        self.ends
    }

    pub(super) fn time(&mut self, now: Instant, work: Work) -> Vec<Action> {
        if self.ends.is_none_or(|ends| now < ends) {
            return Vec::new();
        }
        self.ends = None;
        let mut actions: Vec<Action> = self.flush().into_iter().collect();
        if self.turn == Turn::Runs && work == Work::Idle {
            self.turn = Turn::None;
            actions.push(Action::Turn(TurnEvent::Ended));
        }
        actions
    }

    fn flush(&mut self) -> Option<Action> {
        let said = std::mem::take(&mut self.said);
        let said = said.trim();
        (!said.is_empty()).then(|| Action::Said(said.to_owned()))
    }
}
