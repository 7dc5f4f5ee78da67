//! HTTP requests about calls over WebRTC and SIP: a provider creates a call for an SDP offer, and
//! accepts, refers or ends one. The media never pass through the gateway.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::response::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use tokio::time::timeout;
use tollgate_core::trace::Trace;

use super::error_mapping;
use super::label::ModelLabel;
use super::model::ModelHandle;
use super::remote::{RemoteProvider, trace_headers};
use super::response_head::{self, ErrorFormat};
use super::urls;
use crate::dialect::Dialect;
use crate::error::{LlmError, LlmErrorKind};
use crate::format;

/// Path of calls behind the provider's base URL.
pub const CALLS_PATH: &str = "/realtime/calls";
/// Limit on an answer, which is an SDP description.
const MAX_ANSWER_BYTES: usize = 64 << 10;
/// A caller waits for the answer. Shorter if the provider's own timeout is.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);
const ACCEPT_ANY: HeaderValue = HeaderValue::from_static("*/*");

/// A request to [`CALLS_PATH`] or to one call.
#[derive(Debug, Clone)]
pub struct ProviderCallRequest {
    /// Behind [`CALLS_PATH`]: empty, or `/{id}/{verb}`.
    pub path: String,
    pub content_type: HeaderValue,
    pub body: Bytes,
}

/// A successful answer.
#[derive(Debug, Clone)]
pub struct ProviderCallAnswer {
    /// The `location` header as sent. It is not to be followed.
    pub location: Option<String>,
    pub body: Bytes,
}

#[derive(Debug, thiserror::Error)]
pub enum ProviderCallError {
    #[error("the provider has no such call")]
    UnknownCall,
    #[error(transparent)]
    Failed(#[from] LlmError),
}

impl ModelHandle {
    /// Sends a request about a call, once: a repeated one might create a second call.
    pub async fn post_call(
        &self,
        request: ProviderCallRequest,
        trace: Option<&Trace>,
        wall: SystemTime,
    ) -> Result<ProviderCallAnswer, ProviderCallError> {
        let Some(remote) = self.provider() else {
            let message = format!("model `{}` does not support calls", self.settings.name);
            return Err(LlmError::invalid("model", message).into());
        };
        let label = remote.label(&self.settings.id);
        let limit = remote.settings.patience.answer.min(CALL_TIMEOUT);
        match timeout(limit, post(remote, &label, request, trace, wall)).await {
            Ok(answer) => answer,
            Err(_) => Err(error_mapping::timeout_error(&label, limit).failure.into()),
        }
    }
}

async fn post(
    remote: &RemoteProvider,
    label: &ModelLabel,
    request: ProviderCallRequest,
    trace: Option<&Trace>,
    wall: SystemTime,
) -> Result<ProviderCallAnswer, ProviderCallError> {
    let ProviderCallRequest { path, content_type, body } = request;
    let url = call_url(remote, label, &path)?;
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(header::ACCEPT, ACCEPT_ANY);
    trace_headers(&mut headers, trace);
    let response = remote.post(&url, headers, body).await;
    let response = response.map_err(|failed| error_mapping::send_error(label, &failed).failure)?;
    if response.status() == StatusCode::NOT_FOUND && !path.is_empty() {
        return Err(ProviderCallError::UnknownCall);
    }
    if response.status().is_success() {
        let (parts, body) = response.into_parts();
        check_success(label, &parts)?;
        let body = response_head::read_whole(body, MAX_ANSWER_BYTES, label).await;
        let location = parts.headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
        let location = location.map(str::to_owned);
        return Ok(ProviderCallAnswer { location, body: body.map_err(|it| it.failure)? });
    }
    let (parts, body) = response.into_parts();
    if parts.status.is_client_error() || parts.status.is_server_error() {
        let errors = ErrorFormat::Dialect(format::of(Dialect::OpenAiChat));
        let refusal = response_head::read_refusal(&parts, body, errors, wall).await;
        return Err(refusal.to_ask_error(label).failure.into());
    }
    Err(invalid_answer(label, &format!("answered with HTTP {}", parts.status.as_u16())))
}

fn call_url(remote: &RemoteProvider, label: &ModelLabel, path: &str) -> Result<Uri, LlmError> {
    let url = urls::socket(&remote.base, &format!("{CALLS_PATH}{path}"), &[]);
    url.map_err(|why| LlmError::new(LlmErrorKind::Internal, label.of_model(&why.to_string())))
}

/// A web page is the answer of a proxy, or of another server.
fn check_success(label: &ModelLabel, parts: &Parts) -> Result<(), ProviderCallError> {
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    match kind.filter(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/html")) {
        Some(_) => Err(invalid_answer(label, "answered with a web page: check its `base_url`")),
        None => Ok(()),
    }
}

fn invalid_answer(label: &ModelLabel, what: &str) -> ProviderCallError {
    error_mapping::invalid_response_error(label, what).failure.into()
}
