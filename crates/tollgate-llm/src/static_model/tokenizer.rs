//! Tokenizer: maps text to token ids, as described by a `tokenizer.json`.
//!
//! Supports the types that static models use (subword tokens of BERT and SentencePiece), and
//! reports unsupported ones. Names of special tokens in a text are treated as text.

use serde_json::Value;

use self::bpe::Bpe;
use self::normalizer::TextNormalizer;
use self::pre_tokenizer::PreTokenizer;
use self::unigram::Unigram;
use self::wordpiece::WordPiece;

mod bpe;
mod normalizer;
mod pre_tokenizer;
mod unigram;
mod wordpiece;

pub(super) struct Tokenizer {
    normal: Vec<TextNormalizer>,
    split: Vec<PreTokenizer>,
    model: TokenizerModel,
}

enum TokenizerModel {
    Bpe(Bpe),
    Unigram(Unigram),
    WordPiece(WordPiece),
}

#[derive(Debug, thiserror::Error)]
pub(super) enum TokenizerError {
    #[error("its tokenizer is not JSON: {0}")]
    NotJson(serde_json::Error),
    #[error("its tokenizer {0}")]
    Part(#[from] TokenizerPartError),
}

/// The end of a sentence that begins with the tokenizer.
#[derive(Debug, thiserror::Error)]
pub(super) enum TokenizerPartError {
    #[error(
        "has a {what} of kind `{kind}`, which is not supported: use another model, or serve this \
         one behind an endpoint"
    )]
    Unsupported { what: &'static str, kind: String },
    #[error("has no `{0}` where one is expected")]
    MissingField(&'static str),
    #[error("has no vocabulary")]
    NoVocabulary,
    #[error("has a vocabulary without numbers")]
    VocabularyWithoutNumbers,
    #[error("does not have its own unknown token")]
    NoUnknownToken,
    #[error("has no merges")]
    NoMerges,
    #[error("has an invalid merge")]
    InvalidMerge,
    #[error("has the merge `{left} {right}`, but not its parts")]
    MergeWithoutParts { left: String, right: String },
    #[error("has a `replacement` without a character")]
    EmptyReplacement,
    #[error("has a replacement without a pattern")]
    ReplacementWithoutPattern,
    #[error("has an unsupported pattern: `{0}`")]
    UnsupportedPattern(String),
    #[error("cannot be used: {0}")]
    OwnPattern(regex::Error),
}

impl Tokenizer {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, TokenizerError> {
        let json = serde_json::from_slice::<Value>(bytes).map_err(TokenizerError::NotJson)?;
        let normal = steps(&json["normalizer"], "normalizers", TextNormalizer::read)?;
        let split = steps(&json["pre_tokenizer"], "pretokenizers", PreTokenizer::read)?;
        let model = TokenizerModel::read(&json["model"])?;
        Ok(Self { normal, split, model })
    }

    /// The token for unknown text.
    pub(super) fn unknown(&self) -> Option<u32> {
        match &self.model {
            TokenizerModel::Bpe(model) => model.unknown(),
            TokenizerModel::Unigram(model) => model.unknown(),
            TokenizerModel::WordPiece(model) => Some(model.unknown()),
        }
    }

    pub(super) fn tokens(&self, text: &str) -> Vec<u32> {
        let text = self.normal.iter().fold(text.to_owned(), |text, step| step.apply(&text));
        let words = self.split.iter().fold(vec![text], |words, step| {
            words.iter().flat_map(|word| step.apply(word)).collect()
        });
        let mut tokens = Vec::new();
        for word in words.iter().filter(|word| !word.is_empty()) {
            match &self.model {
                TokenizerModel::Bpe(model) => model.push(word, &mut tokens),
                TokenizerModel::Unigram(model) => model.push(word, &mut tokens),
                TokenizerModel::WordPiece(model) => model.push(word, &mut tokens),
            }
        }
        tokens
    }
}

impl TokenizerModel {
    fn read(json: &Value) -> Result<Self, TokenizerPartError> {
        // Early files do not name the type.
        let kind = json["type"].as_str().unwrap_or(match json.get("merges") {
            Some(_) => "BPE",
            None => "WordPiece",
        });
        match kind {
            "BPE" => Ok(Self::Bpe(Bpe::read(json)?)),
            "Unigram" => Ok(Self::Unigram(Unigram::read(json)?)),
            "WordPiece" => Ok(Self::WordPiece(WordPiece::read(json)?)),
            other => Err(unsupported_error("model", other)),
        }
    }
}

/// One step, several, or none.
fn steps<T>(
    json: &Value,
    list: &str,
    read: impl Fn(&Value) -> Result<Vec<T>, TokenizerPartError> + Copy,
) -> Result<Vec<T>, TokenizerPartError> {
    if json.is_null() {
        return Ok(Vec::new());
    }
    if json["type"] == "Sequence" {
        let steps = json[list].as_array().map_or(&[][..], Vec::as_slice);
        let steps = steps.iter().map(|step| self::steps(step, list, read));
        return Ok(steps.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect());
    }
    read(json)
}

fn unsupported_error(what: &'static str, kind: impl Into<String>) -> TokenizerPartError {
    TokenizerPartError::Unsupported { what, kind: kind.into() }
}

fn text<'a>(json: &'a Value, key: &'static str) -> Result<&'a str, TokenizerPartError> {
    json[key].as_str().ok_or(TokenizerPartError::MissingField(key))
}

/// Tokens and their ids.
fn vocabulary(json: &Value) -> Result<std::collections::HashMap<String, u32>, TokenizerPartError> {
    let vocabulary = json["vocab"].as_object().ok_or(TokenizerPartError::NoVocabulary)?;
    let entry = |(piece, id): (&String, &Value)| {
        let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
        Some((piece.clone(), id?))
    };
    let vocabulary = vocabulary.iter().map(entry).collect::<Option<_>>();
    vocabulary.ok_or(TokenizerPartError::VocabularyWithoutNumbers)
}

#[cfg(test)]
mod tests;
