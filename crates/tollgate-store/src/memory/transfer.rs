//! Export and import of the memory as records: entries, stated facts, entities and relations, with
//! authors and times.
//!
//! Passages and vectors are computed again. The file format is up to the callers.

use std::collections::HashMap;

use tollgate_core::digest::DigestBuilder;
use tollgate_core::memory::{
    Audience, MemoryScope, MemoryTarget, Namespace, NewEntity, NewEntry, NewFact, NewRelation,
    SessionId, milliseconds,
};

use super::records::{ExportCursor, MemoryLayer, MemoryRecord, RecordContent};
use super::{MAX_ROWS_PER_CALL, MemoryCounts, MemoryError, MemoryStore, TranscriptPage};

/// An import into a namespace. Existing records are not stored twice.
pub struct MemoryImport {
    memory: MemoryStore,
    namespace: Namespace,
    /// Existing utterances of each session, with their counts.
    utterances: HashMap<(Audience, SessionId), HashMap<[u8; 32], u32>>,
}

/// Entries of a session compared at once.
const COMPARE_BATCH: usize = 1_000;

impl MemoryStore {
    /// A part of everything visible in a scope, and the next cursor; `None`: the beginning, or the
    /// end.
    pub async fn export(
        &self,
        scope: &MemoryScope,
        from: Option<ExportCursor>,
    ) -> Result<(Vec<MemoryRecord>, Option<ExportCursor>), MemoryError> {
        let from = from.unwrap_or(ExportCursor { layer: MemoryLayer::Entries, after: 0 });
        let (records, next) = self.records(scope, from).await?;
        let next_layer = || from.layer.next().map(|layer| ExportCursor { layer, after: 0 });
        Ok((records, next.or_else(next_layer)))
    }
}

impl MemoryImport {
    pub fn new(memory: &MemoryStore, namespace: Namespace) -> Self {
        Self { memory: memory.clone(), namespace, utterances: HashMap::new() }
    }

    /// Stores the records in order. Returns how many were written, without existing utterances and
    /// relations with a missing end.
    pub async fn take(&mut self, records: Vec<MemoryRecord>) -> Result<MemoryCounts, MemoryError> {
        let mut counts = MemoryCounts::default();
        let mut batch: Option<ImportBatch> = None;
        for MemoryRecord { audience, author, content } in records {
            let place = MemoryTarget { namespace: self.namespace.clone(), audience, author };
            if let RecordContent::Utterance(entry) = &content
                && self.take_existing(&place.audience, entry).await?
            {
                continue;
            }
            let other = batch.take_if(|it| it.place != place || it.len >= MAX_ROWS_PER_CALL);
            if let Some(other) = other {
                counts.add(&other.keep(&self.memory).await?);
            }
            batch.get_or_insert_with(|| ImportBatch::new(place)).add(content);
        }
        if let Some(last) = batch {
            counts.add(&last.keep(&self.memory).await?);
        }
        Ok(counts)
    }

    /// Whether it existed before; each existing one counts once.
    async fn take_existing(
        &mut self,
        audience: &Audience,
        entry: &NewEntry,
    ) -> Result<bool, MemoryError> {
        let key = (audience.clone(), entry.session.clone());
        if !self.utterances.contains_key(&key) {
            let lines = self.count_existing(audience, &entry.session).await?;
            self.utterances.insert(key.clone(), lines);
        }
        let before = self.utterances.get_mut(&key).and_then(|it| it.get_mut(&entry_digest(entry)));
        Ok(before.is_some_and(|left| {
            let was = *left > 0;
            *left = left.saturating_sub(1);
            was
        }))
    }

    async fn count_existing(
        &self,
        audience: &Audience,
        session: &SessionId,
    ) -> Result<HashMap<[u8; 32], u32>, MemoryError> {
        let mut before = HashMap::new();
        let scope = match audience {
            Audience::Shared => MemoryScope::of_operator(self.namespace.clone()),
            Audience::Only(agent) => MemoryScope::of_agent(self.namespace.clone(), agent.clone()),
        };
        // A session of the same name for another audience is another session.
        let known = self.memory.session(&scope, session).await?;
        if known.is_none_or(|known| known.audience != *audience) {
            return Ok(before);
        }
        let mut page = TranscriptPage { after: None, most: COMPARE_BATCH };
        loop {
            let entries = self.memory.entries(&scope, session, page).await?;
            let Some(last) = entries.last() else { return Ok(before) };
            page.after = Some(last.id);
            for entry in entries {
                let session = entry.session;
                let speaker = entry.speaker;
                let text = entry.text;
                let entry = NewEntry { session, speaker, text, at: entry.at };
                *before.entry(entry_digest(&entry)).or_default() += 1;
            }
        }
    }
}

/// Digest of speaker, text and time.
fn entry_digest(entry: &NewEntry) -> [u8; 32] {
    let sum = DigestBuilder::default().with(milliseconds(entry.at).to_le_bytes());
    sum.with(&entry.speaker).with("\0").with(&entry.text).finish()
}

/// The records for one target.
struct ImportBatch {
    place: MemoryTarget,
    len: usize,
    entries: Vec<NewEntry>,
    summaries: Vec<(SessionId, String)>,
    facts: Vec<NewFact>,
    entities: Vec<NewEntity>,
    relations: Vec<NewRelation>,
}

impl ImportBatch {
    fn new(place: MemoryTarget) -> Self {
        Self {
            place,
            len: 0,
            entries: Vec::new(),
            summaries: Vec::new(),
            facts: Vec::new(),
            entities: Vec::new(),
            relations: Vec::new(),
        }
    }

    fn add(&mut self, content: RecordContent) {
        self.len += 1;
        match content {
            RecordContent::Utterance(entry) => self.entries.push(entry),
            RecordContent::Summary { session, text } => self.summaries.push((session, text)),
            RecordContent::Fact(fact) => self.facts.push(fact),
            RecordContent::Entity(entity) => self.entities.push(entity),
            RecordContent::Relation(relation) => self.relations.push(relation),
        }
    }

    /// Each layer after those it depends on.
    async fn keep(self, memory: &MemoryStore) -> Result<MemoryCounts, MemoryError> {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let place = &self.place;
        let mut counts = MemoryCounts::default();
        if !self.entries.is_empty() {
            counts.entries = number(memory.append(place, self.entries).await?.len());
        }
        for (session, text) in self.summaries {
            memory.summarise(place, &session, &text).await?;
        }
        if !self.facts.is_empty() {
            counts.facts = number(memory.remember(place, self.facts).await?.len());
        }
        if !self.entities.is_empty() {
            counts.entities = number(self.entities.len());
            memory.put_entities(place, self.entities).await?;
        }
        if !self.relations.is_empty() {
            counts.relations = relate(memory, place, self.relations).await?;
        }
        Ok(counts)
    }
}

/// All together; if one has a missing end, each by itself.
async fn relate(
    memory: &MemoryStore,
    place: &MemoryTarget,
    relations: Vec<NewRelation>,
) -> Result<u64, MemoryError> {
    match memory.relate(place, relations.clone()).await {
        Ok(()) => return Ok(u64::try_from(relations.len()).unwrap_or(u64::MAX)),
        Err(MemoryError::NoEntity(_)) => {}
        Err(trouble) => return Err(trouble),
    }
    let mut retained = 0;
    for relation in relations {
        match memory.relate(place, vec![relation]).await {
            Ok(()) => retained += 1,
            Err(MemoryError::NoEntity(_)) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(retained)
}
