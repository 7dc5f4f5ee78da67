//! Translation between realtime protocols: a client of one before a provider of another.
//!
//! The provider's state machine stays in charge of tools, turns and late results; it believes that
//! the client speaks its protocol. The translator is between it and the client: it turns each
//! message of the client into messages of the provider's protocol, and what the machine sends to
//! the client into events of the client's protocol, in the order of the vendor's servers.

use std::time::{Instant, SystemTime};

use super::events::{
    CloseReason, DialectAction, DialectEvent, DialectStep, MessageFate, ProviderFault,
    ProviderGone, RealtimeDialect, RealtimeFrame, RealtimeInit, RecallChannel, SessionRestart,
};
use super::handover::SessionHandover;
use super::observer::{Observation, SessionObserver};
use super::protocol::RealtimeProtocol;
use crate::provider::ModelHandle;
use crate::settings::ProviderKind;

mod gemini_client;
mod losses;
mod openai_client;
mod usage;

pub use losses::{GEMINI_CLIENT_LOSSES, LossFate, OPENAI_CLIENT_LOSSES, TranslationLoss};

use gemini_client::GeminiClient;
use openai_client::OpenAiClient;

/// Whether a client of one protocol can talk to a provider of another one.
pub fn can_translate(client: RealtimeProtocol, provider: RealtimeProtocol) -> bool {
    matches!(
        (client, provider),
        (RealtimeProtocol::OpenAi, RealtimeProtocol::Gemini)
            | (RealtimeProtocol::Gemini, RealtimeProtocol::OpenAi)
    )
}

/// The protocol of a session with this model at its provider, for a client of that protocol.
pub fn provider_protocol(client: RealtimeProtocol, model: &ModelHandle) -> RealtimeProtocol {
    let spoken = match model.provider_kind() {
        kind if kind == Some(client.provider()) => client,
        Some(ProviderKind::OpenAi) => RealtimeProtocol::OpenAi,
        Some(ProviderKind::Gemini) => RealtimeProtocol::Gemini,
        _ => client,
    };
    if can_translate(client, spoken) { spoken } else { client }
}

/// The state machine of a session; the two protocols are the same, or [`can_translate`].
pub fn machine(
    client: RealtimeProtocol,
    provider: RealtimeProtocol,
    opening: RealtimeInit,
) -> Box<dyn RealtimeDialect> {
    match (client, provider) {
        (RealtimeProtocol::OpenAi, RealtimeProtocol::Gemini) => {
            Box::new(TranslatedDialect::<OpenAiClient>::new(opening))
        }
        (RealtimeProtocol::Gemini, RealtimeProtocol::OpenAi) => {
            Box::new(TranslatedDialect::<GeminiClient>::new(opening))
        }
        _ => provider.machine(opening),
    }
}

pub(super) fn observer(
    client: RealtimeProtocol,
    provider: RealtimeProtocol,
) -> Box<dyn SessionObserver> {
    if client == provider {
        return provider.observer();
    }
    Box::new(TranslatedObserver { client: client.observer(), provider: provider.observer() })
}

/// The client's side of a session, in another protocol than the provider's.
trait Translator: Send {
    /// State machine of the provider's protocol.
    type Machine: RealtimeDialect;

    fn new(opening: RealtimeInit) -> (Self, Self::Machine)
    where
        Self: Sized;

    /// Both sides are connected.
    fn begin(&mut self, _now: Instant, _out: &mut Vec<Translated>) {}

