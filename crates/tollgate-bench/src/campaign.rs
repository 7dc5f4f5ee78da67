//! A made-up campaign of any size, always the same: transcripts whose words and names are as
//! unevenly used as in real ones, passages with vectors in clusters, entities and relations.
//!
//! With things planted in it that can be asked for. Knows nothing of how it is kept.

use std::time::{Duration, SystemTime};

use serde_json::{Map, json};
use tollgate_core::memory::{
    EntityId, MemoryInputError, NewEntity, NewEntry, NewRelation, Provenance, SessionId,
};

mod embeddings;
mod language;
mod random;

pub(crate) use embeddings::{DIMENSIONS, TopicEmbeddings, nearest};
pub(crate) use language::CampaignLanguage;
pub(crate) use random::SplitMix64;

/// How much there is of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CampaignVolume {
    pub(crate) entries: usize,
    pub(crate) passages: usize,
    pub(crate) entities: usize,
    pub(crate) relations: usize,
}

impl CampaignVolume {
    /// As the targets have it.
    pub(crate) const FULL: Self =
        Self { entries: 1_000_000, passages: 200_000, entities: 50_000, relations: 200_000 };
    /// What fits between the other measurements.
    pub(crate) const SMALL: Self =
        Self { entries: 40_000, passages: 8_000, entities: 4_000, relations: 16_000 };
}

/// Entries of one session.
pub(crate) const OF_A_SESSION: usize = 500;
/// One entry in so many is a planted one.
const ENTRIES_PER_PLANTED: usize = 500;
/// Entities that much is known of, one in so many.
const ENTITIES_PER_HUB: usize = 200;
/// The moment at which the campaign began: 2024-01-01.
const CAMPAIGN_START: Duration = Duration::from_secs(1_704_067_200);
const KINDS: [&str; 8] =
    ["npc", "player", "location", "item", "faction", "event", "quest", "concept"];
const TIES: [&str; 6] = ["knows", "owns", "serves", "fears", "lives_in", "owes"];

pub(crate) struct Campaign {
    pub(crate) volume: CampaignVolume,
    pub(crate) language: CampaignLanguage,
    pub(crate) meanings: TopicEmbeddings,
}

/// Something that stands in one entry only, under a name that nobody else has.
#[derive(Debug, Clone)]
pub(crate) struct PlantedEntry {
    pub(crate) name: String,
    /// Words beside it; others have them too.
    pub(crate) words: [String; 3],
    /// How many entries are before it in the campaign.
    pub(crate) at: usize,
}

impl PlantedEntry {
    fn text(&self) -> String {
        let [one, two, three] = &self.words;
        format!(
            "And then {} hid the {one} {two} under the old {three}, for nobody to see.",
            self.name
        )
    }
}

impl Campaign {
    pub(crate) fn new(volume: CampaignVolume) -> Self {
        Self { volume, language: CampaignLanguage::new(), meanings: TopicEmbeddings::new() }
    }

    pub(crate) fn sessions(&self) -> usize {
        self.volume.entries.div_ceil(OF_A_SESSION)
    }

    /// The time when all of it is over.
    pub(crate) fn end(&self) -> SystemTime {
        self.at(self.volume.entries)
    }

    fn at(&self, entry: usize) -> SystemTime {
        let pauses = (entry / OF_A_SESSION) as u64 * 5 * 60 * 60;
        SystemTime::UNIX_EPOCH + CAMPAIGN_START + Duration::from_secs(entry as u64 * 7 + pauses)
    }

    /// All that was said in one session, in order.
    pub(crate) fn session(&self, number: usize) -> Result<Vec<NewEntry>, MemoryInputError> {
        let mut random = SplitMix64::new(&[1, number as u64]);
        let id = SessionId::parse(&format!("session-{number:05}"))?;
        let party: Vec<String> =
            (0..6).map(|_| self.language.name(&mut random).to_owned()).collect();
        let first = number * OF_A_SESSION;
        let last = (first + OF_A_SESSION).min(self.volume.entries);
        (first..last)
            .map(|at| {
                let speaker = &party[random.below(party.len())];
                let text = match self.planted_at(at) {
                    Some(planted) => planted.text(),
                    None => self.language.sentences(&mut random),
                };
                NewEntry::new(id.clone(), speaker, &text, self.at(at))
            })
            .collect()
    }

    pub(crate) fn planted_count(&self) -> usize {
        self.volume.entries / ENTRIES_PER_PLANTED
    }

    /// The how-manieth of all that is planted.
    pub(crate) fn planted_number(&self, number: usize) -> PlantedEntry {
        let mut random = SplitMix64::new(&[2, number as u64]);
        let words = std::array::from_fn(|_| self.language.distinctive_word(&mut random).to_owned());
        let at = number * ENTRIES_PER_PLANTED + random.below(ENTRIES_PER_PLANTED);
        PlantedEntry { name: self.language.secret(number), words, at }
    }

    fn planted_at(&self, at: usize) -> Option<PlantedEntry> {
        let planted = self.planted_number(at / ENTRIES_PER_PLANTED);
        (planted.at == at).then_some(planted)
    }

    pub(crate) fn entity_name(&self, number: usize) -> String {
        let mut random = SplitMix64::new(&[3, number as u64]);
        let first = self.language.name(&mut random).to_owned();
        format!("{first} {}", self.language.family(number))
    }

    pub(crate) fn entity_id(number: usize) -> Result<EntityId, MemoryInputError> {
        EntityId::parse(&format!("{}-{number}", Self::kind(number)))
    }

    pub(crate) fn kind(number: usize) -> &'static str {
        KINDS[number % KINDS.len()]
    }

    pub(crate) fn entity(&self, number: usize) -> Result<NewEntity, MemoryInputError> {
        let mut random = SplitMix64::new(&[4, number as u64]);
        let mut attributes = Map::new();
        attributes.insert("home".to_owned(), json!(self.language.name(&mut random)));
        attributes.insert("age".to_owned(), json!(random.below(90)));
        attributes.insert("notes".to_owned(), json!(self.language.sentences(&mut random)));
        let name = self.entity_name(number);
        let id = Self::entity_id(number)?;
        NewEntity::new(id, Self::kind(number), &name, self.end())?.with(attributes)
    }

    /// One of the few that much is known of.
    pub(crate) fn hub(&self, random: &mut SplitMix64) -> usize {
        random.below((self.volume.entities / ENTITIES_PER_HUB).max(1)) * ENTITIES_PER_HUB
    }

    pub(crate) fn relation(&self, number: usize) -> Result<NewRelation, MemoryInputError> {
        let mut random = SplitMix64::new(&[5, number as u64]);
        let any = self.volume.entities;
        let source = if random.below(3) == 0 { self.hub(&mut random) } else { random.below(any) };
        let target = random.below(any);
        let confidence = 0.3 + 0.7 * random.share() as f32;
        NewRelation::new(
            Self::entity_id(source)?,
            TIES[random.below(TIES.len())],
            Self::entity_id(target)?,
            self.end(),
        )?
        .with_provenance(Provenance { session: None, confidence })
    }
}

#[cfg(test)]
mod tests;
