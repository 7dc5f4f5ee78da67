//! What one attempt to ask a model came to, and whether another makes sense.

use std::time::Duration;

use crate::failure::Failure;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{failure}")]
pub struct AskError {
    pub failure: Failure,
    pub again: Again,
}

/// Whom to ask after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The same model may do better, not sooner than the provider says.
    SameModel { after: Option<Duration> },
    /// This model will not; another one may.
    OtherModel,
    /// The request is wrong, whoever is asked.
    Never,
}

impl AskError {
    pub(super) fn never(failure: Failure) -> Self {
        Self { failure, again: Again::Never }
    }

    pub(super) fn other_model(failure: Failure) -> Self {
        Self { failure, again: Again::OtherModel }
    }

    pub(super) fn same_model(failure: Failure) -> Self {
        let again = Again::SameModel { after: failure.retry_after };
        Self { failure, again }
    }
}
