//! `POST /api/calibrate`: measures what may be measured, and tells each step as it is done.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::stream;
use http::StatusCode;
use serde::Serialize;
use tollgate_core::id::ToolId;
use tollgate_core::text::shortened;
use tollgate_engine::calibration::{Calibration, Outcome, Scope, Step};

use crate::body;
use crate::events::{self, Event};
use crate::fields::{Fields, bad, check_query};
use crate::mcp::Front;
use crate::ops::for_admins;
use crate::problem::{Problem, SAID_BACK, Style};
use crate::standing::{StandingJson, milliseconds};

/// More do not fit into what is remembered of a tool.
const MOST_TIMES: u32 = 100;
const KEYS: &[&str] = &["server", "tool", "times"];

pub(crate) async fn calibrate(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let start = async {
        for_admins(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let body = body::json(&sent, body, &front.limits).await?;
        start(&front, &body)
    };
    match start.await {
        Ok(run) => told(front, run),
        Err(problem) => problem.response(Style::ProblemDetails),
    }
}

fn start(front: &Front, body: &[u8]) -> Result<Calibration, Problem> {
    let asked = Fields::read(body, KEYS)?;
    let (server, tool) = (asked.text("server")?, asked.text("tool")?);
    let times = match asked.count("times")? {
        None => front.gate.probes_that_count(),
        Some(times) if (1..=MOST_TIMES).contains(&times) => times,
        Some(_) => return Err(bad(format!("`times` is a number from 1 to {MOST_TIMES}"))),
    };
    let scope = match (&server, &tool) {
        (None, None) => Scope::All,
        (Some(_), Some(_)) => return Err(bad("send `server` or `tool`, not both".to_owned())),
        (Some(server), None) => {
            if !front.gate.servers().iter().any(|known| known.id.as_str() == server) {
                return Err(no_server(server));
            }
            Scope::Server(server)
        }
        (None, Some(tool)) => {
            if front.gate.catalog().tool(tool).is_none() {
                return Err(no_tool(tool));
            }
            Scope::Tool(tool)
        }
    };
    Ok(front.gate.calibrate(scope, times))
}

fn no_server(name: &str) -> Problem {
    let detail = format!("there is no server `{}`", shortened(name, SAID_BACK));
    Problem::told(StatusCode::NOT_FOUND, "unknown_server", detail)
}

fn no_tool(name: &str) -> Problem {
    let detail = format!("there is no tool `{}`", shortened(name, SAID_BACK));
    Problem::told(StatusCode::NOT_FOUND, "unknown_tool", detail)
}

/// Dropping the answer stops the run.
fn told(front: Arc<Front>, run: Calibration) -> Response {
    let keep_alive = front.limits.keep_alive;
    let telling = Telling { front, run, seen: BTreeMap::new() };
    let steps = stream::unfold(Some(telling), |telling| async move {
        let mut telling = telling?;
        let step = tokio::select! {
            () = telling.front.stop.cancelled() => return None,
            step = telling.run.next() => step,
        };
        match step {
            Some(step) => {
                let event = Event::new("step", &StepJson::from(&step));
                telling.seen.insert(step.exposed, step.tool);
                Some((event, Some(telling)))
            }
            None => Some((telling.done(), None)),
        }
    });
    events::response(steps, keep_alive)
}

struct Telling {
    front: Arc<Front>,
    run: Calibration,
    /// By exposed name.
    seen: BTreeMap<String, ToolId>,
}

impl Telling {
    fn done(&self) -> Event {
        let tool = |(name, tool): (&String, &ToolId)| {
            let assigned = self.front.gate.reading(tool)?.assigned;
            let (name, server) = (name.clone(), tool.server.to_string());
            Some(ToolJson { name, server, standing: StandingJson::from(&*assigned) })
        };
        let tools = self.seen.iter().filter_map(tool).collect();
        Event::new("done", &DoneJson { tools })
    }
}

#[derive(Serialize)]
struct DoneJson {
    tools: Vec<ToolJson>,
}

#[derive(Serialize)]
struct ToolJson {
    name: String,
    server: String,
    #[serde(flatten)]
    standing: StandingJson,
}

#[derive(Serialize)]
struct StepJson<'a> {
    tool: &'a str,
    server: &'a str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    took_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    done: usize,
    total: usize,
}

impl<'a> From<&'a Step> for StepJson<'a> {
    fn from(step: &'a Step) -> Self {
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
