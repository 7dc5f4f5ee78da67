//! What the webhooks of all platforms share: bodies of bounded size, and refusals that are counted.

use std::net::IpAddr;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::request::Parts;
use http::{Extensions, StatusCode};

use super::signature::SignatureError;
use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;
use crate::auth::ConnectionPeer;
use crate::body;
use crate::limits::Limits;

/// Limit on a webhook's body. It is read before its sender is known; platforms send transcripts.
const MAX_BODY_BYTES: usize = 2 << 20;
/// Limit on a form, which has a few short fields.
const MAX_FORM_BYTES: usize = 64 << 10;

pub(super) async fn read_json(
    sent: &Parts,
    body: Body,
    limits: &Limits,
) -> Result<Bytes, ApiError> {
    body::json(sent, body, &with_body_limit(limits, MAX_BODY_BYTES)).await
}

pub(super) async fn read_form(
    sent: &Parts,
    body: Body,
    limits: &Limits,
) -> Result<Bytes, ApiError> {
    body::url_encoded(sent, body, &with_body_limit(limits, MAX_FORM_BYTES)).await
}

fn with_body_limit(limits: &Limits, most: usize) -> Limits {
    Limits { body_bytes: limits.body_bytes.min(most), ..limits.clone() }
}

pub(super) fn signature_error(error: SignatureError) -> ApiError {
    ApiError::with_detail(StatusCode::FORBIDDEN, "bad_signature", error.to_string())
}

pub(super) fn bad_message(why: &str) -> ApiError {
    let detail = format!("this is not a message of the platform: {why}");
    ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_message", detail)
}

pub(super) fn peer_address(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get::<ConnectionPeer>().and_then(|peer| peer.address)
}

/// Answers a refused request. Addresses that try signatures are slowed down, as for keys.
pub(super) fn refuse(front: &AppState, from: Option<IpAddr>, problem: ApiError) -> Response {
    let (problem, refusal) = front.refused.judge(problem, from, front.clock.now());
    let mut response = problem.response(ApiErrorFormat::OpenAi);
    if let Some(refusal) = refusal {
        response.extensions_mut().insert(refusal);
    }
    response
}
