//! Why a passed-through response is not whole.

use std::time::Duration;

use tollgate_core::text::HumanDuration;

/// Why the rest of a response is missing.
#[derive(Debug, thiserror::Error)]
pub enum PassThroughError {
    #[error("the provider's response was interrupted: {0}")]
    Broken(#[from] hyper::Error),
    #[error("the provider sent nothing for {}", HumanDuration(*.0))]
    Silent(Duration),
    #[error("the provider's response ended before it began")]
    Empty,
    #[error("the provider's stream ended in the middle of an event")]
    Cut,
}
