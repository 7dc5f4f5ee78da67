//! `GET /api/telemetry`: latency figures that installations can share and merge.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use tollgate_core::score::LatencyAggregate;
use tollgate_core::score::telemetry::{self, TelemetryToolName};
use tollgate_engine::gate::Gate;

use crate::api_error::ApiErrorFormat;
use crate::app_state::AppState;
use crate::ops::for_observers;

pub(crate) async fn telemetry(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    if let Err(problem) = for_observers(&front, &sent) {
        return problem.response(ApiErrorFormat::ProblemDetails);
    }
    let figures = figures(&front.gate);
    Json(telemetry::render_document(&figures, Some(front.gate.environment()))).into_response()
}

fn figures(gate: &Gate) -> BTreeMap<TelemetryToolName, LatencyAggregate> {
    let mut all: BTreeMap<TelemetryToolName, LatencyAggregate> = BTreeMap::new();
    for tool in &gate.catalog().tools {
        let Some(figures) = gate.aggregate(&tool.id).filter(|figures| figures.calls() > 0) else {
            continue;
        };
        let category = gate.category(&tool.id.server);
        let name = TelemetryToolName { category, tool: tool.id.tool.to_string() };
        all.entry(name).or_default().merge(&figures);
    }
    all
}
