//! Endpoint of one model at one provider: encodes requests in the provider's dialect, sends them,
//! and decodes the responses.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response as HttpResponse, Uri, header};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout;
use tollgate_core::json::{JsonBounds, Object};
use tollgate_core::trace::Trace;
use tollgate_mcp::answer_budget::AnswerPermit;
use tollgate_mcp::offload::offload_if_large;

use super::ask_error::AskError;
use super::cloud_body;
use super::config_error::ModelConfigError;
use super::delta_stream::{DeltaStream, ProviderEventStream, set_created};
use super::error_mapping;
use super::event_source::{EventFraming, EventSource, StreamLimits};
use super::forwarded_headers;
use super::label::ModelLabel;
use super::pass_through::{self, PassThroughBody};
use super::remote::{RemoteProvider, trace_headers};
use super::response_head::{self, ErrorFormat, ExpectedBody};
use super::urls;
use crate::conversation::{
    ChatRequest, ChatResponse, ModelOrigin, PartContent, ResponseDelivery, readable_reasoning,
};
use crate::dialect::Dialect;
use crate::format::{self, DialectCodec, MalformedResponseError};
use crate::request_fitting::{self, ToolNames};
use crate::settings::{self, CloudSettings, ProviderApi, ProviderKind};

mod embeddings;
mod forward;
mod pass;

pub use embeddings::EmbeddingVectors;
pub use forward::{ForwardedContent, ForwardedRequest};

/// Size limit of a complete response.
const MAX_RESPONSE_BYTES: usize = 32 << 20;
const MAX_EVENT_BYTES: usize = 16 << 20;
/// Size limit of a stream, where every token is wrapped in an event.
const MAX_STREAM_BYTES: usize = 2 * MAX_RESPONSE_BYTES;

pub(super) const ACCEPT_JSON: HeaderValue = HeaderValue::from_static("application/json");
const ACCEPT_EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const ACCEPT_AWS_EVENTS: HeaderValue =
    HeaderValue::from_static("application/vnd.amazon.eventstream");

pub(super) struct ModelEndpoint {
    remote: Arc<RemoteProvider>,
    format: &'static dyn DialectCodec,
    errors: ErrorFormat,
    framing: EventFraming,
    /// The provider's name of the model.
    id: String,
    /// Names the model in signatures of its reasoning.
    origin: ModelOrigin,
    /// Name of the model whose capabilities it has.
    behaves_like: String,
    whole: Uri,
    streamed: Uri,
    label: Arc<ModelLabel>,
}

/// A request to send.
struct ProviderRequest {
    delivery: ResponseDelivery,
    headers: HeaderMap,
    body: Bytes,
}

/// A request as the model takes it.
struct EncodedForModel {
    sent: ProviderRequest,
    /// What was left out or rewritten.
    lost: Vec<String>,
    names: ToolNames,
}

/// Result of one attempt, and the parts that the provider's dialect cannot express.
pub(super) struct AttemptAnswer<T> {
    pub(super) answer: T,
    pub(super) lost: Vec<String>,
    /// Origin of the URL that answered.
    pub(super) from: Option<Uri>,
}

/// Failure of one attempt.
pub(super) struct DeclinedError {
    pub(super) error: AskError,
    /// The provider's error response to a passed-through request, unless it concerns the gateway's
    /// key or there is none.
    pub(super) words: Option<Box<HttpResponse<PassThroughBody>>>,
}

impl From<AskError> for DeclinedError {
    fn from(error: AskError) -> Self {
        Self { error, words: None }
    }
}

impl ModelEndpoint {
    pub(super) fn new(
        model: &settings::ModelSettings,
        remote: Arc<RemoteProvider>,
    ) -> Result<Self, ModelConfigError> {
        let dialect = match (remote.settings.kind, model.api) {
            (ProviderKind::Anthropic, _) => Dialect::Anthropic,
            (ProviderKind::Gemini, _) => Dialect::Gemini,
            (_, ProviderApi::Responses) => Dialect::OpenAiResponses,
            (_, ProviderApi::Chat | ProviderApi::Realtime) => Dialect::OpenAiChat,
        };
        let refused = |why| ModelConfigError::Model { name: model.name.clone(), why };
        let format = format::of(dialect);
        let url = |delivery| urls::endpoint(&remote.base, dialect, &model.id, delivery);
        let whole = url(ResponseDelivery::Whole);
        let streamed = url(ResponseDelivery::Streamed);
        let label = Arc::new(remote.label(&model.id));
        let whole = whole.map_err(refused)?;
        let streamed = streamed.map_err(refused)?;
        let origin = ModelOrigin::new(&remote.settings.name, &model.id);
        let origin = remote.account().map_or(origin, |endpoint| origin.at_account(endpoint));
        let id = model.id.clone();
        let behaves_like = model.capability_model().to_owned();
        let cloud = remote.settings.cloud.as_ref();
        let errors = ErrorFormat::new(cloud, format);
        let framing = match (cloud, dialect) {
            (Some(CloudSettings::Bedrock(_)), Dialect::Anthropic) => EventFraming::Aws,
            _ => EventFraming::Sse,
        };
        Ok(Self {
            remote,
            format,
            errors,
            framing,
            id,
            origin,
            behaves_like,
            whole,
            streamed,
            label,
        })
    }

