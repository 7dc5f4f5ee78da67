//! Whether the gateway is ready for requests: asked by load balancers and orchestrators, and
//! answered within milliseconds whatever else goes on.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_engine::servers::Readiness;

use crate::app_state::AppState;
use crate::pressure::PressureLevel;
use crate::wire_schema::{AuditReadinessWord, MemoryReadinessWord, ReadinessWord};

/// While the memory is unavailable only its tools fail, and the gateway is ready. It is not ready while
/// the audit trail cannot be written, if calls are refused because of it. The answer names no paths and
/// hosts, since anyone may ask.
#[derive(JsonSchema, Serialize)]
pub(crate) struct ReadyJson {
    #[schemars(with = "ReadinessWord")]
    state: &'static str,
    #[schemars(with = "Option<AuditReadinessWord>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    audit: Option<&'static str>,
    #[schemars(with = "Option<MemoryReadinessWord>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<&'static str>,
}

pub(crate) async fn response(front: &AppState) -> Response {
    let audit = front.gate.ledger().trouble().map(|_| "failing");
    let state = state(front, audit.is_some());
    let memory = match &front.memory_check {
        Some(check) => Some(check.latest(front.clock.now()).await),
        None => None,
    };
    let status = if state == "ready" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(ReadyJson { state, audit, memory })).into_response()
}

fn state(front: &AppState, is_audit_failing: bool) -> &'static str {
    if front.stopping.is_cancelled() || front.stop.is_cancelled() {
        return "stopping";
    }
    if front.pressure.level() >= PressureLevel::Severe {
        return "short_of_memory";
    }
    if is_audit_failing && front.gate.needs_audit() {
        return "audit_failing";
    }
    match front.gate.is_ready() {
        Readiness::Ready => "ready",
        Readiness::Starting => "starting",
    }
}
