//! Embedding requests of clients, in OpenAI's and in Gemini's form, and the answers to them. For
//! providers of the other form; one of the same form gets the client's own bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::VectorEncoding;
use crate::error::LlmError;
use crate::format::fields::{FieldReader, wrong};
use crate::format::gemini;
use crate::tokens::{self, CountPrecision};

/// Maximum texts of one request: OpenAI's limit.
const MAX_TEXTS: usize = 2_048;

/// Texts to embed, with the client's wishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingTexts {
    pub texts: Vec<String>,
    /// `None`: the model's default.
    pub dimensions: Option<u32>,
}

/// A client's request, and the form of the answer that it expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientEmbeddings {
    pub input: EmbeddingTexts,
    pub form: EmbeddingAnswerForm,
    /// Parts of the request that the other API cannot express.
    pub lost: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingAnswerForm {
    OpenAi(VectorEncoding),
    GeminiSingle,
    GeminiBatch,
}

/// Reads the body of `POST /v1/embeddings`.
pub fn read_openai(body: Value) -> Result<ClientEmbeddings, LlmError> {
    let mut fields = FieldReader::new(body, "")?;
    let input = fields.take("input").ok_or_else(|| fields.missing("input"))?;
    let texts = openai_texts(input)?;
    check_count(texts.len(), "input")?;
    let encoding = match fields.text("encoding_format")?.as_deref() {
        None | Some("float") => VectorEncoding::Float,
        Some("base64") => VectorEncoding::Base64,
        Some(_) => {
            let message = "`encoding_format` must be `float` or `base64`";
            return Err(LlmError::invalid("encoding_format", message));
        }
    };
    let dimensions = dimensions(&mut fields, "dimensions")?;
    let lost = fields.take("user").map(|_| "user".to_owned()).into_iter().collect();
    let input = EmbeddingTexts { texts, dimensions };
    Ok(ClientEmbeddings { input, form: EmbeddingAnswerForm::OpenAi(encoding), lost })
}

fn openai_texts(input: Value) -> Result<Vec<String>, LlmError> {
    let items = match input {
        Value::String(text) => vec![Value::String(text)],
        Value::Array(items) => items,
        other => return Err(wrong("input", "a text or a list of texts", &other)),
    };
    let mut texts = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let at = format!("input[{index}]");
        match item {
            Value::String(text) if text.is_empty() => {
                return Err(LlmError::invalid(&at, format!("`{at}` must not be empty")));
            }
            Value::String(text) => texts.push(text),
            Value::Number(_) | Value::Array(_) => {
                let message = "`input` must be text: the model's provider takes no tokens of \
                               another vocabulary";
                return Err(LlmError::invalid("input", message));
            }
            other => return Err(wrong(&at, "a text", &other)),
        }
    }
    Ok(texts)
}

/// Reads the body of `embedContent`.
pub fn read_gemini_single(body: Value) -> Result<ClientEmbeddings, LlmError> {
    let mut lost = Vec::new();
    let GeminiEmbedRequest { text, dimensions } = gemini_request(body, "", &mut lost)?;
    let input = EmbeddingTexts { texts: vec![text], dimensions };
    Ok(ClientEmbeddings { input, form: EmbeddingAnswerForm::GeminiSingle, lost })
}

/// Reads the body of `batchEmbedContents`.
pub fn read_gemini_batch(body: Value) -> Result<ClientEmbeddings, LlmError> {
    let mut fields = gemini::fields(body, "")?;
    let requests = fields.list("requests")?.ok_or_else(|| fields.missing("requests"))?;
    check_count(requests.len(), "requests")?;
    let mut lost = Vec::new();
    let mut texts = Vec::with_capacity(requests.len());
    let mut common = None;
    for (index, request) in requests.into_iter().enumerate() {
        let at = format!("requests[{index}]");
        let GeminiEmbedRequest { text, dimensions } = gemini_request(request, &at, &mut lost)?;
        if *common.get_or_insert(dimensions) != dimensions {
            let at = format!("{at}.outputDimensionality");
            let message = format!("`{at}` must be the same in all requests for this model");
            return Err(LlmError::invalid(at, message));
        }
        texts.push(text);
    }
    let input = EmbeddingTexts { texts, dimensions: common.flatten() };
    Ok(ClientEmbeddings { input, form: EmbeddingAnswerForm::GeminiBatch, lost })
}

