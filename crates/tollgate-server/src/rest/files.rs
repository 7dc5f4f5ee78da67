//! `GET /v1/files/{id}`: a picture behind a link. Needs no key, because an `<img>` sends none: the
//! id is the credential, for a few minutes.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use tollgate_engine::builtin::file_links::LinkedFile;

use crate::api_error::{ApiError, ApiErrorFormat, NO_ROOM_FOR_ANSWER};
use crate::app_state::AppState;

/// The same for expired, revoked and invented ids.
const UNKNOWN: ApiError = ApiError::new(
    StatusCode::NOT_FOUND,
    "unknown_file",
    "there is no such file, or its link has expired; links open for some minutes",
);

const PENDING: ApiError = ApiError::new(
    StatusCode::SERVICE_UNAVAILABLE,
    "file_pending",
    "the picture is still being made; try again in a moment",
)
.later(Duration::from_secs(2));

/// A picture is shown and nothing else: no script runs, and the link goes nowhere.
const HEADERS: &[(&str, &str)] = &[
    ("content-disposition", "inline"),
    ("content-security-policy", "default-src 'none'; sandbox"),
    ("x-content-type-options", "nosniff"),
    ("cross-origin-resource-policy", "cross-origin"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "private, no-store"),
    ("x-robots-tag", "noindex"),
];

pub(crate) async fn file(State(front): State<Arc<AppState>>, Path(id): Path<String>) -> Response {
    let mut response = match front.gate.open_file(&id).await {
        LinkedFile::Unknown => UNKNOWN.response(ApiErrorFormat::OpenAi),
        LinkedFile::Pending => PENDING.response(ApiErrorFormat::OpenAi),
        LinkedFile::Busy => NO_ROOM_FOR_ANSWER.response(ApiErrorFormat::OpenAi),
        LinkedFile::Ready { media_type, content } => {
            let mut response = content.into_response();
            let media_type = HeaderValue::from_static(media_type);
            response.headers_mut().insert(header::CONTENT_TYPE, media_type);
            response
        }
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(*name, HeaderValue::from_static(value));
    }
    response
}
