//! Hands a request on to a model that speaks its dialect, and the answer back, both as they are.

use axum::body::Body;
use axum::response::Response;
use tollgate_llm::conversation::Delivery;
use tollgate_llm::provider::Model;

use super::Opened;
use super::headers::Headers;
use super::refused::Refused;
use crate::events::Streaming;
use crate::mcp::Front;

pub(super) async fn pass(
    front: &Front,
    opened: Opened,
    model: &Model,
) -> Result<Response, Refused> {
    let mut headers = Headers::new(opened.began, front);
    let Opened { sent, mut passed, .. } = opened;
    headers.model(&model.settings.name);
    headers.overhead(std::time::Duration::ZERO);
    let delivery = passed.delivery;
    passed.headers = sent.headers;
    let answer = model.pass(passed).await.map_err(|error| {
        let (failure, model) = (error.failure, &model.settings.name);
        tracing::warn!(model, code = failure.kind.code(), %failure, "a model did not answer");
        failure
    })?;
    let mut response = answer.map(Body::new);
    if delivery == Delivery::Streamed {
        response.extensions_mut().insert(Streaming);
    }
    headers.write_into(response.headers_mut());
    Ok(response)
}
