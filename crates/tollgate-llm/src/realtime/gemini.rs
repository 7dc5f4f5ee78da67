//! State machine of Gemini Live (`BidiGenerateContent`). Called by the session around it, which has
//! the sockets; no I/O, no clock.
//!
//! The gateway's functions are one more entry of the client's `tools`. Calls to them are removed
//! from what the client sees, and answered here. A call that the provider cancels gets no answer;
//! any other call gets exactly one, because a waiting model would wait forever. Differences between
//! models are in a table (`family`). New offers are sent by `contextUpdate`, or, on models without
//! it, by a new connection that resumes the session while nobody speaks.
//!
//! Gemini cannot be kept from answering a turn, so deep turns are not routed elsewhere: its routing
//! is always native, and [`DialectEvent::Route`] and [`DialectEvent::Speak`] have no effect here.

use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_core::tool::ResultDelivery;

use super::events::{
    AnswerStage, CallAnswer, CloseReason, DialectAction, DialectEvent, DialectStep, ProviderGone,
    RealtimeDialect, RealtimeFrame, RealtimeInit, RealtimeOffer, RecallChannel, SessionRestart,
    TurnEvent,
};
use super::handover::SessionHandover;
use super::replay::ReplayBuffer;

mod calls;
mod client;
mod config;
mod family;
mod handover;
mod history;
mod link;
mod loudness;
mod provider;
mod restart;
#[cfg(test)]
mod tests;
mod turn_tracker;
mod wire;

use calls::{GeminiCallReply, GeminiCalls, GeminiNote};
use config::{GeminiSessionConfig, OpeningHandle, SetupChange, ShareFingerprint};
use family::OfferRenewal;
pub(super) use family::{GeminiFamily, NoteChannel};
use history::GeminiHistory;
use link::{GeminiLink, ReconnectMoment};
use restart::{EarlyMessages, PendingRecap};
use turn_tracker::GeminiTurnTracker;
use wire::{GeminiServerMessage, MessageEdits};

pub(super) use loudness::has_sound;

/// Offers within this time are sent once.
const OFFER_DEBOUNCE: Duration = Duration::from_millis(250);

/// One session with a Gemini model.
pub struct GeminiLive {
    /// With the prefix `models/`.
    model: String,
    family: GeminiFamily,
    offer: RealtimeOffer,
    /// The client's configuration; `None` before its first message.
    config: Option<GeminiSessionConfig>,
    /// The offer that the provider has.
    shown: Option<ShareFingerprint>,
    /// When the next offer is sent.
    due: Option<Instant>,
    /// When an offer was sent last.
    sent_offer: Option<Instant>,
    calls: GeminiCalls,
    talk: GeminiTurnTracker,
    link: GeminiLink,
    /// Results that no call can return any more, held until they can be sent as text.
    words: Vec<GeminiNote>,
    /// Messages for a connection that is not ready.
    unsent: Vec<String>,
    /// The client's audio since the newest handle.
    replay: ReplayBuffer,
    /// The client's messages before the provider has accepted the session.
    early: EarlyMessages,
    history: GeminiHistory,
    /// For a connection that has not accepted the session yet.
    recap: PendingRecap,
    /// Whether the client has ever sent a message to the gateway itself.
    client: client::GatewayAwareness,
}

impl GeminiLive {
    pub fn new(opening: RealtimeInit) -> Self {
        let name = opening.model.strip_prefix("models/").unwrap_or(&opening.model);
        Self {
            model: format!("models/{name}"),
            family: GeminiFamily::of(name),
            offer: opening.offer,
            config: None,
            shown: None,
            due: None,
            sent_offer: None,
            calls: GeminiCalls::default(),
            talk: GeminiTurnTracker::default(),
            link: GeminiLink::default(),
            words: Vec::new(),
            unsent: Vec::new(),
            replay: ReplayBuffer::default(),
            early: EarlyMessages::default(),
            history: GeminiHistory::default(),
            recap: PendingRecap::default(),
            client: client::GatewayAwareness::default(),
        }
    }
}

