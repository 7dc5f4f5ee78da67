//! Puts a whole campaign into a memory, as agents and imports do: in batches, several at a time.

use std::time::Duration;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use tollgate_core::id::AgentId;
use tollgate_core::memory::{
    Audience, Author, Entry, EntryId, FactId, Name, Namespace, NewEntry, NewFact, Place, Scope,
    Trust, passages,
};
use tollgate_store::memory::{Memory, Trouble as Busy};

use crate::campaign::{Campaign, OF_A_SESSION, Random};
use crate::clock;
use crate::trouble::Trouble;

/// The model that the vectors are said to be of.
pub(super) const MODEL: &str = "bench/256";
/// Things of one batch, and batches under way at once.
const BATCH: usize = 250;
const AT_ONCE: usize = 8;
/// How long a batch is offered again, and after how long.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);
/// Sessions that are made before the clock runs.
const MADE: usize = 20;
/// One session in so many is the agent's own.
const OWN: usize = 10;

pub(super) struct Filled<'c> {
    pub(super) campaign: &'c Campaign,
    pub(super) memory: &'c Memory,
    pub(super) scope: Scope,
    /// Of the campaign's entries, in its order.
    pub(super) entries: Vec<EntryId>,
    pub(super) facts: Vec<Passage>,
    agent: AgentId,
    appending: Duration,
    took: Duration,
}

/// A passage that was kept, and words of it by which it can be asked for.
pub(super) struct Passage {
    pub(super) id: FactId,
    pub(super) words: String,
}

impl<'c> Filled<'c> {
    pub(super) async fn fill(campaign: &'c Campaign, memory: &'c Memory) -> Result<Self, Trouble> {
        let agent = AgentId::parse("sage").map_err(|it| Trouble::Process(it.to_string()))?;
        let namespace = Namespace::of(None, &Name::usual());
        let mut filled = Self {
            campaign,
            memory,
            scope: Scope::of_agent(namespace, agent.clone()),
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

    fn place(&self, session: usize) -> Place {
        let is_own = session % OWN == OWN - 1;
        let audience = if is_own { Audience::Only(self.agent.clone()) } else { Audience::Shared };
        Place { namespace: self.scope.namespace.clone(), audience, author: author() }
    }

    async fn append(&mut self) -> Result<(), Trouble> {
        let sessions: Vec<usize> = (0..self.campaign.sessions()).collect();
        for some in sessions.chunks(MADE) {
            let mut batches: Vec<(Place, Vec<NewEntry>)> = Vec::new();
            for session in some {
                let said = self.campaign.session(*session)?;
                batches.extend(said.chunks(BATCH).map(|it| (self.place(*session), it.to_vec())));
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
    async fn remember(&mut self) -> Result<(), Trouble> {
        for session in 0..self.campaign.sessions() {
            let first = session * OF_A_SESSION;
            let said = self.campaign.session(session)?.into_iter().zip(&self.entries[first..]);
            let said: Vec<Entry> = said.map(|(entry, id)| kept(entry, *id)).collect();
            self.remember_all(session, passages(&said)).await?;
        }
        while self.facts.len() < self.campaign.volume.passages {
            let from = self.facts.len();
            let to = (from + BATCH).min(self.campaign.volume.passages);
            let stated = (from..to).map(|number| {
                let mut random = Random::new(&[21, number as u64]);
                let text: Vec<String> =
                    (0..5).map(|_| self.campaign.language.said(&mut random)).collect();
                NewFact::stated(&text.join(" "), self.campaign.end())
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
    ) -> Result<(), Trouble> {
        facts.truncate(self.campaign.volume.passages - self.facts.len());
        if facts.is_empty() {
            return Ok(());
        }
        let words: Vec<String> = facts.iter().zip(self.facts.len()..).map(telling).collect();
        let ids = self.memory.remember(&self.place(session), facts).await?;
        self.facts.extend(ids.into_iter().zip(words).map(|(id, words)| Passage { id, words }));
        Ok(())
    }

    async fn keep_vectors(&self) -> Result<(), Trouble> {
        let all = self.facts.len();
        let numbers: Vec<usize> = (0..all).collect();
        for batch in numbers.chunks(BATCH) {
            let vector = |at: &usize| (self.facts[*at].id, self.campaign.meanings.of(*at, all));
            self.memory.keep_vectors(MODEL, batch.iter().map(vector).collect()).await?;
        }
        Ok(())
    }

    async fn relate(&self) -> Result<(), Trouble> {
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
    memory: &Memory,
    place: &Place,
    entries: Vec<NewEntry>,
) -> Result<Vec<EntryId>, Trouble> {
    let until = clock::now() + PATIENCE;
    loop {
        match memory.append(place, entries.clone()).await {
            Err(Busy::Slow(_)) if clock::now() < until => tokio::time::sleep(PAUSE).await,
            ended => return Ok(ended?),
        }
    }
}

fn author() -> Author {
    Author { name: "bench".to_owned(), via: "import".to_owned(), trust: Trust::Heard }
}

fn kept(entry: NewEntry, id: EntryId) -> Entry {
    let NewEntry { session, speaker, text, at } = entry;
    Entry { id, session, speaker, text, at, author: author() }
}

/// Three of its longer words.
fn telling((fact, number): (&NewFact, usize)) -> String {
    let mut random = Random::new(&[22, number as u64]);
    let long: Vec<&str> = fact.text.split_whitespace().filter(|it| it.len() > 5).collect();
    let any = long.len().max(1);
    let words = (0..3).filter_map(|_| long.get(random.below(any)).copied());
    words.collect::<Vec<_>>().join(" ")
}
