//! OpenAI Realtime (the GA form), and everybody who speaks like it: our tools among the client's, our
//! calls run and answered in the order that the protocol wants, and nothing of it visible.
//!
//! What the client says is in `client`, what the provider says in `provider` and `responses`, what of
//! ours is sent and when in `deliver`; these decide. The other files keep what they decide by.

mod calls;
mod client;
mod config;
mod deliver;
mod floor;
mod items;
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
    floor: OpenAiFloor,
    owed: SpeechQueue,
    /// What the caller is saying, by item.
    heard: HashMap<String, String>,
    /// What was said beside the conversation: no item of it can be spoken of.
    aside_items: RecentNames,
    /// Calls that the client wrote into the history.
    written: RecentNames,
    first: FirstProviderMessage,
    asked: QuestionState,
    /// The item of what the caller said last.
    spoken_last: Option<String>,
}

/// Whether the provider has said anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstProviderMessage {
    Awaited,
    Seen,
}

/// Whether what was heard last can still be answered by another model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuestionState {
    Open,
    /// The model has answered it, with words or with calls.
    Answered,
}

impl OpenAiRealtime {
    pub fn new(opening: RealtimeInit) -> Self {
        Self::at(ConnectionRole::Holder, opening)
    }

    /// On a call that somebody else holds.
    pub fn sideband(opening: RealtimeInit) -> Self {
        Self::at(ConnectionRole::Sideband, opening)
    }

    fn at(seat: ConnectionRole, opening: RealtimeInit) -> Self {
        Self {
            post: OpenAiOutbox::default(),
            config: OpenAiSessionConfig::new(seat, opening.offer),
            config_bytes: 0,
            items: ConversationItems::default(),
            calls: OpenAiCalls::default(),
            floor: OpenAiFloor::default(),
            owed: SpeechQueue::default(),
            heard: HashMap::new(),
            aside_items: RecentNames::default(),
            written: RecentNames::default(),
            first: FirstProviderMessage::Awaited,
            asked: QuestionState::Open,
            spoken_last: None,
        }
    }

    /// Our tools, before anything else is asked for. On somebody else's call they are added to what
    /// is there, which has to be known first.
    fn declare_before(&mut self, now: Instant) -> Option<String> {
        if self.config.is_declared() || self.config.seat() == ConnectionRole::Sideband {
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
            DialectEvent::Slow { id, message } => self.announce((&id, &message), now, &mut out),
            DialectEvent::Route => self.route(&mut out),
            DialectEvent::Speak(words) => self.speak(words, now, &mut out),
            DialectEvent::Tier { tier, reason } => {
                let tier = tier.map(|tier| tier.as_str());
                out.push(DialectAction::ToClient(wire::tier(&mut self.post, tier, &reason)));
            }
            DialectEvent::Time => {
                self.declare_due(now, &mut out);
                self.owed.time_passes(now);
                self.floor.time_passes(now);
                self.settle(now, &mut out);
            }
        }
        out
    }

    fn wakes(&self) -> Option<Instant> {
        [self.config.due(), self.owed.wakes(), self.floor.wakes()].into_iter().flatten().min()
    }

    fn config_bytes(&self) -> usize {
        self.config_bytes
    }
}

/// The same step, with a message of ours before the client's.
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
