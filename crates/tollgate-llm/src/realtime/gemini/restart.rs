//! Begins again on a connection that cannot resume the session: the client's setup, what was said so
//! far as text, and the audio that no connection has answered. Part of the Gemini state machine.

use std::time::Instant;

use serde_json::{Value, json};

use super::GeminiLive;
use super::config::OpeningHandle;
use super::family::GeminiFamily;
use crate::realtime::events::{
    CloseReason, DialectAction, ProviderFault, ProviderFaultKind, ProviderGone, SessionRestart,
};
use crate::realtime::handover::Speaker;

/// Close codes that a session would get again: protocol, data, policy, size.
const SENT_WRONGLY: [u16; 4] = [1002, 1007, 1008, 1009];
const BAD_DATA: u16 = 1007;

/// Messages of a client to a provider that has not accepted the session.
const MAX_EARLY_BYTES: usize = 64 << 10;

/// What a new connection is told once it has accepted the setup.
#[derive(Debug, Default)]
pub(super) struct PendingRecap {
    turns: Vec<Value>,
    /// What the model is to do next. `None`: it waits for the caller.
    request: Option<String>,
}

/// Messages that are sent again if another provider has to accept the session.
#[derive(Debug, Default)]
pub(super) struct EarlyMessages {
    messages: Vec<String>,
    bytes: usize,
}

impl EarlyMessages {
    pub(super) fn push(&mut self, message: &str) {
        self.bytes += message.len();
        if self.bytes <= MAX_EARLY_BYTES {
            self.messages.push(message.to_owned());
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(self).messages
    }
}

impl GeminiLive {
    /// A connection that broke, or that the provider closed for its own reasons, is resumed. One
    /// that it closed because of what it was sent would be closed again.
    pub(super) fn provider_gone(&mut self, with: &CloseReason, now: Instant) -> ProviderGone {
        let fault = |kind| {
            ProviderGone::Replace(ProviderFault { kind, with: Some(with.clone()), message: None })
        };
        if self.config.is_none() {
            return ProviderGone::End;
        }
        if self.link.is_fresh() {
            // The setup itself may be wrong, which another model would find as well.
            return match with.code {
                BAD_DATA => ProviderGone::End,
                _ => fault(ProviderFaultKind::Refused),
            };
        }
        if !self.link.stands() {
            // The handle was refused, or the connection broke at once.
            return fault(ProviderFaultKind::Broken);
        }
        if SENT_WRONGLY.contains(&with.code) {
            return ProviderGone::End;
        }
        if !self.link.has_handle() {
            return fault(ProviderFaultKind::Broken);
        }
        match self.link.lose(now) {
            Some(handle) => ProviderGone::Resume(self.reconnect(&handle)),
            None => fault(ProviderFaultKind::Refused),
        }
    }

    pub(super) fn begin_again(&mut self, restart: &SessionRestart) -> Vec<DialectAction> {
        let name = restart.model.strip_prefix("models/").unwrap_or(&restart.model);
        self.model = format!("models/{name}");
        self.family = GeminiFamily::of(name);
        let (Some(config), Some(share)) = (&self.config, self.share()) else { return Vec::new() };
        self.shown = Some(share.fingerprint());
        self.due = None;
        if self.link.is_fresh() {
            let opening = config.opening(&self.model, &share, OpeningHandle::Clients);
            let early = std::iter::once(opening).chain(self.early.messages.iter().cloned());
            let mut actions: Vec<DialectAction> = early.map(DialectAction::ToProvider).collect();
            actions.push(DialectAction::Reconnected);
            return actions;
        }
        let is_transcribed = config.has_transcripts();
        let was_answering = self.talk.is_open();
        self.calls.lose();
        let mut actions = self.end_turn_for_client();
        self.history.note(&actions);
        let waits = was_answering || self.history.last_speaker() == Some(Speaker::Caller);
        let owes = waits && is_transcribed;
        if owes {
            // The caller's words are in the history.
            self.replay.clear();
        }
        actions.extend(self.open_again(restart, owes));
        actions
    }

    /// Opens the session on a connection that knows nothing of it.
    pub(super) fn open_again(
        &mut self,
        restart: &SessionRestart,
        owes: bool,
    ) -> Vec<DialectAction> {
        let (Some(config), Some(share)) = (&self.config, self.share()) else { return Vec::new() };
        self.shown = Some(share.fingerprint());
        let opening = config.opening(&self.model, &share, OpeningHandle::None);
        self.recap = PendingRecap {
            turns: self.history.turns(restart.max_history_bytes),
            request: request(restart.notice.as_deref(), owes),
        };
        self.link.restart();
        vec![DialectAction::ToProvider(opening)]
    }

    /// What follows when the new connection has accepted the setup.
    pub(super) fn tell_recap(&mut self) -> Vec<DialectAction> {
        let PendingRecap { mut turns, request } = std::mem::take(&mut self.recap);
        let completes = request.is_some();
        if let Some(request) = request {
            turns.push(json!({"role": "user", "parts": [{"text": request}]}));
        }
        if turns.is_empty() {
            return Vec::new();
        }
        self.link.mark_outdated();
        let content = json!({"clientContent": {"turns": turns, "turnComplete": completes}});
        let mut actions = vec![DialectAction::ToProvider(content.to_string())];
        if completes {
            actions.extend(self.talk.begin());
        }
        actions
    }
}

/// Our words are fixed; the operator's notice is quoted.
fn request(notice: Option<&str>, owes: bool) -> Option<String> {
    let notice = notice.map(|notice| json!(notice).to_string());
    Some(match (notice, owes) {
        (Some(notice), true) => format!(
            "[The connection was renewed. Begin with exactly these words: {notice} Then give the \
             answer that is still due.]"
        ),
        (Some(notice), false) => format!(
            "[The connection was renewed. Say exactly these words and nothing else: {notice}]"
        ),
        (None, true) => {
            "[The connection was renewed. Give the answer that is still due.]".to_owned()
        }
        (None, false) => return None,
    })
}
