//! Asks a filled memory what agents ask: rare names, common words, whole questions. One at a time,
//! and looks at every answer.

use std::collections::HashSet;

use tollgate_core::memory::{FactId, MemoryQuery, terms};
use tollgate_store::memory::{EmbeddingVector, EntityFilter, MemoryItem, MemorySearch, Page};

use super::fill::{FilledMemory, MODEL};
use crate::campaign::{Campaign, DIMENSIONS, SplitMix64, nearest};
use crate::clock::{self, nanos};
use crate::error::BenchError;
use crate::samples::Samples;

/// How much the tools of agents ask for.
const HITS: usize = 10;
const ENTITIES: usize = 20;
const LINKS: usize = 50;
/// Of all passages that are asked for by their words and their meaning.
const LEAST_FOUND: f64 = 0.95;

/// How long answers took, and how many had what was looked for.
pub(super) struct SearchTimings {
    pub(super) samples: Samples,
    first: u64,
    found: usize,
    planted: usize,
}

/// How many of the nearest were found.
pub(super) struct RecallScore {
    pub(super) found: usize,
    pub(super) expected: usize,
}

/// What a question has to find.
enum ExpectedHit {
    /// Or the answer is wrong.
    Always(usize),
    /// Counted: words that others have as well, of which the newest are found.
    Perhaps(usize),
    /// Anything with a word of it.
    Any,
}

impl SearchTimings {
    pub(super) fn found_text(&self) -> String {
        format!("{} of {} planted found", self.found, self.planted)
    }

    pub(super) fn first_ms(&self) -> f64 {
        self.first as f64 / 1e6
    }
}

/// Gathers what was measured.
#[derive(Default)]
struct SearchStopwatch {
    nanos: Vec<u64>,
    found: usize,
    planted: usize,
}

impl SearchStopwatch {
    async fn time<T>(&mut self, work: impl Future<Output = T>) -> T {
        let began = clock::now();
        let done = work.await;
        self.nanos.push(nanos(clock::now() - began));
        done
    }

    fn expect(&mut self, found: Option<bool>) {
        self.planted += usize::from(found.is_some());
        self.found += usize::from(found == Some(true));
    }

    /// The first one opens files and fills caches: it is told apart.
    fn into_timings(mut self) -> SearchTimings {
        let first = if self.nanos.is_empty() { 0 } else { self.nanos.remove(0) };
        let samples = Samples::of_nanos(self.nanos);
        SearchTimings { samples, first, found: self.found, planted: self.planted }
    }
}

