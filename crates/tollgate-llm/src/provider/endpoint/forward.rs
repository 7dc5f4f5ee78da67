//! Requests to a provider's endpoints beside chat, forwarded as bytes: embeddings, token counts,
//! audio.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response as HttpResponse, Uri, header};
use serde_json::Value;
use tokio::time::timeout;
use tollgate_engine::clock::Clock;
use tollgate_engine::spans::TraceScope;
use tollgate_mcp::offload::offload_if_large;

use super::{ACCEPT_JSON, DeclinedError, ModelEndpoint};
use crate::dialect::Dialect;
use crate::error::{LlmError, LlmErrorKind};
use crate::format::gemini;
use crate::provider::ask_error::AskError;
use crate::provider::error_mapping;
use crate::provider::forwarded_headers;
use crate::provider::pass_through::{self, PassThroughBody, PassThroughRequest};
use crate::provider::remote::trace_headers;
use crate::provider::response_head::ExpectedBody;
use crate::provider::retry_backoff::{RetryProgress, retry_delay};
use crate::provider::side_endpoint::SideEndpoint;
use crate::provider::urls;

const JSON_CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/json");
const ACCEPT_ANY: HeaderValue = HeaderValue::from_static("*/*");

/// A request to forward. Its headers must not be logged.
pub struct ForwardedRequest {
    pub endpoint: SideEndpoint,
    pub content: ForwardedContent,
    /// The client's headers, of which only an allowlist is forwarded.
    pub headers: HeaderMap,
    /// Trace context of the request.
    pub follow: TraceScope,
}

pub enum ForwardedContent {
    /// JSON, in which the client's name of the model is replaced by the provider's.
    Json(PassThroughRequest),
    /// Any other form, which has the provider's name already.
    Whole { content_type: HeaderValue, body: Bytes },
}

impl SideEndpoint {
    fn expected_body(self) -> ExpectedBody {
        match self {
            Self::Speech | Self::Transcription => ExpectedBody::Media,
            Self::Embeddings
            | Self::CountTokens
            | Self::GeminiCountTokens
            | Self::GeminiEmbed
            | Self::GeminiBatchEmbed => ExpectedBody::Json,
        }
    }

    fn accept(self) -> HeaderValue {
        match self.expected_body() {
            ExpectedBody::Media => ACCEPT_ANY,
            ExpectedBody::Json | ExpectedBody::Events | ExpectedBody::AwsEvents => ACCEPT_JSON,
        }
    }
}

impl ModelEndpoint {
    /// Retries as the provider's settings say, as long as nothing was returned to the client. The
    /// final error is the provider's own response, where a client may see it.
    pub(in crate::provider) async fn forward(
        &self,
        request: ForwardedRequest,
        clock: &dyn Clock,
    ) -> Result<HttpResponse<PassThroughBody>, AskError> {
        let ForwardedRequest { endpoint, content, headers, follow } = request;
        let (content_type, body) = match content {
            ForwardedContent::Whole { content_type, body } => (content_type, body),
            ForwardedContent::Json(passed) => {
                let body = match endpoint.dialect() {
                    Dialect::Gemini => self.name_gemini_model(passed).await?,
                    Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Anthropic => {
                        passed.for_model(&self.id)
                    }
                };
                (JSON_CONTENT_TYPE, body)
            }
        };
        let url = self.side_url(endpoint)?;
        let mut sent = forwarded_headers::of(endpoint.dialect(), &headers);
        sent.insert(header::CONTENT_TYPE, content_type);
        sent.insert(header::ACCEPT, endpoint.accept());
        trace_headers(&mut sent, follow.trace.as_deref());
        let mut failed = 0;
        loop {
            let attempt = ForwardAttempt { endpoint, url: &url, headers: &sent, body: &body };
            let declined = match self.forward_once(&attempt, clock).await {
                Ok(answer) => return Ok(answer),
                Err(declined) => declined,
            };
            failed += 1;
            let tried = RetryProgress { failed, retries: self.retries(), left: None };
            match retry_delay(declined.error.again, tried, rand::random()) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return declined.words.map(|words| *words).ok_or(declined.error),
            }
        }
    }

    /// In this dialect the model is in the URL and, at some endpoints, in the body as well.
    async fn name_gemini_model(&self, passed: PassThroughRequest) -> Result<Bytes, AskError> {
        let body = passed.body().clone();
        let id = self.id.clone();
        let named = offload_if_large(body.len(), move || {
            let mut value: Value = serde_json::from_slice(&body)?;
            gemini::name_model(&mut value, &id);
            Ok::<_, serde_json::Error>(Bytes::from(value.to_string()))
        });
        named.await.map_err(|error| {
            AskError::never(LlmError::invalid("", format!("the body is not JSON: {error}")))
        })
    }

    pub(super) fn side_url(&self, endpoint: SideEndpoint) -> Result<Uri, AskError> {
        urls::side_endpoint(&self.remote.base, endpoint, &self.id).map_err(|why| {
            let message = self.label.of_model(&why.to_string());
            AskError::never(LlmError::new(LlmErrorKind::Internal, message))
        })
    }

    async fn forward_once(
        &self,
        attempt: &ForwardAttempt<'_>,
        clock: &dyn Clock,
    ) -> Result<HttpResponse<PassThroughBody>, DeclinedError> {
        let slot = self.remote.slot().await.map_err(AskError::other_model)?;
        let patience = self.remote.settings.patience;
        let answer = async {
            let ForwardAttempt { endpoint, url, headers, body } = *attempt;
            let response = self.remote.post(url, headers.clone(), body.clone()).await;
            let response =
                response.map_err(|failed| error_mapping::send_error(&self.label, &failed))?;
            let status = response.status();
            if status.is_client_error() || status.is_server_error() {
                return Err(self.read_declined(response, clock.wall()).await);
            }
            let expected = endpoint.expected_body();
            let response = self.check_head(response, expected, clock.wall()).await?;
            Ok(pass_through::through(response, slot, patience.silence, None))
        };
        timeout(patience.answer, answer).await.unwrap_or_else(|_| {
            Err(error_mapping::timeout_error(&self.label, patience.answer).into())
        })
    }
}

/// What is sent again when an attempt fails.
struct ForwardAttempt<'a> {
    endpoint: SideEndpoint,
    url: &'a Uri,
    headers: &'a HeaderMap,
    body: &'a Bytes,
}
