//! What one attempt to ask a model came to, and whether another makes sense.

use std::time::Duration;

use crate::error::LlmError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{failure}")]
pub struct AskError {
    pub failure: LlmError,
    pub again: RetryTarget,
}

/// Whom to ask after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryTarget {
    /// The same model may do better, not sooner than the provider says.
    SameModel { after: Option<Duration> },
    /// This model will not; another one may.
    OtherModel,
    /// The request is wrong, whoever is asked.
    Never,
}

impl AskError {
    pub(super) fn never(failure: LlmError) -> Self {
        Self { failure, again: RetryTarget::Never }
    }

    pub(super) fn other_model(failure: LlmError) -> Self {
        Self { failure, again: RetryTarget::OtherModel }
    }

    pub(super) fn same_model(failure: LlmError) -> Self {
        let again = RetryTarget::SameModel { after: failure.retry_after };
        Self { failure, again }
    }
}
