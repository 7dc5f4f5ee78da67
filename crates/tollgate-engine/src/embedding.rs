//! Interface of embedding models: texts of similar meaning get vectors of similar direction. Called
//! by the memory; independent of it and of where models are served.

use std::time::Duration;

use async_trait::async_trait;

/// An endpoint or an in-process model.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// The model's name; vectors of different models cannot be compared.
    fn model(&self) -> &str;

    /// One vector per text, in the same order, for any number of texts. A query is answered soon or
    /// not at all; passages may take longer. Dropping the future cancels it.
    async fn embed(
        &self,
        texts: &[String],
        purpose: EmbeddingPurpose,
    ) -> Result<Vec<Embedding>, EmbedError>;
}

/// Some models need to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EmbeddingPurpose {
    /// A text to be found.
    Passage,
    /// A search query; a caller waits for it.
    Question,
}

/// A normalized vector. Invariant: length 1, at least one number, all finite.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    numbers: Vec<f32>,
}

/// Why there is no embedding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// Unreachable, not answering or overloaded: a retry may succeed.
    #[error("{why}")]
    Away {
        why: String,
        /// Earliest retry, if known.
        again: Option<Duration>,
    },
    /// Rejected; a retry fails until someone changes the configuration.
    #[error("{0}")]
    Refused(String),
    /// An unusable response, or a text that the model cannot embed.
    #[error("{0}")]
    Unusable(String),
}

/// Numbers without a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddingVectorError {
    #[error("the embedding is empty")]
    Empty,
    #[error("the embedding contains NaN")]
    NotFinite,
    #[error("the embedding is all zeros")]
    Zero,
}

/// Sent to find out whether the model rejects one text or everything.
const ANY_TEXT: &str = "memory";

/// Like [`Embedder::embed`], for passages: a passage that the model rejects does not block the
/// others, and gets [`Embedding::nowhere`]. Fails if the model rejects every text.
pub async fn embed_passages(
    embedder: &dyn Embedder,
    texts: &[String],
) -> Result<Vec<Embedding>, EmbedError> {
    match embedder.embed(texts, EmbeddingPurpose::Passage).await {
        Err(EmbedError::Refused(_) | EmbedError::Unusable(_)) => {}
        made => return made,
    }
    let any = embedder.embed(&[ANY_TEXT.to_owned()], EmbeddingPurpose::Passage).await?;
    let dimensions = any.first().map_or(1, Embedding::dimensions);
    let mut made = Vec::with_capacity(texts.len());
    // `parts` is a stack: the halves are pushed in reverse order.
    let mut parts = match texts.len() {
        0 | 1 => vec![texts],
        many => vec![&texts[many / 2..], &texts[..many / 2]],
    };
    while let Some(part) = parts.pop() {
        match embedder.embed(part, EmbeddingPurpose::Passage).await {
            Ok(vectors) => made.extend(vectors),
            Err(away @ EmbedError::Away { .. }) => return Err(away),
            Err(_) if part.len() > 1 => {
                let (before, after) = part.split_at(part.len() / 2);
                parts.extend([after, before]);
            }
            Err(why) => {
                tracing::warn!(model = embedder.model(), "cannot embed a passage: {why}");
                made.push(Embedding::nowhere(dimensions));
            }
        }
    }
    Ok(made)
}

impl EmbedError {
    pub fn away(why: impl Into<String>) -> Self {
        Self::Away { why: why.into(), again: None }
    }
}

impl Embedding {
    /// Normalizes the vector.
    pub fn of(mut numbers: Vec<f32>) -> Result<Self, EmbeddingVectorError> {
        if numbers.is_empty() {
            return Err(EmbeddingVectorError::Empty);
        }
        if numbers.iter().any(|number| !number.is_finite()) {
            return Err(EmbeddingVectorError::NotFinite);
        }
        // In 64 bits: squares of large numbers stay finite, and those of small ones above zero.
        let length = numbers.iter().map(|&number| f64::from(number).powi(2)).sum::<f64>().sqrt();
        if length == 0.0 {
            return Err(EmbeddingVectorError::Zero);
        }
        for number in &mut numbers {
            *number = (f64::from(*number) / length) as f32;
        }
        Ok(Self { numbers })
    }

    /// For a passage that the model cannot embed: close to nothing in particular, so that only
    /// full-text search finds it.
    pub fn nowhere(dimensions: usize) -> Self {
        let dimensions = dimensions.max(1);
        let number = (1.0 / (dimensions as f64).sqrt()) as f32;
        Self { numbers: vec![number; dimensions] }
    }

    pub fn numbers(&self) -> &[f32] {
        &self.numbers
    }

    pub fn into_numbers(self) -> Vec<f32> {
        self.numbers
    }

    pub fn dimensions(&self) -> usize {
        self.numbers.len()
    }

    /// Cosine similarity: 1 is the same direction. Meaningless across models.
    pub fn nearness(&self, other: &Self) -> f32 {
        self.numbers.iter().zip(&other.numbers).map(|(one, two)| one * two).sum()
    }
}

#[cfg(test)]
mod tests;
