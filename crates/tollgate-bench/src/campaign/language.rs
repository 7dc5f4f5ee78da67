//! Words as unevenly used as those of a language (after Zipf): a few that stand everywhere, many
//! that stand hardly anywhere, and names.

use std::collections::HashSet;

use super::random::SplitMix64;

/// The commonest words, as they are; the others are made up.
const COMMON: &str = "the to and a of i you it in is that we for he was on she they with be have \
    at his her this not but are do what there one all so can if me my out go up from get just now \
    like who them your how then back us well know see about think here over down into him by will \
    when could want some time look right good way got around where off would little our come take \
    still two before say more let make no an as or had were did has been their which than other \
    only very after again door night man sword gold king road house hand room water stone";

/// Different words beside those, and names.
const WORDS: usize = 40_000;
const NAMES: usize = 4_000;
/// How steeply the use of words falls.
const STEEP: f64 = 1.05;
/// What tells a text from others: neither in the first words nor in the last.
const TELLING: std::ops::Range<usize> = 800..12_000;

const STARTS: [&str; 24] = [
    "b", "br", "c", "ch", "d", "dr", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "pl", "r", "s",
    "sh", "st", "t", "tr", "v", "w",
];
const MIDDLES: [&str; 10] = ["a", "e", "i", "o", "u", "ai", "ea", "ou", "oo", "y"];
const ENDS: [&str; 12] = ["", "n", "l", "r", "th", "m", "sk", "nd", "lt", "rn", "k", "t"];

pub(crate) struct CampaignLanguage {
    /// The commonest first.
    words: Vec<String>,
    uses: Zipf,
    names: Vec<String>,
    uses_of_names: Zipf,
}

impl CampaignLanguage {
    pub(crate) fn new() -> Self {
        let mut random = SplitMix64::new(&[7]);
        let mut known: HashSet<String> = HashSet::new();
        let mut words: Vec<String> = COMMON.split_whitespace().map(str::to_owned).collect();
        known.extend(words.iter().cloned());
        let mut fresh = |random: &mut SplitMix64| loop {
            let syllables = 2 + random.below(2);
            let word: String = (0..syllables).map(|_| syllable(random)).collect();
            if known.insert(word.clone()) {
                break word;
            }
        };
        words.extend((0..WORDS).map(|_| fresh(&mut random)));
        let names = (0..NAMES).map(|_| capital(&fresh(&mut random))).collect();
        Self { uses: Zipf::new(words.len()), words, names, uses_of_names: Zipf::new(NAMES) }
    }

    pub(crate) fn word(&self, random: &mut SplitMix64) -> &str {
        &self.words[self.uses.pick(random)]
    }

    pub(crate) fn name(&self, random: &mut SplitMix64) -> &str {
        &self.names[self.uses_of_names.pick(random)]
    }

    /// A name that is often heard.
    pub(crate) fn famous(&self, random: &mut SplitMix64) -> &str {
        &self.names[random.below(12)]
    }

    /// A word that says something.
    pub(crate) fn distinctive_word(&self, random: &mut SplitMix64) -> &str {
        &self.words[TELLING.start + random.below(TELLING.len())]
    }

    /// A word that many texts have, though not all.
    pub(crate) fn usual(&self, random: &mut SplitMix64) -> &str {
        &self.words[100 + random.below(200)]
    }

    /// A name that is used once.
    pub(crate) fn secret(&self, number: usize) -> String {
        format!("Xa{}", letters(number))
    }

    pub(crate) fn family(&self, number: usize) -> String {
        format!("Va{}", letters(number / 4))
    }

    /// One or two sentences.
    pub(crate) fn sentences(&self, random: &mut SplitMix64) -> String {
        let mut text = String::new();
        for _ in 0..=random.below(2) {
            let words = 5 + random.below(14);
            let named = (random.below(2) == 0).then(|| random.below(words));
            for at in 0..words {
                let word = match named {
                    Some(place) if place == at => self.name(random).to_owned(),
                    _ if at == 0 => capital(self.word(random)),
                    _ => self.word(random).to_owned(),
                };
                text.push_str(if text.is_empty() { "" } else { " " });
                text.push_str(&word);
            }
            text.push('.');
        }
        text
    }
}

fn syllable(random: &mut SplitMix64) -> String {
    let part = |from: &[&'static str], random: &mut SplitMix64| from[random.below(from.len())];
    [part(&STARTS, random), part(&MIDDLES, random), part(&ENDS, random)].concat()
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// A number that can be spoken, and is no other's.
fn letters(mut number: usize) -> String {
    let mut spoken = String::new();
    for _ in 0..4 {
        spoken.push_str(["b", "d", "f", "g", "k", "l", "m", "n", "r", "z"][number % 10]);
        number /= 10;
        spoken.push_str(["a", "e", "i", "o", "u"][number % 5]);
        number /= 5;
    }
    spoken
}

/// The first is used most, the second about half as often, and so on.
struct Zipf {
    /// What all up to here are used, together.
    sums: Vec<f64>,
}

impl Zipf {
    fn new(count: usize) -> Self {
        let mut sum = 0.0;
        let sums = (0..count).map(|rank| {
            sum += (rank as f64 + 2.7).powf(-STEEP);
            sum
        });
        Self { sums: sums.collect() }
    }

    fn pick(&self, random: &mut SplitMix64) -> usize {
        let all = self.sums.last().copied().unwrap_or_default();
        let requested = random.share() * all;
        self.sums.partition_point(|sum| *sum < requested).min(self.sums.len() - 1)
    }
}
