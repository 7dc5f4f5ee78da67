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
    async fn embed(&self, texts: &[String], purpose: Purpose)
    -> Result<Vec<Embedding>, EmbedError>;
}

/// Some models want to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
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
pub enum Directionless {
    #[error("a vector without numbers")]
    Empty,
    #[error("a vector with a number that is none")]
    NotFinite,
    #[error("a vector of nothing but zeros")]
    Zero,
}

impl EmbedError {
    pub fn away(why: impl Into<String>) -> Self {
        Self::Away { why: why.into(), again: None }
    }
}

impl Embedding {
    /// Brings the vector to length 1.
    pub fn of(mut numbers: Vec<f32>) -> Result<Self, Directionless> {
        if numbers.is_empty() {
            return Err(Directionless::Empty);
        }
        if numbers.iter().any(|number| !number.is_finite()) {
            return Err(Directionless::NotFinite);
        }
        // In 64 bits: squares of large numbers stay finite, and those of small ones above zero.
        let length = numbers.iter().map(|&number| f64::from(number).powi(2)).sum::<f64>().sqrt();
        if length == 0.0 {
            return Err(Directionless::Zero);
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
