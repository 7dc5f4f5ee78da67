//! Why there is no answer, whoever's fault it is. Each dialect has its own words for it.

use std::time::Duration;

/// Characters of what a stranger wrote that a message says back.
pub const MAX_QUOTED_CHARS: usize = 80;

/// A request that got no answer, or a stream that broke off.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LlmError {
    pub kind: LlmErrorKind,
    /// For people: names the thing and what to do.
    pub message: String,
    /// Where in the request it is, such as `messages[2].role`.
    pub at: Option<String>,
    /// Not sooner, if that is known.
    pub retry_after: Option<Duration>,
    pub repeat: ResendSafety,
}

/// Whether whoever sends the request again may do harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResendSafety {
    Harmless,
    /// Tools were run for it, and would be run again.
    RunsToolsAgain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LlmErrorKind {
    /// The request is wrong.
    Invalid,
    /// Nobody here is called so.
    UnknownModel,
    /// Does not fit into the context window of any model.
    TooLong,
    /// No key, or a wrong one.
    Unauthenticated,
    /// Not allowed.
    Forbidden,
    /// Too often.
    RateLimited,
    /// The gateway or the provider has too much to do.
    Overloaded,
    /// The provider cannot be reached, answers nonsense, or refuses the gateway's own key.
    Provider,
    /// The provider is silent.
    Timeout,
    /// A fault of the gateway.
    Internal,
}

impl LlmErrorKind {
    /// Of the answer in HTTP.
    pub fn status(self) -> u16 {
        match self {
            Self::Invalid | Self::TooLong => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::UnknownModel => 404,
            Self::RateLimited => 429,
            Self::Internal => 500,
            Self::Provider => 502,
            Self::Overloaded => 503,
            Self::Timeout => 504,
        }
    }

    /// Stable, for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Invalid => "invalid_request",
            Self::UnknownModel => "model_not_found",
            Self::TooLong => "context_length_exceeded",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::RateLimited => "rate_limit_exceeded",
            Self::Overloaded => "overloaded",
            Self::Provider => "provider_error",
            Self::Timeout => "provider_timeout",
            Self::Internal => "internal_error",
        }
    }
}

impl LlmError {
    pub fn new(kind: LlmErrorKind, message: impl Into<String>) -> Self {
        let repeat = ResendSafety::Harmless;
        Self { kind, message: message.into(), at: None, retry_after: None, repeat }
    }

    /// The request is wrong at this place.
    pub fn invalid(at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { at: Some(at.into()), ..Self::new(LlmErrorKind::Invalid, message) }
    }

    #[must_use]
    pub fn after(self, retry_after: Option<Duration>) -> Self {
        Self { retry_after, ..self }
    }
}