impl FilledMemory<'_> {
    pub(super) async fn searches(&self, times: usize) -> Result<SearchTimings, BenchError> {
        let mut watch = SearchStopwatch::default();
        for number in 0..times {
            let (query, expected) = self.question(number);
            let hits =
                watch.time(self.memory.search_entries(&self.scope, &self.search(&query))).await?;
            let has = |at: usize| hits.iter().any(|it| it.found.id == self.entries[at]);
            watch.expect(match expected {
                ExpectedHit::Always(at) if !has(at) => {
                    return Err(wrong("what was planted was not found", &query));
                }
                ExpectedHit::Always(at) | ExpectedHit::Perhaps(at) => Some(has(at)),
                ExpectedHit::Any => None,
            });
            let requests = MemoryQuery::parse(&query)?.terms;
            let fits = hits.iter().all(|it| {
                let has = terms(&format!("{} {}", it.found.speaker, it.found.text));
                requests.iter().any(|term| has.contains(term))
            });
            if hits.is_empty() || !fits {
                return Err(wrong("nothing was found, or something else", &query));
            }
        }
        Ok(watch.into_timings())
    }

    fn search<'q>(&self, query: &'q str) -> MemorySearch<'q> {
        MemorySearch { query, session: None, most: HITS, now: self.campaign.end() }
    }

    /// Of ten: names, words beside names, whole questions, words alone, and common words.
    fn question(&self, number: usize) -> (String, ExpectedHit) {
        let mut random = SplitMix64::new(&[31, number as u64]);
        let planted = self.campaign.planted_number(random.below(self.campaign.planted_count()));
        let name = &planted.name;
        let [one, two, three] = &planted.words;
        let at = planted.at;
        let language = &self.campaign.language;
        match number % 10 {
            0 => (name.clone(), ExpectedHit::Always(at)),
            1 => (format!("{two} {name}"), ExpectedHit::Always(at)),
            2 => (format!("Where did {name} hide the {one} {two}?"), ExpectedHit::Always(at)),
            3 => {
                (format!("What do you know about {name} and the {three}"), ExpectedHit::Always(at))
            }
            4 => (format!("{one} {two} {three}"), ExpectedHit::Perhaps(at)),
            5 => (format!("\"{one} {two}\""), ExpectedHit::Perhaps(at)),
            6 => (language.famous(&mut random).to_owned(), ExpectedHit::Any),
            7 => (language.usual(&mut random).to_owned(), ExpectedHit::Any),
            8 => {
                let words: Vec<&str> = (0..3).map(|_| language.usual(&mut random)).collect();
                (words.join(" "), ExpectedHit::Any)
            }
            _ => {
                let speaker = language.name(&mut random);
                let word = language.usual(&mut random);
                let other = language.distinctive_word(&mut random);
                (
                    format!("What did {speaker} say about the {word} and the {other}?"),
                    ExpectedHit::Any,
                )
            }
        }
    }

    pub(super) async fn entities(&self, times: usize) -> Result<SearchTimings, BenchError> {
        let mut watch = SearchStopwatch::default();
        let page = Page { skip: 0, most: ENTITIES };
        for number in 0..times {
            let entity = SplitMix64::new(&[32, number as u64]).below(self.campaign.volume.entities);
            let name = self.campaign.entity_name(entity);
            let (first, family) = name.split_once(' ').unwrap_or((&name, ""));
            let kind = Some(Campaign::kind(entity).to_owned());
            let (filter, exact) = match number % 8 {
                0..4 => (EntityFilter { name: Some(name.clone()), kind: None }, Some(&name)),
                4 => (EntityFilter { name: Some(family.to_owned()), kind: None }, None),
                5 => (
                    EntityFilter { name: Some(format!("{first} {}", &family[..4])), kind: None },
                    None,
                ),
                6 => (EntityFilter { name: Some(name.to_uppercase()), kind }, Some(&name)),
                _ => (EntityFilter { name: None, kind }, None),
            };
            let found = watch.time(self.memory.find_entities(&self.scope, &filter, page)).await?;
            let is_first = |name: &String| found.first().is_some_and(|it| it.name == *name);
            watch.expect(exact.map(is_first));
            if found.is_empty() || exact.is_some_and(|name| !is_first(name)) {
                return Err(wrong("an entity was not found", &name));
            }
        }
        Ok(watch.into_timings())
    }

    pub(super) async fn summaries(&self, times: usize) -> Result<SearchTimings, BenchError> {
        let mut watch = SearchStopwatch::default();
        for number in 0..times {
            let mut random = SplitMix64::new(&[33, number as u64]);
            let any = random.below(self.campaign.volume.entities);
            let is_hub = number.is_multiple_of(2);
            let entity = if is_hub { self.campaign.hub(&mut random) } else { any };
            let id = Campaign::entity_id(entity)?;
            let snapshot = watch.time(self.memory.snapshot(&self.scope, &id, LINKS)).await?;
            let fits = snapshot.is_some_and(|it| it.entity.id == id && it.links.len() <= LINKS);
            watch.expect(Some(fits));
            if !fits {
                return Err(wrong("an entity was not found by its id", id.as_str()));
            }
        }
        Ok(watch.into_timings())
    }

    pub(super) async fn facts(&self, times: usize) -> Result<SearchTimings, BenchError> {
        let mut watch = SearchStopwatch::default();
        for number in 0..times {
            let at = SplitMix64::new(&[34, number as u64]).below(self.facts.len());
            let passage = &self.facts[at];
            let vector = self.question_vector(at);
            let search = self.search(&passage.words);
            let asked = self.memory.search_facts(&self.scope, &search, Some(&vector));
            let hits = watch.time(asked).await?;
            let is_it =
                |known: &MemoryItem| matches!(known, MemoryItem::Fact(it) if it.id == passage.id);
            watch.expect(Some(hits.iter().any(|it| is_it(&it.found))));
            if hits.is_empty() || hits.len() > HITS {
                return Err(wrong("no fact was found, or too many", &passage.words));
            }
        }
        if (watch.found as f64) < LEAST_FOUND * watch.planted as f64 {
            return Err(wrong("too few facts were found", &watch.found.to_string()));
        }
        Ok(watch.into_timings())
    }

    fn question_vector(&self, passage: usize) -> EmbeddingVector {
        let numbers = self.campaign.meanings.question_embedding(passage, self.facts.len());
        EmbeddingVector { model: MODEL.to_owned(), numbers }
    }

    /// Against an exact scan of all vectors.
    pub(super) async fn recall(&self, times: usize) -> Result<RecallScore, BenchError> {
        let all = self.facts.len();
        let mut vectors = Vec::with_capacity(all * DIMENSIONS);
        for at in 0..all {
            vectors.extend(self.campaign.meanings.of(at, all));
        }
        let mut recall = RecallScore { found: 0, expected: 0 };
        for number in 0..times {
            let at = SplitMix64::new(&[35, number as u64]).below(all);
            let vector = self.question_vector(at);
            let near = self.memory.facts_near(&self.scope, &vector, HITS).await?;
            let found: HashSet<FactId> = near.into_iter().map(|(fact, _)| fact.id).collect();
            let requested = nearest(&vectors, &vector.numbers, HITS);
            recall.expected += requested.len();
            recall.found +=
                requested.iter().filter(|it| found.contains(&self.facts[**it].id)).count();
        }
        Ok(recall)
    }
}

fn wrong(why: &'static str, query: &str) -> BenchError {
    BenchError::wrong("the memory", why, query.as_bytes())
}
