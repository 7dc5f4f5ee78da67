//! Silences of a session: tells the tracker whose time it is, and records what it finds.

use std::time::Instant;

use tollgate_core::tool::ResultDelivery;
use tollgate_engine::notices::LiveEnding;

use super::super::observer::{Observation, SpeechEvent};
use super::super::silence::{SilencePart, SilenceTracker};
use super::RealtimeSession;

#[derive(Default)]
pub(super) struct SessionSilence {
    tracker: SilenceTracker,
    connection: ProviderLink,
    response: ResponseProgress,
    answers: AnswerDelivery,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ProviderLink {
    #[default]
    Stands,
    Renews,
}

/// Whether the provider reports a response that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ResponseProgress {
    #[default]
    Idle,
    Runs,
}

/// Whether the gateway has results that the model does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum AnswerDelivery {
    #[default]
    Sent,
    Held,
}

impl SessionSilence {
    /// The connection is being replaced.
    pub(super) fn note_reconnect(&mut self) {
        self.connection = ProviderLink::Renews;
    }

    pub(super) fn note_reconnected(&mut self) {
        self.connection = ProviderLink::Stands;
    }

    /// The gateway has a result for the model.
    pub(super) fn note_answer(&mut self) {
        self.answers = AnswerDelivery::Held;
    }

    /// The gateway has sent something of its own to the provider.
    pub(super) fn note_sent(&mut self) {
        self.answers = AnswerDelivery::Sent;
    }

    pub(super) fn end_turn(&mut self, ending: LiveEnding) {
        self.answers = AnswerDelivery::Sent;
        match ending {
            LiveEnding::Whole => self.tracker.on_turn_end(),
            LiveEnding::Interrupted => self.tracker.on_interruption(),
        }
    }
}

impl RealtimeSession {
    /// Called after everything that happens in a session.
    pub(super) fn watch(&mut self, now: Instant) {
        let part = self.silence_part();
        self.silence.tracker.attribute(part, now);
        self.watch_usage(now);
    }

    pub(super) fn observe_client(&mut self, observed: &Observation, now: Instant) {
        self.usage.note_heard(observed.audio);
        self.note_speech(observed.speech, now);
    }

    /// `is_shown`: the message goes to the client.
    pub(super) fn observe_provider(
        &mut self,
        observed: &Observation,
        is_shown: bool,
        now: Instant,
    ) {
        if let Some(used) = &observed.usage {
            self.charge(used, now);
        }
        match observed.speech {
            Some(SpeechEvent::ResponseBegan) => self.silence.response = ResponseProgress::Runs,
            Some(SpeechEvent::ResponseEnded) => self.silence.response = ResponseProgress::Idle,
            _ => {}
        }
        self.note_speech(observed.speech, now);
        let is_heard =
            !observed.audio.is_zero() || observed.speech == Some(SpeechEvent::AgentHeard);
        if is_heard && is_shown {
            self.usage.note_spoken(observed.audio, now);
            self.end_silence(now);
        }
    }

    pub(super) fn note_speech(&mut self, event: Option<SpeechEvent>, now: Instant) {
        if let Some(event) = event {
            let part = self.silence_part();
            self.silence.tracker.on_speech(event, part, now);
        }
    }

    fn end_silence(&mut self, now: Instant) {
        if let Some(silence) = self.silence.tracker.on_agent_audio(now) {
            self.spans.heard_after(&silence);
            let turn = self.call_progress.number;
            self.session_registry.record_silence(&self.facts, turn, silence);
        }
    }

    /// Whose time it is now.
    fn silence_part(&self) -> SilencePart {
        let is_awaited = |delivery| delivery == ResultDelivery::Wait;
        let mut calls = self.running_calls.values().filter(|call| is_awaited(call.delivery));
        if self.silence.connection == ProviderLink::Renews {
            SilencePart::Network
        } else if calls.any(|call| call.abort.is_some()) {
            SilencePart::Tool
        } else if self.recall.holds() {
            SilencePart::Gateway
        } else if self.silence.response == ResponseProgress::Runs {
            SilencePart::Model
        } else if self.silence.answers == AnswerDelivery::Held
            || self.running_calls.values().any(|call| is_awaited(call.delivery))
        {
            // Results that cannot be sent yet, and writes whose turn may still be cancelled.
            SilencePart::Gateway
        } else {
            SilencePart::Model
        }
    }
}
