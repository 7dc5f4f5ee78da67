//! Encodes embedding requests and decodes vectors: the OpenAI format, which other providers use as
//! well, and Gemini's. Pure; `provider` sends the requests.

use std::ops::Range;

use serde_json::Value;
use tollgate_engine::embedding::EmbeddingPurpose;

use crate::format::MalformedResponseError;

mod client_request;
mod gemini;
mod openai;

pub use client_request::{
    ClientEmbeddings, EmbeddingAnswerForm, EmbeddingTexts, read_gemini_batch, read_gemini_single,
    read_openai, write_answer,
};

/// Maximum texts per request: the limit of the smallest common servers.
const MAX_TEXTS_PER_REQUEST: usize = 32;
/// Maximum bytes of text in a request with more than one text: about eight thousand tokens.
const MAX_BYTES_PER_REQUEST: usize = 32 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmbeddingApi {
    OpenAi,
    Gemini,
}

/// An embedding request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EmbeddingRequest<'a> {
    pub(crate) model: &'a str,
    pub(crate) texts: &'a [String],
    /// `None`: unknown, left to the model.
    pub(crate) purpose: Option<EmbeddingPurpose>,
    pub(crate) dimensions: Option<u32>,
    pub(crate) encoding: VectorEncoding,
}

/// Requested number encoding. Both are accepted, whichever was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorEncoding {
    /// A quarter of the size.
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

    /// Reads one vector for each of `count` texts, in their order. Their dimensions are not
    /// checked.
    pub(crate) fn read(
        self,
        body: &Value,
        count: usize,
    ) -> Result<Vec<Vec<f32>>, MalformedResponseError> {
        let vectors = match self {
            Self::OpenAi => openai::read(body, count)?,
            Self::Gemini => gemini::read(body)?,
        };
        if vectors.len() == count { Ok(vectors) } else { Err(count_mismatch(vectors.len(), count)) }
    }
}

/// Splits the texts into batches.
pub(crate) fn batches(texts: &[String]) -> Vec<Range<usize>> {
    let mut batches = Vec::new();
    let mut start = 0;
    let mut bytes = 0;
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

/// JSON cannot express NaN: some servers then write `null`.
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
