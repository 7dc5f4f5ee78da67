//! How texts are sent to be embedded, and how their vectors are read: OpenAI's form, which others
//! speak as well, and Gemini's. Pure; whoever sends it stands in `provider`.

use std::ops::Range;

use serde_json::Value;
use tollgate_engine::embedding::EmbeddingPurpose;

use crate::format::MalformedResponseError;

mod gemini;
mod openai;

/// Texts of one request: what the smallest of the usual servers takes.
const MAX_TEXTS_PER_REQUEST: usize = 32;
/// Bytes of one request's texts, as long as it is more than one: some eight thousand tokens.
const MAX_BYTES_PER_REQUEST: usize = 32 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmbeddingApi {
    OpenAi,
    Gemini,
}

/// One request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EmbeddingRequest<'a> {
    pub(crate) model: &'a str,
    pub(crate) texts: &'a [String],
    pub(crate) purpose: EmbeddingPurpose,
    pub(crate) dimensions: Option<u32>,
    pub(crate) encoding: VectorEncoding,
}

/// How numbers are to come. Whatever was asked for, both are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VectorEncoding {
    /// A quarter of the bytes.
    Base64,
    Float,
}

impl EmbeddingApi {
    pub(crate) fn write(self, ask: &EmbeddingRequest<'_>) -> Value {
        match self {
            Self::OpenAi => openai::write(ask),
            Self::Gemini => gemini::write(ask),
        }
    }

    /// One vector for each of `count` texts, in their order, as long as they are.
    pub(crate) fn read(
        self,
        body: &Value,
        count: usize,
    ) -> Result<Vec<Vec<f32>>, MalformedResponseError> {
        let vectors = match self {
            Self::OpenAi => openai::read(body, count)?,
            Self::Gemini => gemini::read(body)?,
        };
        match vectors.len() == count {
            true => Ok(vectors),
            false => Err(count_mismatch(vectors.len(), count)),
        }
    }
}

/// Which texts go together.
pub(crate) fn batches(texts: &[String]) -> Vec<Range<usize>> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, text) in texts.iter().enumerate() {
        let is_full =
            at - start == MAX_TEXTS_PER_REQUEST || bytes + text.len() > MAX_BYTES_PER_REQUEST;
        if is_full && at > start {
            batches.push(start..at);
            (start, bytes) = (at, 0);
        }
        bytes += text.len();
    }
    if start < texts.len() {
        batches.push(start..texts.len());
    }
    batches
}

fn count_mismatch(found: usize, count: usize) -> MalformedResponseError {
    MalformedResponseError(format!("{found} embeddings for {count} texts"))
}

/// JSON has no word for what is no number: some servers then write `null`.
fn numbers(values: &[Value]) -> Result<Vec<f32>, MalformedResponseError> {
    let number = |value: &Value| {
        let number = value.as_f64().map(|number| number as f32);
        number.ok_or_else(|| {
            MalformedResponseError(format!(
                "an embedding contains {value} where a number is expected"
            ))
        })
    };
    values.iter().map(number).collect()
}

#[cfg(test)]
mod tests;
