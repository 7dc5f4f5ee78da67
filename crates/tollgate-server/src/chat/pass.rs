//! Pass-through: forwards a request to a model of the same dialect, and its answer back, unchanged.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use tollgate_core::trace::Trace;
use tollgate_engine::model_usage::{ModelCaller, ModelReservation};
use tollgate_engine::spans::TraceScope;
use tollgate_llm::conversation::ResponseDelivery;
use tollgate_llm::error::{LlmError, LlmErrorKind};
use tollgate_llm::provider::ModelHandle;
use tollgate_llm::usage::ModelUsageContext;

use super::InboundChatRequest;
use super::error::ChatApiError;
use super::headers::TurnResponseHeaders;
use super::usage_meter::{MeteredUsage, UsageMeteredBody};
use crate::app_state::AppState;
use crate::body::ForwardedResponse;
use crate::events::StreamingResponse;

/// Who asks, and as part of what.
pub(super) struct PassedBy {
    pub(super) caller: ModelCaller,
    pub(super) trace: Option<Arc<Trace>>,
}

pub(super) async fn pass(
    front: &AppState,
    opened: InboundChatRequest,
    by: PassedBy,
    model: &ModelHandle,
) -> Result<Response, ChatApiError> {
    let mut headers = TurnResponseHeaders::new(opened.began, front);
    let InboundChatRequest { sent, mut passed, .. } = opened;
    headers.model(&model.settings.name);
    headers.overhead(std::time::Duration::ZERO);
    let delivery = passed.delivery;
    let PassedBy { caller, trace } = by;
    let usage = ModelUsageContext { meter: Arc::clone(front.gate.model_usage()), caller };
    let reserved = usage.reserve_passed(model, &passed)?;
    passed.headers = sent.headers;
    passed.follow = TraceScope { tracer: front.gate.tracer().clone(), trace };
    let answer = match model.pass(passed).await {
        Ok(answer) => answer,
        Err(error) => return Err(refusal(error.failure, reserved, model).into()),
    };
    let mut reserved = Some(reserved);
    if !answer.status().is_success()
        && let Some(reserved) = reserved.take()
    {
        reserved.fail();
    }
    // Errors cost nothing, and do not match a usage report.
    let chat = Arc::clone(&front.chat);
    let name = model.settings.name.clone();
    let interruption = answer.body().interruption();
    let note = move |metered: &MeteredUsage| {
        if let Some(usage) = &metered.counted {
            chat.figures().record_usage(&name, usage);
        }
        if let Some(mut reserved) = reserved.take() {
            reserved.note_arrived(metered.text_bytes);
            reserved.settle(&metered.tokens(&interruption));
        }
    };
    let mut response = answer.map(|body| Body::new(UsageMeteredBody::new(body, note)));
    response.extensions_mut().insert(ForwardedResponse);
    if delivery == ResponseDelivery::Streamed {
        response.extensions_mut().insert(StreamingResponse);
    }
    headers.write_into(response.headers_mut());
    Ok(response)
}

/// A request that was given up costs its question: the provider may have answered.
pub(super) fn refusal(
    failure: LlmError,
    reserved: ModelReservation,
    model: &ModelHandle,
) -> LlmError {
    let model = &model.settings.name;
    tracing::warn!(model, code = failure.kind.code(), %failure, "a model did not answer");
    if failure.kind != LlmErrorKind::Timeout {
        reserved.fail();
    }
    failure
}
