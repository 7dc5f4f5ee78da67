//! For whoever runs the gateway: what happens beside the answers to calls, measuring tools, and
//! figures to share.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::stream::{self, StreamExt as _};
use http::{HeaderValue, StatusCode, Uri, header};
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tollgate_engine::calls::{Event as CallEvent, Listening};

use crate::events::{self, Event};
use crate::fields::{check_query, parameter};
use crate::mcp::Front;
use crate::ops::for_observers;
use crate::problem::{Problem, Style};

pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod audit;
mod calibrate;
pub(crate) mod calls;
pub(crate) mod config;
mod connect;
mod import;
pub(crate) mod keys;
pub(crate) mod login;
pub(crate) mod memory;
mod notice;
mod operated;
pub(crate) mod overview;
mod registry;
pub(crate) mod servers;
pub(crate) mod sessions;
mod telemetry;
pub(crate) mod tools;

pub(crate) use calibrate::calibrate;
pub(crate) use connect::connect;
pub(crate) use import::import;
pub(crate) use registry::registry;
pub(crate) use telemetry::telemetry;

/// `GET /api/events`: slow calls, late results, live sessions, tools that moved or are doubted, servers
/// that come and go, and calls where they are asked for, from now on.
pub(crate) async fn events(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let allowed = for_observers(&front, &sent).and_then(|()| wants_calls(&sent.uri));
    let allowed = allowed.and_then(|calls| front.pressure.take_stream().map(|()| calls));
    let calls = match allowed {
        Ok(Wanted::Calls) => Some(front.gate.calls().listen()),
        Ok(Wanted::Notices) => None,
        Err(problem) => return problem.response(Style::ProblemDetails),
    };
    let listening = (front.gate.notices(), calls, Arc::clone(&front));
    let told = stream::unfold(listening, |(mut notices, mut calls, front)| async move {
        let event = tokio::select! {
            () = front.stop.cancelled() => return None,
            heard = notices.recv() => match heard {
                Ok(notice) => notice::event(&notice),
                Err(RecvError::Lagged(count)) => missed(count),
                Err(RecvError::Closed) => return None,
            },
            heard = next(&mut calls) => match heard {
                Ok(event) => calls::event(&event, front.clock.now()),
                Err(count) => missed(count),
            },
        };
        Some((event, (notices, calls, front)))
    });
    let last = stream::once(async { Event::new("stopping", &json!({})) });
    events::listening(told.chain(last), front.limits.keep_alive)
}

/// What a stream of events tells.
enum Wanted {
    Notices,
    /// Calls as well.
    Calls,
}

fn wants_calls(uri: &Uri) -> Result<Wanted, Problem> {
    check_query(uri, &["calls"])?;
    match parameter(uri, "calls").as_deref() {
        None | Some("false") => Ok(Wanted::Notices),
        Some("" | "true") => Ok(Wanted::Calls),
        Some(_) => {
            let detail = "`calls` is true or false";
            Err(Problem::new(StatusCode::BAD_REQUEST, "bad_query", detail))
        }
    }
}

async fn next(calls: &mut Option<Listening>) -> Result<CallEvent, u64> {
    match calls {
        Some(calls) => calls.next().await,
        None => std::future::pending().await,
    }
}

fn missed(count: u64) -> Event {
    Event::new("missed", &json!({ "count": count }))
}

/// The answer of a route below `/api`. Whatever stands in it, no browser takes it for a page.
fn told(answer: Result<Response, Problem>) -> Response {
    let mut response = answer.unwrap_or_else(|problem| problem.response(Style::ProblemDetails));
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}
