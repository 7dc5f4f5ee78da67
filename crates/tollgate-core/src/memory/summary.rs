//! Extractive summary of a session: speakers, time, and the most informative sentences. Uses no
//! model; the same transcript gives the same summary.

use std::collections::{HashMap, HashSet};

use super::TranscriptEntry;
use super::search::is_empty_word;
use super::sentences::{one_line, sentences};
use super::words::{WordKind, words};
use crate::date;
use crate::text::truncate_chars;

/// Maximum bytes read of a session, and of one entry.
const READ: usize = 4 << 20;
const READ_OF_ONE: usize = 16 << 10;
/// Maximum candidate sentences: those with the highest individual scores.
const CHOICE: usize = 1_000;
/// Minimum words of a sentence, and maximum characters shown.
const LEAST_WORDS: usize = 4;
const MAX_SENTENCE_CHARS: usize = 280;
/// Sentences below this fraction of the first one's score are omitted, even if there is room.
const MIN_RELATIVE_SCORE: f32 = 0.35;
/// Maximum speakers named.
const MAX_NAMED_SPEAKERS: usize = 8;

/// Weights, against 1 for a word: a name; a number; a word that occurs once; a word already
/// covered.
const NAME: f32 = 2.0;
const NUMBER: f32 = 1.5;
const ONCE: f32 = 0.5;
const REPEATED_WORD_WEIGHT: f32 = 0.2;
/// Weights of a sentence with a decision, discovery or loss, and of a question.
const DECISION: f32 = 1.5;
const QUESTION: f32 = 0.5;

/// Stems of words about decisions and changes of the world.
const DECISIONS: &[&str] = &[
    "agree",
    "alive",
    "attack",
    "betray",
    "dead",
    "deal",
    "decide",
    "defeat",
    "destroy",
    "die",
    "discover",
    "escape",
    "find",
    "found",
    "gave",
    "give",
    "hidden",
    "hide",
    "important",
    "kill",
    "learn",
    "lost",
    "murder",
    "must",
    "need",
    "oath",
    "owe",
    "plan",
    "promise",
    "quest",
    "refuse",
    "reveal",
    "reward",
    "secret",
    "steal",
    "stole",
    "stolen",
    "swear",
    "swore",
    "took",
    "tomorrow",
    "treasure",
    "truth",
    "vow",
    "win",
    "won",
];

/// At most `most` characters; empty for an empty session.
pub fn summary(entries: &[TranscriptEntry], most: usize) -> String {
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
        return String::new();
    };
    let mut text = truncate_chars(
        &format!(
            "{} from {} to {}: {}.",
            pluralize(entries.len(), "entry", "entries"),
            date::format_rfc3339(first.at),
            date::format_rfc3339(last.at),
            speakers(entries),
        ),
        most.saturating_sub(1),
    );
    let lines = split_sentences(entries);
    let mut chosen = SentenceScorer::of(&lines).choose(most.saturating_sub(text.chars().count()));
    chosen.sort_unstable();
    for at in chosen {
        text.push('\n');
        text.push_str(&lines[at].line());
    }
    text.chars().take(most).collect()
}

