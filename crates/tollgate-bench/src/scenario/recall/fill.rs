//! Puts a whole campaign into a memory, as agents and imports do: in batches, several at a time.

use std::time::Duration;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use tollgate_core::id::AgentId;
use tollgate_core::memory::{
    Audience, AuthorTrust, EntryId, FactId, MemoryAuthor, MemoryName, MemoryScope, MemoryTarget,
    Namespace, NewEntry, NewFact, TranscriptEntry, passages,
};
use tollgate_store::memory::{MemoryError as Busy, MemoryStore};

use crate::campaign::{Campaign, OF_A_SESSION, SplitMix64};
use crate::clock;
use crate::error::BenchError;

/// The model that the vectors are said to be of.
pub(super) const MODEL: &str = "bench/256";
/// Things of one batch, and batches under way at once.
const BATCH: usize = 250;
const AT_ONCE: usize = 8;
/// How long a batch is offered again, and after how long.
const APPEND_RETRY_TIMEOUT: Duration = Duration::from_secs(20);
const APPEND_RETRY_PAUSE: Duration = Duration::from_millis(20);
/// Sessions that are made before the clock runs.
const WARM_UP_SESSIONS: usize = 20;
/// One session in so many is the agent's own.
const SESSIONS_PER_PRIVATE_ONE: usize = 10;

pub(super) struct FilledMemory<'c> {
    pub(super) campaign: &'c Campaign,
    pub(super) memory: &'c MemoryStore,
    pub(super) scope: MemoryScope,
    /// Of the campaign's entries, in its order.
    pub(super) entries: Vec<EntryId>,
    pub(super) facts: Vec<StoredPassage>,
    agent: AgentId,
    appending: Duration,
    took: Duration,
}

/// A passage that was kept, and words of it by which it can be asked for.
pub(super) struct StoredPassage {
    pub(super) id: FactId,
    pub(super) words: String,
}

impl<'c> FilledMemory<'c> {
    pub(super) async fn fill(
        campaign: &'c Campaign,
        memory: &'c MemoryStore,
    ) -> Result<Self, BenchError> {
        let agent = AgentId::parse("sage").map_err(|it| BenchError::Process(it.to_string()))?;
        let namespace = Namespace::of(None, &MemoryName::usual());
        let mut filled = Self {
            campaign,
            memory,
            scope: MemoryScope::of_agent(namespace, agent.clone()),
            entries: Vec::with_capacity(campaign.volume.entries),
            facts: Vec::with_capacity(campaign.volume.passages),
            agent,
            appending: Duration::ZERO,
            took: Duration::ZERO,
        };
        let began = clock::now();
        filled.append().await?;
        filled.remember().await?;
        filled.keep_vectors().await?;
        filled.relate().await?;
        filled.took = clock::now() - began;
        Ok(filled)
    }

    pub(super) fn appended_in_a_second(&self) -> f64 {
        self.entries.len() as f64 / self.appending.as_secs_f64()
    }

    pub(super) fn seconds(&self) -> f64 {
        self.took.as_secs_f64()
    }

    fn place(&self, session: usize) -> MemoryTarget {
        let is_own = session % SESSIONS_PER_PRIVATE_ONE == SESSIONS_PER_PRIVATE_ONE - 1;
        let audience = if is_own { Audience::Only(self.agent.clone()) } else { Audience::Shared };
        MemoryTarget { namespace: self.scope.namespace.clone(), audience, author: author() }
    }

    async fn append(&mut self) -> Result<(), BenchError> {
        let sessions: Vec<usize> = (0..self.campaign.sessions()).collect();
        for some in sessions.chunks(WARM_UP_SESSIONS) {
            let mut batches: Vec<(MemoryTarget, Vec<NewEntry>)> = Vec::new();
            for session in some {
                let lines = self.campaign.session(*session)?;
                batches.extend(lines.chunks(BATCH).map(|it| (self.place(*session), it.to_vec())));
            }
            let began = clock::now();
            let memory = self.memory;
            let appends = batches
                .into_iter()
                .map(|(place, entries)| async move { append(memory, &place, entries).await });
            let ids: Vec<Vec<EntryId>> =
                stream::iter(appends).buffered(AT_ONCE).try_collect().await?;
            self.appending += clock::now() - began;
            self.entries.extend(ids.into_iter().flatten());
        }
        Ok(())
    }

