//! Why there is no answer, on its way into the words of the caller's dialect.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use tollgate_engine::gate::UnknownAgent;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::failure::{Failure, Repeat};
use tollgate_llm::format;

use crate::problem::{Problem, Style, retry_after};

#[derive(Debug)]
pub(crate) enum Refused {
    /// By the front, before anything is looked at.
    Problem(Problem),
    Failure(Failure),
}

impl Refused {
    pub(crate) fn response(&self, dialect: Dialect) -> Response {
        match self {
            Self::Problem(problem) => problem.response(style(dialect)),
            Self::Failure(failure) => failed(failure, dialect),
        }
    }
}

fn style(dialect: Dialect) -> Style {
    match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses => Style::OpenAi,
        Dialect::Anthropic => Style::Anthropic,
        Dialect::Gemini => Style::Gemini,
    }
}

fn failed(failure: &Failure, dialect: Dialect) -> Response {
    let status = StatusCode::from_u16(failure.kind.status()).unwrap_or(StatusCode::BAD_GATEWAY);
    let json = HeaderValue::from_static("application/json");
    let body = format::of(dialect).write_error(failure).to_string();
    let mut response = (status, [(header::CONTENT_TYPE, json)], body).into_response();
    if let Some(wait) = failure.retry_after {
        retry_after(response.headers_mut(), wait);
    }
    // Both vendors' libraries heed it, and would otherwise send the request again by themselves.
    if failure.repeat == Repeat::RunsToolsAgain {
        response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
    }
    response
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<UnknownAgent> for Refused {
    fn from(unknown: UnknownAgent) -> Self {
        Self::Problem(unknown.into())
    }
}
