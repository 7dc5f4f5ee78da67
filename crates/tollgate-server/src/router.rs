//! Every route there is.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;

use crate::mcp::{self, Front};
use crate::problem::{Problem, Style};
use crate::{admin, ops, rest};

pub(crate) fn router(front: Arc<Front>) -> Router {
    Router::new()
        .route("/mcp", post(mcp::http::post).get(mcp::http::get).delete(mcp::http::delete))
        .route(
            "/mcp/{agent}",
            post(mcp::http::post_to_agent)
                .get(mcp::http::get_for_agent)
                .delete(mcp::http::delete_for_agent),
        )
        .route("/mcp/status", get(ops::status))
        .route("/mcp/test/{server}", post(ops::test))
        .route("/v1/tier", post(rest::tier))
        .route("/v1/tools", get(rest::tools))
        .route("/v1/tools/execute", post(rest::execute))
        .route("/v1/results/{handle}", get(rest::results))
        .route("/api/calibrate", post(admin::calibrate))
        .route("/api/events", get(admin::events))
        .route("/api/telemetry", get(admin::telemetry))
        .route("/healthz", get(ops::healthz))
        .route("/readyz", get(ops::readyz))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(front)
}

async fn not_found(request: Request) -> Response {
    let detail = "there is nothing at this path";
    Problem::new(StatusCode::NOT_FOUND, "not_found", detail)
        .response(Style::of(request.uri().path()))
}

async fn method_not_allowed(request: Request) -> Response {
    let detail = "this path does not take this method";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
        .response(Style::of(request.uri().path()))
}