fn pluralize(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

/// Most talkative first.
fn speakers(entries: &[TranscriptEntry]) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for entry in entries {
        let at = *known.entry(&entry.speaker).or_insert_with(|| {
            counts.push((truncate_chars(&one_line(&entry.speaker), 40), 0));
            counts.len() - 1
        });
        counts[at].1 += 1;
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = counts.len().saturating_sub(MAX_NAMED_SPEAKERS);
    let named =
        counts.iter().take(MAX_NAMED_SPEAKERS).map(|(name, count)| format!("{name} ({count})"));
    let mut all: Vec<String> = named.collect();
    if more > 0 {
        all.push(format!("{more} more"));
    }
    all.join(", ")
}

/// One sentence with its informative words.
struct Sentence {
    speaker: String,
    text: String,
    words: Vec<SentenceWord>,
    count: usize,
}

#[derive(Clone)]
struct SentenceWord {
    stem: String,
    spelling: WordSpelling,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordSpelling {
    /// Capitalized inside a sentence.
    Capital,
    /// At the start of a sentence, where every word is capitalized.
    First,
    Small,
    Digits,
}

fn split_sentences(entries: &[TranscriptEntry]) -> Vec<Sentence> {
    let mut all = Vec::new();
    let mut read = 0;
    for entry in entries {
        let text = &entry.text[..entry.text.floor_char_boundary(READ_OF_ONE)];
        read += text.len();
        if read > READ {
            break;
        }
        let line = one_line(text);
        for at in sentences(&line) {
            all.push(Sentence::new(&entry.speaker, &line[at]));
        }
    }
    all
}

impl Sentence {
    fn new(speaker: &str, text: &str) -> Self {
        let mut lines: Vec<SentenceWord> = Vec::new();
        let mut count = 0;
        words(text, &mut |word| {
            if word.kind == WordKind::Part {
                return;
            }
            let raw = &text[word.at];
            let spelling = match raw.chars().next() {
                Some(letter) if letter.is_ascii_digit() => WordSpelling::Digits,
                Some(letter) if letter.is_uppercase() && word.place == 0 => WordSpelling::First,
                Some(letter) if letter.is_uppercase() => WordSpelling::Capital,
                _ => WordSpelling::Small,
            };
            count += 1;
            if !is_empty_word(word.form) && !lines.iter().any(|it| it.stem == word.stem) {
                lines.push(SentenceWord { stem: word.stem.to_owned(), spelling });
            }
        });
        Self { speaker: one_line(speaker), text: text.to_owned(), words: lines, count }
    }

    fn line(&self) -> String {
        format!(
            "{}: {}",
            truncate_chars(&self.speaker, 40),
            truncate_chars(&self.text, MAX_SENTENCE_CHARS)
        )
    }

    fn is_question(&self) -> bool {
        self.text.trim_end_matches(['"', '”', '’', '\'', ')']).ends_with(['?', '？'])
    }
}

/// The weight of each word of a session.
struct SentenceScorer<'s> {
    sentences: &'s [Sentence],
    worth: HashMap<&'s str, f32>,
}

impl<'s> SentenceScorer<'s> {
    /// Rare words have more weight than common ones, names more than words. A name is a word that
    /// never occurs in lower case.
    fn of(sentences: &'s [Sentence]) -> Self {
        let mut counts: HashMap<&str, (f32, WordSpelling)> = HashMap::new();
        for word in sentences.iter().flat_map(|it| &it.words) {
            let known = counts.entry(&word.stem).or_insert((0.0, word.spelling));
            known.0 += 1.0;
            known.1 = match (known.1, word.spelling) {
                (WordSpelling::Small, _) | (_, WordSpelling::Small) => WordSpelling::Small,
                (WordSpelling::First, other) | (other, WordSpelling::First) => other,
                (one, _) => one,
            };
        }
        let all = sentences.len() as f32;
        let worth = counts.into_iter().map(|(stem, (count, spelling))| {
            let rarity = (1.0 + all / count).ln();
            let factor = match spelling {
                WordSpelling::Capital => NAME,
                WordSpelling::Digits => NUMBER,
                WordSpelling::First | WordSpelling::Small if count < 2.0 => ONCE,
                WordSpelling::First | WordSpelling::Small => 1.0,
            };
            (stem, rarity * factor)
        });
        Self { worth: worth.collect(), sentences }
    }

    /// Greedy: words already covered count little for the next sentence.
    fn choose(&self, room: usize) -> Vec<usize> {
        let mut order: Vec<(f32, usize)> =
            (0..self.sentences.len()).map(|at| (self.score(at, &HashSet::new()), at)).collect();
        order.retain(|(score, _)| *score > 0.0);
        order.sort_by(|one, two| two.0.total_cmp(&one.0).then(one.1.cmp(&two.1)));
        order.truncate(CHOICE);
        let mut choice: Vec<(usize, usize)> = order
            .into_iter()
            .map(|(_, at)| (at, 1 + self.sentences[at].line().chars().count()))
            .collect();
        let least =
            choice.first().map_or(0.0, |it| MIN_RELATIVE_SCORE * self.score(it.0, &HashSet::new()));
        let mut lines = HashSet::new();
        let mut chosen = Vec::new();
        let mut left = room;
        loop {
            choice.retain(|(_, length)| *length <= left);
            let best = (0..choice.len())
                .map(|index| (self.score(choice[index].0, &lines), index))
                .max_by(|one, two| one.0.total_cmp(&two.0).then(two.1.cmp(&one.1)));
            let Some((_, index)) = best.filter(|it| it.0 >= least) else { return chosen };
            let (at, length) = choice.swap_remove(index);
            left -= length;
            lines.extend(self.sentences[at].words.iter().map(|it| it.stem.as_str()));
            chosen.push(at);
        }
    }

    fn score(&self, at: usize, lines: &HashSet<&str>) -> f32 {
        let sentence = &self.sentences[at];
        if sentence.count < LEAST_WORDS || sentence.words.len() < 2 {
            return 0.0;
        }
        let worth = |it: &SentenceWord| {
            let worth = self.worth.get(it.stem.as_str()).copied().unwrap_or_default();
            if lines.contains(it.stem.as_str()) { REPEATED_WORD_WEIGHT * worth } else { worth }
        };
        let sum: f32 = sentence.words.iter().map(worth).sum();
        let decides = sentence.words.iter().any(|it| DECISIONS.contains(&it.stem.as_str()));
        let decision = if decides { DECISION } else { 1.0 };
        let question = if sentence.is_question() { QUESTION } else { 1.0 };
        // Long sentences have more words, but pay for their length.
        decision * question * sum / (sentence.count as f32 + 6.0).sqrt()
    }
}

#[cfg(test)]
mod tests;
