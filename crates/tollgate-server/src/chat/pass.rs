//! Hands a request on to a model that speaks its dialect, and the answer back, both as they are.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use tollgate_core::trace::Trace;
use tollgate_engine::spans::Follow;
use tollgate_llm::conversation::{Delivery, Usage};
use tollgate_llm::provider::Model;

use super::Opened;
use super::headers::Headers;
use super::metered::Metered;
use super::refused::Refused;
use crate::events::Streaming;
use crate::mcp::Front;

pub(super) async fn pass(
    front: &Front,
    (opened, trace): (Opened, Option<Arc<Trace>>),
    model: &Model,
) -> Result<Response, Refused> {
    let mut headers = Headers::new(opened.began, front);
    let Opened { sent, mut passed, .. } = opened;
    headers.model(&model.settings.name);
    headers.overhead(std::time::Duration::ZERO);
    let delivery = passed.delivery;
    passed.headers = sent.headers;
    passed.follow = Follow { tracer: front.gate.tracer().clone(), trace };
    let answer = model.pass(passed).await.map_err(|error| {
        let (failure, model) = (error.failure, &model.settings.name);
        tracing::warn!(model, code = failure.kind.code(), %failure, "a model did not answer");
        failure
    })?;
    // Errors cost nothing, and look like nothing that does.
    let (chat, name) = (Arc::clone(&front.chat), model.settings.name.clone());
    let note = move |usage: &Usage| chat.figures().spent(&name, usage);
    let mut response = answer.map(|body| Body::new(Metered::new(body, note)));
    if delivery == Delivery::Streamed {
        response.extensions_mut().insert(Streaming);
    }
    headers.write_into(response.headers_mut());
    Ok(response)
}
