//! LLM errors: why a request got no answer. Each dialect encodes them in its own format.

use std::time::Duration;

/// Maximum characters of foreign text quoted in an error message.
pub const MAX_QUOTED_CHARS: usize = 80;

/// A failed request, or a stream that broke off.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LlmError {
    pub kind: LlmErrorKind,
    /// For people: names the problem and what to do.
    pub message: String,
    /// Location in the request, such as `messages[2].role`.
    pub at: Option<String>,
    /// Minimum delay before a retry, if known.
    pub retry_after: Option<Duration>,
    pub repeat: ResendSafety,
}

/// Whether sending the request again may do harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResendSafety {
    Harmless,
    /// Tools have run for it, and would run again.
    RunsToolsAgain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LlmErrorKind {
    /// The request is invalid.
    Invalid,
    /// There is no model or agent with this name.
    UnknownModel,
    /// The request does not fit into the context window of any model.
    TooLong,
    /// Missing or wrong API key.
    Unauthenticated,
    /// Authenticated, but not permitted.
    Forbidden,
    /// Rate limit exceeded.
    RateLimited,
    /// A limit of the gateway on the use of models is reached; nothing was sent.
    ModelLimit,
    /// The gateway or the provider is overloaded.
    Overloaded,
    /// The provider is unreachable, sends malformed answers, or rejects the gateway's key.
    Provider,
    /// The provider did not answer in time.
    Timeout,
    /// A fault of the gateway itself.
    Internal,
}

impl LlmErrorKind {
    /// HTTP status of the error response.
    pub fn status(self) -> u16 {
        match self {
            Self::Invalid | Self::TooLong => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::UnknownModel => 404,
            Self::RateLimited | Self::ModelLimit => 429,
            Self::Internal => 500,
            Self::Provider => 502,
            Self::Overloaded => 503,
            Self::Timeout => 504,
        }
    }

    /// Stable error code for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Invalid => "invalid_request",
            Self::UnknownModel => "model_not_found",
            Self::TooLong => "context_length_exceeded",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::RateLimited => "rate_limit_exceeded",
            Self::ModelLimit => "model_limit_exceeded",
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

    /// The request is invalid at this location.
    pub fn invalid(at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { at: Some(at.into()), ..Self::new(LlmErrorKind::Invalid, message) }
    }

    #[must_use]
    pub fn after(self, retry_after: Option<Duration>) -> Self {
        Self { retry_after, ..self }
    }
}
