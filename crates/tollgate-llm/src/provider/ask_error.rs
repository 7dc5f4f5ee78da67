//! Error of one model query attempt, and whether a retry makes sense.

use std::time::Duration;

use crate::error::LlmError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{failure}")]
pub struct AskError {
    pub failure: LlmError,
    pub again: RetryTarget,
}

/// Which model to try after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryTarget {
    /// The same model may succeed, after the provider's retry delay.
    SameModel { after: Option<Duration> },
    /// This model will keep failing; another one may succeed.
    OtherModel,
    /// The request is invalid for every model.
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
