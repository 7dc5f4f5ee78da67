//! Gemini Live (`BidiGenerateContent`) as a state machine. Called by the session around it, which
//! has the sockets; no I/O, no clock.
//!
//! The gateway's functions are one more entry of the client's `tools`; calls to them are taken out
//! of what the client sees, and answered here. A provider that takes a call back gets no answer to
//! it; any other call gets exactly one, since a model that waits would wait for ever. What differs
//! between models is a table (`family`). New offers go by `contextUpdate`, on models that have none
//! by a new connection that resumes the session, at a moment when nobody speaks.
//!
//! Gemini cannot be kept from answering a turn, so deep turns are not routed elsewhere: its routing
//! is always native, and neither [`News::Route`] nor [`News::Speak`] does anything here.

use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_core::tool::Delivery;

use super::events::{
    Action, Answer, CloseWith, Frame, News, Offer, Opening, RealtimeDialect, Step, TurnEvent,
};

mod calls;
mod client;
mod config;
mod family;
mod link;
mod provider;
mod talk;
#[cfg(test)]
mod tests;
mod wire;

use calls::{Calls, Reply};
use config::{Config, Shown};
use family::{Family, Renewal};
use link::{Link, Moment};
use talk::Talk;
use wire::{Edits, Told};

/// Offers that follow each other faster are told once.
const DEBOUNCE: Duration = Duration::from_millis(250);

/// One session with a Gemini model.
pub struct Gemini {
    /// With `models/` before it.
    model: String,
    family: Family,
    offer: Offer,
    /// The client's; `None` before its first message.
    config: Option<Config>,
    /// What the provider has of an offer.
    shown: Option<Shown>,
    /// When another offer is told.
    due: Option<Instant>,
    calls: Calls,
    talk: Talk,
    link: Link,
    /// Results that no call can take any more, until they can be told.
    words: Vec<(Delivery, String)>,
    /// For a connection that is not ready.
    unsent: Vec<String>,
    /// Whether the client has ever spoken to the gateway.
    client: client::Acquaintance,
}

impl Gemini {
    pub fn new(opening: Opening) -> Self {
        let name = opening.model.strip_prefix("models/").unwrap_or(&opening.model);
        Self {
            model: format!("models/{name}"),
            family: Family::of(name),
            offer: opening.offer,
            config: None,
            shown: None,
            due: None,
            calls: Calls::default(),
            talk: Talk::default(),
            link: Link::default(),
            words: Vec::new(),
            unsent: Vec::new(),
            client: client::Acquaintance::default(),
        }
    }
}

impl RealtimeDialect for Gemini {
    fn client_said(&mut self, frame: Frame<'_>, now: Instant) -> Step {
        let asked = wire::text_of(&frame).map_or(wire::Asked::Unclear, wire::asked);
        let mut step = self.asked(asked);
        step.actions.extend(self.settled(now));
        step
    }

    fn provider_said(&mut self, frame: Frame<'_>, now: Instant) -> Step {
        let Some(text) = wire::text_of(&frame) else { return Step::forward() };
        let told = wire::told(text);
        if told == Told::default() {
            return Step::forward();
        }
        let mut edits = Edits::new();
        let mut actions = self.told(&told, &mut edits, now);
        actions.extend(self.settled(now));
        Step { fate: wire::edited(text, edits), actions }
    }

    fn news(&mut self, news: News, now: Instant) -> Vec<Action> {
        let mut actions = match news {
            News::Offer(offer) => self.offered(offer, now),
            News::Answer(answer) => self.answered(answer),
            News::Slow { id, message } => self.slow(&id, &message),
            News::Tier { tier, reason } => self.tier_told(tier, &reason),
            News::Time => self.due(now),
            // See above: never sent to a dialect that is always native.
            News::Route | News::Speak(_) => Vec::new(),
        };
        actions.extend(self.settled(now));
        actions
    }

    fn wakes(&self) -> Option<Instant> {
        let waits = self.link.waits() || !self.words.is_empty();
        let pause = self.talk.pauses().filter(|_| waits);
        let due = self.due.filter(|_| self.link.stands());
        [self.calls.wakes(), due, self.link.wakes(), pause].into_iter().flatten().min()
    }
}

/// What the gateway has to say.
impl Gemini {
    fn offered(&mut self, offer: Offer, now: Instant) -> Vec<Action> {
        self.offer = offer;
        let Some(share) = self.share() else { return Vec::new() };
        if Some(share.shown()) == self.shown {
            self.due = None;
            self.link.keep();
        } else if self.due.is_none() {
            self.due = Some(now + DEBOUNCE);
        }
        Vec::new()
    }

