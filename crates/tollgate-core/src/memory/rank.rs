//! BM25 ranking of candidates from a database: rare words have more weight, all words of the query
//! beat some, proximity and recency add a little.
//!
//! One pure function for both databases, so that a query has the same order in both.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, SystemTime};

use super::snippet::{TermMatch, snippet};
use super::words::{StemInitials, words_with};
use super::{AuthorTrust, Fact, MemoryHit, MemoryQuery, SearchCandidates, TranscriptEntry};

/// A searchable text.
pub trait RankablePassage {
    fn text(&self) -> &str;
    /// The speaker, if known.
    fn speaker(&self) -> Option<&str>;
    fn at(&self) -> SystemTime;
    fn trust(&self) -> AuthorTrust;
}

/// BM25 parameters: term frequency saturation and length normalization.
const K1: f32 = 1.2;
const B: f32 = 0.5;
/// Weight of a word in another form than in the query, and of the speaker's name.
const OTHER_FORM: f32 = 0.8;
const SPEAKER: f32 = 0.5;
/// Bonus for words that are adjacent as in the query, and in quotes.
const BESIDE: f32 = 0.4;
const PHRASE: f32 = 1.0;
/// Maximum distance in words for the adjacency bonus.
const NEAR: usize = 4;
/// Bonus for recent texts, and its half-life.
const NEW: f32 = 0.1;
const HALF_LIFE: Duration = Duration::from_secs(28 * 24 * 60 * 60);
/// Weight of an agent's own utterances, and of questions.
const REPEATED_WEIGHT: f32 = 0.4;
const QUESTION_WEIGHT: f32 = 0.7;
/// Words in more than this fraction of texts are not needed to match all words.
const COMMON: f32 = 0.3;
/// Maximum bytes read of all candidates together, and minimum of each.
const READ: usize = 2 << 20;
const READ_OF_ONE: usize = 8 << 10;

/// Best first, at most `most`; of duplicates only the best. Scores are in 0..=1; only texts with
/// every word score above one half.
pub fn rank<T: RankablePassage>(
    query: &MemoryQuery,
    candidates: SearchCandidates<T>,
    now: SystemTime,
    most: usize,
) -> Vec<MemoryHit<T>> {
    let matcher = QueryMatcher::new(query, &candidates);
    let share = share(&candidates.found);
    let readings: Vec<TextMatches> =
        candidates.found.iter().map(|it| TextMatches::of(it, &matcher, share)).collect();
    let length = readings.iter().map(|it| it.words).sum::<usize>() as f32;
    let average = (length / readings.len().max(1) as f32).max(1.0);
    let mut order: Vec<(f32, usize)> = (0..)
        .zip(&candidates.found)
        .map(|(at, passage)| {
            let fit = matcher.fit(&readings[at], average);
            (worth(passage, fit, now), at)
        })
        .filter(|(worth, _)| *worth > 0.0)
        .collect();
    let found = &candidates.found;
    // Higher score first; on a tie more trusted, then newer.
    order.sort_by(|(one_score, one), (two_score, two)| {
        let one = &found[*one];
        let two = &found[*two];
        let trust = two.trust().cmp(&one.trust());
        two_score.total_cmp(one_score).then(trust).then(two.at().cmp(&one.at()))
    });
    let mut known = HashSet::new();
    order.retain(|(_, at)| known.insert(identity(&candidates.found[*at])));
    order.truncate(most);
    let mut found: Vec<Option<T>> = candidates.found.into_iter().map(Some).collect();
    let hit = |(score, at): (f32, usize)| {
        let found = found[at].take()?;
        let snippet = snippet(found.text(), &readings[at].matches);
        Some(MemoryHit { found, score, snippet })
    };
    order.into_iter().filter_map(hit).collect()
}

/// Bytes read of each candidate: all of it, if the total is within the limit.
fn share<T: RankablePassage>(found: &[T]) -> usize {
    let all: usize = found.iter().map(|it| it.text().len()).sum();
    if all <= READ { all } else { (READ / found.len().max(1)).max(READ_OF_ONE) }
}

/// The matching part of a text, in the format of hits.
pub(super) fn query_snippet(query: &MemoryQuery, text: &str) -> String {
    let matcher = QueryMatcher::of(query, vec![1.0; query.terms.len()]);
    let mut reading = TextMatches::new(&matcher);
    reading.read(text, &matcher, READ_OF_ONE);
    snippet(text, &reading.matches)
}

