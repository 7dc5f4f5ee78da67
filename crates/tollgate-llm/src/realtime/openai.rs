//! State machine of OpenAI Realtime (GA version) and compatible servers.
//!
//! It merges our tools with the client's, runs and answers our calls in the order that the protocol
//! requires, and hides all of it from the client.
//!
//! `client` handles client messages, `provider` and `responses` handle provider messages, `deliver`
//! decides what of ours is sent and when, and `deep_turns` which model answers. The other files hold
//! the state for these decisions.

mod caller_audio;
mod calls;
mod client;
mod config;
mod deep_turns;
mod deliver;
mod expiry;
mod floor;
mod handover;
mod history;
mod items;
mod late_results;
mod open_responses;
mod provider;
mod question;
mod recent;
mod responses;
mod restart;
mod speech_queue;
mod turn_detection;
mod wire;

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use self::caller_audio::CallerAudio;
use self::calls::OpenAiCalls;
use self::config::{ConnectionRole, OpenAiSessionConfig};
pub(super) use self::config::{configure_call, remember_settings};
use self::expiry::SessionExpiry;
use self::floor::{OpenAiFloor, ResponseKind, ResponseOwner};
use self::history::ConversationHistory;
use self::items::ConversationItems;
use self::late_results::UnconfirmedLateResults;
use self::open_responses::OpenResponses;
use self::question::Question;
use self::recent::RecentNames;
use self::restart::EarlierConnection;
use self::speech_queue::SpeechQueue;
use self::wire::OpenAiOutbox;
use super::events::{
    CloseReason, DialectAction, DialectEvent, DialectStep, MessageFate, ProviderGone,
    RealtimeDialect, RealtimeFrame, RealtimeInit, RecallChannel, SessionRestart, SuccessorState,
};
use super::handover::SessionHandover;
use super::json_peek::{self, JsonPeek};

pub struct OpenAiRealtime {
    post: OpenAiOutbox,
    config: OpenAiSessionConfig,
    config_bytes: usize,
    items: ConversationItems,
    calls: OpenAiCalls,
    late_results: UnconfirmedLateResults,
    floor: OpenAiFloor,
    speech_queue: SpeechQueue,
    /// Unfinished transcripts of the caller, by item.
    transcripts: HashMap<String, String>,
    /// Items of our responses outside the conversation: messages cannot refer to them.
    aside_items: RecentNames,
    /// Calls that the client wrote into the history.
    written: RecentNames,
    /// Notes of the agent's memory that were given to the model.
    notes: RecentNames,
    first: FirstProviderMessage,
    /// How long the realtime model may be kept from answering; `None`: it answers all turns.
    hold: Option<Duration>,
    question: Question,
    /// Utterances whose transcript is complete.
    concluded: RecentNames,
    // What another connection would have to be told.
    history: ConversationHistory,
    caller_audio: CallerAudio,
    open_responses: OpenResponses,
    earlier: EarlierConnection,
    expiry: SessionExpiry,
}

/// Whether the provider has sent a message yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstProviderMessage {
    Awaited,
    Seen,
}

impl OpenAiRealtime {
    pub fn new(opening: RealtimeInit) -> Self {
        Self::at(ConnectionRole::Holder, opening)
    }

    /// For a sideband connection to a call that another connection holds.
    pub fn sideband(opening: RealtimeInit) -> Self {
        Self::at(ConnectionRole::Sideband, opening)
    }

    fn at(role: ConnectionRole, opening: RealtimeInit) -> Self {
        Self {
            post: OpenAiOutbox::default(),
            config: OpenAiSessionConfig::new(role, opening.offer, opening.declared.as_ref()),
            config_bytes: 0,
            items: ConversationItems::default(),
            calls: OpenAiCalls::default(),
            late_results: UnconfirmedLateResults::default(),
            floor: OpenAiFloor::default(),
            speech_queue: SpeechQueue::default(),
            transcripts: HashMap::new(),
            aside_items: RecentNames::default(),
            written: RecentNames::default(),
            notes: RecentNames::default(),
            first: FirstProviderMessage::Awaited,
            hold: None,
            question: Question::default(),
            concluded: RecentNames::default(),
            history: ConversationHistory::default(),
            caller_audio: CallerAudio::default(),
            open_responses: OpenResponses::default(),
            earlier: EarlierConnection::default(),
            expiry: SessionExpiry::default(),
        }
    }

    /// Whether another response follows by itself: for answers of our tools, or of another model.
    pub(super) fn expects_response(&self) -> bool {
        self.calls.any_waiting()
            || !self.speech_queue.is_nothing()
            || self.floor.has_requested(ResponseOwner::Ours, ResponseKind::Conversation)
    }

    /// Declares our tools before anything else is requested. On a sideband connection they are
    /// added to the existing ones, which have to be known first.
    fn declare_before(&mut self, now: Instant) -> Option<String> {
        if self.config.is_declared() || self.config.role() == ConnectionRole::Sideband {
            return None;
        }
        self.config.declare(&mut self.post, now)
    }
}

