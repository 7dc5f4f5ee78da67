//! Byte-pair encoding: starts with characters and repeatedly merges the pair that was learned
//! first. A text without spaces is one long word, so candidate pairs are kept in a heap.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use serde_json::Value;

use super::{TokenizerPartError, unsupported_error, vocabulary};

pub(super) struct Bpe {
    vocabulary: HashMap<String, u32>,
    /// Two tokens, mapped to their merge rank and the merged token.
    pairs: HashMap<(u32, u32), (u32, u32)>,
    unknown: Option<u32>,
    /// Byte tokens for unknown characters.
    bytes: Option<Vec<u32>>,
    fuses: UnknownFusing,
    whole: WholeWordRule,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnknownFusing {
    /// Adjacent unknown tokens are merged into one.
    Unknown,
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WholeWordRule {
    /// A word in the vocabulary is not split.
    First,
    Never,
}

/// A token of the word, linked to its neighbours. One that was merged into another has none.
#[derive(Debug, Clone, Copy)]
struct BpePiece {
    token: u32,
    before: Option<usize>,
    after: Option<usize>,
    gone: bool,
}

/// A candidate pair: ordered by lowest rank first, then leftmost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BpePair {
    rank: u32,
    left: usize,
    becomes: u32,
    tokens: (u32, u32),
}

impl Bpe {
    pub(super) fn read(json: &Value) -> Result<Self, TokenizerPartError> {
        for key in ["continuing_subword_prefix", "end_of_word_suffix"] {
            if json[key].as_str().is_some_and(|text| !text.is_empty()) {
                return Err(unsupported_error("model", format!("BPE with `{key}`")));
            }
        }
        let vocabulary = vocabulary(json)?;
        let merges = json["merges"].as_array().ok_or(TokenizerPartError::NoMerges)?;
        let mut pairs = HashMap::with_capacity(merges.len());
        for (rank, merge) in (0..).zip(merges) {
            let (left, right) = sides(merge).ok_or(TokenizerPartError::InvalidMerge)?;
            let id = |piece: &str| vocabulary.get(piece).copied();
            let known = (id(left), id(right), id(&format!("{left}{right}")));
            let (Some(left), Some(right), Some(becomes)) = known else {
                let left = left.to_owned();
                let right = right.to_owned();
                return Err(TokenizerPartError::MergeWithoutParts { left, right });
            };
            pairs.insert((left, right), (rank, becomes));
        }
        let byte = |byte: u8| vocabulary.get(&format!("<0x{byte:02X}>")).copied();
        let bytes = match json["byte_fallback"].as_bool() {
            Some(true) => (0..=255).map(byte).collect::<Option<Vec<u32>>>(),
            _ => None,
        };
        let unknown = json["unk_token"].as_str().and_then(|it| vocabulary.get(it)).copied();
        let fuses = match json["fuse_unk"].as_bool() {
            Some(true) => UnknownFusing::Unknown,
            _ => UnknownFusing::Nothing,
        };
        let whole = match json["ignore_merges"].as_bool() {
            Some(true) => WholeWordRule::First,
            _ => WholeWordRule::Never,
        };
        Ok(Self { vocabulary, pairs, unknown, bytes, fuses, whole })
    }

    pub(super) fn unknown(&self) -> Option<u32> {
        self.unknown
    }

    pub(super) fn push(&self, word: &str, tokens: &mut Vec<u32>) {
        if let (WholeWordRule::First, Some(token)) = (self.whole, self.vocabulary.get(word)) {
            tokens.push(*token);
            return;
        }
        let mut pieces = self.pieces(word);
        let mut waiting: BinaryHeap<Reverse<BpePair>> =
            (0..pieces.len()).filter_map(|left| self.pair(&pieces, left)).map(Reverse).collect();
        while let Some(Reverse(pair)) = waiting.pop() {
            let Some(right) = still(&pieces, &pair) else { continue };
            let after = pieces[right].after;
            pieces[right].gone = true;
            pieces[pair.left].token = pair.becomes;
            pieces[pair.left].after = after;
            if let Some(after) = after {
                pieces[after].before = Some(pair.left);
            }
            let beside = pieces[pair.left].before.into_iter().chain([pair.left]);
            let pairs = beside.filter_map(|left| self.pair(&pieces, left));
            waiting.extend(pairs.map(Reverse));
        }
        tokens.extend(pieces.iter().filter(|piece| !piece.gone).map(|piece| piece.token));
    }

    /// One token per character, or per byte of an unknown one.
    fn pieces(&self, word: &str) -> Vec<BpePiece> {
        let mut tokens: Vec<u32> = Vec::with_capacity(word.len());
        let mut was_unknown = false;
        for c in word.chars() {
            let mut buffer = [0; 4];
            let c = &*c.encode_utf8(&mut buffer);
            let known = self.vocabulary.get(c).copied();
            let is_unknown = known.is_none() && self.bytes.is_none();
            match (known, &self.bytes, self.unknown) {
                (Some(token), _, _) => tokens.push(token),
                (None, Some(bytes), _) => {
                    tokens.extend(c.bytes().map(|byte| bytes[usize::from(byte)]));
                }
                (None, None, Some(unknown)) => {
                    if !(was_unknown && self.fuses == UnknownFusing::Unknown) {
                        tokens.push(unknown);
                    }
                }
                (None, None, None) => {}
            }
            was_unknown = is_unknown;
        }
        let last = tokens.len().saturating_sub(1);
        let piece = |(at, token): (usize, &u32)| BpePiece {
            token: *token,
            before: at.checked_sub(1),
            after: (at < last).then_some(at + 1),
            gone: false,
        };
        tokens.iter().enumerate().map(piece).collect()
    }

    fn pair(&self, pieces: &[BpePiece], left: usize) -> Option<BpePair> {
        let right = pieces[left].after?;
        let tokens = (pieces[left].token, pieces[right].token);
        let (rank, becomes) = *self.pairs.get(&tokens)?;
        Some(BpePair { rank, left, becomes, tokens })
    }
}

/// The right token of the pair, if both are unchanged.
fn still(pieces: &[BpePiece], pair: &BpePair) -> Option<usize> {
    let left = &pieces[pair.left];
    let right = left.after?;
    let same = !left.gone && (left.token, pieces[right].token) == pair.tokens;
    same.then_some(right)
}

/// Either `a b`, or a list of the two.
fn sides(merge: &Value) -> Option<(&str, &str)> {
    match merge {
        Value::String(text) => text.split_once(' '),
        Value::Array(sides) => match &sides[..] {
            [left, right] => Some((left.as_str()?, right.as_str()?)),
            _ => None,
        },
        _ => None,
    }
}
