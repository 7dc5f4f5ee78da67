//! BPE token counter for OpenAI's vocabulary `o200k_base`: splits text into words by the
//! vocabulary's own pattern, and merges the bytes of each pair by pair, lowest rank first.
//!
//! The vocabulary is stored as its merge pairs (made by `scripts/vocabulary.py` from the file of
//! tiktoken, MIT, OpenAI): 1.2 MB in the program, 4 MB once it is used, where ready-made tables
//! take thirty times that. Called by [`super`] only.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use regex::Regex;

static MERGES: &[u8] = include_bytes!("o200k.merges");

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::read(MERGES));

/// Maximum bytes of a word merged as a whole. Longer ones are not words of any language; they are
/// split to bound time and memory.
const MAX_WORD_BYTES: usize = 4 * 1024;

/// Up to this many parts a linear scan is faster than a heap.
const MAX_LINEAR_PARTS: usize = 32;

/// Counts the tokens of a text. Words beyond 4 KiB are counted in pieces: one extra token per
/// split.
pub(super) fn count(text: &str) -> u64 {
    let vocabulary = &*VOCABULARY;
    let mut merging = MergeBuffer::default();
    words(&vocabulary.pattern, text)
        .flat_map(|word| word.as_bytes().chunks(MAX_WORD_BYTES))
        .map(|piece| merging.count(piece, vocabulary))
        .sum()
}

struct Vocabulary {
    pattern: Regex,
    /// Rank of each byte.
    bytes: [u32; 256],
    /// Two adjacent ranks, mapped to the rank of the merged token.
    merges: HashMap<u64, u32, BuildHasherDefault<RankHasher>>,
}

impl Vocabulary {
    fn read(table: &[u8]) -> Self {
        let (single, pairs) = table.split_at(256);
        let mut bytes = [0; 256];
        for (rank, byte) in (0..).zip(single) {
            bytes[usize::from(*byte)] = rank;
        }
        let number = |three: &[u8]| u32::from_le_bytes([three[0], three[1], three[2], 0]);
        let pairs = pairs.chunks_exact(6).map(|pair| key(number(&pair[..3]), number(&pair[3..])));
        Self {
            pattern: Regex::new(PATTERN).expect("the pattern is one"),
            bytes,
            merges: pairs.zip(256..).collect(),
        }
    }

    fn merge_rank(&self, left: u32, right: u32) -> Option<u32> {
        self.merges.get(&key(left, right)).copied()
    }
}

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// Ranks are the gateway's own data: an attacker cannot choose them to collide.
#[derive(Default)]
struct RankHasher(u64);

impl Hasher for RankHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// The pattern of `o200k_base`. Its last rule, whitespace that no letter follows, needs look-ahead,
/// which `regex` lacks; so [`words`] puts the last blank back.
const PATTERN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+",
);

fn words<'t>(pattern: &'t Regex, text: &'t str) -> impl Iterator<Item = &'t str> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let mut end = pattern.find_at(text, start)?.end();
        let word = &text[start..end];
        let last = word.chars().next_back()?;
        let is_blank = last.is_whitespace() && !matches!(last, '\r' | '\n');
        if is_blank && end < text.len() && word.len() > last.len_utf8() {
            end -= last.len_utf8();
        }
        let word = &text[start..end];
        start = end;
        Some(word)
    })
}

/// Merge buffer, reused for all words.
#[derive(Default)]
struct MergeBuffer {
    parts: Vec<MergePart>,
    /// Candidate merges, lowest rank first, then leftmost: the rank and the left part.
    waiting: BinaryHeap<Reverse<(u32, usize)>>,
}

#[derive(Clone, Copy)]
struct MergePart {
    rank: u32,
    /// Rank of this part merged with the next one; [`NO_RANK`] if they do not merge.
    merged: u32,
    before: usize,
    behind: usize,
}

/// Stands for no rank, and for no position.
const NO_RANK: u32 = u32::MAX;
const NO_PART: usize = usize::MAX;

impl MergeBuffer {
    fn count(&mut self, word: &[u8], vocabulary: &Vocabulary) -> u64 {
        self.begin(word, vocabulary);
        let left = if word.len() <= MAX_LINEAR_PARTS {
            self.merge_linear(vocabulary)
        } else {
            self.merge_with_heap(vocabulary)
        };
        left as u64
    }

    /// One part per byte.
    fn begin(&mut self, word: &[u8], vocabulary: &Vocabulary) {
        let rank = |byte: u8| vocabulary.bytes[usize::from(byte)];
        let merged = |at: usize| {
            let next = word.get(at + 1)?;
            vocabulary.merge_rank(rank(word[at]), rank(*next))
        };
        self.parts.clear();
        self.parts.extend(word.iter().enumerate().map(|(at, byte)| MergePart {
            rank: rank(*byte),
            merged: merged(at).unwrap_or(NO_RANK),
            before: at.wrapping_sub(1),
            behind: if at + 1 < word.len() { at + 1 } else { NO_PART },
        }));
    }

    fn merge_linear(&mut self, vocabulary: &Vocabulary) -> usize {
        let parts = &mut self.parts;
        let merged = |one: &MergePart, two: Option<&MergePart>| {
            two.and_then(|two| vocabulary.merge_rank(one.rank, two.rank)).unwrap_or(NO_RANK)
        };
        loop {
            let lowest = parts.iter().enumerate().min_by_key(|(_, part)| part.merged);
            let Some((at, part)) = lowest.filter(|(_, part)| part.merged != NO_RANK) else {
                return parts.len();
            };
            parts[at].rank = part.merged;
            parts.remove(at + 1);
            parts[at].merged = merged(&parts[at], parts.get(at + 1));
            if let Some(before) = at.checked_sub(1) {
                parts[before].merged = merged(&parts[before], parts.get(at));
            }
        }
    }

    fn merge_with_heap(&mut self, vocabulary: &Vocabulary) -> usize {
        let Self { parts, waiting } = self;
        let mut left = parts.len();
        waiting.clear();
        let pairs = parts.iter().enumerate().filter(|(_, part)| part.merged != NO_RANK);
        waiting.extend(pairs.map(|(at, part)| Reverse((part.merged, at))));
        while let Some(Reverse((rank, at))) = waiting.pop() {
            // Outdated: another merge has changed this pair.
            if parts[at].merged != rank {
                continue;
            }
            let gone = parts[at].behind;
            let behind = parts[gone].behind;
            parts[gone].merged = NO_RANK;
            parts[at].rank = rank;
            parts[at].behind = behind;
            if let Some(behind) = parts.get_mut(behind) {
                behind.before = at;
            }
            for at in [parts[at].before, at] {
                let Some(one) = parts.get(at) else { continue };
                let two = parts.get(one.behind);
                let merged = two.and_then(|two| vocabulary.merge_rank(one.rank, two.rank));
                parts[at].merged = merged.unwrap_or(NO_RANK);
                waiting.extend(merged.map(|merged| Reverse((merged, at))));
            }
            left -= 1;
        }
        left
    }
}

#[cfg(test)]
mod tests;
