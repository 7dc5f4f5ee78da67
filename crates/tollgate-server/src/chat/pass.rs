//! Pass-through: forwards a request to a model of the same dialect, and its answer back, unchanged.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use tollgate_core::trace::Trace;
use tollgate_engine::spans::TraceScope;
use tollgate_llm::conversation::{ResponseDelivery, TokenUsage};
use tollgate_llm::provider::ModelHandle;

use super::InboundChatRequest;
use super::error::ChatApiError;
use super::headers::TurnResponseHeaders;
use super::usage_meter::UsageMeteredBody;
use crate::app_state::AppState;
use crate::body::ForwardedResponse;
use crate::events::StreamingResponse;

pub(super) async fn pass(
    front: &AppState,
    opened: InboundChatRequest,
    trace: Option<Arc<Trace>>,
    model: &ModelHandle,
) -> Result<Response, ChatApiError> {
    let mut headers = TurnResponseHeaders::new(opened.began, front);
    let InboundChatRequest { sent, mut passed, .. } = opened;
    headers.model(&model.settings.name);
    headers.overhead(std::time::Duration::ZERO);
    let delivery = passed.delivery;
    passed.headers = sent.headers;
    passed.follow = TraceScope { tracer: front.gate.tracer().clone(), trace };
    let answer = model.pass(passed).await.map_err(|error| {
        let failure = error.failure;
        let model = &model.settings.name;
        tracing::warn!(model, code = failure.kind.code(), %failure, "a model did not answer");
        failure
    })?;
    // Errors cost nothing, and do not match a usage report.
    let chat = Arc::clone(&front.chat);
    let name = model.settings.name.clone();
    let note = move |usage: &TokenUsage| chat.figures().record_usage(&name, usage);
    let mut response = answer.map(|body| Body::new(UsageMeteredBody::new(body, note)));
    response.extensions_mut().insert(ForwardedResponse);
    if delivery == ResponseDelivery::Streamed {
        response.extensions_mut().insert(StreamingResponse);
    }
    headers.write_into(response.headers_mut());
    Ok(response)
}
