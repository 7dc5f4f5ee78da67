//! Queue of messages injected into a Deepgram agent's speech (`InjectAgentMessage`), ours and the
//! client's: holds them until nobody speaks, and assigns refusals to their owner.

use std::collections::VecDeque;

use serde_json::json;

use crate::realtime::chunks::chunks;
use crate::realtime::events::DialectAction;

/// Results queued to be spoken; the oldest is dropped.
const MAX_QUEUED_RESULTS: usize = 16;
/// Injections without a confirmation yet.
const MAX_UNCONFIRMED_INJECTIONS: usize = 64;
/// Attempts after which a refused message is dropped.
const MAX_INJECT_ATTEMPTS: u8 = 5;
/// Bytes injected at once; the limit of Deepgram's voices is twice as many characters.
const MAX_CHUNK_BYTES: usize = 1_000;

/// How an injected message relates to current speech.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InjectBehavior {
    /// Refused if somebody speaks.
    Default,
    /// Spoken after the current speech.
    Queue,
    /// Interrupts the current speech.
    Interrupt,
}

impl InjectBehavior {
    fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Queue => "queue",
            Self::Interrupt => "interrupt",
        }
    }

    pub(super) fn parse(text: &str) -> Self {
        match text {
            "queue" => Self::Queue,
            "interrupt" => Self::Interrupt,
            _ => Self::Default,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InjectionOwner {
    Client,
    Ours,
}

#[derive(Debug)]
struct QueuedWords {
    text: String,
    attempts: u8,
}

#[derive(Debug)]
struct InjectedMessage {
    whose: InjectionOwner,
    behavior: InjectBehavior,
    words: QueuedWords,
}

#[derive(Debug, Default)]
pub(super) struct MessageInjector {
    waiting: VecDeque<QueuedWords>,
    out: VecDeque<InjectedMessage>,
}

impl MessageInjector {
    /// Injects a text at once, in chunks if it is long.
    pub(super) fn say(&mut self, text: &str, behavior: InjectBehavior) -> Vec<DialectAction> {
        let lines = chunks(text, MAX_CHUNK_BYTES).into_iter().enumerate().map(|(at, piece)| {
            let behavior = if at == 0 { behavior } else { InjectBehavior::Queue };
            self.inject(QueuedWords { text: piece.to_owned(), attempts: 0 }, behavior)
        });
        lines.collect()
    }

    /// Queues a text until nobody speaks.
    pub(super) fn say_later(&mut self, text: String) {
        self.waiting.push_back(QueuedWords { text, attempts: 0 });
        if self.waiting.len() > MAX_QUEUED_RESULTS {
            self.waiting.pop_front();
        }
    }

    /// Called when nobody speaks: injects the next queued text. A result counts as told when it is
    /// injected first.
    pub(super) fn idle(&mut self) -> Vec<DialectAction> {
        let is_out = |it: &InjectedMessage| {
            it.whose == InjectionOwner::Ours && it.behavior == InjectBehavior::Default
        };
        if self.out.iter().any(is_out) {
            return Vec::new();
        }
        let Some(words) = self.waiting.pop_front() else { return Vec::new() };
        let delivery = (words.attempts == 0).then_some(DialectAction::LateTold);
        [self.inject(words, InjectBehavior::Default)].into_iter().chain(delivery).collect()
    }

    pub(super) fn note_clients(&mut self, text: &str, behavior: InjectBehavior) {
        let words = QueuedWords { text: text.to_owned(), attempts: 0 };
        self.note(InjectedMessage { whose: InjectionOwner::Client, behavior, words });
    }

    /// Matches agent speech to an injection, and returns its owner, if any.
    pub(super) fn take_spoken(&mut self, text: &str) -> Option<InjectionOwner> {
        let is_it = |injected: &InjectedMessage| injected.words.text.starts_with(text.trim());
        let at = self.out.iter().position(is_it)?;
        self.out.remove(at).map(|injected| injected.whose)
    }

    /// Owner of the refused injection. Ours is queued again if it was meant for a pause.
    pub(super) fn take_refused(&mut self) -> InjectionOwner {
        let in_pause = |injected: &InjectedMessage| injected.behavior == InjectBehavior::Default;
        let at = self.out.iter().position(in_pause).unwrap_or(0);
        let Some(mut injected) = self.out.remove(at) else { return InjectionOwner::Client };
        if injected.whose == InjectionOwner::Ours && injected.behavior == InjectBehavior::Default {
            injected.words.attempts += 1;
            if injected.words.attempts < MAX_INJECT_ATTEMPTS {
                self.waiting.push_front(injected.words);
            }
        }
        injected.whose
    }

    /// The speaker has changed: injections that do not wait for a pause were spoken or dropped by
    /// now.
    pub(super) fn settle(&mut self) {
        self.out.retain(|injected| injected.behavior == InjectBehavior::Default);
    }

    fn inject(&mut self, words: QueuedWords, behavior: InjectBehavior) -> DialectAction {
        let message = json!({
            "type": "InjectAgentMessage",
            "message": words.text,
            "behavior": behavior.as_str(),
        });
        self.note(InjectedMessage { whose: InjectionOwner::Ours, behavior, words });
        DialectAction::ToProvider(message.to_string())
    }

    fn note(&mut self, injected: InjectedMessage) {
        self.out.push_back(injected);
        if self.out.len() > MAX_UNCONFIRMED_INJECTIONS {
            self.out.pop_front();
        }
    }
}
