//! WordPiece tokenizer of BERT: longest known prefix first, then the longest known continuation.

use std::collections::HashMap;

use serde_json::Value;

use super::{TokenizerPartError, text, vocabulary};

pub(super) struct WordPiece {
    vocabulary: HashMap<String, u32>,
    unknown: u32,
    /// Prefix of tokens that do not start a word.
    going_on: String,
    /// Maximum characters of a word; longer ones are unknown.
    longest: usize,
}

impl WordPiece {
    pub(super) fn read(json: &Value) -> Result<Self, TokenizerPartError> {
        let vocabulary = vocabulary(json)?;
        let unknown = text(json, "unk_token")?;
        let unknown = vocabulary.get(unknown).copied();
        let unknown = unknown.ok_or(TokenizerPartError::NoUnknownToken)?;
        let longest = json["max_input_chars_per_word"].as_u64().unwrap_or(100);
        Ok(Self {
            vocabulary,
            unknown,
            going_on: json["continuing_subword_prefix"].as_str().unwrap_or("##").to_owned(),
            longest: usize::try_from(longest).unwrap_or(100),
        })
    }

    pub(super) fn unknown(&self) -> u32 {
        self.unknown
    }

    /// If one part of a word is unknown, the whole word is.
    pub(super) fn push(&self, word: &str, tokens: &mut Vec<u32>) {
        if word.chars().count() > self.longest {
            tokens.push(self.unknown);
            return;
        }
        let before = tokens.len();
        let mut start = 0;
        let mut piece = String::new();
        while start < word.len() {
            let ends = word[start..].char_indices().map(|(at, c)| start + at + c.len_utf8());
            let found = ends.rev().find_map(|end| {
                piece.clear();
                if start > 0 {
                    piece.push_str(&self.going_on);
                }
                piece.push_str(&word[start..end]);
                self.vocabulary.get(&piece).map(|token| (*token, end))
            });
            let Some((token, end)) = found else {
                tokens.truncate(before);
                tokens.push(self.unknown);
                return;
            };
            tokens.push(token);
            start = end;
        }
    }
}
