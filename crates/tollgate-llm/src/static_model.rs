//! Static embedding models that run in this process: a table of token vectors, averaged over a
//! text.
//!
//! Read from a directory, in the layouts of model2vec and WordLlama; nothing is downloaded. Opened
//! where the memory is set up.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tollgate_core::digest::{DigestBuilder, hex};
use tollgate_engine::embedding::{EmbedError, Embedder, Embedding, EmbeddingPurpose};

pub use self::error::OpenStaticModelError;
use self::error::StaticModelError;
use self::files::StaticModelFiles;
use self::table::{UnknownTokenRule, VectorTable};
use self::tokenizer::Tokenizer;

mod error;
mod files;
mod table;
mod tokenizer;

/// Maximum bytes of a text that are embedded.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// Texts per batch; other work may run between two batches.
const TEXTS_PER_BATCH: usize = 64;
/// Threads that embed questions at once.
const MAX_CONCURRENT_QUESTIONS: usize = 4;

struct StaticEmbedder {
    name: String,
    parts: Arc<StaticModelParts>,
    passages: Semaphore,
    questions: Semaphore,
}

struct StaticModelParts {
    tokenizer: Tokenizer,
    table: VectorTable,
}

/// Reads the whole model, which takes a moment. Fails if the directory contains no model, or an
/// unsupported one.
pub fn open(directory: &Path) -> Result<Arc<dyn Embedder>, OpenStaticModelError> {
    let embedder = files::find(directory).and_then(StaticEmbedder::read);
    let embedder = embedder.map_err(|why| OpenStaticModelError::new(directory.to_owned(), why))?;
    Ok(Arc::new(embedder))
}

impl StaticEmbedder {
    fn read(files: StaticModelFiles) -> Result<Self, StaticModelError> {
        let StaticModelFiles { tokenizer, tensors } = files;
        let tokenizer = files::read(&tokenizer)?;
        let tensors = files::read(&tensors)?;
        let sum = DigestBuilder::default().with(&tokenizer).with(table::sample(&tensors)).finish();
        let table = VectorTable::read(tensors)?;
        let name = format!("static/{}-{}", table.dimensions(), hex(&sum[..6]));
        let parts = StaticModelParts { tokenizer: Tokenizer::read(&tokenizer)?, table };
        let parts = Arc::new(parts);
        Ok(Self {
            name,
            parts,
            passages: Semaphore::new(1),
            questions: Semaphore::new(MAX_CONCURRENT_QUESTIONS),
        })
    }
}

#[async_trait]
impl Embedder for StaticEmbedder {
    fn model(&self) -> &str {
        &self.name
    }

    async fn embed(
        &self,
        texts: &[String],
        purpose: EmbeddingPurpose,
    ) -> Result<Vec<Embedding>, EmbedError> {
        let places = match purpose {
            EmbeddingPurpose::Passage => &self.passages,
            EmbeddingPurpose::Question => &self.questions,
        };
        let mut made = Vec::with_capacity(texts.len());
        for portion in texts.chunks(TEXTS_PER_BATCH) {
            let _place = places.acquire().await.map_err(|_| stopped_error())?;
            let parts = Arc::clone(&self.parts);
            let portion = portion.to_vec();
            let work = move || parts.embed(&portion, purpose);
            let worked = tokio::task::spawn_blocking(work).await;
            made.extend(worked.map_err(|_| stopped_error())??);
        }
        Ok(made)
    }
}

fn stopped_error() -> EmbedError {
    EmbedError::away("the embedding model was stopped")
}

impl StaticModelParts {
    fn embed(
        &self,
        texts: &[String],
        purpose: EmbeddingPurpose,
    ) -> Result<Vec<Embedding>, EmbedError> {
        let each = |text: &String| match (Embedding::of(self.sum(text)), purpose) {
            (Ok(made), _) => Ok(made),
            (Err(_), EmbeddingPurpose::Passage) => Ok(Embedding::nowhere(self.table.dimensions())),
            (Err(_), EmbeddingPurpose::Question) => {
                let why = "the embedding model knows no word of the query";
                Err(EmbedError::Unusable(why.to_owned()))
            }
        };
        texts.iter().map(each).collect()
    }

    /// Equivalent to the mean: only the direction matters.
    fn sum(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.table.dimensions()];
        let skipped = match self.table.unknown() {
            UnknownTokenRule::Skipped => self.tokenizer.unknown(),
            UnknownTokenRule::Counted => None,
        };
        let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
        for token in self.tokenizer.tokens(text) {
            if Some(token) != skipped {
                self.table.add(token, &mut sum);
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests;
