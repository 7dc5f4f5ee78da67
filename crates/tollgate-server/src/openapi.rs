//! OpenAPI document of the routes with our own protocol: `/api`, the REST routes of `/v1`, and the
//! operations routes.
//!
//! Operations and requests are described by hand, section by section; most responses by their
//! types. Rendered once. A test compares it with the router, and the route tests validate every
//! response against it.

use std::sync::{Arc, LazyLock};

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};

use crate::api_error::ApiErrorFormat;
use crate::app_state::AppState;
use crate::fields::check_query;

mod agents;
mod approvals;
mod audit;
mod calling;
mod calls;
mod config;
mod events;
mod gateway;
mod import_connect;
mod keys;
mod login;
mod memory;
mod operation;
mod problems;
mod realtime;
mod response_schemas;
mod schema;
mod servers;
mod sessions;
mod telephony;
mod tools;
mod turns;
mod usage;

use operation::Operation;
use response_schemas::ResponseSchemas;

static DOCUMENT: LazyLock<String> = LazyLock::new(|| build_document().to_string());

/// The document as it is served: JSON.
pub fn document() -> &'static str {
    &DOCUMENT
}

/// `GET /api/openapi.json`: contains no secrets, but needs authentication like the rest of `/api`.
pub(crate) async fn openapi(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let allowed = check_query(&sent.uri, &[]).and_then(|()| front.keys.visitor(&sent));
    match allowed {
        Ok(_) => ([(CONTENT_TYPE, "application/json")], document()).into_response(),
        Err(problem) => problem.response(ApiErrorFormat::ProblemDetails),
    }
}

/// Related operations and their schemas.
struct OpenApiSection {
    tag: &'static str,
    about: &'static str,
    operations: Vec<Operation>,
    schemas: Vec<(&'static str, Value)>,
}

fn areas(responses: &mut ResponseSchemas) -> Vec<OpenApiSection> {
    vec![
        gateway::area(responses),
        servers::area(responses),
        import_connect::area(),
        tools::area(responses),
        calling::area(responses),
        turns::area(responses),
        telephony::area(),
        calls::area(responses),
        usage::area(responses),
        agents::area(responses),
        approvals::area(responses),
        realtime::area(),
        sessions::area(responses),
        events::area(responses),
        config::area(),
        keys::area(responses),
        login::area(),
        audit::area(responses),
        memory::area(),
    ]
}

const ABOUT: &str = "The admin API of the gateway, and its tools over plain HTTP. The chat APIs \
                     (OpenAI, Anthropic, Gemini), the live APIs and MCP (`/mcp`) are documented by \
                     their vendors: https://platform.openai.com/docs/api-reference, \
                     https://docs.anthropic.com/en/api, https://ai.google.dev/api, \
                     https://modelcontextprotocol.io/specification.";

fn build_document() -> Value {
    let mut responses = ResponseSchemas::new();
    let mut paths = Map::new();
    let mut schemas = Map::new();
    let mut tags = Vec::new();
    for area in areas(&mut responses).into_iter().chain([problems::area()]) {
        if !area.operations.is_empty() {
            tags.push(json!({"name": area.tag, "description": area.about}));
        }
        for operation in area.operations {
            let methods = paths.entry(operation.path).or_insert_with(|| json!({}));
            let method = operation.method;
            methods[method] = operation.into_json(area.tag);
        }
        schemas.extend(area.schemas.into_iter().map(|(name, schema)| (name.to_owned(), schema)));
    }
    schemas.extend(responses.into_components());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tollgate",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": tags,
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": problems::security()},
    })
}

#[cfg(test)]
mod tests;