    fn on_client(&mut self, frame: RealtimeFrame<'_>, now: Instant, out: &mut Vec<Translated>);

    /// A message of the provider's protocol for the client.
    fn on_provider(&mut self, text: &str, now: Instant, out: &mut Vec<Translated>);

    /// All of a message or event was handled; some decisions depend on the machine then.
    fn settle(&mut self, machine: &mut Self::Machine, now: Instant, out: &mut Vec<Translated>);

    fn wakes(&self) -> Option<Instant>;

    fn config_bytes(&self) -> usize;

    /// As [`RealtimeDialect::hand_over`]; messages to the client are left out.
    fn hand_over(
        &mut self,
        machine: &mut Self::Machine,
        now: Instant,
        out: &mut Vec<Translated>,
    ) -> (SessionHandover, Vec<DialectAction>);

    /// As [`RealtimeDialect::take_over`].
    fn take_over(
        &mut self,
        machine: &mut Self::Machine,
        handover: SessionHandover,
        restart: &SessionRestart,
        now: Instant,
    ) -> Vec<DialectAction>;
}

/// Result of a translation.
#[derive(Debug, Clone, PartialEq)]
enum Translated {
    /// In the client's protocol.
    ToClient(String),
    /// In the provider's protocol, as if the client had sent it.
    ToMachine(String),
    /// What the machine returned to the translator.
    Actions(Vec<DialectAction>),
    Close(CloseReason),
}

/// A session whose client speaks another protocol than its provider.
struct TranslatedDialect<T: Translator> {
    translator: T,
    machine: T::Machine,
}

impl<T: Translator> TranslatedDialect<T> {
    fn new(opening: RealtimeInit) -> Self {
        let (translator, machine) = T::new(opening);
        Self { translator, machine }
    }

    /// Performs what was translated, and what follows from it.
    fn perform(
        &mut self,
        translated: Vec<Translated>,
        now: Instant,
        actions: &mut Vec<DialectAction>,
    ) {
        for one in translated {
            match one {
                Translated::ToClient(text) => actions.push(DialectAction::ToClient(text)),
                Translated::ToMachine(text) => {
                    let step = self.machine.on_client_message(RealtimeFrame::Text(&text), now);
                    match step.fate {
                        MessageFate::Forward => actions.push(DialectAction::ToProvider(text)),
                        MessageFate::Replace(text) => actions.push(DialectAction::ToProvider(text)),
                        MessageFate::Swallow => {}
                    }
                    self.pass_on(step.actions, now, actions);
                }
                Translated::Actions(of_machine) => self.pass_on(of_machine, now, actions),
                Translated::Close(with) => actions.push(DialectAction::Close(with)),
            }
        }
    }

    /// Actions of the machine; its messages to the client are translated.
    fn pass_on(
        &mut self,
        of_machine: Vec<DialectAction>,
        now: Instant,
        actions: &mut Vec<DialectAction>,
    ) {
        for action in of_machine {
            match action {
                DialectAction::ToClient(text) => self.tell_client(&text, now, actions),
                DialectAction::Replace(fault) => {
                    let fault = self.translate_fault(fault, now);
                    actions.push(DialectAction::Replace(fault));
                }
                other => actions.push(other),
            }
        }
    }

    fn tell_client(&mut self, text: &str, now: Instant, actions: &mut Vec<DialectAction>) {
        let mut translated = Vec::new();
        self.translator.on_provider(text, now, &mut translated);
        self.perform(translated, now, actions);
    }

    /// The provider's message about a fault, as the client may get it.
    fn translate_fault(&mut self, fault: ProviderFault, now: Instant) -> ProviderFault {
        let mut translated = Vec::new();
        if let Some(text) = &fault.message {
            self.translator.on_provider(text, now, &mut translated);
        }
        let message = translated.into_iter().find_map(|one| match one {
            Translated::ToClient(text) => Some(text),
            _ => None,
        });
        ProviderFault { message, ..fault }
    }

    fn settle(&mut self, now: Instant, actions: &mut Vec<DialectAction>) {
        let mut translated = Vec::new();
        self.translator.settle(&mut self.machine, now, &mut translated);
        self.perform(translated, now, actions);
    }
}

impl<T: Translator> RealtimeDialect for TranslatedDialect<T> {
    fn begin(&mut self, now: Instant) -> Vec<DialectAction> {
        let mut actions = self.machine.begin(now);
        let mut translated = Vec::new();
        self.translator.begin(now, &mut translated);
        self.perform(translated, now, &mut actions);
        actions
    }

