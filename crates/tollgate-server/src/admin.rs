//! Admin API: the event stream, calibration of tools, and telemetry figures to share. The other
//! routes below `/api` are in the submodules.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::stream::{self, StreamExt as _};
use http::request::Parts;
use http::{HeaderValue, StatusCode, Uri, header};
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tollgate_engine::calls::{CallEventReceiver, Event as CallEvent};

use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;
use crate::body::holding;
use crate::events::{self, ServerSentEvent};
use crate::fields::{check_query, parameter};
use crate::in_flight::InFlightPermit;
use crate::ops::for_observers;

pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod calibrate;
pub(crate) mod calls;
pub(crate) mod config;
mod config_common;
mod connect;
mod import;
pub(crate) mod keys;
pub(crate) mod login;
pub(crate) mod memory;
pub(crate) mod models;
pub(crate) mod notice;
pub(crate) mod overview;
mod registry;
pub(crate) mod servers;
pub(crate) mod sessions;
mod telemetry;
pub(crate) mod tools;
pub(crate) mod usage;

pub(crate) use calibrate::calibrate;
pub(crate) use connect::connect;
pub(crate) use import::import;
pub(crate) use registry::registry;
pub(crate) use telemetry::telemetry;

/// `GET /api/events`: slow calls, late results, realtime sessions, tools that changed tier or are
/// doubted, server state changes, and, on request, calls. Starts with the next event.
pub(crate) async fn events(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let allowed = for_observers(&front, &sent).and_then(|()| wants_calls(&sent.uri));
    let allowed = allowed.and_then(|calls| front.pressure.take_stream().map(|()| calls));
    let allowed = allowed.and_then(|calls| Ok((calls, enter_operator_stream(&front, &sent)?)));
    let (calls, permit) = match allowed {
        Ok((AdminEventScope::Calls, permit)) => (Some(front.gate.calls().listen()), permit),
        Ok((AdminEventScope::Notices, permit)) => (None, permit),
        Err(problem) => return problem.response(ApiErrorFormat::ProblemDetails),
    };
    let listening = (front.gate.notices(), calls, Arc::clone(&front));
    let events = stream::unfold(listening, |(mut notices, mut calls, front)| async move {
        let event = tokio::select! {
            () = front.stop.cancelled() => return None,
            heard = notices.recv() => match heard {
                Ok(notice) => notice::event(&notice),
                Err(RecvError::Lagged(count)) => missed_event(&front, count),
                Err(RecvError::Closed) => return None,
            },
            heard = next(&mut calls) => match heard {
                Ok(event) => calls::event(&event, front.clock.now()),
                Err(count) => missed_event(&front, count),
            },
        };
        Some((event, (notices, calls, front)))
    });
    let last = stream::once(async { ServerSentEvent::new("stopping", &json!({})) });
    let response = events::listening(events.chain(last), front.limits.keep_alive);
    response.map(|body| holding(body, permit))
}

/// A permit for a stream that costs something for every call.
fn enter_operator_stream(front: &AppState, sent: &Parts) -> Result<InFlightPermit, ApiError> {
    front.operator_streams.enter_operator(front.keys.visitor(sent)?.principal)
}

/// The events that a stream contains.
enum AdminEventScope {
    Notices,
    /// Calls as well as notices.
    Calls,
}

fn wants_calls(uri: &Uri) -> Result<AdminEventScope, ApiError> {
    check_query(uri, &["calls"])?;
    match parameter(uri, "calls").as_deref() {
        None | Some("false") => Ok(AdminEventScope::Notices),
        Some("" | "true") => Ok(AdminEventScope::Calls),
        Some(_) => {
            let detail = "`calls` is true or false";
            Err(ApiError::new(StatusCode::BAD_REQUEST, "bad_query", detail))
        }
    }
}

async fn next(calls: &mut Option<CallEventReceiver>) -> Result<CallEvent, u64> {
    match calls {
        Some(calls) => calls.next().await,
        None => std::future::pending().await,
    }
}

/// A reader that is too slow loses the oldest events, and holds nobody up.
fn missed_event(front: &AppState, count: u64) -> ServerSentEvent {
    front.missed_events.fetch_add(count, Ordering::Relaxed);
    ServerSentEvent::new("missed", &json!({ "count": count }))
}

/// The response of a route below `/api`. Browsers must never render it as a page.
fn api_response(answer: Result<Response, ApiError>) -> Response {
    let mut response =
        answer.unwrap_or_else(|problem| problem.response(ApiErrorFormat::ProblemDetails));
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}
