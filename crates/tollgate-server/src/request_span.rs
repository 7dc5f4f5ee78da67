//! Trace span of a `/v1` request, parent of all work for it. Exists only while tracing is on.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Method;
use tollgate_engine::spans::SpanKind;
use tollgate_mcp::header::read_trace;

use crate::app_state::AppState;
use crate::body::holding;
use crate::request_context::RequestTrace;

/// Traced routes, by their span names. WebSockets and lists are not traced.
const ROUTES: &[&str] = &[
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/embeddings",
    "/v1/audio/speech",
    "/v1/audio/transcriptions",
    "/v1/tier",
    "/v1/tools/execute",
    "/v1/code",
    "/v1/mcp/tool/execute",
];
const GENERATE: &str = "/{version}/models/{model}:{verb}";

pub(crate) async fn trace_request(
    State(front): State<Arc<AppState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(route) = route(&request) else { return next.run(request).await };
    let outer = read_trace(request.headers()).map(Arc::new);
    let tracer = front.gate.tracer();
    let mut span =
        tracer.begin(SpanKind::Server, outer.as_ref(), || format!("POST {route}").into());
    span.tell(|attributes| {
        attributes.set("http.request.method", "POST");
        attributes.set("http.route", route);
        attributes.set("network.protocol.name", "http");
    });
    if let Some(trace) = span.trace() {
        request.extensions_mut().insert(RequestTrace(Arc::clone(trace)));
    }
    let response = next.run(request).await;
    let status = response.status();
    span.tell(|attributes| attributes.set("http.response.status_code", u64::from(status.as_u16())));
    if status.is_server_error() {
        span.fail(status.as_str().to_owned(), String::new)
    } else {
        span.complete()
    }
    response.map(|body| holding(body, span))
}

fn route(request: &Request) -> Option<&'static str> {
    let path = request.uri().path();
    if request.method() != Method::POST {
        return None;
    }
    let known = ROUTES.iter().find(|route| **route == path).copied();
    known.or_else(|| path.contains("/models/").then_some(GENERATE))
}
