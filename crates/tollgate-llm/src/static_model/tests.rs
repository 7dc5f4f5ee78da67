use std::fs;
use std::path::Path;

use serde_json::json;
use tollgate_engine::embedding::{EmbedError, Embedder, Embedding, EmbeddingPurpose};

use super::open;

/// Two words with a direction each, and one for what is not known.
fn write(directory: &Path, layout: &ModelLayout, name: &str) {
    let vocabulary = json!({"[UNK]": 0, "dragon": 1, "castle": 2});
    let json = json!({
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocabulary},
    });
    let header = json!({name: {"dtype": "I8", "shape": [3, 2], "data_offsets": [0, 6]}});
    let header = header.to_string();
    let mut bytes = u64::try_from(header.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(&[9, 9, 2, 0, 0, 2]);
    for (path, data) in [(layout.tokenizer, json.to_string().into_bytes()), (layout.tensors, bytes)]
    {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, data).unwrap();
    }
}

/// Where a format keeps its two files.
struct ModelLayout {
    tokenizer: &'static str,
    tensors: &'static str,
}

const MODEL2VEC: ModelLayout =
    ModelLayout { tokenizer: "tokenizer.json", tensors: "model.safetensors" };
const WORDLLAMA: ModelLayout = ModelLayout {
    tokenizer: "tokenizers/l2_tokenizer_config.json",
    tensors: "weights/l2_2.safetensors",
};
const SENTENCE_TRANSFORMERS: ModelLayout = ModelLayout {
    tokenizer: "0_StaticEmbedding/tokenizer.json",
    tensors: "0_StaticEmbedding/model.safetensors",
};

fn of(numbers: [f32; 2]) -> Embedding {
    Embedding::of(numbers.to_vec()).unwrap()
}

async fn embed(
    model: &dyn Embedder,
    text: &str,
    purpose: EmbeddingPurpose,
) -> Result<Embedding, EmbedError> {
    Ok(model.embed(&[text.to_owned()], purpose).await?.remove(0))
}

#[tokio::test]
async fn a_text_is_the_mean_of_its_words() {
    for layout in [MODEL2VEC, WORDLLAMA, SENTENCE_TRANSFORMERS] {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &layout, "embeddings");
        let model = open(directory.path()).unwrap();
        assert!(model.model().starts_with("static/2-"), "{}", model.model());
        let made = embed(&*model, "dragon castle", EmbeddingPurpose::Passage).await;
        assert_eq!(made, Ok(of([1.0, 1.0])));
        let made = embed(&*model, "dragon castle dragon", EmbeddingPurpose::Question).await;
        assert_eq!(made, Ok(of([2.0, 1.0])));
    }
}

#[tokio::test]
async fn what_a_model_does_not_know_it_skips_or_counts() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &MODEL2VEC, "embeddings");
    let model = open(directory.path()).unwrap();
    assert_eq!(
        embed(&*model, "dragon smurf", EmbeddingPurpose::Question).await,
        Ok(of([1.0, 0.0]))
    );
    let error = embed(&*model, "smurf", EmbeddingPurpose::Question).await.unwrap_err();
    assert_eq!(error.to_string(), "the embedding model knows no word of the query");
    let nowhere = embed(&*model, "smurf", EmbeddingPurpose::Passage).await;
    assert_eq!(nowhere, Ok(Embedding::nowhere(2)));
    let other = tempfile::tempdir().unwrap();
    write(other.path(), &WORDLLAMA, "embedding.weight");
    let counted = open(other.path()).unwrap();
    assert_eq!(
        embed(&*counted, "dragon smurf", EmbeddingPurpose::Question).await,
        Ok(of([11.0, 9.0]))
    );
    assert_ne!(model.model(), counted.model(), "vectors of the two cannot be compared");
}

#[tokio::test]
async fn many_texts_come_back_in_their_order() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &MODEL2VEC, "embeddings");
    let model = open(directory.path()).unwrap();
    let texts: Vec<String> =
        (0..200).map(|it| if it % 3 == 0 { "dragon" } else { "castle" }.to_owned()).collect();
    let made = model.embed(&texts, EmbeddingPurpose::Passage).await.unwrap();
    let dragons = made.iter().enumerate().filter(|(_, made)| **made == of([1.0, 0.0]));
    assert!(dragons.map(|(at, _)| at).eq((0..200).step_by(3)));
    assert_eq!(made.len(), 200);
    let endless = "dragon ".repeat(1 << 20);
    assert_eq!(embed(&*model, &endless, EmbeddingPurpose::Question).await, Ok(of([1.0, 0.0])));
}

#[test]
fn a_directory_that_holds_no_model_is_told() {
    let check = |directory: &Path, why: &str| {
        let said = open(directory).err().unwrap().to_string();
        let beginning = format!("no embedding model in `{}`: ", directory.display());
        assert!(said.starts_with(&beginning) && said.contains(why), "{said}");
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    check(&path.join("nowhere"), "it is not a directory");
    check(path, "there is no `tokenizer.json`");
    write(path, &MODEL2VEC, "embeddings");
    fs::rename(path.join("model.safetensors"), path.join("model.bin")).unwrap();
    check(path, "there is no `model.safetensors`");
    write(path, &MODEL2VEC, "other");
    check(path, "neither tensor `embeddings` nor `embedding.weight`");
    fs::write(path.join("tokenizer.json"), "{").unwrap();
    write(path, &ModelLayout { tokenizer: "other.json", ..MODEL2VEC }, "embeddings");
    check(path, "its tokenizer is not JSON");
    write(path, &ModelLayout { tensors: "model2.safetensors", ..MODEL2VEC }, "embeddings");
    check(path, "both exist: remove one of them");
}
