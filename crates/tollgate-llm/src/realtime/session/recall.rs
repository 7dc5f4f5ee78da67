//! Recall in a session: what the agent's memory has to the caller's words goes to the live model,
//! and to the model that answers deep turns. It is looked up while the caller speaks, where there
//! are partial transcripts, and at the end of the utterance for at most 250 ms.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio_tungstenite::tungstenite::Message;
use tollgate_core::agent::RecallPolicy;
use tollgate_core::memory::MemoryQuery;
use tollgate_engine::gate::TurnRequest;
use tollgate_engine::memory::{RecalledNotes, SpokenUtterance};

use super::super::events::{RecallChannel, UtteranceStage};
use super::super::json_peek::{self, JsonPeek};
use super::super::observer::SpeechEvent;
use super::{BackgroundResult, RealtimeSession};

/// Notes that one session gives its model: they stay in its context.
const MAX_NOTES: usize = 100;
/// Client messages that wait for a recall.
const MAX_HELD_BYTES: usize = 1 << 20;

pub(super) type RecallLookup = Shared<BoxFuture<'static, Option<Arc<RecalledNotes>>>>;

#[derive(Default)]
pub(super) struct SessionRecall {
    /// What was looked up last.
    terms: Vec<String>,
    stage: Option<UtteranceStage>,
    /// For the last complete utterance.
    lookup: Option<RecallLookup>,
    /// Lookups for complete utterances that have not ended.
    running: usize,
    /// What the model has.
    given: Vec<String>,
    /// The client's request for a response, and what it sent after that.
    held: VecDeque<Message>,
    held_bytes: usize,
}

impl SessionRecall {
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// What is known to the caller's last utterance, for another model.
    pub(super) fn lookup(&self) -> Option<RecallLookup> {
        self.lookup.clone()
    }

    /// The agent's prompt with the notes that the model has.
    pub(super) fn extend_prompt(&self, prompt: Option<Arc<str>>) -> Option<Arc<str>> {
        let note = RecalledNotes { lines: self.given.clone() }.note();
        match (prompt, note) {
            (prompt, None) => prompt,
            (None, Some(note)) => Some(note.into()),
            (Some(prompt), Some(note)) => Some(format!("{prompt}\n\n{note}").into()),
        }
    }

    /// The notes that the model does not have yet.
    fn take_new(&mut self, recalled: &RecalledNotes) -> RecalledNotes {
        let mut lines = Vec::new();
        for line in &recalled.lines {
            if self.given.len() < MAX_NOTES && !self.given.contains(line) {
                self.given.push(line.clone());
                lines.push(line.clone());
            }
        }
        RecalledNotes { lines }
    }
}

impl RealtimeSession {
    /// Looks up what the memory has to these words, unless that is known already.
    pub(super) fn recall(&mut self, text: &str, stage: UtteranceStage) {
        let party = &self.session_request.party;
        let turn_request = party.turn_request(self.call_progress.wish(party));
        let turn_request = TurnRequest { trace: self.spans.trace().cloned(), ..turn_request };
        let gate = &self.session_registry.gate;
        let (Some(memory_service), Ok(turn)) = (gate.memory().cloned(), gate.turn(turn_request))
        else {
            return;
        };
        if turn.view.memory.recall == RecallPolicy::Off {
            return;
        }
        let Ok(query) = MemoryQuery::parse(text) else {
            if stage == UtteranceStage::Final {
                self.recall.lookup = None;
            }
            return;
        };
        if self.recall.terms == query.terms && self.recall.stage >= Some(stage) {
            return;
        }
        self.recall.terms = query.terms;
        self.recall.stage = Some(stage);
        let conversation = self.conversation.clone();
        let text = text.to_owned();
        if stage == UtteranceStage::Partial {
            let utterance = SpokenUtterance { conversation: Some(&conversation), text: &text };
            memory_service.look_ahead(&turn, &utterance);
        }
        let found = async move {
            let utterance = SpokenUtterance { conversation: Some(&conversation), text: &text };
            match stage {
                UtteranceStage::Partial => {
                    memory_service.await_early_lookup(&turn, &utterance).await
                }
                UtteranceStage::Final => memory_service.recall(&turn, &utterance).await,
            }
        };
        let lookup = found.boxed().shared();
        if stage == UtteranceStage::Final {
            self.recall.lookup = Some(lookup.clone());
            self.recall.running += 1;
        }
        let recalled = lookup.map(move |notes| BackgroundResult::Recalled { notes, stage });
        self.running.push(recalled.boxed());
    }

    /// Gives the live model what it does not know yet.
    pub(super) fn on_recalled(
        &mut self,
        notes: Option<&RecalledNotes>,
        stage: UtteranceStage,
        now: Instant,
    ) {
        let channel = self.machine.recall_channel();
        if let (Some(notes), false) = (notes, channel == RecallChannel::None) {
            let new = self.recall.take_new(notes);
            match (new.note(), channel) {
                (Some(note), RecallChannel::Item) => {
                    let actions = self.machine.on_recalled(&note);
                    self.perform(actions, now);
                }
                (Some(_), RecallChannel::Prompt) => self.refresh(now),
                (Some(_) | None, RecallChannel::None) | (None, _) => {}
            }
        }
        if stage == UtteranceStage::Final {
            self.recall.running = self.recall.running.saturating_sub(1);
        }
        if self.recall.running == 0 {
            self.release_client_messages(now);
        }
    }

    /// A client that asks for a response waits until the recall has ended. Returns what does not
    /// wait.
    pub(super) fn hold_for_recall(&mut self, message: Message, now: Instant) -> Option<Message> {
        let asks = || match &message {
            Message::Text(text) => {
                json_peek::peek_string(text, "type") == JsonPeek::Is("response.create")
            }
            _ => false,
        };
        let waits = self.recall.running > 0
            && (self.recall.holds()
                || (self.machine.recall_channel() == RecallChannel::Item && asks()));
        if !waits {
            return Some(message);
        }
        let is_first = !self.recall.holds();
        self.recall.held_bytes += message.len();
        self.recall.held.push_back(message);
        if is_first {
            self.note_speech(Some(SpeechEvent::ResponseRequested), now);
        }
        if self.recall.held_bytes > MAX_HELD_BYTES {
            self.release_client_messages(now);
        }
        None
    }

    fn release_client_messages(&mut self, now: Instant) {
        self.recall.held_bytes = 0;
        for message in std::mem::take(&mut self.recall.held) {
            self.pass_client_message(message, now);
        }
    }
}