    pub(super) fn shared_remote(&self) -> Arc<RemoteProvider> {
        Arc::clone(&self.remote)
    }

    pub(super) fn remote(&self) -> &RemoteProvider {
        &self.remote
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.format.dialect()
    }

    /// The provider's name of the model.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Names the model in signatures of its reasoning.
    pub(super) fn origin(&self) -> ModelOrigin {
        self.origin
    }

    /// Whether it is the same model of the same provider, perhaps at another endpoint, and reads
    /// what the other one sealed.
    pub(super) fn is_same_model(&self, other: &Self) -> bool {
        let is_sealed = self.dialect() == Dialect::OpenAiResponses;
        self.remote.settings.name == other.remote.settings.name
            && self.id == other.id
            && self.dialect() == other.dialect()
            && (!is_sealed || self.origin == other.origin)
    }

    /// Whether its API is the same as the vendor's, so that requests may be passed through.
    pub(super) fn has_vendor_api(&self) -> bool {
        match (&self.remote.settings.cloud, self.dialect()) {
            (None | Some(CloudSettings::Azure(_)), _) => true,
            (Some(CloudSettings::Bedrock(_)), dialect) => dialect != Dialect::Anthropic,
            (Some(CloudSettings::Vertex(_)), _) => false,
        }
    }

    pub(super) fn timeout_error(&self, limit: Duration) -> AskError {
        error_mapping::timeout_error(&self.label, limit)
    }

    pub(super) fn retries(&self) -> u32 {
        self.remote.settings.retries
    }

    pub(super) async fn ask(
        &self,
        request: &ChatRequest,
        trace: Option<&Trace>,
        wall: SystemTime,
    ) -> Result<AttemptAnswer<ChatResponse>, AskError> {
        let EncodedForModel { mut sent, lost, names } =
            self.encode_request(request, ResponseDelivery::Whole)?;
        trace_headers(&mut sent.headers, trace);
        let _slot = self.remote.slot().await.map_err(AskError::other_model)?;
        let answer = async {
            let response = self.send(sent).await?;
            let response = self.check_head(response, ExpectedBody::Json, wall).await?;
            self.read(response).await
        };
        let limit = self.remote.settings.patience.answer;
        let answer = timeout(limit, answer).await;
        let mut answer =
            answer.unwrap_or_else(|_| Err(error_mapping::timeout_error(&self.label, limit)))?;
        names.restore(&mut answer.parts);
        set_created(&mut answer.created, wall);
        Ok(self.attempt_answer(answer, lost))
    }

    pub(super) async fn stream(
        &self,
        request: &ChatRequest,
        trace: Option<&Trace>,
        wall: SystemTime,
    ) -> Result<AttemptAnswer<DeltaStream>, AskError> {
        let EncodedForModel { mut sent, lost, names } =
            self.encode_request(request, ResponseDelivery::Streamed)?;
        trace_headers(&mut sent.headers, trace);
        let slot = self.remote.slot().await.map_err(AskError::other_model)?;
        let begun = async {
            let response = self.send(sent).await?;
            let expected = match self.framing {
                EventFraming::Sse => ExpectedBody::Events,
                EventFraming::Aws => ExpectedBody::AwsEvents,
            };
            let response = self.check_head(response, expected, wall).await?;
            let limits = StreamLimits { event: MAX_EVENT_BYTES, whole: MAX_STREAM_BYTES };
            let mut answering = DeltaStream::from_events(ProviderEventStream {
                events: EventSource::new(response, self.framing, limits),
                reader: self.format.stream_reader(),
                dialect: self.dialect(),
                origin: self.origin,
                label: Arc::clone(&self.label),
                remote: Arc::clone(&self.remote),
                _slot: slot,
                uncharged: 0,
                held: AnswerPermit::default(),
                names,
                wall,
                attempt: None,
            });
            answering.begin().await?;
            Ok(answering)
        };
        let limit = self.remote.settings.patience.answer;
        let begun = timeout(limit, Box::pin(begun)).await;
        let answer =
            begun.unwrap_or_else(|_| Err(error_mapping::timeout_error(&self.label, limit)))?;
        Ok(self.attempt_answer(answer, lost))
    }

