//! A session whose provider failed continues at a provider of another protocol: its state machine is
//! exchanged.

use std::time::Instant;

use futures_util::stream::FuturesOrdered;

use super::super::events::{
    DialectAction, MessageFate, RealtimeDialect, RealtimeFrame, RealtimeInit, SessionRestart,
};
use super::super::handover::SessionHandover;
use super::super::translation;
use super::RealtimeSession;
use crate::tools;

impl RealtimeSession {
    pub(super) fn change_protocol(&mut self, restart: &SessionRestart, now: Instant) {
        let (mut handover, mut actions) = self.machine.hand_over(now);
        let client = self.session_request.client;
        let live = self.session_request.live;
        tracing::info!(%client, %live, "a live session continues in another protocol");
        // What another model was asked is still due.
        self.speaking = FuturesOrdered::new();
        self.call_progress.change_protocol(&self.session_registry, &self.session_request);
        self.offer = self.current_offer();
        let opening = RealtimeInit {
            offer: self.offer.clone(),
            model: self.session_request.model_id(),
            routing: self.call_progress.routing(&self.session_registry, &self.session_request),
            declared: None,
        };
        self.machine = translation::machine(client, live, opening);
        self.machine.synchronize(now, self.session_registry.clock.wall());
        self.observer = translation::observer(client, live);
        self.rename_calls(&mut handover);
        let cut_off = std::mem::take(&mut handover.cut_off);
        actions.extend(match handover.early.take() {
            Some(early) => begin_again(&mut *self.machine, handover.settings, early, now),
            None => self.machine.take_over(handover, restart, now),
        });
        actions.extend(cut_off.into_iter().map(DialectAction::Cancel));
        self.perform(actions, now);
        self.update_hold(now);
    }

    /// Names and arguments of the calls, as the next model may see them.
    fn rename_calls(&self, handover: &mut SessionHandover) {
        let form = self.session_request.live.form();
        for call in &mut handover.calls {
            let Some(running) = self.running_calls.get(&call.id) else { continue };
            call.arguments.clone_from(&running.call.arguments);
            if let Some(tool) = &running.tool {
                call.name.clone_from(&tools::format_tool(tool, form).function.name);
            }
        }
    }
}

/// No provider has accepted the client's session: it begins with the client's messages.
fn begin_again(
    machine: &mut dyn RealtimeDialect,
    settings: Option<String>,
    early: Vec<String>,
    now: Instant,
) -> Vec<DialectAction> {
    let mut actions = machine.begin(now);
    for message in settings.into_iter().chain(early) {
        let step = machine.on_client_message(RealtimeFrame::Text(&message), now);
        match step.fate {
            MessageFate::Forward => actions.push(DialectAction::ToProvider(message)),
            MessageFate::Replace(text) => actions.push(DialectAction::ToProvider(text)),
            MessageFate::Swallow => {}
        }
        actions.extend(step.actions);
    }
    actions.push(DialectAction::Reconnected);
    actions
}
