//! `POST /api/calibrate`: measures the latency of tools that may be called for that, and streams
//! each step.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::stream;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::id::ToolId;
use tollgate_core::text::truncate_chars;
use tollgate_engine::calibration::{Calibration, CalibrationScope, CalibrationStep, Outcome};

use crate::api_error::{ApiError, ApiErrorFormat, MAX_ECHOED_CHARS};
use crate::app_state::AppState;
use crate::body;
use crate::events::{self, ServerSentEvent};
use crate::fields::{BodyFields, bad, check_query};
use crate::ops::for_admins;
use crate::tier_assignment::{TierAssignmentJson, milliseconds};
use crate::wire_schema::CalibrationWord;

/// The latency window of a tool holds no more samples.
const MAX_PROBES: u32 = 100;
const KEYS: &[&str] = &["server", "tool", "times"];

pub(crate) async fn calibrate(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let start = async {
        for_admins(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let body = body::json(&sent, body, &front.limits).await?;
        start(&front, &body)
    };
    match start.await {
        Ok(run) => stream_steps(front, run),
        Err(problem) => problem.response(ApiErrorFormat::ProblemDetails),
    }
}

fn start(front: &AppState, body: &[u8]) -> Result<Calibration, ApiError> {
    let fields = BodyFields::read(body, KEYS)?;
    let server = fields.text("server")?;
    let tool = fields.text("tool")?;
    let times = match fields.count("times")? {
        None => front.gate.probes_that_count(),
        Some(times) if (1..=MAX_PROBES).contains(&times) => times,
        Some(_) => return Err(bad(format!("`times` must be a number from 1 to {MAX_PROBES}"))),
    };
    let scope = match (&server, &tool) {
        (None, None) => CalibrationScope::All,
        (Some(_), Some(_)) => return Err(bad("send `server` or `tool`, not both".to_owned())),
        (Some(server), None) => {
            if !front.gate.servers().iter().any(|known| known.id.as_str() == server) {
                return Err(no_server(server));
            }
            CalibrationScope::Server(server)
        }
        (None, Some(tool)) => {
            if front.gate.catalog().tool(tool).is_none() {
                return Err(no_tool(tool));
            }
            CalibrationScope::Tool(tool)
        }
    };
    Ok(front.gate.calibrate(scope, times))
}

fn no_server(name: &str) -> ApiError {
    let detail = format!("there is no server `{}`", truncate_chars(name, MAX_ECHOED_CHARS));
    ApiError::with_detail(StatusCode::NOT_FOUND, "unknown_server", detail)
}

fn no_tool(name: &str) -> ApiError {
    let detail = format!("there is no tool `{}`", truncate_chars(name, MAX_ECHOED_CHARS));
    ApiError::with_detail(StatusCode::NOT_FOUND, "unknown_tool", detail)
}

/// Dropping the response stops the run.
fn stream_steps(front: Arc<AppState>, run: Calibration) -> Response {
    let keep_alive = front.limits.keep_alive;
    let telling = CalibrationStream { front, run, seen: BTreeMap::new() };
    let steps = stream::unfold(Some(telling), |telling| async move {
        let mut telling = telling?;
        let step = tokio::select! {
            () = telling.front.stop.cancelled() => return None,
            step = telling.run.next() => step,
        };
        match step {
            Some(step) => {
                let event = ServerSentEvent::new("step", &CalibrationStepJson::from(&step));
                telling.seen.insert(step.exposed, step.tool);
                Some((event, Some(telling)))
            }
            None => Some((telling.done_event(), None)),
        }
    });
    events::response(steps, keep_alive)
}

struct CalibrationStream {
    front: Arc<AppState>,
    run: Calibration,
    /// Tools by exposed name.
    seen: BTreeMap<String, ToolId>,
}

impl CalibrationStream {
    fn done_event(&self) -> ServerSentEvent {
        let tool = |(name, tool): (&String, &ToolId)| {
            let assigned = self.front.gate.reading(tool)?.assigned;
            let name = name.clone();
            let server = tool.server.to_string();
            Some(CalibratedToolJson {
                name,
                server,
                standing: TierAssignmentJson::from(&*assigned),
            })
        };
        let tools = self.seen.iter().filter_map(tool).collect();
        ServerSentEvent::new("done", &CalibrationDoneJson { tools })
    }
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct CalibrationDoneJson {
    tools: Vec<CalibratedToolJson>,
}

#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Standing")]
struct CalibratedToolJson {
    name: String,
    server: String,
    #[serde(flatten)]
    standing: TierAssignmentJson,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct CalibrationStepJson<'a> {
    tool: &'a str,
    server: &'a str,
    #[schemars(with = "CalibrationWord")]
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    took_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    done: usize,
    total: usize,
}

impl<'a> From<&'a CalibrationStep> for CalibrationStepJson<'a> {
    fn from(step: &'a CalibrationStep) -> Self {
        let (outcome, took_ms, why) = match &step.outcome {
            Outcome::Probed { took } => ("probed", Some(milliseconds(*took)), None),
            Outcome::Skipped { why } => ("skipped", None, Some(&**why)),
            Outcome::Failed { why } => ("failed", None, Some(&**why)),
        };
        Self {
            tool: &step.exposed,
            server: step.tool.server.as_str(),
            outcome,
            took_ms,
            why,
            done: step.done,
            total: step.total,
        }
    }
}
