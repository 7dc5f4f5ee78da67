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
mod owed;
mod provider;
mod recent;
mod responses;
mod wire;

use std::collections::HashMap;
use std::time::Instant;

use self::calls::Calls;
use self::config::{Config, Seat};
use self::floor::Floor;
use self::items::Items;
use self::owed::Owed;
use self::recent::Recent;
use self::wire::Post;
use super::events::{Action, Fate, Frame, News, Opening, RealtimeDialect, Step};
use super::glance::{self, Glance};

pub struct OpenAi {
    post: Post,
    config: Config,
    items: Items,
    calls: Calls,
    floor: Floor,
    owed: Owed,
    /// What the caller is saying, by item.
    heard: HashMap<String, String>,
    /// What was said beside the conversation: no item of it can be spoken of.
    aside_items: Recent,
    /// Calls that the client wrote into the history.
    written: Recent,
    first: First,
    asked: Question,
    /// The item of what the caller said last.
    spoken_last: Option<String>,
}

/// Whether the provider has said anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Awaited,
    Seen,
}

/// Whether what was heard last can still be answered by another model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Open,
    /// The model has answered it, with words or with calls.
    Answered,
}

impl OpenAi {
    pub fn new(opening: Opening) -> Self {
        Self::at(Seat::Holder, opening)
    }

    /// On a call that somebody else holds.
    pub fn sideband(opening: Opening) -> Self {
        Self::at(Seat::Sideband, opening)
    }

    fn at(seat: Seat, opening: Opening) -> Self {
        Self {
            post: Post::default(),
            config: Config::new(seat, opening.offer),
            items: Items::default(),
            calls: Calls::default(),
            floor: Floor::default(),
            owed: Owed::default(),
            heard: HashMap::new(),
            aside_items: Recent::default(),
            written: Recent::default(),
            first: First::Awaited,
            asked: Question::Open,
            spoken_last: None,
        }
    }

    /// Our tools, before anything else is asked for. On somebody else's call they are added to what
    /// is there, which has to be known first.
    fn declare_before(&mut self, now: Instant) -> Option<String> {
        if self.config.is_declared() || self.config.seat() == Seat::Sideband {
            return None;
        }
        self.config.declare(&mut self.post, now)
    }
}

impl RealtimeDialect for OpenAi {
    fn client_said(&mut self, frame: Frame<'_>, now: Instant) -> Step {
        let Frame::Text(text) = frame else { return self.refuse_binary() };
        match glance::string(text, "type") {
            Glance::Is(kind) => {
                let before = self.declare_before(now);
                let step = self.client_says(kind, text, now);
                match before {
                    Some(ours) => after(ours, step, text),
                    None => step,
                }
            }
            Glance::Missing => Step::forward(),
            Glance::Unclear => self.refuse_unclear(),
        }
    }

    fn provider_said(&mut self, frame: Frame<'_>, now: Instant) -> Step {
        let Frame::Text(text) = frame else { return Step::forward() };
        let Glance::Is(kind) = glance::string(text, "type") else { return Step::forward() };
        let step = self.provider_says(kind, text, now);
        if self.first == First::Seen {
            return step;
        }
        self.first = First::Seen;
        self.post.season(text);
        step.and(self.declare_first(kind, now))
    }

    fn news(&mut self, news: News, now: Instant) -> Vec<Action> {
        let mut out = Vec::new();
        match news {
            News::Offer(offer) => {
                self.config.offer(offer, now);
                self.declare_due(now, &mut out);
            }
            News::Answer(answer) => self.answer(answer, now, &mut out),
            News::Slow { id, message } => self.announce((&id, &message), now, &mut out),
            News::Route => self.route(&mut out),
            News::Speak(words) => self.speak(words, now, &mut out),
            News::Tier { tier, reason } => {
                let tier = tier.map(|tier| tier.as_str());
                out.push(Action::ToClient(wire::tier(&mut self.post, tier, &reason)));
            }
            News::Time => {
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
}

/// The same step, with a message of ours before the client's.
fn after(ours: String, step: Step, text: &str) -> Step {
    let message = match step.fate {
        Fate::Forward => Some(Action::ToProvider(text.to_owned())),
        Fate::Replace(text) => Some(Action::ToProvider(text)),
        Fate::Swallow => None,
    };
    Step::swallow().and([Action::ToProvider(ours)]).and(message).and(step.actions)
}

#[cfg(test)]
mod tests;
