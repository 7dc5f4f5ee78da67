//! Gemini's `batchEmbedContents` format.

use serde_json::{Value, json};
use tollgate_engine::embedding::EmbeddingPurpose;

use super::{EmbeddingRequest, numbers};
use crate::format::MalformedResponseError;

pub(super) fn write(ask: &EmbeddingRequest<'_>) -> Value {
    let model = if ask.model.contains('/') {
        ask.model.to_owned()
    } else {
        format!("models/{}", ask.model)
    };
    let task = match ask.purpose {
        None => None,
        Some(EmbeddingPurpose::Passage) => Some("RETRIEVAL_DOCUMENT"),
        Some(EmbeddingPurpose::Question) => Some("RETRIEVAL_QUERY"),
    };
    let request = |text: &String| {
        let content = json!({"parts": [{"text": text}]});
        let mut request = json!({"model": model, "content": content});
        if let Some(task) = task {
            request["taskType"] = task.into();
        }
        if let Some(dimensions) = ask.dimensions {
            request["outputDimensionality"] = dimensions.into();
        }
        request
    };
    json!({"requests": ask.texts.iter().map(request).collect::<Vec<_>>()})
}

pub(super) fn read(body: &Value) -> Result<Vec<Vec<f32>>, MalformedResponseError> {
    let vectors = body.get("embeddings").and_then(Value::as_array);
    let vectors =
        vectors.ok_or_else(|| MalformedResponseError("`embeddings` is not a list".to_owned()))?;
    let vector = |item: &Value| match item.get("values").and_then(Value::as_array) {
        Some(values) => numbers(values),
        None => Err(MalformedResponseError("an item without `values`".to_owned())),
    };
    vectors.iter().map(vector).collect()
}
