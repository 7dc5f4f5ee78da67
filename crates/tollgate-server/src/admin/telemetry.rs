//! `GET /api/telemetry`: figures that installations may share and merge.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use tollgate_core::score::Aggregate;
use tollgate_core::score::telemetry::{self, Name};
use tollgate_engine::gate::Gate;

use crate::mcp::Front;
use crate::ops::for_observers;
use crate::problem::Style;

pub(crate) async fn telemetry(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    if let Err(problem) = for_observers(&front, &sent) {
        return problem.response(Style::ProblemDetails);
    }
    let figures = figures(&front.gate);
    Json(telemetry::written(&figures, Some(front.gate.environment()))).into_response()
}

fn figures(gate: &Gate) -> BTreeMap<Name, Aggregate> {
    let mut all: BTreeMap<Name, Aggregate> = BTreeMap::new();
    for tool in &gate.catalog().tools {
        let Some(figures) = gate.aggregate(&tool.id).filter(|figures| figures.calls() > 0) else {
            continue;
        };
        let category = gate.category(&tool.id.server);
        let name = Name { category, tool: tool.id.tool.to_string() };
        all.entry(name).or_default().merge(&figures);
    }
    all
}