/// In 0..=1. Age and trust have little effect, and never rank a text above one that has every word.
fn worth<T: RankablePassage>(passage: &T, fit: QueryFit, now: SystemTime) -> f32 {
    let (base, fit) = match fit {
        QueryFit::Nothing => return 0.0,
        QueryFit::Some(fit) => (0.0, fit),
        QueryFit::All(fit) => (0.5, fit),
    };
    let age = now.duration_since(passage.at()).unwrap_or_default();
    let newness = (-age.as_secs_f32() / HALF_LIFE.as_secs_f32()).exp2();
    let trust = match passage.trust() {
        AuthorTrust::Agent => 0.0,
        AuthorTrust::Conversation => 0.01,
        AuthorTrust::Operator => 0.02,
    };
    let most = 1.0 + NEW + 0.02;
    (base + 0.5 * fit * (1.0 + NEW * newness + trust) / most) * news(passage)
}

/// Repetitions and questions carry less information: an agent repeats its input, and earlier
/// questions do not contain the answer.
fn news<T: RankablePassage>(passage: &T) -> f32 {
    match (passage.speaker(), passage.trust()) {
        (None, _) => 1.0,
        (Some(_), AuthorTrust::Agent) => REPEATED_WEIGHT,
        (Some(_), _) if passage.text().trim_end().ends_with(['?', '？']) => QUESTION_WEIGHT,
        (Some(_), _) => 1.0,
    }
}

/// Identity for deduplication: same speaker, same words.
pub(super) fn identity<T: RankablePassage>(passage: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    passage.speaker().hash(&mut hasher);
    for word in passage.text().split_whitespace() {
        word.hash(&mut hasher);
    }
    hasher.finish()
}

/// How well a text matches, in 0..=1.
#[derive(Debug, Clone, Copy)]
enum QueryFit {
    Nothing,
    Some(f32),
    All(f32),
}

/// What is searched for in each text.
struct QueryMatcher<'q> {
    query: &'q MemoryQuery,
    /// The terms of the query, then further words of its phrases.
    stems: Vec<&'q str>,
    phrases: Vec<Vec<usize>>,
    /// One per term.
    rarity: Vec<f32>,
    /// Terms that a text needs to match all words.
    needed: Vec<usize>,
    starts: StemInitials,
}

impl<'q> QueryMatcher<'q> {
    fn new<T>(query: &'q MemoryQuery, candidates: &SearchCandidates<T>) -> Self {
        let all = candidates.texts.max(candidates.found.len() as u64).max(1) as f32;
        let with = |term: usize| candidates.with.get(term).map_or(0.0, |it| (*it as f32).min(all));
        let rarity = (0..query.terms.len())
            .map(|term| (1.0 + (all - with(term) + 0.5) / (with(term) + 0.5)).ln());
        let mut matcher = Self::of(query, rarity.collect());
        // A term in no text cannot match; a term in most texts does not distinguish them.
        let telling = |term: &usize| with(*term) > 0.0 && with(*term) / all <= COMMON;
        let known = |term: &usize| with(*term) > 0.0;
        matcher.needed = (0..query.terms.len()).filter(telling).collect();
        if matcher.needed.is_empty() {
            matcher.needed = (0..query.terms.len()).filter(known).collect();
        }
        matcher
    }

    fn of(query: &'q MemoryQuery, rarity: Vec<f32>) -> Self {
        let mut stems: Vec<&str> = query.terms.iter().map(String::as_str).collect();
        let mut phrases = Vec::new();
        for phrase in &query.phrases {
            let place = |stem: &'q String| {
                stems.iter().position(|it| it == stem).unwrap_or_else(|| {
                    stems.push(stem);
                    stems.len() - 1
                })
            };
            phrases.push(phrase.iter().map(place).collect());
        }
        let starts = StemInitials::of(&stems);
        Self { query, stems, phrases, rarity, needed: Vec::new(), starts }
    }

    fn fit(&self, reading: &TextMatches, average: f32) -> QueryFit {
        let long = 1.0 - B + B * reading.words as f32 / average;
        let mut found = 0.0;
        let mut had = 0.0;
        for (count, rarity) in reading.counts.iter().zip(&self.rarity) {
            found += rarity * count / (count + K1 * long);
            had += if *count > 0.0 { *rarity } else { 0.0 };
        }
        if had == 0.0 {
            // The words occur beyond the part that was read.
            return if reading.is_cut { QueryFit::Some(f32::EPSILON) } else { QueryFit::Nothing };
        }
        let all: f32 = self.rarity.iter().sum();
        let beside = self.beside(reading);
        let phrase = self.phrase(reading);
        let most = all * (1.0 + BESIDE + if self.phrases.is_empty() { 0.0 } else { PHRASE });
        let fit = (found * had / all + beside + phrase) / most;
        let has_all = self.needed.iter().all(|term| reading.counts[*term] > 0.0);
        if has_all { QueryFit::All(fit) } else { QueryFit::Some(fit) }
    }

    /// Words that are adjacent, or nearly, both in the query and in the text.
    fn beside(&self, reading: &TextMatches) -> f32 {
        let pairs = self.query.terms.len().saturating_sub(1);
        let worth = (0..pairs).map(|term| {
            let one = &reading.places[term];
            let two = &reading.places[term + 1];
            let nearest = nearest(one, two).filter(|it| *it <= NEAR);
            let rarity = self.rarity[term].min(self.rarity[term + 1]);
            nearest.map_or(0.0, |apart| BESIDE * rarity / apart.max(1) as f32)
        });
        worth.sum()
    }

    fn phrase(&self, reading: &TextMatches) -> f32 {
        let stands = |phrase: &&Vec<usize>| {
            let begins = |from: &usize| {
                let follows = |(after, stem): (usize, &usize)| {
                    reading.places[*stem].binary_search(&(from + after)).is_ok()
                };
                phrase.iter().enumerate().all(follows)
            };
            phrase.first().is_some_and(|first| reading.places[*first].iter().any(begins))
        };
        let all: f32 = self.rarity.iter().sum();
        let standing = self.phrases.iter().filter(stands).count() as f32;
        PHRASE * all * standing / self.phrases.len().max(1) as f32
    }
}

