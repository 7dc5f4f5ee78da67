//! What was said in a conversation goes into the memory by itself, where the agent's config says
//! so. Nobody's answer waits for it.

use std::sync::Arc;
use std::time::Duration;

use tollgate_core::agent::RecordPolicy;
use tollgate_core::date;
use tollgate_core::memory::{
    AuthorTrust, LONGEST_TEXT, MemoryAuthor, MemoryInputError, MemoryTarget, NewEntry, SessionId,
};
use tollgate_core::turn::Turn;

use super::MemoryService;

/// How long the end waits for what was said last.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// One turn of a conversation, as it is kept.
#[derive(Debug, Clone, Copy)]
pub struct TranscriptTurn<'a> {
    /// As the caller names it; without a name, all of a principal's day is one conversation.
    pub conversation: Option<&'a str>,
    /// What the user is called.
    pub speaker: Option<&'a str>,
    /// Empty: nothing was said, the turn went on after a tool.
    pub heard: &'a str,
    /// Empty: the agent said nothing.
    pub answered: &'a str,
    /// Where it was said: `chat`, `realtime`.
    pub via: &'static str,
}

impl MemoryService {
    /// Keeps a turn if its agent does; returns at once.
    pub fn record(self: &Arc<Self>, turn: &Turn, said: &TranscriptTurn<'_>) {
        if turn.view.memory.record == RecordPolicy::Nothing {
            return;
        }
        let entries = match self.entries(turn, said) {
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
                via: said.via.to_owned(),
                trust,
            },
        };
        let entries: Vec<(MemoryTarget, NewEntry)> =
            entries.into_iter().map(|(trust, entry)| (place(trust), entry)).collect();
        let mind = Arc::clone(self);
        let written = self.writing.spawn(async move {
            for (place, entry) in entries {
                if let Err(error) = mind.store.append(&place, vec![entry]).await {
                    tracing::warn!(%error, "cannot save an utterance");
                }
            }
            mind.wake();
        });
        if written.is_err() {
            tracing::warn!("an utterance is not saved: the write queue is full");
        }
    }

    /// Waits until what was said is kept, for a while.
    pub(crate) async fn settle(&self) {
        if tokio::time::timeout(FLUSH_TIMEOUT, self.writing.finished()).await.is_err() {
            tracing::warn!(
                "the last utterances are not saved: the memory database does not answer"
            );
        }
    }

    /// What people say is heard; what an agent says, a model wrote.
    fn entries(
        &self,
        turn: &Turn,
        said: &TranscriptTurn<'_>,
    ) -> Result<Vec<(AuthorTrust, NewEntry)>, MemoryInputError> {
        let now = self.now();
        let principal = turn.principal.as_str();
        let session = match said.conversation {
            Some(id) => SessionId::parse(id)?,
            None => SessionId::parse(&format!("{principal}-{}", &date::format_rfc3339(now)[..10]))?,
        };
        let speaker = said.speaker.unwrap_or(principal);
        let lines = [
            (AuthorTrust::Heard, speaker, said.heard),
            (AuthorTrust::Agent, turn.view.agent.as_str(), said.answered),
        ];
        let spoken = lines.into_iter().filter(|(_, _, text)| !text.trim().is_empty());
        let kept = spoken.map(|(trust, speaker, text)| {
            let text = &text[..text.floor_char_boundary(LONGEST_TEXT)];
            Ok((trust, NewEntry::new(session.clone(), speaker, text, now)?))
        });
        kept.collect()
    }
}