    fn on_client_message(&mut self, frame: RealtimeFrame<'_>, now: Instant) -> DialectStep {
        let mut translated = Vec::new();
        self.translator.on_client(frame, now, &mut translated);
        let mut actions = Vec::new();
        self.perform(translated, now, &mut actions);
        self.settle(now, &mut actions);
        DialectStep::swallow().and(actions)
    }

    fn on_provider_message(&mut self, frame: RealtimeFrame<'_>, now: Instant) -> DialectStep {
        let step = self.machine.on_provider_message(frame, now);
        let mut actions = Vec::new();
        match step.fate {
            MessageFate::Forward => {
                let text = match frame {
                    RealtimeFrame::Text(text) => Some(text),
                    RealtimeFrame::Binary(bytes) => std::str::from_utf8(bytes).ok(),
                };
                if let Some(text) = text {
                    self.tell_client(text, now, &mut actions);
                }
            }
            MessageFate::Replace(text) => self.tell_client(&text, now, &mut actions),
            MessageFate::Swallow => {}
        }
        self.pass_on(step.actions, now, &mut actions);
        self.settle(now, &mut actions);
        DialectStep::swallow().and(actions)
    }

    fn on_event(&mut self, news: DialectEvent, now: Instant) -> Vec<DialectAction> {
        let of_machine = self.machine.on_event(news, now);
        let mut actions = Vec::new();
        self.pass_on(of_machine, now, &mut actions);
        self.settle(now, &mut actions);
        actions
    }

    fn on_provider_gone(&mut self, with: &CloseReason, now: Instant) -> ProviderGone {
        match self.machine.on_provider_gone(with, now) {
            ProviderGone::End => ProviderGone::End,
            ProviderGone::Resume(of_machine) => {
                let mut actions = Vec::new();
                self.pass_on(of_machine, now, &mut actions);
                self.settle(now, &mut actions);
                ProviderGone::Resume(actions)
            }
            ProviderGone::Replace(fault) => ProviderGone::Replace(self.translate_fault(fault, now)),
        }
    }

    fn restart(&mut self, restart: SessionRestart, now: Instant) -> Vec<DialectAction> {
        let of_machine = self.machine.restart(restart, now);
        let mut actions = Vec::new();
        self.pass_on(of_machine, now, &mut actions);
        self.settle(now, &mut actions);
        actions
    }

    fn hand_over(&mut self, now: Instant) -> (SessionHandover, Vec<DialectAction>) {
        let mut translated = Vec::new();
        let (handover, mut actions) =
            self.translator.hand_over(&mut self.machine, now, &mut translated);
        self.perform(translated, now, &mut actions);
        (handover, actions)
    }

    fn take_over(
        &mut self,
        handover: SessionHandover,
        restart: &SessionRestart,
        now: Instant,
    ) -> Vec<DialectAction> {
        let of_machine = self.translator.take_over(&mut self.machine, handover, restart, now);
        let mut actions = Vec::new();
        self.pass_on(of_machine, now, &mut actions);
        self.settle(now, &mut actions);
        actions
    }

    fn synchronize(&mut self, now: Instant, wall: SystemTime) {
        self.machine.synchronize(now, wall);
    }

    fn wakes(&self) -> Option<Instant> {
        [self.machine.wakes(), self.translator.wakes()].into_iter().flatten().min()
    }

    fn config_bytes(&self) -> usize {
        self.machine.config_bytes().max(self.translator.config_bytes())
    }

    fn recall_channel(&self) -> RecallChannel {
        self.machine.recall_channel()
    }

    fn on_recalled(&mut self, note: &str) -> Vec<DialectAction> {
        self.machine.on_recalled(note)
    }
}

/// Reads each side of a session in its own protocol.
struct TranslatedObserver {
    client: Box<dyn SessionObserver>,
    provider: Box<dyn SessionObserver>,
}

impl SessionObserver for TranslatedObserver {
    fn on_client_message(&mut self, frame: RealtimeFrame<'_>) -> Observation {
        self.client.on_client_message(frame)
    }

    fn on_provider_message(&mut self, frame: RealtimeFrame<'_>) -> Observation {
        self.provider.on_provider_message(frame)
    }
}

#[cfg(test)]
mod tests;
