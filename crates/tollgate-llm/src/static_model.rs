//! Models of meanings that run here: a table of vectors for pieces of words, and their mean in a text.
//!
//! Read from a directory, in the layouts of model2vec and WordLlama; nothing is fetched. Opened by
//! whoever wires the memory.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tollgate_core::digest::{Sum, hex};
use tollgate_engine::embedding::{EmbedError, Embedder, Embedding, Purpose};

use self::files::Files;
use self::table::{Table, Unknown};
use self::tokenizer::Tokenizer;

mod files;
mod table;
mod tokenizer;

/// Bytes of a text that are looked at.
const LONGEST: usize = 64 << 10;
/// Texts of one piece of work; another may come between two.
const PORTION: usize = 64;
/// Threads that work for questions at the same time.
const QUESTIONS: usize = 4;

struct StaticModel {
    name: String,
    parts: Arc<Parts>,
    passages: Semaphore,
    questions: Semaphore,
}

struct Parts {
    tokenizer: Tokenizer,
    table: Table,
}

/// Reads the whole model, which takes a moment. Fails, in words, if the directory holds none, or one
/// that is not understood.
pub fn open(directory: &Path) -> Result<Arc<dyn Embedder>, String> {
    let said = |why: String| format!("no embedding model in `{}`: {why}", directory.display());
    let files = files::find(directory).map_err(said)?;
    Ok(Arc::new(StaticModel::read(files).map_err(said)?))
}

impl StaticModel {
    fn read(files: Files) -> Result<Self, String> {
        let Files { tokenizer, tensors } = files;
        let (tokenizer, tensors) = (files::read(&tokenizer)?, files::read(&tensors)?);
        let sum = Sum::default().with(&tokenizer).with(table::sample(&tensors)).finish();
        let table = Table::read(tensors)?;
        let name = format!("static/{}-{}", table.dimensions(), hex(&sum[..6]));
        let parts = Parts { tokenizer: Tokenizer::read(&tokenizer)?, table };
        let parts = Arc::new(parts);
        Ok(Self { name, parts, passages: Semaphore::new(1), questions: Semaphore::new(QUESTIONS) })
    }
}

#[async_trait]
impl Embedder for StaticModel {
    fn model(&self) -> &str {
        &self.name
    }

    async fn embed(
        &self,
        texts: &[String],
        purpose: Purpose,
    ) -> Result<Vec<Embedding>, EmbedError> {
        let places = match purpose {
            Purpose::Passage => &self.passages,
            Purpose::Question => &self.questions,
        };
        let mut made = Vec::with_capacity(texts.len());
        for portion in texts.chunks(PORTION) {
            let _place = places.acquire().await.map_err(|_| stopped())?;
            let (parts, portion) = (Arc::clone(&self.parts), portion.to_vec());
            let work = move || parts.embed(&portion, purpose);
            let worked = tokio::task::spawn_blocking(work).await;
            made.extend(worked.map_err(|_| stopped())??);
        }
        Ok(made)
    }
}

fn stopped() -> EmbedError {
    EmbedError::away("the embedding model was stopped")
}

impl Parts {
    fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Embedding>, EmbedError> {
        let each = |text: &String| match (Embedding::of(self.sum(text)), purpose) {
            (Ok(made), _) => Ok(made),
            (Err(_), Purpose::Passage) => Ok(Embedding::nowhere(self.table.dimensions())),
            (Err(_), Purpose::Question) => {
                let why = "the embedding model knows no word of the question";
                Err(EmbedError::Unusable(why.to_owned()))
            }
        };
        texts.iter().map(each).collect()
    }

    /// As good as the mean: only the direction counts.
    fn sum(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.table.dimensions()];
        let skipped = match self.table.unknown() {
            Unknown::Skipped => self.tokenizer.unknown(),
            Unknown::Counted => None,
        };
        let text = &text[..text.floor_char_boundary(LONGEST)];
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