    /// Passages of the transcripts, and facts that somebody stated where those are too few.
    async fn remember(&mut self) -> Result<(), BenchError> {
        for session in 0..self.campaign.sessions() {
            let first = session * OF_A_SESSION;
            let lines = self.campaign.session(session)?.into_iter().zip(&self.entries[first..]);
            let lines: Vec<TranscriptEntry> =
                lines.map(|(entry, id)| stored_entry(entry, *id)).collect();
            self.remember_all(session, passages(&lines)).await?;
        }
        while self.facts.len() < self.campaign.volume.passages {
            let from = self.facts.len();
            let to = (from + BATCH).min(self.campaign.volume.passages);
            let stated = (from..to).map(|number| {
                let mut random = SplitMix64::new(&[21, number as u64]);
                let text: Vec<String> =
                    (0..5).map(|_| self.campaign.language.sentences(&mut random)).collect();
                NewFact::from_statement(&text.join(" "), self.campaign.end())
            });
            let stated: Vec<NewFact> = stated.collect::<Result<_, _>>()?;
            self.remember_all(0, stated).await?;
        }
        Ok(())
    }

    async fn remember_all(
        &mut self,
        session: usize,
        mut facts: Vec<NewFact>,
    ) -> Result<(), BenchError> {
        facts.truncate(self.campaign.volume.passages - self.facts.len());
        if facts.is_empty() {
            return Ok(());
        }
        let numbered = facts.iter().zip(self.facts.len()..);
        let words: Vec<String> =
            numbered.map(|(fact, number)| distinctive_words(fact, number)).collect();
        let ids = self.memory.remember(&self.place(session), facts).await?;
        self.facts
            .extend(ids.into_iter().zip(words).map(|(id, words)| StoredPassage { id, words }));
        Ok(())
    }

    async fn keep_vectors(&self) -> Result<(), BenchError> {
        let all = self.facts.len();
        let numbers: Vec<usize> = (0..all).collect();
        for batch in numbers.chunks(BATCH) {
            let vector = |at: &usize| (self.facts[*at].id, self.campaign.meanings.of(*at, all));
            self.memory.keep_vectors(MODEL, batch.iter().map(vector).collect()).await?;
        }
        Ok(())
    }

    async fn relate(&self) -> Result<(), BenchError> {
        let place = self.place(0);
        let entities: Vec<usize> = (0..self.campaign.volume.entities).collect();
        for batch in entities.chunks(2 * BATCH) {
            let batch = batch.iter().map(|it| self.campaign.entity(*it));
            self.memory.put_entities(&place, batch.collect::<Result<_, _>>()?).await?;
        }
        let relations: Vec<usize> = (0..self.campaign.volume.relations).collect();
        for batch in relations.chunks(2 * BATCH) {
            let batch = batch.iter().map(|it| self.campaign.relation(*it));
            self.memory.relate(&place, batch.collect::<Result<_, _>>()?).await?;
        }
        Ok(())
    }
}

/// Whoever imports a lot waits until there is room again.
async fn append(
    memory: &MemoryStore,
    place: &MemoryTarget,
    entries: Vec<NewEntry>,
) -> Result<Vec<EntryId>, BenchError> {
    let until = clock::now() + APPEND_RETRY_TIMEOUT;
    loop {
        match memory.append(place, entries.clone()).await {
            Err(Busy::Slow(_)) if clock::now() < until => {
                tokio::time::sleep(APPEND_RETRY_PAUSE).await
            }
            ended => return Ok(ended?),
        }
    }
}

fn author() -> MemoryAuthor {
    MemoryAuthor {
        name: "bench".to_owned(),
        via: "import".to_owned(),
        trust: AuthorTrust::Conversation,
    }
}

fn stored_entry(entry: NewEntry, id: EntryId) -> TranscriptEntry {
    let NewEntry { session, speaker, text, at } = entry;
    TranscriptEntry { id, session, speaker, text, at, author: author() }
}

/// Three of its longer words.
fn distinctive_words(fact: &NewFact, number: usize) -> String {
    let mut random = SplitMix64::new(&[22, number as u64]);
    let long: Vec<&str> = fact.text.split_whitespace().filter(|it| it.len() > 5).collect();
    let any = long.len().max(1);
    let words = (0..3).filter_map(|_| long.get(random.below(any)).copied());
    words.collect::<Vec<_>>().join(" ")
}