impl RealtimeDialect for GeminiLive {
    fn on_client_message(&mut self, frame: RealtimeFrame<'_>, now: Instant) -> DialectStep {
        let text = wire::text_of(&frame);
        let message = text.map_or(wire::GeminiClientMessage::Unclear, wire::parse_client_message);
        let mut step = self.handle_client_message(message, text.unwrap_or_default(), now);
        step.actions.extend(self.flush_waiting(now));
        self.history.note(&step.actions);
        step
    }

    fn on_provider_message(&mut self, frame: RealtimeFrame<'_>, now: Instant) -> DialectStep {
        let Some(text) = wire::text_of(&frame) else { return DialectStep::forward() };
        let message = wire::parse_server_message(text);
        if message == GeminiServerMessage::default() {
            return DialectStep::forward();
        }
        let mut edits = MessageEdits::new();
        let mut actions = self.handle_server_message(&message, &mut edits, now);
        actions.extend(self.flush_waiting(now));
        self.history.note(&actions);
        DialectStep { fate: wire::apply_edits(text, edits), actions }
    }

    fn on_event(&mut self, news: DialectEvent, now: Instant) -> Vec<DialectAction> {
        let mut actions = match news {
            DialectEvent::Offer(offer) => self.update_offer(offer, now),
            DialectEvent::Answer(answer) => self.answer_call(answer),
            DialectEvent::Slow { id, message } => self.slow(&id, &message),
            DialectEvent::Tier { tier, reason } => self.announce_tier(tier, &reason),
            DialectEvent::Time => self.due(now),
            DialectEvent::Leaving(_) if self.link.is_fresh() => Vec::new(),
            DialectEvent::Leaving(left) => {
                let left = format!("{}s", left.as_secs_f64());
                vec![DialectAction::ToClient(json!({"goAway": {"timeLeft": left}}).to_string())]
            }
            // Its connection is opened again if it is gone by then.
            DialectEvent::Successor(_) => Vec::new(),
            // See above: never sent to a dialect that is always native.
            DialectEvent::Hold(_)
            | DialectEvent::Route
            | DialectEvent::Stay
            | DialectEvent::SlowTurn(_)
            | DialectEvent::Speak(_) => Vec::new(),
        };
        actions.extend(self.flush_waiting(now));
        self.history.note(&actions);
        actions
    }

    fn on_provider_gone(&mut self, with: &CloseReason, now: Instant) -> ProviderGone {
        self.provider_gone(with, now)
    }

    fn restart(&mut self, restart: SessionRestart, _now: Instant) -> Vec<DialectAction> {
        self.begin_again(&restart)
    }

    fn hand_over(&mut self, now: Instant) -> (SessionHandover, Vec<DialectAction>) {
        self.leave_session(now)
    }

    fn take_over(
        &mut self,
        handover: SessionHandover,
        restart: &SessionRestart,
        now: Instant,
    ) -> Vec<DialectAction> {
        self.continue_session(&handover, restart, now)
    }

    fn wakes(&self) -> Option<Instant> {
        let waits = self.link.waits() || !self.words.is_empty();
        let pause = self.talk.pauses().filter(|_| waits);
        let sound = self.talk.may_speak_until().filter(|_| self.link.waits());
        let due = self.due.filter(|_| self.link.stands());
        [self.calls.wakes(), due, self.link.wakes(), pause, sound].into_iter().flatten().min()
    }

    fn config_bytes(&self) -> usize {
        self.config.as_ref().map_or(0, GeminiSessionConfig::bytes)
    }

    /// Older models would need a new connection for it.
    fn recall_channel(&self) -> RecallChannel {
        match self.family.renewal() {
            OfferRenewal::ContextUpdate => RecallChannel::Prompt,
            OfferRenewal::Reconnect => RecallChannel::None,
        }
    }
}

