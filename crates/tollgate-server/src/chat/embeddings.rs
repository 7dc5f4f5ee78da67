//! Embeddings: `POST /v1/embeddings` in OpenAI's form, `:embedContent` and `:batchEmbedContents` in
//! Gemini's. A provider of the same form gets the client's own request; otherwise it is converted.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::Value;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::embedding::{self, ClientEmbeddings};
use tollgate_llm::error::LlmError;
use tollgate_llm::provider::{EmbeddingVectors, ModelHandle, SideEndpoint};
use tollgate_mcp::offload::offload_if_large;

use super::error::ChatApiError;
use super::pass::refusal;
use super::side::{SideJsonRequest, answer_headers, json_response};
use crate::app_state::AppState;

type BodyReader = fn(Value) -> Result<ClientEmbeddings, LlmError>;

pub(crate) async fn openai(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let embedded = embed(&front, request, None, SideEndpoint::Embeddings).await;
    embedded.unwrap_or_else(|refused| refused.response(Dialect::OpenAiChat))
}

/// `endpoint` is one of the two of Gemini's API.
pub(super) async fn gemini(
    front: &AppState,
    request: Request,
    model: &str,
    endpoint: SideEndpoint,
) -> Response {
    let embedded = embed(front, request, Some(model), endpoint).await;
    embedded.unwrap_or_else(|refused| refused.response(Dialect::Gemini))
}

async fn embed(
    front: &AppState,
    request: Request,
    in_url: Option<&str>,
    endpoint: SideEndpoint,
) -> Result<Response, ChatApiError> {
    let (sent, body) = request.into_parts();
    let request = SideJsonRequest::read(front, sent, body, in_url).await?;
    let model = request.side.model(front)?;
    if model.has_endpoint(endpoint) {
        return request.forward(front, &model, endpoint).await;
    }
    let others = [SideEndpoint::Embeddings, SideEndpoint::GeminiBatchEmbed];
    if !others.into_iter().any(|other| model.has_endpoint(other)) {
        return Err(request.side.unsupported_error("embeddings").into());
    }
    let read: BodyReader = match endpoint {
        SideEndpoint::GeminiEmbed => embedding::read_gemini_single,
        SideEndpoint::GeminiBatchEmbed => embedding::read_gemini_batch,
        _ => embedding::read_openai,
    };
    let embedding_request = read(request.parse(front).await?)?;
    convert(front, &request, &model, embedding_request).await
}

async fn convert(
    front: &AppState,
    request: &SideJsonRequest,
    model: &ModelHandle,
    asked: ClientEmbeddings,
) -> Result<Response, ChatApiError> {
    let reserved = request.side.usage(front).reserve_text(model, request.passed.body())?;
    let EmbeddingVectors { vectors, permit } = match model.embed(&asked.input).await {
        Ok(embedded) => embedded,
        Err(error) => return Err(refusal(error.failure, reserved, model).into()),
    };
    // Charged by its estimate: not every provider counts.
    drop(reserved);
    let mut headers = answer_headers(front, model, request.side.began);
    headers.set_lost(&asked.lost);
    let name = request.side.named.clone();
    let size = vectors.iter().map(|vector| size_of_val(vector.as_slice())).sum();
    let text =
        offload_if_large(size, move || embedding::write_answer(&asked, &name, &vectors)).await;
    Ok(json_response(permit.attach_to(text.into()), headers))
}
