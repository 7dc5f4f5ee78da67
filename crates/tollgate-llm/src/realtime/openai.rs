//! State machine of OpenAI Realtime (GA version) and compatible servers.
//!
//! It merges our tools with the client's, runs and answers our calls in the order that the protocol
//! requires, and hides all of it from the client.
//!
//! `client` handles client messages, `provider` and `responses` handle provider messages, and
//! `deliver` decides what of ours is sent and when. The other files hold the state for these
//! decisions.

mod calls;
mod client;
mod config;
mod deliver;
mod floor;
mod items;
mod late_results;
mod provider;
mod recent;
mod responses;
mod speech_queue;
mod wire;

use std::collections::HashMap;
use std::time::Instant;

use self::calls::OpenAiCalls;
use self::config::{ConnectionRole, OpenAiSessionConfig};
use self::floor::OpenAiFloor;
use self::items::ConversationItems;
use self::late_results::UnconfirmedLateResults;
use self::recent::RecentNames;
use self::speech_queue::SpeechQueue;
use self::wire::OpenAiOutbox;
use super::events::{
    DialectAction, DialectEvent, DialectStep, MessageFate, RealtimeDialect, RealtimeFrame,
    RealtimeInit,
};
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
    first: FirstProviderMessage,
    question: QuestionState,
    /// Item of the caller's last utterance.
    spoken_last: Option<String>,
}

/// Whether the provider has sent a message yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstProviderMessage {
    Awaited,
    Seen,
}

/// Whether another model can still answer the last utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuestionState {
    Open,
    /// The model has answered it, with speech or calls.
    Answered,
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
            config: OpenAiSessionConfig::new(role, opening.offer),
            config_bytes: 0,
            items: ConversationItems::default(),
            calls: OpenAiCalls::default(),
            late_results: UnconfirmedLateResults::default(),
            floor: OpenAiFloor::default(),
            speech_queue: SpeechQueue::default(),
            transcripts: HashMap::new(),
            aside_items: RecentNames::default(),
            written: RecentNames::default(),
            first: FirstProviderMessage::Awaited,
            question: QuestionState::Open,
            spoken_last: None,
        }
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
        match json_peek::peek_string(text, "type") {
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
        }
    }

    fn on_provider_message(&mut self, frame: RealtimeFrame<'_>, now: Instant) -> DialectStep {
        let RealtimeFrame::Text(text) = frame else { return DialectStep::forward() };
        let JsonPeek::Is(kind) = json_peek::peek_string(text, "type") else {
            return DialectStep::forward();
        };
        let step = self.provider_says(kind, text, now);
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
            DialectEvent::Route => self.route(&mut out),
            DialectEvent::Speak(words) => self.speak(words, now, &mut out),
            DialectEvent::Tier { tier, reason } => {
                let tier = tier.map(|tier| tier.as_str());
                out.push(DialectAction::ToClient(wire::tier(&mut self.post, tier, &reason)));
            }
            DialectEvent::Time => {
                self.declare_due(now, &mut out);
                self.speech_queue.time_passes(now);
                self.floor.time_passes(now);
                self.settle(now, &mut out);
            }
        }
        out
    }

    fn wakes(&self) -> Option<Instant> {
        [self.config.due(), self.speech_queue.wakes(), self.floor.wakes()]
            .into_iter()
            .flatten()
            .min()
    }

    fn config_bytes(&self) -> usize {
        self.config_bytes
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