    async fn read_declined(
        &self,
        response: HttpResponse<Incoming>,
        wall: SystemTime,
    ) -> DeclinedError {
        let (parts, body) = response.into_parts();
        let refused = response_head::read_refusal(&parts, body, self.errors, wall).await;
        let error = refused.to_ask_error(&self.label);
        let passes = refused.may_be_passed(&self.label);
        let words = passes.then(|| Box::new(pass_through::whole_response(&parts, refused.body)));
        DeclinedError { error, words }
    }

    async fn send(&self, sent: ProviderRequest) -> Result<HttpResponse<Incoming>, AskError> {
        let ProviderRequest { delivery, mut headers, body } = sent;
        let (url, accept) = match delivery {
            ResponseDelivery::Whole => (&self.whole, ACCEPT_JSON),
            ResponseDelivery::Streamed => {
                let accept = match self.framing {
                    EventFraming::Sse => ACCEPT_EVENTS,
                    EventFraming::Aws => ACCEPT_AWS_EVENTS,
                };
                (&self.streamed, accept)
            }
        };
        headers.insert(header::ACCEPT, accept);
        let sent = self.remote.post(url, headers, body).await;
        sent.map_err(|failed| error_mapping::send_error(&self.label, &failed))
    }

    fn attempt_answer<T>(&self, answer: T, lost: Vec<String>) -> AttemptAnswer<T> {
        AttemptAnswer { answer, lost, from: Some(self.remote.base.origin().clone()) }
    }

    /// Returns the response if it is successful.
    async fn check_head(
        &self,
        response: HttpResponse<Incoming>,
        expected: ExpectedBody,
        wall: SystemTime,
    ) -> Result<HttpResponse<Incoming>, AskError> {
        response_head::check_head(response, self.errors, &self.label, expected, wall).await
    }

    async fn read(&self, response: HttpResponse<Incoming>) -> Result<ChatResponse, AskError> {
        let body = response.into_body();
        let bytes = response_head::read_whole(body, MAX_RESPONSE_BYTES, &self.label).await?;
        let answer = bytes.clone();
        let value = offload_if_large(bytes.len(), move || parse_answer(&answer)).await;
        let response = value.and_then(|value| self.format.read_response(value));
        let signed = response.map(|mut response| {
            for part in &mut response.parts {
                self.name_origin(&mut part.content);
            }
            response
        });
        signed.map_err(|malformed| {
            if says_error(&bytes) {
                response_head::error_in_ok_response(&bytes, self.format, &self.label)
            } else {
                error_mapping::malformed_error(&self.label, &malformed)
            }
        })
    }

    fn name_origin(&self, content: &mut PartContent) {
        if let PartContent::Thinking { signature, .. } = content {
            let signed = signature.take().map(|it| it.with_origin(self.dialect(), self.origin));
            *signature = signed;
        }
    }

    /// The encoded request, and the parts that had to be omitted.
    fn encode_request(
        &self,
        request: &ChatRequest,
        delivery: ResponseDelivery,
    ) -> Result<EncodedForModel, AskError> {
        let readable =
            readable_reasoning::for_model(&request.messages, self.dialect(), self.origin);
        let mut lost = Vec::new();
        let request = match readable {
            Some(readable) => {
                lost = readable.lost;
                let messages = readable.messages;
                Cow::Owned(ChatRequest { messages, ..request.clone() })
            }
            None => Cow::Borrowed(request),
        };
        let fitted = request_fitting::fit(request, self.dialect(), &self.behaves_like);
        let mut fitted = fitted.map_err(AskError::never)?;
        if fitted.request.delivery != delivery {
            fitted.request.to_mut().delivery = delivery;
        }
        let written = self.format.write_request(&fitted.request);
        let mut written = written.map_err(AskError::never)?;
        lost.retain(|what| !written.lost.contains(what));
        written.lost.append(&mut lost);
        if let Some(model) = written.body.get_mut("model") {
            *model = self.id.as_str().into();
        }
        let mut headers = forwarded_headers::take_from(&mut written.body, self.dialect());
        if let Some(cloud) = &self.remote.settings.cloud {
            cloud_body::fit(cloud, self.dialect(), delivery, &mut written.body, &mut headers);
        }
        let body = Bytes::from(written.body.to_string());
        let mut lost = fitted.changes;
        lost.append(&mut written.lost);
        let sent = ProviderRequest { delivery, headers, body };
        Ok(EncodedForModel { sent, lost, names: fitted.names })
    }
}

fn parse_answer(body: &[u8]) -> Result<Value, MalformedResponseError> {
    JsonBounds::default()
        .check(body)
        .map_err(|error| MalformedResponseError(format!("it cannot be read: {error}")))?;
    serde_json::from_slice(body)
        .map_err(|error| MalformedResponseError(format!("it is not JSON: {error}")))
}

fn says_error(body: &[u8]) -> bool {
    Object::parse_bytes(body).is_ok_and(|object| object.object("error").is_some())
}
