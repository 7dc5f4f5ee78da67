//! HTTP-level errors: problems of a request that are found before its content is read.
//!
//! Each part of the API has its own format: JSON-RPC on `/mcp`, each chat API's format on its
//! routes, OpenAI's on the rest of `/v1`, otherwise RFC 9457.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};
use tollgate_core::lease::RevokedError;
use tollgate_core::rate::whole_seconds;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::error::{LlmError, LlmErrorKind};
use tollgate_llm::format;
use tollgate_mcp::answer_budget;
use tollgate_mcp::envelope::write;
use tollgate_mcp::error_code::{self, JsonRpcError};

use crate::gemini_route;

#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    /// Stable, for programs.
    pub(crate) code: &'static str,
    pub(crate) detail: Cow<'static, str>,
    /// Further members of the JSON object.
    more: Option<Arc<Map<String, Value>>>,
    /// When a retry makes sense.
    pub(crate) retry_after: Option<Duration>,
}

/// Error code of a response, for the code that handles the response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ApiErrorCode(pub(crate) &'static str);

/// Limit on input that an error message repeats, in characters.
pub(crate) const MAX_ECHOED_CHARS: usize = 80;

/// Response to a request whose handler panicked.
pub(crate) const FAULT: ApiError = ApiError::new(
    StatusCode::INTERNAL_SERVER_ERROR,
    "internal_error",
    "the gateway failed on this request (internal error)",
);

/// The gateway is shutting down.
pub(crate) const STOPPING: ApiError = ApiError::new(
    StatusCode::SERVICE_UNAVAILABLE,
    "stopping",
    "the gateway is shutting down; connect again later",
)
.later(Duration::from_secs(1));

/// The answer is complete, but there is no memory to hold it until the client has read it.
pub(crate) const NO_ROOM_FOR_ANSWER: ApiError = ApiError::new(
    StatusCode::SERVICE_UNAVAILABLE,
    "no_room_for_answer",
    "other large answers use the available memory (`limits.memory_mb`); try again in a moment",
)
.later(answer_budget::RETRY_AFTER);

/// Format of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApiErrorFormat {
    JsonRpc,
    OpenAi,
    Anthropic,
    Gemini,
    ProblemDetails,
}

impl ApiErrorFormat {
    pub(crate) fn of(path: &str) -> Self {
        let is_operation = path == "/mcp/status" || path.starts_with("/mcp/test/");
        if (path == "/mcp" || path.starts_with("/mcp/")) && !is_operation {
            Self::JsonRpc
        } else if path == "/v1/messages" || path.starts_with("/v1/messages/") {
            Self::Anthropic
        } else if gemini_route::is_gemini(path) || path.trim_start_matches('/').starts_with("ws/") {
            Self::Gemini
        } else if path == "/v1" || path.starts_with("/v1/") {
            Self::OpenAi
        } else {
            Self::ProblemDetails
        }
    }
}

/// An error that a handler returns to a client of OpenAI's API.
#[derive(Debug)]
pub(crate) struct OpenAiApiError(ApiError);

impl OpenAiApiError {
    pub(crate) fn code(&self) -> &'static str {
        self.0.code
    }
}

impl From<ApiError> for OpenAiApiError {
    fn from(problem: ApiError) -> Self {
        Self(problem)
    }
}

impl IntoResponse for OpenAiApiError {
    fn into_response(self) -> Response {
        self.0.response(ApiErrorFormat::OpenAi)
    }
}

impl ApiError {
    pub(crate) const fn new(status: StatusCode, code: &'static str, detail: &'static str) -> Self {
        Self { status, code, detail: Cow::Borrowed(detail), retry_after: None, more: None }
    }

    pub(crate) fn with_detail(status: StatusCode, code: &'static str, detail: String) -> Self {
        Self { status, code, detail: Cow::Owned(detail), retry_after: None, more: None }
    }

    /// The caller's credential was revoked while the request ran.
    pub(crate) fn from_revocation(why: &RevokedError) -> Self {
        Self::with_detail(StatusCode::UNAUTHORIZED, "revoked", format!("stopped: {why}"))
    }

    /// Adds members, in formats that allow them (RFC 9457).
    pub(crate) fn with(self, more: Map<String, Value>) -> Self {
        Self { more: Some(Arc::new(more)), ..self }
    }

    pub(crate) const fn later(mut self, retry_after: Duration) -> Self {
        self.retry_after = Some(retry_after);
        self
    }

    pub(crate) fn response(&self, style: ApiErrorFormat) -> Response {
        let media = HeaderValue::from_static(match style {
            ApiErrorFormat::ProblemDetails => "application/problem+json",
            ApiErrorFormat::JsonRpc
            | ApiErrorFormat::OpenAi
            | ApiErrorFormat::Anthropic
            | ApiErrorFormat::Gemini => "application/json",
        });
        let text = self.in_style(style);
        let mut response = (self.status, [(header::CONTENT_TYPE, media)], text).into_response();
        if let Some(wait) = self.retry_after {
            retry_after(response.headers_mut(), wait);
        }
        response.extensions_mut().insert(ApiErrorCode(self.code));
        response
    }

    /// The body, as JSON.
    pub(crate) fn in_style(&self, style: ApiErrorFormat) -> String {
        match style {
            ApiErrorFormat::JsonRpc => write::error_to_client(None, &self.json_rpc()),
            ApiErrorFormat::OpenAi => self.open_ai(),
            ApiErrorFormat::Anthropic => self.in_dialect(Dialect::Anthropic),
            ApiErrorFormat::Gemini => self.in_dialect(Dialect::Gemini),
            ApiErrorFormat::ProblemDetails => self.details(),
        }
    }

    pub(crate) fn json_rpc(&self) -> JsonRpcError {
        let code = match self.status {
            // The request itself is valid.
            StatusCode::TOO_MANY_REQUESTS => error_code::INTERNAL_ERROR,
            status if status.is_server_error() => error_code::INTERNAL_ERROR,
            _ => error_code::INVALID_REQUEST,
        };
        JsonRpcError::new(code, &*self.detail)
    }

    pub(crate) fn open_ai(&self) -> String {
        let kind = match self.status {
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        let error = json!({"message": self.detail, "type": kind, "param": null, "code": self.code});
        json!({ "error": error }).to_string()
    }

    fn in_dialect(&self, dialect: Dialect) -> String {
        let kind = match self.status {
            StatusCode::UNAUTHORIZED => LlmErrorKind::Unauthenticated,
            StatusCode::FORBIDDEN => LlmErrorKind::Forbidden,
            StatusCode::NOT_FOUND => LlmErrorKind::UnknownModel,
            StatusCode::TOO_MANY_REQUESTS => LlmErrorKind::RateLimited,
            StatusCode::SERVICE_UNAVAILABLE => LlmErrorKind::Overloaded,
            status if status.is_server_error() => LlmErrorKind::Internal,
            _ => LlmErrorKind::Invalid,
        };
        let failure = LlmError::new(kind, self.detail.clone()).after(self.retry_after);
        format::of(dialect).write_error(&failure).to_string()
    }

    fn details(&self) -> String {
        let title = self.status.canonical_reason().unwrap_or("Error");
        let status = self.status.as_u16();
        let mut details = json!({"type": "about:blank", "title": title, "status": status,
               "code": self.code, "detail": self.detail});
        for (key, value) in self.more.iter().flat_map(|more| more.iter()) {
            details[key] = value.clone();
        }
        details.to_string()
    }
}

/// `Retry-After`, in seconds.
pub(crate) fn retry_after(headers: &mut HeaderMap, wait: Duration) {
    headers.insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
}
