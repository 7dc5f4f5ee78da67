//! Asks a filled memory what agents ask: rare names, common words, whole questions. One at a time,
//! and looks at every answer.

use std::collections::HashSet;

use tollgate_core::memory::{FactId, Query, terms};
use tollgate_store::memory::{Known, Page, Search, Vector, Wanted};

use super::fill::{Filled, MODEL};
use crate::campaign::{Campaign, DIMENSIONS, Random, nearest};
use crate::clock::{self, nanos};
use crate::samples::Samples;
use crate::trouble::Trouble;

/// How much the tools of agents ask for.
const HITS: usize = 10;
const ENTITIES: usize = 20;
const LINKS: usize = 50;
/// Of all passages that are asked for by their words and their meaning.
const LEAST_FOUND: f64 = 0.95;

/// How long answers took, and how many had what was looked for.
pub(super) struct Asked {
    pub(super) samples: Samples,
    first: u64,
    found: usize,
    planted: usize,
}

/// How many of the nearest were found.
pub(super) struct Recall {
    pub(super) found: usize,
    pub(super) wanted: usize,
}

/// What a question has to find.
enum Expected {
    /// Or the answer is wrong.
    Always(usize),
    /// Counted: words that others have as well, of which the newest are found.
    Perhaps(usize),
    /// Anything with a word of it.
    Any,
}

impl Asked {
    pub(super) fn found(&self) -> String {
        format!("{} of {} planted found", self.found, self.planted)
    }

    pub(super) fn first_ms(&self) -> f64 {
        self.first as f64 / 1e6
    }
}

/// Gathers what was measured.
#[derive(Default)]
struct Watch {
    nanos: Vec<u64>,
    found: usize,
    planted: usize,
}

impl Watch {
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
    fn done(mut self) -> Asked {
        let first = if self.nanos.is_empty() { 0 } else { self.nanos.remove(0) };
        let samples = Samples::of_nanos(self.nanos);
        Asked { samples, first, found: self.found, planted: self.planted }
    }
}