/// Messages of the gateway.
impl GeminiLive {
    fn update_offer(&mut self, offer: RealtimeOffer, now: Instant) -> Vec<DialectAction> {
        self.offer = offer;
        let Some(share) = self.share() else { return Vec::new() };
        if Some(share.fingerprint()) == self.shown {
            self.due = None;
            self.link.keep();
            if !self.link.waits() {
                self.replay.clear();
            }
        } else if self.due.is_none() {
            let earliest = self.sent_offer.map_or(now, |last| last + OFFER_DEBOUNCE);
            self.due = Some(earliest.max(now));
        }
        self.send_due_offer(now).into_iter().collect()
    }

    fn share(&self) -> Option<config::GatewayShare> {
        self.config.as_ref().map(|config| config.share(&self.offer, self.family))
    }

    fn answer_call(&mut self, answer: CallAnswer) -> Vec<DialectAction> {
        self.calls.answer(answer).map(|reply| self.reply(reply)).unwrap_or_default()
    }

    fn reply(&mut self, reply: GeminiCallReply) -> Vec<DialectAction> {
        match reply {
            GeminiCallReply::Response { message, answered } => {
                self.send(message).into_iter().chain(count_late(answered)).collect()
            }
            GeminiCallReply::Words(note) => {
                self.words.push(note);
                Vec::new()
            }
        }
    }

    fn send(&mut self, message: String) -> Option<DialectAction> {
        if self.link.stands() {
            return Some(DialectAction::ToProvider(message));
        }
        self.unsent.push(message);
        None
    }

    /// A model that keeps talking gets the announcement as an additional, non-final response. A
    /// blocked model cannot say anything.
    fn slow(&mut self, id: &str, message: &str) -> Vec<DialectAction> {
        let outcome = json!({"status": "pending", "message": message, "retryable": false});
        match self.calls.progress(id, &outcome.to_string()) {
            Some(progress) if self.link.stands() => {
                vec![DialectAction::ToProvider(progress), DialectAction::Announced]
            }
            _ => Vec::new(),
        }
    }

    fn due(&mut self, now: Instant) -> Vec<DialectAction> {
        let mut actions = Vec::new();
        self.talk.rest(now);
        let (confirmed, replies) = self.calls.due(now);
        if !confirmed.is_empty() {
            actions.push(DialectAction::Confirm(confirmed));
        }
        for reply in replies {
            actions.extend(self.reply(reply));
        }
        actions.extend(self.send_due_offer(now));
        actions
    }

    fn send_due_offer(&mut self, now: Instant) -> Option<DialectAction> {
        let ready = self.link.stands();
        self.due.take_if(|due| ready && *due <= now)?;
        self.sent_offer = Some(now);
        self.send_new_offer(now)
    }

    /// Sends a new offer to the provider, if it differs.
    fn send_new_offer(&mut self, now: Instant) -> Option<DialectAction> {
        let config = self.config.as_ref()?;
        let share = self.share()?;
        let before = self.shown?;
        let shown = share.fingerprint();
        if before == shown {
            return None;
        }
        match self.family.renewal() {
            OfferRenewal::ContextUpdate => {
                self.shown = Some(shown);
                let update = config.context_update(&share, before.prompt_change(shown));
                Some(DialectAction::ToProvider(update))
            }
            OfferRenewal::Reconnect => {
                self.link.renew(now);
                None
            }
        }
    }

    pub(super) fn family(&self) -> GeminiFamily {
        self.family
    }

    /// Whether a message reaches the provider now.
    pub(super) fn is_connected(&self) -> bool {
        self.link.stands()
    }

