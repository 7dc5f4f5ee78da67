//! Pre-tokenizers: split a text into words.

use regex::Regex;
use serde_json::Value;

use super::{TokenizerPartError, text, unsupported_error};

pub(super) enum PreTokenizer {
    /// The matches of the pattern are the words.
    Find(Regex),
    /// Replaces spaces by a mark, which starts each word.
    Marked { mark: char, first: FirstWordMark, split: MarkedWordSplit },
}

/// Whether a mark precedes the first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstWordMark {
    Marked,
    AsItIs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkedWordSplit {
    Apart,
    Together,
}

/// Words, and single punctuation characters.
const BERT: &str = r"[[:punct:]\p{P}]|[^\s[:punct:]\p{P}]+";
const WORDS: &str = r"\S+";
const WORDS_AND_OTHERS: &str = r"\w+|[^\w\s]+";

impl PreTokenizer {
    pub(super) fn read(json: &Value) -> Result<Vec<Self>, TokenizerPartError> {
        let find = |pattern: &str| {
            let pattern = Regex::new(pattern).map_err(TokenizerPartError::OwnPattern)?;
            Ok(vec![Self::Find(pattern)])
        };
        match json["type"].as_str().unwrap_or_default() {
            "BertPreTokenizer" => find(BERT),
            "WhitespaceSplit" => find(WORDS),
            "Whitespace" => find(WORDS_AND_OTHERS),
            "Metaspace" => {
                let mark = text(json, "replacement")?.chars().next();
                let mark = mark.ok_or(TokenizerPartError::EmptyReplacement)?;
                // Older files have `add_prefix_space` instead.
                let first = match (json["prepend_scheme"].as_str(), &json["add_prefix_space"]) {
                    (Some("never"), _) | (None, Value::Bool(false)) => FirstWordMark::AsItIs,
                    _ => FirstWordMark::Marked,
                };
                let split = match json["split"].as_bool() {
                    Some(false) => MarkedWordSplit::Together,
                    _ => MarkedWordSplit::Apart,
                };
                Ok(vec![Self::Marked { mark, first, split }])
            }
            other => Err(unsupported_error("pre-tokenizer", other)),
        }
    }

    pub(super) fn apply(&self, text: &str) -> Vec<String> {
        match self {
            Self::Find(pattern) => {
                pattern.find_iter(text).map(|found| found.as_str().to_owned()).collect()
            }
            Self::Marked { mark, first, split } => {
                let mut marked = text.replace(' ', mark.encode_utf8(&mut [0; 4]));
                if *first == FirstWordMark::Marked
                    && !marked.is_empty()
                    && !marked.starts_with(*mark)
                {
                    marked.insert(0, *mark);
                }
                match split {
                    MarkedWordSplit::Together => vec![marked],
                    MarkedWordSplit::Apart => apart(&marked, *mark),
                }
            }
        }
    }
}

/// Splits before each mark.
fn apart(text: &str, mark: char) -> Vec<String> {
    let mut words = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(mark).filter(|(at, _)| *at > 0) {
        words.push(text[start..at].to_owned());
        start = at;
    }
    words.push(text[start..].to_owned());
    words
}
