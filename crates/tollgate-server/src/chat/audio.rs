//! Audio, passed on to a provider of OpenAI's API: `POST /v1/audio/speech` (JSON in, sound out) and
//! `POST /v1/audio/transcriptions` (a form with a file in, text out).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::error::LlmError;
use tollgate_llm::provider::{ForwardedContent, SideEndpoint};
use tollgate_mcp::offload::offload_if_large;

use super::error::ChatApiError;
use super::side::{self, SideContent, SideJsonRequest, SideRequest};
use crate::app_state::AppState;
use crate::body;
use crate::fields::check_query;

mod upload;

use upload::UploadForm;

pub(crate) async fn speech(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let spoken = pass_speech(&front, request).await;
    spoken.unwrap_or_else(|refused| refused.response(Dialect::OpenAiChat))
}

pub(crate) async fn transcriptions(
    State(front): State<Arc<AppState>>,
    request: Request,
) -> Response {
    let transcribed = pass_transcription(&front, request).await;
    transcribed.unwrap_or_else(|refused| refused.response(Dialect::OpenAiChat))
}

async fn pass_speech(front: &AppState, request: Request) -> Result<Response, ChatApiError> {
    let (sent, body) = request.into_parts();
    let request = SideJsonRequest::read(front, sent, body, None).await?;
    let model = request.side.model(front)?;
    if !model.has_endpoint(SideEndpoint::Speech) {
        return Err(request.side.unsupported_error("speech").into());
    }
    request.forward(front, &model, SideEndpoint::Speech).await
}

/// The form is held in memory, because the model, which says where it goes, may come last.
async fn pass_transcription(front: &AppState, request: Request) -> Result<Response, ChatApiError> {
    let began = front.clock.now();
    let (sent, body) = request.into_parts();
    check_query(&sent.uri, &[])?;
    let boundary = upload::boundary(&sent.headers)?;
    let body = body::form(&sent, body, &front.limits).await?;
    let form = UploadForm::read(body, boundary).await?;
    let named = form.model()?.to_owned();
    let side_request = SideRequest::find(front, sent, &named, began)?;
    let model = side_request.model(front)?;
    if !model.has_endpoint(SideEndpoint::Transcription) {
        return Err(side_request.unsupported_error("transcriptions").into());
    }
    let id = model.settings.id.clone();
    let size = form.bytes();
    let written = offload_if_large(size, move || form.write(&id)).await;
    let written = written.ok_or_else(|| LlmError::invalid("", "a part has invalid headers"))?;
    let content =
        ForwardedContent::Whole { content_type: written.content_type, body: written.body };
    let what = SideContent { endpoint: SideEndpoint::Transcription, content };
    side::forward(front, side_request, &model, what).await
}
