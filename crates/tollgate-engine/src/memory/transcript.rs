//! Records conversations in the memory, if the agent's config enables it. No answer waits for it.

use std::sync::Arc;
use std::time::Duration;

use tollgate_core::agent::RecordPolicy;
use tollgate_core::date;
use tollgate_core::memory::{
    AuthorTrust, MAX_TEXT_BYTES, MemoryAuthor, MemoryInputError, MemoryTarget, NewEntry, SessionId,
};
use tollgate_core::turn::Turn;

use super::MemoryService;

/// How long shutdown waits for the last entries.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// One turn of a conversation, as recorded.
#[derive(Debug, Clone, Copy)]
pub struct TranscriptTurn<'a> {
    /// The caller's id; without one, each principal has one conversation per day.
    pub conversation: Option<&'a str>,
    /// Name of the user.
    pub speaker: Option<&'a str>,
    /// Empty: the turn continued after a tool without a new utterance.
    pub utterance: &'a str,
    /// Empty: the agent said nothing.
    pub answered: &'a str,
    /// The channel: `chat`, `realtime`.
    pub via: &'static str,
}

impl MemoryService {
    /// Records a turn if its agent has recording enabled; returns at once.
    pub fn record(self: &Arc<Self>, turn: &Turn, transcript: &TranscriptTurn<'_>) {
        if turn.view.memory.record == RecordPolicy::Nothing {
            return;
        }
        let entries = match self.entries(turn, transcript) {
            Ok(entries) if entries.is_empty() => return,
            Ok(entries) => entries,
            Err(invalid) => {
                tracing::warn!(%invalid, "cannot save a conversation");
                return;
            }
        };
        let place = |trust| MemoryTarget {
            namespace: turn.scope().namespace,
            audience: turn.audience(),
            author: MemoryAuthor {
                name: turn.principal.as_str().to_owned(),
                via: transcript.via.to_owned(),
                trust,
            },
        };
        let entries: Vec<(MemoryTarget, NewEntry)> =
            entries.into_iter().map(|(trust, entry)| (place(trust), entry)).collect();
        let memory_service = Arc::clone(self);
        let written = self.writing.spawn(async move {
            for (place, entry) in entries {
                if let Err(error) = memory_service.store.append(&place, vec![entry]).await {
                    tracing::warn!(%error, "cannot save an utterance");
                }
            }
            memory_service.wake();
        });
        if written.is_err() {
            tracing::warn!("an utterance is not saved: the write queue is full");
        }
    }

    /// Waits until everything is written, up to a timeout.
    pub(crate) async fn settle(&self) {
        if tokio::time::timeout(FLUSH_TIMEOUT, self.writing.wait()).await.is_err() {
            tracing::warn!(
                "the last utterances are not saved: the memory database does not answer"
            );
        }
    }

    /// The user's words are marked as heard, the agent's as written by a model.
    fn entries(
        &self,
        turn: &Turn,
        transcript: &TranscriptTurn<'_>,
    ) -> Result<Vec<(AuthorTrust, NewEntry)>, MemoryInputError> {
        let now = self.now();
        let principal = turn.principal.as_str();
        let session = match transcript.conversation {
            Some(id) => SessionId::parse(id)?,
            None => SessionId::parse(&format!("{principal}-{}", &date::format_rfc3339(now)[..10]))?,
        };
        let speaker = transcript.speaker.unwrap_or(principal);
        let lines = [
            (AuthorTrust::Conversation, speaker, transcript.utterance),
            (AuthorTrust::Agent, turn.view.agent.as_str(), transcript.answered),
        ];
        let spoken = lines.into_iter().filter(|(_, _, text)| !text.trim().is_empty());
        let retained = spoken.map(|(trust, speaker, text)| {
            let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
            Ok((trust, NewEntry::new(session.clone(), speaker, text, now)?))
        });
        retained.collect()
    }
}