struct GeminiEmbedRequest {
    text: String,
    dimensions: Option<u32>,
}

fn gemini_request(
    request: Value,
    at: &str,
    lost: &mut Vec<String>,
) -> Result<GeminiEmbedRequest, LlmError> {
    let mut fields = gemini::fields(request, at)?;
    let at = fields.place("content");
    let content = fields.take("content").ok_or_else(|| fields.missing("content"))?;
    let mut content = gemini::fields(content, &at)?;
    let parts = content.list("parts")?.ok_or_else(|| content.missing("parts"))?;
    let mut text = String::new();
    for (index, part) in parts.into_iter().enumerate() {
        let at = format!("{at}.parts[{index}]");
        match part.get("text").and_then(Value::as_str) {
            Some(words) => text.push_str(words),
            None => {
                let message = format!("`{at}` must be text: the model embeds nothing else");
                return Err(LlmError::invalid(at, message));
            }
        }
    }
    if text.is_empty() {
        return Err(LlmError::invalid(&at, format!("`{at}` must contain text")));
    }
    let dimensions = dimensions(&mut fields, "outputDimensionality")?;
    for field in ["taskType", "title"] {
        if fields.take(field).is_some() && !lost.iter().any(|name| name == field) {
            lost.push(field.to_owned());
        }
    }
    Ok(GeminiEmbedRequest { text, dimensions })
}

fn dimensions(fields: &mut FieldReader, key: &str) -> Result<Option<u32>, LlmError> {
    let Some(number) = fields.number(key)? else { return Ok(None) };
    let known = number.as_u64().and_then(|it| u32::try_from(it).ok()).filter(|it| *it > 0);
    let at = fields.place(key);
    known.map(Some).ok_or_else(|| wrong(&at, "a whole number, 1 or more", &number.into()))
}

fn check_count(count: usize, at: &str) -> Result<(), LlmError> {
    match count {
        0 => Err(LlmError::invalid(at, format!("`{at}` must not be empty"))),
        1..=MAX_TEXTS => Ok(()),
        _ => {
            let message = format!("`{at}` has {count} texts; at most {MAX_TEXTS} are allowed");
            Err(LlmError::invalid(at, message))
        }
    }
}

