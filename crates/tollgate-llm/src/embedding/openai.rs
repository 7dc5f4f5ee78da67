//! OpenAI's `/embeddings` format.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{EmbeddingRequest, VectorEncoding, count_mismatch, numbers};
use crate::format::MalformedResponseError;

pub(super) fn write(ask: &EmbeddingRequest<'_>) -> Value {
    let encoding = match ask.encoding {
        VectorEncoding::Base64 => "base64",
        VectorEncoding::Float => "float",
    };
    let mut body = json!({"model": ask.model, "input": ask.texts, "encoding_format": encoding});
    if let Some(dimensions) = ask.dimensions {
        body["dimensions"] = dimensions.into();
    }
    body
}

pub(super) fn read(body: &Value, count: usize) -> Result<Vec<Vec<f32>>, MalformedResponseError> {
    let data = body.get("data").and_then(Value::as_array);
    let data = data.ok_or_else(|| MalformedResponseError("`data` is not a list".to_owned()))?;
    if data.len() != count {
        return Err(count_mismatch(data.len(), count));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; count];
    for (at, item) in data.iter().enumerate() {
        let index = match item.get("index") {
            None | Some(Value::Null) => Some(at),
            Some(index) => index.as_u64().and_then(|index| usize::try_from(index).ok()),
        };
        let place = index.and_then(|index| vectors.get_mut(index));
        let place =
            place.ok_or_else(|| MalformedResponseError("an `index` out of range".to_owned()))?;
        if place.replace(vector(item)?).is_some() {
            return Err(MalformedResponseError("two embeddings with the same `index`".to_owned()));
        }
    }
    Ok(vectors.into_iter().flatten().collect())
}

fn vector(item: &Value) -> Result<Vec<f32>, MalformedResponseError> {
    match item.get("embedding") {
        Some(Value::Array(values)) => numbers(values),
        Some(Value::String(text)) => decode_base64_vector(text),
        _ => Err(MalformedResponseError("an item without `embedding`".to_owned())),
    }
}

/// 32-bit floats, little-endian.
fn decode_base64_vector(text: &str) -> Result<Vec<f32>, MalformedResponseError> {
    let bytes = STANDARD.decode(text).ok();
    let bytes = bytes.filter(|bytes| bytes.len().is_multiple_of(4));
    let bytes = bytes.ok_or_else(|| {
        MalformedResponseError("an embedding that is not base64 of numbers".to_owned())
    })?;
    let (numbers, _) = bytes.as_chunks::<4>();
    Ok(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
}
