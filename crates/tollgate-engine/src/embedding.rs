//! What a model of meanings has to do: make a direction of a text, so that texts of like meaning
//! point alike. Called by the memory; knows neither it nor where such models are served.

use std::time::Duration;

use async_trait::async_trait;

/// An endpoint or a model in this process.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Under which its vectors are kept: another name, and nothing can be compared.
    fn model(&self) -> &str;

    /// One for each text, in their order, however many there are. A question has to be answered
    /// soon or not at all; passages may take their time. Dropping the future gives it up.
    async fn embed(
        &self,
        texts: &[String],
        purpose: EmbeddingPurpose,
    ) -> Result<Vec<Embedding>, EmbedError>;
}

/// Some models want to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EmbeddingPurpose {
    /// Something to be found.
    Passage,
    /// Something that looks for passages, while somebody waits.
    Question,
}

/// What a text means to a model. Invariant: of length 1, at least one number, all of them finite.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    numbers: Vec<f32>,
}

/// Why there is no embedding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// It cannot be reached, is silent or has too much to do: later it may be otherwise.
    #[error("{why}")]
    Away {
        why: String,
        /// Not sooner, if that is known.
        again: Option<Duration>,
    },
    /// It will not, and asking again changes nothing until somebody changes something.
    #[error("{0}")]
    Refused(String),
    /// It answered with what cannot be used, or can make nothing of the text.
    #[error("{0}")]
    Unusable(String),
}

/// Numbers that point nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddingVectorError {
    #[error("the embedding is empty")]
    Empty,
    #[error("the embedding contains NaN")]
    NotFinite,
    #[error("the embedding is all zeros")]
    Zero,
}

/// Sent to find out whether a model refuses one text, or everything.
const ANY_TEXT: &str = "memory";

/// Like [`Embedder::embed`], for passages: one that the model refuses does not hold up the others.
/// It points nowhere then. Fails where the model refuses whatever it is given.
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
    // The next part is the last one here: halves are put there the other way round.
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
    /// Brings the vector to length 1.
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

    /// For a passage of which a model can make nothing: near to nothing in particular, so that it
    /// is found by its words only.
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

    /// The cosine of the angle between two: 1 is the same. Of two models it says nothing.
    pub fn nearness(&self, other: &Self) -> f32 {
        self.numbers.iter().zip(&other.numbers).map(|(one, two)| one * two).sum()
    }
}

#[cfg(test)]
mod tests;