    /// The client's setup changed after the provider has accepted the first one. What cannot be
    /// sent to a running session is applied by a new connection that resumes it.
    pub(super) fn change_setup(&mut self, setup: &str, now: Instant) -> Vec<DialectAction> {
        let (Some(before), Ok(config)) = (&self.config, GeminiSessionConfig::read(setup)) else {
            return Vec::new();
        };
        let is_context = before.has_same_settings(&config);
        self.config = Some(config);
        let mut actions = Vec::new();
        if is_context && self.family.renewal() == OfferRenewal::ContextUpdate {
            let update = self.config.as_ref().zip(self.share()).map(|(config, share)| {
                self.shown = Some(share.fingerprint());
                config.context_update(&share, SetupChange::Yes)
            });
            actions.extend(update.and_then(|update| self.send(update)));
        } else {
            self.link.renew(now);
        }
        actions.extend(self.flush_waiting(now));
        actions
    }

    /// Performs waiting actions, if this is the right moment: a reconnection, results as text.
    fn flush_waiting(&mut self, now: Instant) -> Vec<DialectAction> {
        let mut actions = Vec::new();
        if self.link.waits() {
            let good = self.talk.is_idle(now)
                && self.talk.may_speak_until().is_none()
                && !self.calls.are_open(now);
            let moment = if good { ReconnectMoment::Good } else { ReconnectMoment::Bad };
            if let Some(handle) = self.link.leave(moment, now) {
                self.replay.keep_recent();
                actions.extend(self.reconnect(&handle));
            } else if self.link.take_prepare(now) {
                actions.push(DialectAction::PrepareReconnect);
            }
        }
        if self.link.stands() && !self.words.is_empty() {
            actions.extend(self.say_results(now));
        }
        actions
    }

    fn reconnect(&mut self, handle: &str) -> Vec<DialectAction> {
        let (Some(config), Some(share)) = (&self.config, self.share()) else { return Vec::new() };
        let opening = config.opening(&self.model, &share, OpeningHandle::Resume(handle));
        self.shown = Some(share.fingerprint());
        self.due = None;
        self.calls.lose();
        let mut actions = self.end_turn_for_client();
        actions.push(DialectAction::Reconnect(vec![opening]));
        actions
    }

    /// Nobody else tells the client that the rest of an answer is missing.
    fn end_turn_for_client(&mut self) -> Vec<DialectAction> {
        if !self.talk.is_open() {
            return Vec::new();
        }
        let ends = [json!({"interrupted": true}), json!({"turnComplete": true})].into_iter();
        let ends = ends.map(|end| json!({"serverContent": end}).to_string());
        ends.map(DialectAction::ToClient).chain(self.talk.end(TurnEvent::Interrupted)).collect()
    }

    /// Sends results as text: all at once when nobody speaks; interrupting ones now.
    fn say_results(&mut self, now: Instant) -> Vec<DialectAction> {
        let idle = self.talk.is_idle(now);
        let (ready, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.words)
            .into_iter()
            .partition(|note| idle || note.delivery == ResultDelivery::Interrupt);
        self.words = later;
        let silent = ready.iter().all(|note| note.delivery == ResultDelivery::Silent);
        let delivery = if silent { ResultDelivery::Silent } else { ResultDelivery::WhenIdle };
        if ready.is_empty() {
            return Vec::new();
        }
        let texts: Vec<&str> = ready.iter().map(|note| note.text.as_str()).collect();
        let telling = self.family.note_channel(delivery);
        let mut actions =
            vec![DialectAction::ToProvider(wire::note_message(&texts.join("\n"), telling))];
        if telling != NoteChannel::Note {
            actions.extend(self.talk.begin());
        }
        self.link.mark_outdated();
        actions.extend(ready.iter().filter_map(|note| count_late(note.answered)));
        actions
    }
}

fn count_late(answered: AnswerStage) -> Option<DialectAction> {
    (answered == AnswerStage::Late).then_some(DialectAction::LateTold)
}

fn close_session(reason: &str) -> DialectStep {
    let close = CloseReason { code: 1007, reason: reason.to_owned() };
    DialectStep::swallow().and([DialectAction::Close(close)])
}