impl RealtimeDialect for OpenAiRealtime {
    fn on_client_message(&mut self, frame: RealtimeFrame<'_>, now: Instant) -> DialectStep {
        let RealtimeFrame::Text(text) = frame else { return self.refuse_binary() };
        let mut step = match json_peek::peek_string(text, "type") {
            JsonPeek::Is(kind) => {
                let before = self.declare_before(now);
                let step = self.client_says(kind, text, now);
                match before {
                    Some(ours) => after(ours, step, text),
                    None => step,
                }
            }
            JsonPeek::Missing => DialectStep::forward(),
            JsonPeek::Unclear => self.refuse_unclear(),
        };
        self.renew(now, &mut step.actions);
        self.note_written(&step.actions);
        step
    }

    fn on_provider_message(&mut self, frame: RealtimeFrame<'_>, now: Instant) -> DialectStep {
        let RealtimeFrame::Text(text) = frame else { return DialectStep::forward() };
        let JsonPeek::Is(kind) = json_peek::peek_string(text, "type") else {
            return DialectStep::forward();
        };
        if let Some(step) = self.hide_repetition(kind, text, now) {
            return step;
        }
        let mut step = self.provider_says(kind, text, now);
        self.note_for_restart(kind, text, &step.fate);
        self.renew(now, &mut step.actions);
        self.note_written(&step.actions);
        if self.first == FirstProviderMessage::Seen {
            return step;
        }
        self.first = FirstProviderMessage::Seen;
        self.post.season(text);
        step.and(self.declare_first(kind, now))
    }

    fn on_event(&mut self, news: DialectEvent, now: Instant) -> Vec<DialectAction> {
        let mut out = Vec::new();
        match news {
            DialectEvent::Offer(offer) => {
                self.config.offer(offer, now);
                self.declare_due(now, &mut out);
            }
            DialectEvent::Answer(answer) => self.answer(answer, now, &mut out),
            DialectEvent::Slow { id, message } => self.announce(&id, &message, now, &mut out),
            DialectEvent::Hold(hold) => self.set_hold(hold, &mut out),
            DialectEvent::Route => self.route(now, &mut out),
            DialectEvent::Stay => self.stay(now, &mut out),
            DialectEvent::SlowTurn(words) => self.announce_turn(words, now, &mut out),
            DialectEvent::Speak(words) => self.speak(words, now, &mut out),
            DialectEvent::Tier { tier, reason } => {
                let tier = tier.map(|tier| tier.as_str());
                out.push(DialectAction::ToClient(wire::tier(&mut self.post, tier, &reason)));
            }
            DialectEvent::Successor(SuccessorState::Ready) => self.expiry.mark_ready(),
            DialectEvent::Successor(SuccessorState::Gone) => self.expiry.retry_later(now),
            DialectEvent::Leaving(_) => {}
            DialectEvent::Time => {
                self.declare_due(now, &mut out);
                self.speech_queue.time_passes(now);
                self.floor.time_passes(now);
                self.question_time(now, &mut out);
                self.settle(now, &mut out);
            }
        }
        self.renew(now, &mut out);
        self.note_written(&out);
        out
    }

    fn on_provider_gone(&mut self, with: &CloseReason, _now: Instant) -> ProviderGone {
        self.provider_gone(with)
    }

    fn restart(&mut self, restart: SessionRestart, now: Instant) -> Vec<DialectAction> {
        self.begin_again(&restart, now)
    }

    fn hand_over(&mut self, _now: Instant) -> (SessionHandover, Vec<DialectAction>) {
        self.leave_session()
    }

    fn take_over(
        &mut self,
        handover: SessionHandover,
        restart: &SessionRestart,
        now: Instant,
    ) -> Vec<DialectAction> {
        self.continue_session(&handover, restart, now)
    }

    fn synchronize(&mut self, now: Instant, wall: SystemTime) {
        self.expiry.synchronize(now, wall);
    }

    fn wakes(&self) -> Option<Instant> {
        let expiry = self.expiry.wakes();
        let question = self.question.wakes();
        [self.config.due(), self.speech_queue.wakes(), self.floor.wakes(), expiry, question]
            .into_iter()
            .flatten()
            .min()
    }

    fn config_bytes(&self) -> usize {
        self.config_bytes
    }

    fn recall_channel(&self) -> RecallChannel {
        RecallChannel::Item
    }

    fn on_recalled(&mut self, note: &str) -> Vec<DialectAction> {
        self.notes.insert(note);
        vec![DialectAction::ToProvider(self.post.note(note))]
    }
}

/// The same step, with one of our messages sent before the client's.
fn after(ours: String, step: DialectStep, text: &str) -> DialectStep {
    let message = match step.fate {
        MessageFate::Forward => Some(DialectAction::ToProvider(text.to_owned())),
        MessageFate::Replace(text) => Some(DialectAction::ToProvider(text)),
        MessageFate::Swallow => None,
    };
    DialectStep::swallow().and([DialectAction::ToProvider(ours)]).and(message).and(step.actions)
}

#[cfg(test)]
mod tests;
