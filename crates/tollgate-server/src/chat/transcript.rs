//! Records a chat in the agent's memory. It is stored on drop, so a user message is kept even if
//! the client does not wait for the answer.

use std::sync::Arc;

use tollgate_core::agent::RecordPolicy;
use tollgate_core::turn::Turn;
use tollgate_engine::memory::{MemoryService, TranscriptTurn};
use tollgate_llm::agent::CompletionOutcome;
use tollgate_llm::conversation::{ChatRequest, ChatRole, MessagePart};

use crate::app_state::AppState;

pub(super) struct ChatTranscript {
    memory: Arc<MemoryService>,
    turn: Turn,
    conversation: Option<String>,
    speaker: Option<String>,
    utterance: String,
    answered: String,
}

impl ChatTranscript {
    /// `None`: there is no memory, or the agent stores no transcripts.
    pub(super) fn begin(front: &AppState, turn: &Turn, request: &ChatRequest) -> Option<Self> {
        if turn.view.memory.record == RecordPolicy::Nothing {
            return None;
        }
        let memory = Arc::clone(front.gate.memory()?);
        // After the result of a client-side tool there is no new user message.
        let is_new = request.messages.last().is_some_and(|last| last.role == ChatRole::User);
        let utterance = if is_new { request.utterance() } else { String::new() };
        let turn = turn.clone();
        let answered = String::new();
        Some(Self { memory, turn, conversation: None, speaker: None, utterance, answered })
    }

    /// Sets the client's names for the conversation and the speaker.
    pub(super) fn with_names(mut self, conversation: Option<&str>, speaker: Option<&str>) -> Self {
        self.conversation = conversation.map(str::to_owned);
        self.speaker = speaker.map(str::to_owned);
        self
    }

    pub(super) fn record_answer(&mut self, answer: &CompletionOutcome) {
        let texts: Vec<&str> =
            answer.response.parts.iter().filter_map(MessagePart::as_text).collect();
        self.answered = texts.join("\n");
    }
}

impl Drop for ChatTranscript {
    fn drop(&mut self) {
        let transcript_turn = TranscriptTurn {
            conversation: self.conversation.as_deref(),
            speaker: self.speaker.as_deref(),
            utterance: &self.utterance,
            answered: &self.answered,
            via: "chat",
        };
        self.memory.record(&self.turn, &transcript_turn);
    }
}