/// Encodes the answer. `model` is the client's name of the model.
pub fn write_answer(asked: &ClientEmbeddings, model: &str, vectors: &[Vec<f32>]) -> String {
    match asked.form {
        EmbeddingAnswerForm::OpenAi(encoding) => {
            let bytes = asked.input.texts.iter().map(|text| text.len() as u64).sum();
            let precision = CountPrecision::Exact.for_bytes(bytes);
            let count = |text: &String| tokens::text(text, precision);
            let tokens: u64 = asked.input.texts.iter().map(count).sum();
            let item = |index: usize, vector: &[f32]| {
                let embedding = match encoding {
                    VectorEncoding::Float => write_numbers(vector),
                    VectorEncoding::Base64 => format!("\"{}\"", write_base64(vector)),
                };
                format!(r#"{{"object":"embedding","index":{index},"embedding":{embedding}}}"#)
            };
            let items = vectors.iter().enumerate().map(|(index, vector)| item(index, vector));
            let data = items.collect::<Vec<_>>().join(",");
            let model = Value::from(model);
            format!(
                r#"{{"object":"list","data":[{data}],"model":{model},"usage":{{"prompt_tokens":{tokens},"total_tokens":{tokens}}}}}"#
            )
        }
        EmbeddingAnswerForm::GeminiSingle => {
            let numbers = vectors.first().map_or_else(|| "[]".to_owned(), |it| write_numbers(it));
            format!(r#"{{"embedding":{{"values":{numbers}}}}}"#)
        }
        EmbeddingAnswerForm::GeminiBatch => {
            let item = |vector: &Vec<f32>| format!(r#"{{"values":{}}}"#, write_numbers(vector));
            let items = vectors.iter().map(item).collect::<Vec<_>>().join(",");
            format!(r#"{{"embeddings":[{items}]}}"#)
        }
    }
}

/// As 32-bit numbers: as 64-bit ones they would have digits that mean nothing.
fn write_numbers(vector: &[f32]) -> String {
    serde_json::to_string(vector).expect("a list of numbers can be written")
}

fn write_base64(vector: &[f32]) -> String {
    let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{read_gemini_batch, read_gemini_single, read_openai, write_answer};

    #[test]
    fn texts_are_read_in_both_forms() {
        let one = read_openai(json!({"model": "m", "input": "one", "dimensions": 3})).unwrap();
        assert_eq!(one.input.texts, ["one"]);
        assert_eq!(one.input.dimensions, Some(3));
        let two = read_openai(json!({"input": ["one", "two"], "user": "u"})).unwrap();
        assert_eq!((two.input.texts.len(), two.lost), (2, vec!["user".to_owned()]));
        let content = json!({"parts": [{"text": "a"}, {"text": "b"}]});
        let single = json!({"content": content, "task_type": "RETRIEVAL_QUERY"});
        let single = read_gemini_single(single).unwrap();
        assert_eq!((&*single.input.texts[0], &*single.lost[0]), ("ab", "taskType"));
        let request = json!({"content": content, "output_dimensionality": 2});
        let batch = read_gemini_batch(json!({"requests": [request, request]})).unwrap();
        assert_eq!((batch.input.texts.len(), batch.input.dimensions), (2, Some(2)));
    }

    #[test]
    fn what_cannot_be_embedded_is_refused_by_name() {
        for (body, at) in [
            (json!({}), "input"),
            (json!({"input": []}), "input"),
            (json!({"input": [1, 2]}), "input"),
            (json!({"input": [[1], [2]]}), "input"),
            (json!({"input": ["a", ""]}), "input[1]"),
            (json!({"input": [null]}), "input[0]"),
            (json!({"input": 3}), "input"),
            (json!({"input": "a", "dimensions": 0}), "dimensions"),
            (json!({"input": "a", "dimensions": 1.5}), "dimensions"),
            (json!({"input": "a", "encoding_format": "int8"}), "encoding_format"),
            (json!({"input": vec!["a"; 2_049]}), "input"),
        ] {
            let refused = read_openai(body.clone()).unwrap_err();
            assert_eq!(refused.at.as_deref(), Some(at), "{body}");
        }
        let picture = json!({"content": {"parts": [{"inlineData": {}}]}});
        let refused = read_gemini_single(picture.clone()).unwrap_err();
        assert_eq!(refused.at.as_deref(), Some("content.parts[0]"));
        let refused = read_gemini_batch(json!({"requests": [picture]})).unwrap_err();
        assert_eq!(refused.at.as_deref(), Some("requests[0].content.parts[0]"));
        let text = json!({"parts": [{"text": "a"}]});
        let mixed =
            json!({"requests": [{"content": text, "outputDimensionality": 2}, {"content": text}]});
        let refused = read_gemini_batch(mixed).unwrap_err();
        assert_eq!(refused.at.as_deref(), Some("requests[1].outputDimensionality"));
    }

    #[test]
    fn vectors_are_written_without_meaningless_digits_and_as_little_endian_base64() {
        let vectors = vec![vec![0.1_f32, -2.0], vec![1.0, 0.5]];
        let asked = read_openai(json!({"input": ["one", "two"]})).unwrap();
        let written = write_answer(&asked, "m", &vectors);
        assert!(written.contains("[0.1,-2.0]"), "{written}");
        let answer: Value = serde_json::from_str(&written).unwrap();
        assert_eq!((&answer["model"], &answer["data"][1]["index"]), (&json!("m"), &json!(1)));
        assert_eq!(answer["usage"], json!({"prompt_tokens": 2, "total_tokens": 2}));
        let asked = read_openai(json!({"input": "one", "encoding_format": "base64"})).unwrap();
        let answer: Value =
            serde_json::from_str(&write_answer(&asked, "m", &vectors[..1])).unwrap();
        assert_eq!(answer["data"][0]["embedding"], "zczMPQAAAMA=");
    }
}
