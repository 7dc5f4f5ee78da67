//! What all webhooks share: bodies of senders that are not known yet, and refusals that are counted.

use std::net::IpAddr;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::request::Parts;
use http::{Extensions, StatusCode};

use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;
use crate::auth::ConnectionPeer;
use crate::body;
use crate::limits::Limits;

/// Platforms send their bodies at once.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads a JSON body of at most so many bytes.
pub(crate) async fn read_json(
    front: &AppState,
    sent: &Parts,
    body: Body,
    most: usize,
) -> Result<Bytes, ApiError> {
    let limits = with_body_limit(&front.limits, most);
    let reading = body::json(sent, body, &limits);
    front.unproven.read(peer_address(&sent.extensions), reading).await
}

/// The same of a form without files.
pub(crate) async fn read_form(
    front: &AppState,
    sent: &Parts,
    body: Body,
    most: usize,
) -> Result<Bytes, ApiError> {
    let limits = with_body_limit(&front.limits, most);
    let reading = body::url_encoded(sent, body, &limits);
    front.unproven.read(peer_address(&sent.extensions), reading).await
}

fn with_body_limit(limits: &Limits, most: usize) -> Limits {
    let body_timeout = limits.body_timeout.min(BODY_TIMEOUT);
    Limits { body_bytes: limits.body_bytes.min(most), body_timeout, ..limits.clone() }
}

pub(crate) fn signature_error(why: impl Into<String>) -> ApiError {
    ApiError::with_detail(StatusCode::FORBIDDEN, "bad_signature", why.into())
}

pub(crate) fn peer_address(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get::<ConnectionPeer>().and_then(|peer| peer.address)
}

/// Answers a refused request. Addresses that try signatures are slowed down, as for keys.
pub(crate) fn refuse(front: &AppState, from: Option<IpAddr>, problem: ApiError) -> Response {
    let (problem, refusal) = front.refused.judge(problem, from, front.clock.now());
    let mut response = problem.response(ApiErrorFormat::OpenAi);
    if let Some(refusal) = refusal {
        response.extensions_mut().insert(refusal);
    }
    response
}
