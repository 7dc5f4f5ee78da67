//! For whoever runs the gateway: what happens beside the answers to calls, measuring tools, and
//! figures to share.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::stream;
use http::{HeaderValue, header};
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;

use crate::events::{self, Event};
use crate::mcp::Front;
use crate::ops::for_observers;
use crate::problem::{Problem, Style};

pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod audit;
mod calibrate;
pub(crate) mod config;
pub(crate) mod keys;
pub(crate) mod memory;
mod notice;
mod operated;
pub(crate) mod servers;
pub(crate) mod sessions;
mod telemetry;
pub(crate) mod tools;

pub(crate) use calibrate::calibrate;
pub(crate) use telemetry::telemetry;

/// `GET /api/events`: slow calls, late results, live sessions, tools that moved or are doubted, from
/// now on.
pub(crate) async fn events(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    if let Err(problem) = for_observers(&front, &sent) {
        return problem.response(Style::ProblemDetails);
    }
    if let Err(problem) = front.pressure.take_stream() {
        return problem.response(Style::ProblemDetails);
    }
    let listening = (front.gate.notices(), front.stop.clone());
    let told = stream::unfold(listening, |(mut notices, stop)| async move {
        let heard = tokio::select! {
            () = stop.cancelled() => return None,
            heard = notices.recv() => heard,
        };
        let event = match heard {
            Ok(notice) => notice::event(&notice),
            Err(RecvError::Lagged(count)) => Event::new("missed", &json!({ "count": count })),
            Err(RecvError::Closed) => return None,
        };
        Some((event, (notices, stop)))
    });
    events::response(told, front.limits.keep_alive)
}

/// The answer of a route below `/api`. Whatever stands in it, no browser takes it for a page.
fn told(answer: Result<Response, Problem>) -> Response {
    let mut response = answer.unwrap_or_else(|problem| problem.response(Style::ProblemDetails));
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}
