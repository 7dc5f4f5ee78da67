//! Errors of the chat APIs, and their translation into the caller's dialect.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use tollgate_engine::gate::UnknownAgentError;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::error::{LlmError, LlmErrorKind, ResendSafety};
use tollgate_llm::format;

use crate::api_error::{ApiError, ApiErrorFormat, retry_after};

/// Official SDKs wait for `retry-after` up to a minute.
const MAX_CLIENT_WAIT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) enum ChatApiError {
    /// An HTTP-level error of the front, found before the content is read.
    Problem(ApiError),
    Failure(LlmError),
}

impl ChatApiError {
    pub(crate) fn response(&self, dialect: Dialect) -> Response {
        match self {
            Self::Problem(problem) => problem.response(style(dialect)),
            Self::Failure(failure) => failure_response(failure, dialect),
        }
    }
}

fn style(dialect: Dialect) -> ApiErrorFormat {
    match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses => ApiErrorFormat::OpenAi,
        Dialect::Anthropic => ApiErrorFormat::Anthropic,
        Dialect::Gemini => ApiErrorFormat::Gemini,
    }
}

fn failure_response(failure: &LlmError, dialect: Dialect) -> Response {
    let status = StatusCode::from_u16(failure.kind.status()).unwrap_or(StatusCode::BAD_GATEWAY);
    let json = HeaderValue::from_static("application/json");
    let body = format::of(dialect).write_error(failure).to_string();
    let mut response = (status, [(header::CONTENT_TYPE, json)], body).into_response();
    if let Some(wait) = failure.retry_after {
        retry_after(response.headers_mut(), wait);
    }
    // SDKs of both vendors obey this header. Otherwise they would retry by themselves.
    if failure.repeat == ResendSafety::RunsToolsAgain || is_limited_for_long(failure) {
        response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
    }
    response
}

/// A limit that is reached for longer than clients wait, or for ever.
fn is_limited_for_long(failure: &LlmError) -> bool {
    failure.kind == LlmErrorKind::ModelLimit
        && failure.retry_after.is_none_or(|wait| wait > MAX_CLIENT_WAIT)
}

impl From<ApiError> for ChatApiError {
    fn from(problem: ApiError) -> Self {
        Self::Problem(problem)
    }
}

impl From<LlmError> for ChatApiError {
    fn from(failure: LlmError) -> Self {
        Self::Failure(failure)
    }
}

impl From<UnknownAgentError> for ChatApiError {
    fn from(unknown: UnknownAgentError) -> Self {
        Self::Problem(unknown.into())
    }
}
