//! Reads a list of texts, as JSON, and writes a list of their vectors: what a static model in a
//! directory makes of them. For comparing it with other readers of the same model.

use std::io::{self, Write as _};
use std::path::PathBuf;

use tollgate_engine::embedding::EmbeddingPurpose;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args_os().nth(1).ok_or("usage: embed DIRECTORY < texts.json")?;
    let model = tollgate_llm::static_model::open(&PathBuf::from(directory))?;
    let texts: Vec<String> = serde_json::from_reader(io::stdin())?;
    let vectors = model.embed(&texts, EmbeddingPurpose::Passage).await?;
    let vectors: Vec<&[f32]> = vectors.iter().map(|vector| vector.numbers()).collect();
    let written = serde_json::json!({"model": model.model(), "vectors": vectors});
    Ok(writeln!(io::stdout(), "{written}")?)
}