/// The query words found in a text, with their positions.
struct TextMatches {
    /// One per term.
    counts: Vec<f32>,
    /// One per stem, ascending.
    places: Vec<Vec<usize>>,
    matches: Vec<TermMatch>,
    words: usize,
    /// The text was only partly read.
    is_cut: bool,
}

impl TextMatches {
    fn of<T: RankablePassage>(passage: &T, matcher: &QueryMatcher<'_>, share: usize) -> Self {
        let mut reading = Self::new(matcher);
        reading.read(passage.text(), matcher, share);
        for term in passage.speaker().map(super::terms).unwrap_or_default() {
            if let Some(at) = matcher.query.terms.iter().position(|it| *it == term) {
                reading.counts[at] += SPEAKER;
            }
        }
        reading
    }

    fn new(matcher: &QueryMatcher<'_>) -> Self {
        let counts = vec![0.0; matcher.query.terms.len()];
        let places = vec![Vec::new(); matcher.stems.len()];
        Self { counts, places, matches: Vec::new(), words: 0, is_cut: false }
    }

    fn read(&mut self, text: &str, matcher: &QueryMatcher<'_>, share: usize) {
        self.is_cut = text.len() > share;
        let text = &text[..text.floor_char_boundary(share)];
        // An estimate of the word count: most words are skipped unread.
        self.words = text.len() / 6 + 1;
        words_with(text, &matcher.starts, &mut |word| {
            let Some(stem) = matcher.stems.iter().position(|it| *it == word.stem) else { return };
            if self.places[stem].last() == Some(&word.place) {
                return;
            }
            self.places[stem].push(word.place);
            if let (Some(count), Some(form)) =
                (self.counts.get_mut(stem), matcher.query.forms.get(stem))
            {
                *count += if form == word.form { 1.0 } else { OTHER_FORM };
                let rarity = matcher.rarity[stem];
                self.matches.push(TermMatch { at: word.at, term: stem, rarity });
            }
        });
    }
}

/// The minimum distance between positions of two lists; both ascending.
fn nearest(one: &[usize], two: &[usize]) -> Option<usize> {
    let mut first = 0;
    let mut second = 0;
    let mut nearest = None;
    while let (Some(a), Some(b)) = (one.get(first), two.get(second)) {
        let apart = a.abs_diff(*b);
        nearest = Some(nearest.map_or(apart, |it: usize| it.min(apart)));
        if a < b { first += 1 } else { second += 1 }
    }
    nearest
}

impl RankablePassage for TranscriptEntry {
    fn text(&self) -> &str {
        &self.text
    }

    fn speaker(&self) -> Option<&str> {
        Some(&self.speaker)
    }

    fn at(&self) -> SystemTime {
        self.at
    }

    fn trust(&self) -> AuthorTrust {
        self.author.trust
    }
}

impl RankablePassage for Fact {
    fn text(&self) -> &str {
        &self.text
    }

    fn speaker(&self) -> Option<&str> {
        None
    }

    fn at(&self) -> SystemTime {
        self.at
    }

    fn trust(&self) -> AuthorTrust {
        self.author.trust
    }
}

#[cfg(test)]
mod tests;
