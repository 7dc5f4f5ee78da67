//! `batchEmbedContents` as Gemini has it.

use serde_json::{Value, json};
use tollgate_engine::embedding::Purpose;

use super::{Ask, numbers};
use crate::format::Malformed;

pub(super) fn write(ask: &Ask<'_>) -> Value {
    let model = match ask.model.contains('/') {
        true => ask.model.to_owned(),
        false => format!("models/{}", ask.model),
    };
    let task = match ask.purpose {
        Purpose::Passage => "RETRIEVAL_DOCUMENT",
        Purpose::Question => "RETRIEVAL_QUERY",
    };
    let request = |text: &String| {
        let content = json!({"parts": [{"text": text}]});
        let mut request = json!({"model": model, "content": content, "taskType": task});
        if let Some(dimensions) = ask.dimensions {
            request["outputDimensionality"] = dimensions.into();
        }
        request
    };
    json!({"requests": ask.texts.iter().map(request).collect::<Vec<_>>()})
}

pub(super) fn read(body: &Value) -> Result<Vec<Vec<f32>>, Malformed> {
    let vectors = body.get("embeddings").and_then(Value::as_array);
    let vectors = vectors.ok_or_else(|| Malformed("`embeddings` is no list".to_owned()))?;
    let vector = |item: &Value| match item.get("values").and_then(Value::as_array) {
        Some(values) => numbers(values),
        None => Err(Malformed("an item without `values`".to_owned())),
    };
    vectors.iter().map(vector).collect()
}
