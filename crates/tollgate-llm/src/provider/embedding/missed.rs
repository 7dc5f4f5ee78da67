//! Why an attempt brought no vectors, and what whoever asked is told.

use tollgate_engine::embedding::EmbedError;

use super::super::ask_error::{Again, AskError};
use super::super::label::Label;
use crate::failure::{Failure, Kind};
use crate::format::Malformed;

pub(super) enum Missed {
    /// No answer came, or a refusal.
    Asked(AskError),
    /// An answer that cannot be used.
    Read(Malformed),
}

impl From<AskError> for Missed {
    fn from(error: AskError) -> Self {
        Self::Asked(error)
    }
}

impl From<Malformed> for Missed {
    fn from(malformed: Malformed) -> Self {
        Self::Read(malformed)
    }
}

impl Missed {
    pub(super) fn told(self, label: &Label) -> EmbedError {
        let error = match self {
            Self::Asked(error) => error,
            Self::Read(malformed) => {
                let what = format!("answers nonsense: {}", label.quoted(&malformed.0));
                return EmbedError::Unusable(label.of_model(&what));
            }
        };
        let Failure { kind, message: why, retry_after: again, .. } = error.failure;
        let passes = matches!(kind, Kind::RateLimited | Kind::Overloaded | Kind::Timeout)
            || matches!(error.again, Again::SameModel { .. });
        match passes {
            true => EmbedError::Away { why, again },
            false => EmbedError::Refused(why),
        }
    }
}

/// There is no one status for it, and some servers call it a failure of their own.
pub(super) fn is_too_long(failure: &Failure) -> bool {
    let message = failure.message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    match failure.kind {
        Kind::TooLong => true,
        Kind::Invalid | Kind::Provider => says(&["too large", "too long", "maximum"]),
        _ => false,
    }
}