impl Filled<'_> {
    pub(super) async fn searches(&self, times: usize) -> Result<Asked, Trouble> {
        let mut watch = Watch::default();
        for number in 0..times {
            let (query, expected) = self.question(number);
            let hits =
                watch.time(self.memory.search_entries(&self.scope, &self.search(&query))).await?;
            let has = |at: usize| hits.iter().any(|it| it.found.id == self.entries[at]);
            watch.expect(match expected {
                Expected::Always(at) if !has(at) => {
                    return Err(wrong("what was planted was not found", &query));
                }
                Expected::Always(at) | Expected::Perhaps(at) => Some(has(at)),
                Expected::Any => None,
            });
            let asked = Query::parse(&query)?.terms;
            let fits = hits.iter().all(|it| {
                let has = terms(&format!("{} {}", it.found.speaker, it.found.text));
                asked.iter().any(|term| has.contains(term))
            });
            if hits.is_empty() || !fits {
                return Err(wrong("nothing was found, or something else", &query));
            }
        }
        Ok(watch.done())
    }

    fn search<'q>(&self, query: &'q str) -> Search<'q> {
        Search { query, session: None, most: HITS, now: self.campaign.end() }
    }

    /// Of ten: names, words beside names, whole questions, words alone, and common words.
    fn question(&self, number: usize) -> (String, Expected) {
        let mut random = Random::new(&[31, number as u64]);
        let planted = self.campaign.planted_number(random.below(self.campaign.planted()));
        let (name, [one, two, three], at) = (&planted.name, &planted.words, planted.at);
        let language = &self.campaign.language;
        match number % 10 {
            0 => (name.clone(), Expected::Always(at)),
            1 => (format!("{two} {name}"), Expected::Always(at)),
            2 => (format!("Where did {name} hide the {one} {two}?"), Expected::Always(at)),
            3 => (format!("What do you know about {name} and the {three}"), Expected::Always(at)),
            4 => (format!("{one} {two} {three}"), Expected::Perhaps(at)),
            5 => (format!("\"{one} {two}\""), Expected::Perhaps(at)),
            6 => (language.famous(&mut random).to_owned(), Expected::Any),
            7 => (language.usual(&mut random).to_owned(), Expected::Any),
            8 => {
                let words: Vec<&str> = (0..3).map(|_| language.usual(&mut random)).collect();
                (words.join(" "), Expected::Any)
            }
            _ => {
                let speaker = language.name(&mut random);
                let word = language.usual(&mut random);
                let other = language.telling(&mut random);
                (format!("What did {speaker} say about the {word} and the {other}?"), Expected::Any)
            }
        }
    }

    pub(super) async fn entities(&self, times: usize) -> Result<Asked, Trouble> {
        let mut watch = Watch::default();
        let page = Page { skip: 0, most: ENTITIES };
        for number in 0..times {
            let entity = Random::new(&[32, number as u64]).below(self.campaign.volume.entities);
            let name = self.campaign.entity_name(entity);
            let (first, family) = name.split_once(' ').unwrap_or((&name, ""));
            let kind = Some(Campaign::kind(entity).to_owned());
            let (wanted, exact) = match number % 8 {
                0..4 => (Wanted { name: Some(name.clone()), kind: None }, Some(&name)),
                4 => (Wanted { name: Some(family.to_owned()), kind: None }, None),
                5 => (Wanted { name: Some(format!("{first} {}", &family[..4])), kind: None }, None),
                6 => (Wanted { name: Some(name.to_uppercase()), kind }, Some(&name)),
                _ => (Wanted { name: None, kind }, None),
            };
            let found = watch.time(self.memory.find_entities(&self.scope, &wanted, page)).await?;
            let is_first = |name: &String| found.first().is_some_and(|it| it.name == *name);
            watch.expect(exact.map(is_first));
            if found.is_empty() || exact.is_some_and(|name| !is_first(name)) {
                return Err(wrong("an entity was not found", &name));
            }
        }
        Ok(watch.done())
    }

    pub(super) async fn summaries(&self, times: usize) -> Result<Asked, Trouble> {
        let mut watch = Watch::default();
        for number in 0..times {
            let mut random = Random::new(&[33, number as u64]);
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
        Ok(watch.done())
    }

    pub(super) async fn facts(&self, times: usize) -> Result<Asked, Trouble> {
        let mut watch = Watch::default();
        for number in 0..times {
            let at = Random::new(&[34, number as u64]).below(self.facts.len());
            let (passage, vector) = (&self.facts[at], self.asked(at));
            let search = self.search(&passage.words);
            let asked = self.memory.search_facts(&self.scope, &search, Some(&vector));
            let hits = watch.time(asked).await?;
            let is_it = |known: &Known| matches!(known, Known::Fact(it) if it.id == passage.id);
            watch.expect(Some(hits.iter().any(|it| is_it(&it.found))));
            if hits.is_empty() || hits.len() > HITS {
                return Err(wrong("no fact was found, or too many", &passage.words));
            }
        }
        if (watch.found as f64) < LEAST_FOUND * watch.planted as f64 {
            return Err(wrong("too few facts were found", &watch.found.to_string()));
        }
        Ok(watch.done())
    }

    fn asked(&self, passage: usize) -> Vector {
        let numbers = self.campaign.meanings.asked(passage, self.facts.len());
        Vector { model: MODEL.to_owned(), numbers }
    }

    /// Against an exact scan of all vectors.
    pub(super) async fn recall(&self, times: usize) -> Result<Recall, Trouble> {
        let all = self.facts.len();
        let mut vectors = Vec::with_capacity(all * DIMENSIONS);
        for at in 0..all {
            vectors.extend(self.campaign.meanings.of(at, all));
        }
        let mut recall = Recall { found: 0, wanted: 0 };
        for number in 0..times {
            let at = Random::new(&[35, number as u64]).below(all);
            let vector = self.asked(at);
            let near = self.memory.facts_near(&self.scope, &vector, HITS).await?;
            let found: HashSet<FactId> = near.into_iter().map(|(fact, _)| fact.id).collect();
            let wanted = nearest(&vectors, &vector.numbers, HITS);
            recall.wanted += wanted.len();
            recall.found += wanted.iter().filter(|it| found.contains(&self.facts[**it].id)).count();
        }
        Ok(recall)
    }
}

fn wrong(why: &'static str, query: &str) -> Trouble {
    Trouble::wrong("the memory", why, query.as_bytes())
}
