//! Error of one embedding attempt, and its conversion for the caller.

use tollgate_engine::embedding::EmbedError;

use super::super::ask_error::{AskError, RetryTarget};
use super::super::label::ModelLabel;
use crate::error::{LlmError, LlmErrorKind};
use crate::format::MalformedResponseError;

pub(super) enum EmbedAttemptError {
    /// No response, or an error response.
    Request(AskError),
    /// A response that cannot be used.
    Read(MalformedResponseError),
}

impl From<AskError> for EmbedAttemptError {
    fn from(error: AskError) -> Self {
        Self::Request(error)
    }
}

impl From<MalformedResponseError> for EmbedAttemptError {
    fn from(malformed: MalformedResponseError) -> Self {
        Self::Read(malformed)
    }
}

impl EmbedAttemptError {
    pub(super) fn into_embed_error(self, label: &ModelLabel) -> EmbedError {
        let error = match self {
            Self::Request(error) => error,
            Self::Read(malformed) => {
                let what = format!("sent an invalid response: {}", label.quote(&malformed.0));
                return EmbedError::Unusable(label.of_model(&what));
            }
        };
        let LlmError { kind, message: why, retry_after: again, .. } = error.failure;
        let passes = matches!(
            kind,
            LlmErrorKind::RateLimited | LlmErrorKind::Overloaded | LlmErrorKind::Timeout
        ) || matches!(error.again, RetryTarget::SameModel { .. });
        if passes { EmbedError::Away { why, again } } else { EmbedError::Refused(why) }
    }
}

/// There is no common status for it, and some servers report it as an internal error.
pub(super) fn is_too_long(failure: &LlmError) -> bool {
    let message = failure.message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    match failure.kind {
        LlmErrorKind::TooLong => true,
        LlmErrorKind::Invalid | LlmErrorKind::Provider => {
            says(&["too large", "too long", "maximum"])
        }
        _ => false,
    }
}
