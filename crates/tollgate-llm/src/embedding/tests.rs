use serde_json::{Value, json};
use tollgate_engine::embedding::EmbeddingPurpose;

use super::{EmbeddingApi, EmbeddingRequest, VectorEncoding, batches};

/// `[1.0, -0.5]`, as servers send it.
const PACKED: &str = "AACAPwAAAL8=";

fn ask(texts: &[String]) -> EmbeddingRequest<'_> {
    let encoding = VectorEncoding::Base64;
    EmbeddingRequest {
        model: "m",
        texts,
        purpose: Some(EmbeddingPurpose::Question),
        dimensions: Some(2),
        encoding,
    }
}

#[test]
fn requests_are_written_in_each_form() {
    let texts = ["one".to_owned(), "two".to_owned()];
    let asked = ask(&texts);
    assert_eq!(
        EmbeddingApi::OpenAi.write(&asked),
        json!({"model": "m", "input": ["one", "two"], "encoding_format": "base64", "dimensions": 2})
    );
    let plain = EmbeddingRequest { dimensions: None, encoding: VectorEncoding::Float, ..asked };
    assert_eq!(
        EmbeddingApi::OpenAi.write(&plain),
        json!({"model": "m", "input": ["one", "two"], "encoding_format": "float"})
    );
    assert_eq!(
        EmbeddingApi::Gemini.write(&ask(&texts[..1])),
        json!({"requests": [{
            "model": "models/m", "content": {"parts": [{"text": "one"}]},
            "taskType": "RETRIEVAL_QUERY", "outputDimensionality": 2,
        }]})
    );
    let plain = EmbeddingRequest {
        dimensions: None,
        purpose: Some(EmbeddingPurpose::Passage),
        ..ask(&texts[..1])
    };
    let written = EmbeddingApi::Gemini.write(&plain);
    assert_eq!(written["requests"][0]["taskType"], "RETRIEVAL_DOCUMENT");
    assert_eq!(written["requests"][0].get("outputDimensionality"), None);
}

fn check(wire: EmbeddingApi, body: &Value, expected: Result<&[[f32; 2]], &str>) {
    let count = 2;
    let read = wire.read(body, count).map_err(|malformed| malformed.0);
    let expected = expected.map(|it| it.iter().map(|it| it.to_vec()).collect());
    assert_eq!(read, expected.map_err(str::to_owned), "{body}");
}

#[test]
fn numbers_come_plain_or_packed_and_in_any_order() {
    let well: &[[f32; 2]] = &[[1.0, -0.5], [0.25, 3.0]];
    let plain = json!({"index": 1, "embedding": [0.25, 3]});
    check(
        EmbeddingApi::OpenAi,
        &json!({"data": [plain, {"index": 0, "embedding": PACKED}]}),
        Ok(well),
    );
    check(
        EmbeddingApi::OpenAi,
        &json!({"data": [{"embedding": [1, -0.5]}, {"embedding": [0.25, 3.0]}]}),
        Ok(well),
    );
    let values = json!({"embeddings": [{"values": [1, -0.5]}, {"values": [0.25, 3.0]}]});
    check(EmbeddingApi::Gemini, &values, Ok(well));
}

#[test]
fn what_is_no_vector_for_each_text_is_refused() {
    let one = json!({"index": 0, "embedding": [1, 2]});
    let two = json!({"index": 1, "embedding": [1, 2]});
    let far = json!({"index": 2, "embedding": [1, 2]});
    let negative = json!({"index": -1, "embedding": [1, 2]});
    let hole = json!({"index": 1, "embedding": [1, null]});
    let word = json!({"index": 1, "embedding": "no base64!"});
    let short = json!({"index": 1, "embedding": "AACA"});
    let bare = json!({"index": 1});
    for (data, why) in [
        (json!(null), "`data` is not a list"),
        (json!([]), "0 embeddings for 2 texts"),
        (json!([one]), "1 embeddings for 2 texts"),
        (json!([one, two, far]), "3 embeddings for 2 texts"),
        (json!([one, one]), "two embeddings with the same `index`"),
        (json!([one, far]), "an `index` out of range"),
        (json!([one, negative]), "an `index` out of range"),
        (json!([one, hole]), "an embedding contains null where a number is expected"),
        (json!([one, word]), "an embedding that is not base64 of numbers"),
        (json!([one, short]), "an embedding that is not base64 of numbers"),
        (json!([one, bare]), "an item without `embedding`"),
        (json!([one, 7]), "an item without `embedding`"),
    ] {
        check(EmbeddingApi::OpenAi, &json!({"data": data}), Err(why));
    }
    check(EmbeddingApi::Gemini, &json!([]), Err("`embeddings` is not a list"));
    check(EmbeddingApi::Gemini, &json!({"embeddings": [{}]}), Err("an item without `values`"));
    let one = json!({"embeddings": [{"values": [1, 2]}]});
    check(EmbeddingApi::Gemini, &one, Err("1 embeddings for 2 texts"));
}

#[test]
fn texts_go_together_as_far_as_a_server_takes_them() {
    let check = |lengths: &[usize], expected: &[usize]| {
        let texts: Vec<String> = lengths.iter().map(|length| "x".repeat(*length)).collect();
        let batches = batches(&texts);
        let ends: Vec<usize> = batches.iter().map(|batch| batch.end).collect();
        assert_eq!(ends, expected, "{lengths:?}");
        let starts = std::iter::once(0).chain(ends);
        assert!(batches.iter().map(|batch| batch.start).eq(starts.take(batches.len())));
    };
    check(&[], &[]);
    check(&[100_000], &[1]);
    check(&[1; 33], &[32, 33]);
    check(&[1, 100_000, 1, 1], &[1, 2, 4]);
    check(&[16 << 10, 16 << 10, 1], &[2, 3]);
}
