//! Handles provider messages, and hides the gateway's part from the client. Part of the Gemini
//! state machine.

use std::time::Instant;

use serde_json::value::RawValue;
use tollgate_core::json::{Object, raw_value};

use super::GeminiLive;
use super::calls::GeminiCallRequest;
use super::config::ResumptionOwner;
use super::link::SetupAcceptance;
use super::turn_tracker::{GeminiTurnEnd, ServerContent};
use super::wire::{self, GeminiServerMessage, MessageEdits};
use crate::realtime::events::{DialectAction, RealtimeCall, TurnEvent};

impl GeminiLive {
    pub(super) fn handle_server_message(
        &mut self,
        message: &GeminiServerMessage<'_>,
        edits: &mut MessageEdits,
        now: Instant,
    ) -> Vec<DialectAction> {
        let mut actions = Vec::new();
        let accepted = message.setup_complete.map(|_| self.link.accept_setup());
        if accepted == Some(SetupAcceptance::First) {
            self.early.clear();
        }
        if accepted == Some(SetupAcceptance::Again) {
            edits.push(("setupComplete", None));
            actions.push(DialectAction::Reconnected);
            actions.extend(self.tell_recap());
            let unsent = std::mem::take(&mut self.unsent);
            actions.extend(unsent.into_iter().map(DialectAction::ToProvider));
            actions.extend(self.replay_audio());
        }
        if let Some(update) = message.resumption {
            if self.link.resumable(update) && !self.talk.is_open() {
                self.talk.forget_sound();
                self.replay.clear();
            }
            if self.config.as_ref().is_some_and(|it| it.resumption() == ResumptionOwner::Ours) {
                edits.push(("sessionResumptionUpdate", None));
            }
        }
        if let Some(content) = message.content {
            actions.extend(self.content(&ServerContent::read(content), now));
        }
        if let Some(calls) = message.calls {
            actions.extend(self.split_calls(calls, edits, now));
        }
        if let Some(cancellation) = message.cancellation {
            actions.extend(self.withdraw_calls(cancellation, edits));
        }
        if let Some(go_away) = message.go_away
            && self.link.leaves(go_away, now)
        {
            edits.push(("goAway", None));
        }
        actions
    }

    /// Sends what only the old connection heard, after answers that the model waits for.
    fn replay_audio(&mut self) -> Vec<DialectAction> {
        let (frames, dropped) = self.replay.take();
        if dropped > 0 {
            tracing::info!(dropped, "audio before a renewed connection is too old to be replayed");
        }
        let begins = (self.talk.caller_speaks() && !frames.is_empty())
            .then(|| r#"{"realtimeInput":{"activityStart":{}}}"#.to_owned());
        begins.into_iter().chain(frames).map(DialectAction::ToProvider).collect()
    }

    fn content(&mut self, content: &ServerContent<'_>, now: Instant) -> Vec<DialectAction> {
        let waits = self.calls.hold_the_model();
        let ending = if waits { GeminiTurnEnd::Waits } else { GeminiTurnEnd::Ends };
        let mut actions = self.talk.content(content, ending, now);
        if self.talk.is_open() || content.has_caller_speech() {
            self.link.mark_outdated();
        }
        if content.is_interrupted() {
            actions.extend(self.talk.end(TurnEvent::Interrupted));
            actions.extend(self.calls.barge_in(now));
        }
        actions
    }

    /// Splits a batch of calls: the client's stay in the message, the gateway's are run.
    fn split_calls(
        &mut self,
        calls: &str,
        edits: &mut MessageEdits,
        now: Instant,
    ) -> Vec<DialectAction> {
        let Ok(batch) = Object::parse(calls) else { return Vec::new() };
        let listed = batch.get("functionCalls").map(wire::items);
        let Some(Ok(listed)) = listed else { return Vec::new() };
        let mut actions = self.talk.begin();
        self.link.mark_outdated();
        let mut clients: Vec<&RawValue> = Vec::new();
        let before = listed.len();
        for call in listed {
            match self.own_call(call, now) {
                CallClaim::Run(call) => actions.push(DialectAction::Run(call)),
                CallClaim::Again => (),
                CallClaim::No => clients.push(call),
            }
        }
        if clients.len() == before {
            return actions;
        }
        if clients.is_empty() {
            edits.push(("toolCall", None));
        } else {
            let mut rest = batch.clone();
            rest.set("functionCalls", wire::list(clients));
            edits.push(("toolCall", Some(rest.to_raw())));
        }
        actions
    }

    fn own_call(&mut self, call: &RawValue, now: Instant) -> CallClaim {
        let Ok(call) = Object::parse(call.get()) else { return CallClaim::No };
        let name = call.string("name").unwrap_or_default();
        let id = call.string("id");
        if self.config.as_ref().is_some_and(|it| it.is_clients(&name)) {
            if let Some(id) = &id {
                self.calls.note_client_call(id, &name, now);
            }
            return CallClaim::No;
        }
        let declared = self.offer.tools.iter().find(|tool| tool.name == *name);
        let delivery = declared.map(|tool| tool.delivery);
        let meanwhile = self.family.wait_behavior(delivery);
        let made = GeminiCallRequest { id: id.as_deref(), name: &name, delivery, meanwhile };
        let Some(id) = self.calls.begin_call(&made, now) else { return CallClaim::Again };
        let arguments = call.get("args").map_or("{}", RawValue::get).to_owned();
        CallClaim::Run(RealtimeCall { id, name: name.into_owned(), arguments })
    }

    fn withdraw_calls(
        &mut self,
        cancellation: &str,
        edits: &mut MessageEdits,
    ) -> Vec<DialectAction> {
        let Ok(cancellation) = Object::parse(cancellation) else { return Vec::new() };
        let ids = cancellation.get("ids").map(|ids| serde_json::from_str(ids.get()));
        let Some(Ok::<Vec<String>, _>(ids)) = ids else { return Vec::new() };
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let (cancels, others) = self.calls.withdraw(&ids);
        if others.is_empty() && !ids.is_empty() {
            edits.push(("toolCallCancellation", None));
        } else if others.len() < ids.len() {
            let mut rest = cancellation.clone();
            rest.set("ids", raw_value(&others.into()));
            edits.push(("toolCallCancellation", Some(rest.to_raw())));
        }
        let mut actions = self.talk.end(TurnEvent::Interrupted);
        actions.extend(cancels);
        actions
    }
}

/// Owner of a call.
enum CallClaim {
    Run(RealtimeCall),
    /// A call that is running or has run.
    Again,
    No,
}
