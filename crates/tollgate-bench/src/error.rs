//! Why a measurement could not be made. A missed target is none of these.

use std::io;
use std::time::Duration;

use tollgate_llm::window::ContextTooLongError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Http(#[from] hyper::Error),
    /// What makes a figure worthless, and the run fail.
    #[error("wrong answer from {from}: {why}: {shown}")]
    WrongAnswer { from: String, why: &'static str, shown: String },
    #[error("{what} took longer than {limit:?}")]
    Stuck { what: String, limit: Duration },
    #[error("{0}")]
    Process(String),
    #[error("{0}")]
    TooLong(#[from] ContextTooLongError),
    #[error("{0}")]
    Memory(#[from] tollgate_store::memory::MemoryError),
}

impl From<tollgate_core::memory::MemoryInputError> for BenchError {
    fn from(invalid: tollgate_core::memory::MemoryInputError) -> Self {
        Self::Memory(invalid.into())
    }
}

impl BenchError {
    /// The answer is shown as far as it helps.
    pub(crate) fn wrong(from: &str, why: &'static str, answer: &[u8]) -> Self {
        let shown = String::from_utf8_lossy(&answer[..answer.len().min(300)]).into_owned();
        Self::WrongAnswer { from: from.to_owned(), why, shown }
    }
}

/// Fails when `work` takes longer than `limit`.
pub(crate) async fn within<T>(
    limit: Duration,
    what: &str,
    work: impl Future<Output = Result<T, BenchError>>,
) -> Result<T, BenchError> {
    let stuck = |_| BenchError::Stuck { what: what.to_owned(), limit };
    tokio::time::timeout(limit, work).await.map_err(stuck)?
}