    fn share(&self) -> Option<config::Share> {
        self.config.as_ref().map(|config| config.share(&self.offer, self.family))
    }

    fn answered(&mut self, answer: Answer) -> Vec<Action> {
        self.calls.answered(answer).map(|reply| self.reply(reply)).into_iter().flatten().collect()
    }

    fn reply(&mut self, reply: Reply) -> Option<Action> {
        match reply {
            Reply::Response(message) => self.send(message),
            Reply::Words(delivery, words) => {
                self.words.push((delivery, words));
                None
            }
        }
    }

    fn send(&mut self, message: String) -> Option<Action> {
        if self.link.stands() {
            return Some(Action::ToProvider(message));
        }
        self.unsent.push(message);
        None
    }

    /// A model that talks on gets the words as one more answer, which is not the last. One that
    /// waits can say nothing.
    fn slow(&mut self, id: &str, message: &str) -> Vec<Action> {
        let outcome = json!({"status": "pending", "message": message, "retryable": false});
        match self.calls.progress(id, &outcome.to_string()) {
            Some(progress) if self.link.stands() => {
                vec![Action::ToProvider(progress), Action::Announced]
            }
            _ => Vec::new(),
        }
    }

    fn due(&mut self, now: Instant) -> Vec<Action> {
        let mut actions = Vec::new();
        self.talk.rest(now);
        let (confirmed, replies) = self.calls.due(now);
        if !confirmed.is_empty() {
            actions.push(Action::Confirm(confirmed));
        }
        for reply in replies {
            actions.extend(self.reply(reply));
        }
        let ready = self.link.stands();
        if self.due.take_if(|due| ready && *due <= now).is_some() {
            actions.extend(self.renewed());
        }
        actions
    }

    /// The provider is told of another offer, if it really is another.
    fn renewed(&mut self) -> Option<Action> {
        let (config, share) = (self.config.as_ref()?, self.share()?);
        let (before, shown) = (self.shown?, share.shown());
        if before == shown {
            return None;
        }
        match self.family.renewal() {
            Renewal::ContextUpdate => {
                self.shown = Some(shown);
                let update = config.renewed(&share, before.prompt_changed(shown));
                Some(Action::ToProvider(update))
            }
            Renewal::Reconnect => {
                self.link.renew();
                None
            }
        }
    }

    /// What was waited for, if this is the moment: a new connection, words.
    fn settled(&mut self, now: Instant) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.link.waits() {
            let good = self.talk.is_idle(now) && !self.calls.are_open(now);
            let moment = if good { Moment::Good } else { Moment::Bad };
            if let Some(handle) = self.link.leave(moment, now) {
                actions.extend(self.reconnected(&handle));
            }
        }
        if self.link.stands() && !self.words.is_empty() {
            actions.extend(self.worded(now));
        }
        actions
    }

    fn reconnected(&mut self, handle: &str) -> Vec<Action> {
        let (Some(config), Some(share)) = (&self.config, self.share()) else { return Vec::new() };
        let opening = config.opening(&self.model, &share, Some(handle));
        self.shown = Some(share.shown());
        self.due = None;
        self.calls.lose();
        let mut actions = Vec::new();
        if self.talk.is_open() {
            // Nobody else tells the client that the rest of this answer does not come.
            for end in [json!({"interrupted": true}), json!({"turnComplete": true})] {
                actions.push(Action::ToClient(json!({"serverContent": end}).to_string()));
            }
            actions.extend(self.talk.end(TurnEvent::Interrupted));
        }
        actions.push(Action::Reconnect(vec![opening]));
        actions
    }

    /// Results as words: when nobody speaks, all that there are at once; those that interrupt, now.
    fn worded(&mut self, now: Instant) -> Vec<Action> {
        let idle = self.talk.is_idle(now);
        let (ready, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.words)
            .into_iter()
            .partition(|(delivery, _)| idle || *delivery == Delivery::Interrupt);
        self.words = later;
        let silent = ready.iter().all(|(delivery, _)| *delivery == Delivery::Silent);
        let delivery = if silent { Delivery::Silent } else { Delivery::WhenIdle };
        let texts: Vec<String> = ready.into_iter().map(|(_, text)| text).collect();
        if texts.is_empty() {
            return Vec::new();
        }
        let telling = self.family.telling(delivery);
        let mut actions = vec![Action::ToProvider(wire::telling(&texts.join("\n"), telling))];
        if telling != family::Telling::Note {
            actions.extend(self.talk.begin());
        }
        self.link.outdated();
        actions
    }
}

fn closed(reason: &str) -> Step {
    let close = CloseWith { code: 1007, reason: reason.to_owned() };
    Step::swallow().and([Action::Close(close)])
}
