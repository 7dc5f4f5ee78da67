//! Unigram tokenizer of SentencePiece: selects the most likely segmentation of a word.

use std::collections::HashMap;

use serde_json::Value;

use super::TokenizerPartError;

pub(super) struct Unigram {
    /// Tokens with their ids and log probabilities.
    vocabulary: HashMap<String, (u32, f64)>,
    unknown: Option<u32>,
    /// Length of the longest token in bytes.
    longest: usize,
    /// Log probability of an unknown character.
    unlikely: f64,
}

/// The best segmentation up to some byte of the word.
#[derive(Debug, Clone, Copy)]
struct ViterbiStep {
    score: f64,
    /// Start of its last token.
    from: usize,
    token: Option<u32>,
}

/// How far below the lowest token an unknown character is.
const UNKNOWN_PENALTY: f64 = 10.0;

impl Unigram {
    pub(super) fn read(json: &Value) -> Result<Self, TokenizerPartError> {
        let entries = json["vocab"].as_array().ok_or(TokenizerPartError::NoVocabulary)?;
        let entry = |(id, entry): (u32, &Value)| {
            let piece = entry.get(0)?.as_str()?;
            let score = entry.get(1)?.as_f64()?;
            Some((piece.to_owned(), (id, score)))
        };
        let vocabulary = (0..).zip(entries).map(entry).collect::<Option<HashMap<_, _>>>();
        let vocabulary = vocabulary.ok_or(TokenizerPartError::VocabularyWithoutNumbers)?;
        let unknown = json["unk_id"].as_u64().and_then(|id| u32::try_from(id).ok());
        let longest = vocabulary.keys().map(String::len).max().unwrap_or_default();
        let least = vocabulary.values().map(|(_, score)| *score).fold(0.0, f64::min);
        Ok(Self { vocabulary, unknown, longest, unlikely: least - UNKNOWN_PENALTY })
    }

    pub(super) fn unknown(&self) -> Option<u32> {
        self.unknown
    }

    pub(super) fn push(&self, word: &str, tokens: &mut Vec<u32>) {
        let mut ways: Vec<Option<ViterbiStep>> = vec![None; word.len() + 1];
        ways[0] = Some(ViterbiStep { score: 0.0, from: 0, token: None });
        for (start, first) in word.char_indices() {
            let Some(ViterbiStep { score: before, .. }) = ways[start] else { continue };
            let single = start + first.len_utf8();
            let furthest = word.len().min(start + self.longest);
            for end in (single..=furthest).filter(|end| word.is_char_boundary(*end)) {
                if let Some((token, score)) = self.vocabulary.get(&word[start..end]) {
                    offer(&mut ways[end], before + score, start, Some(*token));
                }
            }
            if !self.vocabulary.contains_key(&word[start..single]) {
                offer(&mut ways[single], before + self.unlikely, start, None);
            }
        }
        self.walk(&ways, tokens);
    }

    /// Follows the steps back from the end; adjacent unknown tokens are merged into one.
    fn walk(&self, ways: &[Option<ViterbiStep>], tokens: &mut Vec<u32>) {
        let first = tokens.len();
        let mut end = ways.len() - 1;
        let mut was_unknown = false;
        while let Some(way) = ways[end].filter(|_| end > 0) {
            match way.token {
                Some(token) => tokens.push(token),
                None if was_unknown => {}
                None => tokens.extend(self.unknown),
            }
            was_unknown = way.token.is_none();
            end = way.from;
        }
        tokens[first..].reverse();
    }
}

fn offer(place: &mut Option<ViterbiStep>, score: f64, from: usize, token: Option<u32>) {
    if place.is_none_or(|way| score > way.score) {
        *place = Some(ViterbiStep { score, from, token });
    }
}
