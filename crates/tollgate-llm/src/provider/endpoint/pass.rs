//! Requests that are passed through to a model's endpoint, and what is checked of its answers.

use std::sync::Arc;
use std::time::SystemTime;

use http::Response as HttpResponse;
use hyper::body::Incoming;
use tokio::time::timeout;
use tollgate_core::json::Object;
use tollgate_mcp::offload::offload_if_large;

use super::{DeclinedError, MAX_RESPONSE_BYTES, ModelEndpoint, ProviderRequest, says_error};
use crate::conversation::ResponseDelivery;
use crate::dialect::Dialect;
use crate::format::MalformedResponseError;
use crate::provider::ask_error::AskError;
use crate::provider::concurrency_limit::ProviderPermit;
use crate::provider::error_mapping;
use crate::provider::forwarded_headers;
use crate::provider::pass_through::event_guard::EventGuard;
use crate::provider::pass_through::{
    self, PassThroughBody, PassThroughError, PassThroughRequest, UnbegunStreamError,
};
use crate::provider::remote::trace_headers;
use crate::provider::response_head::{self, ExpectedBody};

impl ModelEndpoint {
    /// One attempt to pass a request through. A whole answer is read before the client gets any of
    /// it, and a stream up to its first event: until then another attempt may take its place.
    pub(in crate::provider) async fn pass(
        &self,
        passed: &PassThroughRequest,
        wall: SystemTime,
    ) -> Result<HttpResponse<PassThroughBody>, DeclinedError> {
        let mut headers = forwarded_headers::of(self.dialect(), &passed.headers);
        trace_headers(&mut headers, passed.follow.trace.as_deref());
        let body = match self.dialect() {
            // In this dialect the model is in the URL.
            Dialect::Gemini => passed.body().clone(),
            Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Anthropic => {
                passed.for_model(&self.id)
            }
        };
        let sent = ProviderRequest { delivery: passed.delivery, headers, body };
        let slot = self.remote.slot().await.map_err(AskError::other_model)?;
        let limit = self.remote.settings.patience.answer;
        let answer = async {
            let response = self.send(sent).await?;
            let status = response.status();
            if status.is_client_error() || status.is_server_error() {
                return Err(self.read_declined(response, wall).await);
            }
            match passed.delivery {
                ResponseDelivery::Whole => Ok(self.pass_whole(response, wall).await?),
                ResponseDelivery::Streamed => Ok(self.pass_events(response, slot, wall).await?),
            }
        };
        let answered = timeout(limit, Box::pin(answer)).await;
        answered.unwrap_or_else(|_| Err(error_mapping::timeout_error(&self.label, limit).into()))
    }

    async fn pass_whole(
        &self,
        response: HttpResponse<Incoming>,
        wall: SystemTime,
    ) -> Result<HttpResponse<PassThroughBody>, AskError> {
        let response = self.check_head(response, ExpectedBody::Json, wall).await?;
        let (parts, body) = response.into_parts();
        let bytes = response_head::read_whole(body, MAX_RESPONSE_BYTES, &self.label).await?;
        let checked = bytes.clone();
        let checked = offload_if_large(bytes.len(), move || check_object(&checked)).await;
        checked.map_err(|malformed| error_mapping::malformed_error(&self.label, &malformed))?;
        if says_error(&bytes) {
            return Err(response_head::error_in_ok_response(&bytes, self.format, &self.label));
        }
        Ok(pass_through::whole_response(&parts, bytes))
    }

    async fn pass_events(
        &self,
        response: HttpResponse<Incoming>,
        slot: ProviderPermit,
        wall: SystemTime,
    ) -> Result<HttpResponse<PassThroughBody>, AskError> {
        let response = self.check_head(response, ExpectedBody::Events, wall).await?;
        let label = Arc::clone(&self.label);
        let describe = move |broken: Option<&PassThroughError>| {
            error_mapping::interruption_error(&label, broken).failure
        };
        let guard = EventGuard::new(self.dialect(), Box::new(describe));
        let silence = self.remote.settings.patience.silence;
        let mut response = pass_through::through(response, slot, silence, Some(guard));
        match response.body_mut().begin().await {
            Ok(()) => Ok(response),
            Err(UnbegunStreamError::Failed(failed)) => {
                Err(error_mapping::unbegun_error(&self.label, &failed))
            }
            Err(UnbegunStreamError::Reported(event)) => {
                Err(response_head::error_in_ok_response(&event, self.format, &self.label))
            }
        }
    }
}

/// Whether it is JSON at all, without the cost of values for it.
fn check_object(body: &[u8]) -> Result<(), MalformedResponseError> {
    let read = Object::parse_bytes(body).map(drop);
    read.map_err(|error| MalformedResponseError(format!("it is not a JSON object: {error}")))
}
