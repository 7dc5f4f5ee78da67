//! Turn tracker for GPT-Live, which has no turns: both sides may speak at once, transcripts arrive
//! in fragments without an end, and no message marks the end of an answer. A pause ends it.

use std::time::{Duration, Instant};

use crate::realtime::events::{DialectAction, TurnEvent, UtteranceStage};

/// Silence of the agent after which its answer is over.
const ANSWER_OVER_AFTER: Duration = Duration::from_millis(1_200);
/// Maximum bytes kept of one utterance.
const MAX_UTTERANCE_BYTES: usize = 16 << 10;

#[derive(Debug, Default)]
pub(super) struct GptLiveTurnTracker {
    /// The caller's utterance, until the agent answers.
    caller_text: String,
    /// The agent's answer so far.
    agent_text: String,
    turn: GptLiveTurn,
    ends: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum GptLiveTurn {
    #[default]
    None,
    Runs,
}

/// Whether the backend has work for the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BackendActivity {
    Idle,
    Busy,
}

impl GptLiveTurnTracker {
    /// A fragment of the caller's speech.
    pub(super) fn hear(&mut self, fragment: &str, work: BackendActivity) -> Vec<DialectAction> {
        let mut actions = Vec::new();
        if !self.agent_text.is_empty() {
            actions.extend(self.flush());
            self.caller_text.clear();
            // Backend work for the turn continues, whoever speaks.
            if self.turn == GptLiveTurn::Runs && work == BackendActivity::Idle {
                self.turn = GptLiveTurn::None;
                self.ends = None;
                actions.push(DialectAction::Turn(TurnEvent::Interrupted));
            }
        }
        if self.caller_text.len() + fragment.len() <= MAX_UTTERANCE_BYTES {
            self.caller_text.push_str(fragment);
        }
        actions.push(DialectAction::CallerSpeech {
            text: self.caller_text.trim().to_owned(),
            form: UtteranceStage::Partial,
        });
        actions
    }

    /// The agent answers or delegates: the caller's utterance is final.
    pub(super) fn answer(&mut self) -> Vec<DialectAction> {
        let received = std::mem::take(&mut self.caller_text);
        let mut actions = Vec::new();
        if !received.trim().is_empty() {
            let text = received.trim().to_owned();
            actions.push(DialectAction::CallerSpeech { text, form: UtteranceStage::Final });
            if self.turn == GptLiveTurn::None {
                self.turn = GptLiveTurn::Runs;
                actions.push(DialectAction::Turn(TurnEvent::Began));
            }
        }
        actions
    }

    /// A fragment of the agent's speech.
    pub(super) fn say(&mut self, fragment: &str, now: Instant) -> Vec<DialectAction> {
        let actions = self.answer();
        if self.agent_text.len() + fragment.len() <= MAX_UTTERANCE_BYTES {
            self.agent_text.push_str(fragment);
        }
        self.ends = Some(now + ANSWER_OVER_AFTER);
        actions
    }

    pub(super) fn wakes(&self) -> Option<Instant> {
        self.ends
    }

    pub(super) fn time(&mut self, now: Instant, work: BackendActivity) -> Vec<DialectAction> {
        if self.ends.is_none_or(|ends| now < ends) {
            return Vec::new();
        }
        self.ends = None;
        let mut actions: Vec<DialectAction> = self.flush().into_iter().collect();
        if self.turn == GptLiveTurn::Runs && work == BackendActivity::Idle {
            self.turn = GptLiveTurn::None;
            actions.push(DialectAction::Turn(TurnEvent::Ended));
        }
        actions
    }

    fn flush(&mut self) -> Option<DialectAction> {
        let text = std::mem::take(&mut self.agent_text);
        let text = text.trim();
        (!text.is_empty()).then(|| DialectAction::AgentSpeech(text.to_owned()))
    }
}
