//! A session whose provider failed continues on another connection: chooses the models, and tells
//! the state machine to begin again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_tungstenite::tungstenite::Message;

use super::super::dial::ServedBy;
use super::super::events::{
    CloseReason, DialectEvent, ProviderFault, ProviderFaultKind, ProviderGone, SessionRestart,
    SuccessorState,
};
use super::super::failover::FailoverModels;
use super::super::wire::{close, code};
use super::{DriverCommand, RealtimeSession};
use crate::provider::ModelHandle;

/// Maximum bytes of the conversation that another connection is given.
const MAX_HISTORY_BYTES: usize = 48 << 10;
/// Of a small context window, at most this share is filled: a token has about four bytes.
const HISTORY_BYTES_PER_TOKEN_OF_WINDOW: usize = 1;

impl RealtimeSession {
    /// The provider's connection ended: `true` if the session continues on another one.
    pub(in super::super) fn survives_provider(&mut self, with: &CloseReason, now: Instant) -> bool {
        match self.machine.on_provider_gone(with, now) {
            ProviderGone::End => false,
            ProviderGone::Resume(actions) => {
                tracing::info!(code = with.code, "the provider is gone; resuming the session");
                self.perform(actions, now);
                true
            }
            ProviderGone::Replace(fault) => self.fail_over(fault, now),
        }
    }

    /// Continues on another connection; `false` if there is none.
    pub(super) fn fail_over(&mut self, fault: ProviderFault, now: Instant) -> bool {
        if fault.kind != ProviderFaultKind::Expiring
            && let Some(target) = &self.session_request.served_at
        {
            target.record_break();
        }
        let models = self.failover_models(fault.kind, now);
        if models.is_empty() {
            self.give_up(fault);
            return false;
        }
        let next = &models[0].settings.name;
        let from = &self.session_request.model.settings.name;
        let reason = fault.with.as_ref().map(|with| with.reason.as_str()).unwrap_or_default();
        match fault.kind {
            ProviderFaultKind::Expiring => {
                tracing::info!(model = from, "renewing a session before the provider ends it");
            }
            ProviderFaultKind::Broken | ProviderFaultKind::Refused => {
                tracing::error!(
                    from,
                    to = next,
                    reason,
                    "the provider of a live session failed; continuing on another connection"
                );
            }
        }
        let dial = self.session_request.dial_models(models);
        let keeps_successor = fault.kind != ProviderFaultKind::Refused;
        self.fault = Some(fault);
        self.silence.note_reconnect();
        self.outbox.push_back(DriverCommand::Replace { dial, keeps_successor });
        true
    }

    /// The same for a provider that is still connected. If nothing takes over, the session ends as
    /// the fault says.
    pub(super) fn replace_provider(&mut self, fault: ProviderFault, now: Instant) {
        let with = fault.with.clone();
        if !self.fail_over(fault, now)
            && let Some(with) = with
        {
            self.outbox.push_back(DriverCommand::Close(with));
        }
    }

    fn failover_models(&mut self, kind: ProviderFaultKind, now: Instant) -> Vec<Arc<ModelHandle>> {
        let others = self.session_request.others.iter().cloned();
        match self.failover.decide(kind, now) {
            FailoverModels::None => Vec::new(),
            FailoverModels::SameThenOthers => {
                std::iter::once(Arc::clone(&self.session_request.model)).chain(others).collect()
            }
            FailoverModels::Others => others.collect(),
        }
    }

    /// Nothing takes over: the client gets what the provider said.
    fn give_up(&mut self, fault: ProviderFault) {
        if let Some(message) = fault.message {
            self.outbox.push_back(DriverCommand::ToClient(Message::text(message)));
        }
    }

    /// No model took over: how the session ends. What the provider said goes to the client first.
    pub(in super::super) fn failover_failed(&mut self, failure: &str) -> CloseReason {
        let Some(mut fault) = self.fault.take() else {
            return close(code::FAULT, failure);
        };
        let with = fault.with.take();
        self.give_up(fault);
        with.unwrap_or_else(|| close(code::FAULT, failure))
    }

    /// The session has another connection, and resumes on it.
    pub(in super::super) fn served_by(&mut self, served: &ServedBy) {
        self.session_request.adopt(served);
    }

    /// The session has another connection, which knows nothing of it.
    pub(in super::super) fn restart(
        &mut self,
        served: &ServedBy,
        greeting: Option<Message>,
        now: Instant,
    ) {
        // The time until here is the former model's.
        self.charge_time(0, now);
        let fault = self.fault.take();
        let is_unnoticed = fault.is_some_and(|it| it.kind == ProviderFaultKind::Expiring);
        let before = self.session_request.live;
        self.session_request.adopt(served);
        let notice = self.session_request.agent.persona.failover_message.clone();
        let window = self.session_request.model.settings.context_window;
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        let restart = SessionRestart {
            model: self.session_request.model_id(),
            notice: notice.filter(|_| !is_unnoticed),
            max_history_bytes: MAX_HISTORY_BYTES
                .min(window.saturating_mul(HISTORY_BYTES_PER_TOKEN_OF_WINDOW)),
        };
        let model = self.session_request.model.settings.name.clone();
        self.session_registry.record_failover(&self.facts, model, is_unnoticed);
        if self.session_request.live == before {
            let actions = self.machine.restart(restart, now);
            self.perform(actions, now);
        } else {
            self.change_protocol(&restart, now);
        }
        if let Some(greeting) = greeting {
            self.on_provider_message(greeting, now);
        }
    }

    pub(in super::super) fn successor(&mut self, state: SuccessorState, now: Instant) {
        self.send_event(DialectEvent::Successor(state), now);
    }

    /// The session ends within this time.
    pub(in super::super) fn leave_within(&mut self, left: Duration, now: Instant) {
        self.send_event(DialectEvent::Leaving(left), now);
    }
}
