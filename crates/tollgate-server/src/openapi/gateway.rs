//! OpenAPI: health and status of the gateway.

use serde_json::json;

use super::OpenApiSection;
use super::operation::Operation;
use super::response_schemas::ResponseSchemas;
use super::schema::free;
use crate::admin::overview::OverviewJson;
use crate::ops::HealthJson;
use crate::readiness::ReadyJson;

pub(super) fn area(responses: &mut ResponseSchemas) -> OpenApiSection {
    let ready = responses.of::<ReadyJson>();
    let plain = json!({"type": "string"});
    OpenApiSection {
        tag: "gateway",
        about: "Health and status.",
        operations: vec![
            Operation::new("get", "/healthz", "health", "Liveness").open().gives(
                200,
                "alive",
                responses.of::<HealthJson>(),
            ),
            Operation::new("get", "/readyz", "readiness", "Readiness")
                .open()
                .gives(200, "ready", ready.clone())
                .gives(503, "not ready", ready),
            Operation::new("get", "/metrics", "metrics", "Metrics for Prometheus")
                .needs("observe")
                .gives_media(200, "text/plain", "in the Prometheus text format", plain),
            Operation::new(
                "get",
                "/api/overview",
                "overview",
                "Status of servers and tools, and items that need attention",
            )
            .needs("observe")
            .gives(200, "the overview", responses.of::<OverviewJson>()),
            Operation::new("get", "/api/openapi.json", "openapi", "This document")
                .needs("any")
                .gives(200, "OpenAPI 3.1", free()),
        ],
        schemas: Vec::new(),
    }
}
