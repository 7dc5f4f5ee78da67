//! `POST /api/servers/try`: a server that is not in the config is started aside, and what it says
//! and how it goes is told. It is ended before the last word.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::StatusCode;
use http::request::Parts;
use serde::Serialize;
use serde_json::json;
use tollgate_engine::gate::NotTried;
use tollgate_engine::upstream::{Offered, Step, Trial, Tried, Verdict};
use tollgate_mcp::Revision;

use super::super::operated::{operator, refused};
use super::super::told;
use super::read;
use crate::accept::Accepts;
use crate::body;
use crate::events::{self, Event};
use crate::fields::check_query;
use crate::mcp::Front;
use crate::operator::Wanted;
use crate::problem::{Problem, Style};

/// What it is called where it was given no name.
const NAMELESS: &str = "tried";
/// When one of those that are tried may be done.
const SOON: Duration = Duration::from_secs(5);

/// `POST /api/servers/try`
pub(crate) async fn trial(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let begun = async {
        let wanted = wanted(&front, &sent, body).await?;
        begin(&front, &sent, wanted).await
    };
    let trial = match begun.await {
        Ok(trial) => trial,
        Err(problem) => return told(Err(problem)),
    };
    if Accepts::read(&sent.headers) == Accepts::OnlyEvents {
        return match front.pressure.take_stream() {
            Ok(()) => streamed(&front, trial),
            Err(problem) => problem.response(Style::ProblemDetails),
        };
    }
    told(Ok(Json(ReportJson::from(finished(trial).await)).into_response()))
}

async fn wanted(front: &Front, sent: &Parts, body: Body) -> Result<Wanted, Problem> {
    operator(front, sent)?;
    check_query(&sent.uri, &[])?;
    let body = body::json(sent, body, &front.limits).await?;
    let (name, server) = read(&body)?;
    Ok(Wanted { name: name.unwrap_or_else(|| NAMELESS.to_owned()), server })
}

async fn begin(front: &Front, sent: &Parts, wanted: Wanted) -> Result<Trial, Problem> {
    let by = front.keys.visitor(sent)?.principal;
    let server = operator(front, sent)?.prove(wanted).await.map_err(|why| refused(&why))?;
    front.gate.try_out(server, &by).await.map_err(|why| match why {
        NotTried::Full => {
            let problem =
                Problem::told(StatusCode::TOO_MANY_REQUESTS, "too_many_trials", why.to_string());
            problem.later(SOON)
        }
        NotTried::Unwritten(_) => {
            Problem::told(StatusCode::SERVICE_UNAVAILABLE, "not_written", why.to_string())
        }
    })
}

async fn finished(mut trial: Trial) -> Tried {
    while trial.next().await.is_some() {}
    trial.end().await
}

/// Dropping the answer ends the server.
fn streamed(front: &Front, trial: Trial) -> Response {
    let stop = front.stop.clone();
    let steps = stream::unfold(Some((trial, stop)), |running| async move {
        let (mut trial, stop) = running?;
        let step = tokio::select! {
            () = stop.cancelled() => return None,
            step = trial.next() => step,
        };
        match step {
            Some(Step::Line(line)) => {
                Some((Event::new("log", &json!({ "line": line })), Some((trial, stop))))
            }
            Some(Step::State(state, reason)) => {
                let said = json!({ "state": state.as_str(), "reason": reason });
                Some((Event::new("state", &said), Some((trial, stop))))
            }
            None => Some((Event::new("report", &ReportJson::from(trial.end().await)), None)),
        }
    });
    events::response(steps, front.limits.keep_alive)
}

#[derive(Serialize)]
struct ReportJson {
    ok: bool,
    message: String,
    protocol: Option<&'static str>,
    took_ms: u128,
    tools: Vec<OfferedJson>,
}

#[derive(Serialize)]
struct OfferedJson {
    name: String,
    title: Option<String>,
    description: Option<String>,
}

impl From<Tried> for ReportJson {
    fn from(tried: Tried) -> Self {
        Self {
            ok: tried.verdict == Verdict::Works,
            message: tried.message,
            protocol: tried.protocol.map(Revision::as_str),
            took_ms: tried.took.as_millis(),
            tools: tried.tools.into_iter().map(OfferedJson::from).collect(),
        }
    }
}

impl From<Offered> for OfferedJson {
    fn from(tool: Offered) -> Self {
        let Offered { name, title, description } = tool;
        Self { name, title, description }
    }
}
