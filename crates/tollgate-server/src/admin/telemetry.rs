//! `GET /api/telemetry`: figures that installations may share and merge. Names of tools and their
//! kinds, counts and spans; no servers, no arguments, nobody's keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tollgate_core::score::{Aggregate, Badge};
use tollgate_engine::gate::Gate;

use crate::mcp::Front;
use crate::ops::for_admins;
use crate::problem::Style;

const FORMAT: &str = "tollgate-telemetry/1";

pub(crate) async fn telemetry(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    if let Err(problem) = for_admins(&front, &sent) {
        return problem.response(Style::ProblemDetails);
    }
    let figures = figures(&front.gate);
    let tools = figures.iter().map(|(name, figures)| ToolJson::new(name, figures)).collect();
    let environment = front.gate.environment();
    Json(TelemetryJson { format: FORMAT, environment, tools }).into_response()
}

/// What makes a tool the same tool, wherever it runs: its kind, and its name as its server says it.
type Name = (Option<String>, String);

fn figures(gate: &Gate) -> BTreeMap<Name, Aggregate> {
    let mut all: BTreeMap<Name, Aggregate> = BTreeMap::new();
    for tool in &gate.catalog().tools {
        let Some(figures) = gate.aggregate(&tool.id).filter(|figures| figures.calls() > 0) else {
            continue;
        };
        let category = gate.category(&tool.id.server).map(str::to_owned);
        all.entry((category, tool.id.tool.to_string())).or_default().merge(&figures);
    }
    all
}

#[derive(Serialize)]
struct TelemetryJson<'a> {
    format: &'static str,
    environment: &'a str,
    tools: Vec<ToolJson<'a>>,
}

#[derive(Serialize)]
struct ToolJson<'a> {
    category: Option<&'a str>,
    tool: &'a str,
    calls: u64,
    errors: u64,
    badge: Option<&'static str>,
    /// The longest span of each step, in microseconds, and how many calls took that step.
    histogram: Vec<(u64, u64)>,
}

impl<'a> ToolJson<'a> {
    fn new((category, tool): &'a Name, figures: &Aggregate) -> Self {
        Self {
            category: category.as_deref(),
            tool,
            calls: figures.calls(),
            errors: figures.errors(),
            badge: figures.p50().map(|p50| Badge::of(p50).as_str()),
            histogram: figures.steps().collect(),
        }
    }
}
