//! Endpoints beside chat: finds the model of a request, and forwards the request to its provider.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use tollgate_core::text::truncate_chars;
use tollgate_engine::model_usage::ModelCaller;
use tollgate_engine::spans::TraceScope;
use tollgate_llm::conversation::ResponseDelivery;
use tollgate_llm::error::LlmError;
use tollgate_llm::format::RequestUrlParams;
use tollgate_llm::provider::{
    ForwardedContent, ForwardedRequest, ModelHandle, PassThroughRequest, SideEndpoint,
};
use tollgate_llm::usage::ModelUsageContext;

use super::error::ChatApiError;
use super::headers::TurnResponseHeaders;
use super::pass::refusal;
use super::target::ChatRequestTarget;
use super::usage_meter::{MeteredUsage, UsageMeteredBody};
use crate::api_error::MAX_ECHOED_CHARS;
use crate::app_state::AppState;
use crate::auth::Right;
use crate::body::{self, ForwardedResponse};
use crate::events::StreamingResponse;
use crate::fields::check_query;

/// A request for an endpoint beside chat. Its target is known.
pub(super) struct SideRequest {
    pub(super) sent: Parts,
    pub(super) target: ChatRequestTarget,
    /// The client's name of the model.
    pub(super) named: String,
    pub(super) began: Instant,
}

/// The same, with a JSON body.
pub(super) struct SideJsonRequest {
    pub(super) side: SideRequest,
    pub(super) passed: PassThroughRequest,
}

impl SideRequest {
    /// `named` is the model, as the client names it.
    pub(super) fn find(
        front: &AppState,
        sent: Parts,
        named: &str,
        began: Instant,
    ) -> Result<Self, ChatApiError> {
        let target = ChatRequestTarget::find(front, &sent, named)?;
        target.who.rights.need(Right::Execute)?;
        Ok(Self { sent, target, named: named.to_owned(), began })
    }

    /// The model. An agent has none for endpoints without a conversation.
    pub(super) fn model(&self, front: &AppState) -> Result<Arc<ModelHandle>, LlmError> {
        let is_agent = front.gate.agent(&self.named).is_ok();
        self.target.chain.first().filter(|_| !is_agent).map(Arc::clone).ok_or_else(|| {
            let named = truncate_chars(&self.named, MAX_ECHOED_CHARS);
            let message = format!("`{named}` is an agent; this endpoint needs a model");
            LlmError::invalid("model", message)
        })
    }

    /// Who pays for the request.
    pub(super) fn usage(&self, front: &AppState) -> ModelUsageContext {
        let principal = self.target.who.principal.clone();
        let grant = self.target.who.grant.clone();
        let caller = ModelCaller { principal, grant, agent: None };
        ModelUsageContext { meter: Arc::clone(front.gate.model_usage()), caller }
    }

    /// The error for a model whose provider lacks what is asked for.
    pub(super) fn unsupported_error(&self, what: &str) -> LlmError {
        let named = truncate_chars(&self.named, MAX_ECHOED_CHARS);
        LlmError::invalid("model", format!("the provider of model `{named}` has no {what}"))
    }
}

impl SideJsonRequest {
    /// Reads the body. `in_url` is the model in dialects that name it there.
    pub(super) async fn read(
        front: &AppState,
        sent: Parts,
        body: Body,
        in_url: Option<&str>,
    ) -> Result<Self, ChatApiError> {
        let began = front.clock.now();
        check_query(&sent.uri, &["alt", "beta"])?;
        let body = body::json(&sent, body, &front.limits).await?;
        let address = RequestUrlParams { model: in_url, delivery: Some(ResponseDelivery::Whole) };
        let passed = PassThroughRequest::read(body, HeaderMap::new(), &address)?;
        let named = in_url.or(passed.model());
        let named = named.ok_or_else(|| LlmError::invalid("model", "`model` is missing"))?;
        let side = SideRequest::find(front, sent, named, began)?;
        Ok(Self { side, passed })
    }

    /// Reserves the memory that parsing takes, and parses the body.
    pub(super) async fn parse(&self, front: &AppState) -> Result<serde_json::Value, ChatApiError> {
        let body = self.passed.body();
        body::reserve_conversation(&self.side.sent, body, &front.limits).await?;
        super::parse_json(body).map_err(ChatApiError::from)
    }

    pub(super) async fn forward(
        self,
        front: &AppState,
        model: &ModelHandle,
        endpoint: SideEndpoint,
    ) -> Result<Response, ChatApiError> {
        let content = ForwardedContent::Json(self.passed);
        forward(front, self.side, model, SideContent { endpoint, content }).await
    }
}

/// What is forwarded, and where to.
pub(super) struct SideContent {
    pub(super) endpoint: SideEndpoint,
    pub(super) content: ForwardedContent,
}

impl SideContent {
    /// What limits count as input until the provider has counted: sound has no known length, and
    /// counting tokens costs none.
    fn metered_text(&self) -> &[u8] {
        match &self.content {
            ForwardedContent::Json(passed) if !self.endpoint.counts_tokens() => passed.body(),
            ForwardedContent::Json(_) | ForwardedContent::Whole { .. } => &[],
        }
    }
}

/// Forwards a request, and the answer while it arrives.
pub(super) async fn forward(
    front: &AppState,
    asked: SideRequest,
    model: &ModelHandle,
    what: SideContent,
) -> Result<Response, ChatApiError> {
    let reserved = asked.usage(front).reserve_text(model, what.metered_text())?;
    let SideRequest { sent, target, began, .. } = asked;
    let headers = answer_headers(front, model, began);
    let follow = TraceScope { tracer: front.gate.tracer().clone(), trace: target.who.trace };
    let SideContent { endpoint, content } = what;
    let request = ForwardedRequest { endpoint, content, headers: sent.headers, follow };
    let answer = model.forward(request).await;
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return Err(refusal(error.failure, reserved, model).into()),
    };
    let mut reserved = Some(reserved);
    let is_count = endpoint.counts_tokens();
    if !answer.status().is_success()
        && let Some(reserved) = reserved.take()
    {
        reserved.fail();
    }
    let is_stream = answer
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.to_str().is_ok_and(|kind| kind.starts_with("text/event-stream")));
    let chat = Arc::clone(&front.chat);
    let name = model.settings.name.clone();
    let interruption = answer.body().interruption();
    let note = move |metered: &MeteredUsage| {
        if let Some(usage) = &metered.counted {
            chat.figures().record_usage(&name, usage);
        }
        if let Some(mut reserved) = reserved.take() {
            if endpoint == SideEndpoint::Transcription {
                reserved.note_arrived(metered.text_bytes);
            }
            // What counting tokens counts is not used.
            if !is_count {
                reserved.settle(&metered.tokens(&interruption));
            }
        }
    };
    let mut response = answer.map(|body| Body::new(UsageMeteredBody::new(body, note)));
    response.extensions_mut().insert(ForwardedResponse);
    if is_stream {
        response.extensions_mut().insert(StreamingResponse);
    }
    headers.write_into(response.headers_mut());
    Ok(response)
}

pub(super) fn answer_headers(
    front: &AppState,
    model: &ModelHandle,
    began: Instant,
) -> TurnResponseHeaders {
    let mut headers = TurnResponseHeaders::new(began, front);
    headers.model(&model.settings.name);
    headers.overhead(std::time::Duration::ZERO);
    headers
}

/// A JSON answer of the gateway itself.
pub(super) fn json_response(text: impl Into<Bytes>, headers: TurnResponseHeaders) -> Response {
    let mut response = Response::new(Body::from(text.into()));
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    headers.write_into(response.headers_mut());
    response
}
