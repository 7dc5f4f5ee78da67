//! `POST /api/servers/try`: trial run of a server that is not in the config. Streams its output and
//! its progress. The server is stopped before the last event.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::StatusCode;
use http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_engine::gate::TrialError;
use tollgate_engine::upstream::{OfferedTool, ServerTrial, TestVerdict, TrialEvent, TrialReport};
use tollgate_mcp::Revision;

use super::super::api_response;
use super::super::config_common::{map_config_error, operator};
use super::read;
use crate::accept::Accepts;
use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;
use crate::body;
use crate::config_service::ProposedServer;
use crate::events::{self, ServerSentEvent};
use crate::fields::check_query;
use crate::wire_schema::ServerStateWord;

/// Name of a trial without a name.
const NAMELESS: &str = "tried";
/// Delay after which one of the running trials may have finished.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// `POST /api/servers/try`
pub(crate) async fn trial(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let begun = async {
        let proposed = read_proposed(&front, &sent, body).await?;
        begin(&front, &sent, proposed).await
    };
    let trial = match begun.await {
        Ok(trial) => trial,
        Err(problem) => return api_response(Err(problem)),
    };
    if Accepts::read(&sent.headers) == Accepts::OnlyEvents {
        return match front.pressure.take_stream() {
            Ok(()) => stream_steps(&front, trial),
            Err(problem) => problem.response(ApiErrorFormat::ProblemDetails),
        };
    }
    api_response(Ok(Json(TrialReportJson::from(run_to_end(trial).await)).into_response()))
}

async fn read_proposed(
    front: &AppState,
    sent: &Parts,
    body: Body,
) -> Result<ProposedServer, ApiError> {
    operator(front, sent)?;
    check_query(&sent.uri, &[])?;
    let body = body::json(sent, body, &front.limits).await?;
    let (name, server) = read(&body)?;
    Ok(ProposedServer { name: name.unwrap_or_else(|| NAMELESS.to_owned()), server })
}

async fn begin(
    front: &AppState,
    sent: &Parts,
    proposed: ProposedServer,
) -> Result<ServerTrial, ApiError> {
    let by = front.keys.visitor(sent)?.principal;
    let server =
        operator(front, sent)?.prove(proposed).await.map_err(|why| map_config_error(&why))?;
    front.gate.try_out(server, &by).await.map_err(|why| match why {
        TrialError::Full => {
            let problem = ApiError::with_detail(
                StatusCode::TOO_MANY_REQUESTS,
                "too_many_trials",
                why.to_string(),
            );
            problem.later(RETRY_AFTER)
        }
        TrialError::Unwritten(_) => {
            ApiError::with_detail(StatusCode::SERVICE_UNAVAILABLE, "not_written", why.to_string())
        }
    })
}

async fn run_to_end(mut trial: ServerTrial) -> TrialReport {
    while trial.next().await.is_some() {}
    trial.end().await
}

/// Dropping the response stops the server.
fn stream_steps(front: &AppState, trial: ServerTrial) -> Response {
    let stop = front.stop.clone();
    let steps = stream::unfold(Some((trial, stop)), |running| async move {
        let (mut trial, stop) = running?;
        let step = tokio::select! {
            () = stop.cancelled() => return None,
            step = trial.next() => step,
        };
        match step {
            Some(TrialEvent::Line(line)) => {
                let event = ServerSentEvent::new("log", &TrialLineJson { line });
                Some((event, Some((trial, stop))))
            }
            Some(TrialEvent::State(state, reason)) => {
                let trial_state = TrialStateJson { state: state.as_str(), reason };
                Some((ServerSentEvent::new("state", &trial_state), Some((trial, stop))))
            }
            None => Some((
                ServerSentEvent::new("report", &TrialReportJson::from(trial.end().await)),
                None,
            )),
        }
    });
    events::response(steps, front.limits.keep_alive)
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct TrialLineJson {
    line: String,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct TrialStateJson {
    #[schemars(with = "ServerStateWord")]
    state: &'static str,
    reason: String,
}

#[derive(JsonSchema, Serialize)]
#[schemars(rename = "TryReport")]
pub(crate) struct TrialReportJson {
    ok: bool,
    message: String,
    protocol: Option<&'static str>,
    took_ms: u128,
    tools: Vec<TrialToolJson>,
}

#[derive(JsonSchema, Serialize)]
struct TrialToolJson {
    name: String,
    title: Option<String>,
    description: Option<String>,
}

impl From<TrialReport> for TrialReportJson {
    fn from(tried: TrialReport) -> Self {
        Self {
            ok: tried.verdict == TestVerdict::Works,
            message: tried.message,
            protocol: tried.protocol.map(Revision::as_str),
            took_ms: tried.took.as_millis(),
            tools: tried.tools.into_iter().map(TrialToolJson::from).collect(),
        }
    }
}

impl From<OfferedTool> for TrialToolJson {
    fn from(tool: OfferedTool) -> Self {
        let OfferedTool { name, title, description } = tool;
        Self { name, title, description }
    }
}
