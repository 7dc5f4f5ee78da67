//! Pass-through: requests forwarded as bytes, because client and provider speak the same dialect.
//!
//! Only the model name is replaced. The body of the response is forwarded unchanged; its headers
//! pass an allowlist.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::response::Parts;
use http::{HeaderMap, HeaderName, Response, header};
use hyper::body::Incoming;
use tollgate_core::json::{self, Object};
use tollgate_engine::spans::TraceScope;

use self::event_guard::EventGuard;
use super::concurrency_limit::ProviderPermit;
use crate::conversation::ResponseDelivery;
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format::RequestUrlParams;
use crate::settings::ModelSettings;

mod body;
mod error;
pub(super) mod event_guard;
mod foreign_history;
pub mod usage;

pub(super) use body::UnbegunStreamError;
pub use body::{PassThroughBody, StreamInterruption};
pub use error::PassThroughError;

/// A client's request of which only `model` and `stream` were read. Its headers must not be logged.
#[derive(Clone)]
pub struct PassThroughRequest {
    body: Bytes,
    model: Option<ModelNameSpan>,
    /// Id of the response that the request continues, in the dialect that has them.
    pub previous_response: Option<String>,
    pub delivery: ResponseDelivery,
    /// The most tokens that the client wants.
    pub max_output: Option<u64>,
    /// The client's headers. Only those that change the meaning of a request are forwarded, no
    /// credentials.
    pub headers: HeaderMap,
    /// Trace context of the request.
    pub follow: TraceScope,
}

#[derive(Debug, Clone)]
struct ModelNameSpan {
    name: String,
    /// Byte range in the body, including the quotes.
    at: Range<usize>,
}

impl fmt::Debug for PassThroughRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = self.model();
        let delivery = self.delivery;
        f.debug_struct("Passed").field("model", &model).field("delivery", &delivery).finish()
    }
}

impl PassThroughRequest {
    /// `address` has the parameters from the URL, for the dialect that has them there.
    pub fn read(
        body: Bytes,
        headers: HeaderMap,
        address: &RequestUrlParams<'_>,
    ) -> Result<Self, LlmError> {
        let object = Object::parse_bytes(&body).map_err(|error| {
            LlmError::invalid("", format!("the body must be a JSON object: {error}"))
        })?;
        let model = match object.get("model") {
            None => None,
            Some(value) => {
                let name = json::string(value)
                    .ok_or_else(|| LlmError::invalid("model", "`model` must be a string"))?;
                let start = value.get().as_ptr().addr() - body.as_ptr().addr();
                Some(ModelNameSpan {
                    name: name.into_owned(),
                    at: start..start + value.get().len(),
                })
            }
        };
        let delivery = match (address.delivery, object.get("stream").map(|value| value.get())) {
            (Some(delivery), _) => delivery,
            (None, Some("true")) => ResponseDelivery::Streamed,
            (None, None | Some("false" | "null")) => ResponseDelivery::Whole,
            (None, Some(_)) => {
                return Err(LlmError::invalid("stream", "`stream` must be true or false"));
            }
        };
        let previous_response = object.string("previous_response_id");
        let previous_response = previous_response.map(Cow::into_owned);
        let max_output = max_output(&object);
        let follow = TraceScope::default();
        Ok(Self { model, previous_response, delivery, max_output, headers, follow, body })
    }

    /// The client's name of the model, if it is in the body.
    pub fn model(&self) -> Option<&str> {
        self.model.as_ref().map(|named| named.name.as_str())
    }

    /// The unchanged body.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Whether the history has to be rewritten for this model, which speaks the client's dialect.
    pub fn has_foreign_history(&self, dialect: Dialect, model: &ModelSettings) -> bool {
        foreign_history::has_foreign_history(dialect, model.capability_model(), &self.body)
    }

    /// The body with the client's model name replaced.
    pub(super) fn for_model(&self, id: &str) -> Bytes {
        let Some(ModelNameSpan { name, at }) = &self.model else { return self.body.clone() };
        if name == id {
            return self.body.clone();
        }
        let mut quoted = String::with_capacity(id.len() + 2);
        json::push_string(&mut quoted, id);
        let mut body = BytesMut::with_capacity(self.body.len() - at.len() + quoted.len());
        body.extend_from_slice(&self.body[..at.start]);
        body.extend_from_slice(quoted.as_bytes());
        body.extend_from_slice(&self.body[at.end..]);
        body.freeze()
    }
}

/// In the words of all dialects, times the number of answers.
fn max_output(object: &Object<'_>) -> Option<u64> {
    let count = |value: &serde_json::value::RawValue| value.get().parse::<u64>().ok();
    let keys = ["max_completion_tokens", "max_tokens", "max_output_tokens"];
    let most = keys.iter().find_map(|key| count(object.get(key)?));
    let of_gemini = || {
        let config = Object::parse(object.get("generationConfig")?.get()).ok()?;
        count(config.get("maxOutputTokens")?)
    };
    let answers = object.get("n").and_then(count).unwrap_or(1).max(1);
    most.or_else(of_gemini).map(|most| most.saturating_mul(answers))
}

/// Provider headers that a client gets. Others reveal the gateway's account, or concern the
/// connection.
fn is_for_client(name: &HeaderName) -> bool {
    let known = *name == header::CONTENT_TYPE
        || *name == header::RETRY_AFTER
        || matches!(
            name.as_str(),
            "retry-after-ms"
                | "x-should-retry"
                | "x-request-id"
                | "request-id"
                | "openai-processing-ms"
                | "openai-version"
        );
    known
        || name.as_str().starts_with("x-ratelimit-")
        || name.as_str().starts_with("anthropic-ratelimit-")
}

/// The response, with its body still to come: events if there is a guard.
pub(super) fn through(
    response: Response<Incoming>,
    slot: ProviderPermit,
    silence: Duration,
    guard: Option<EventGuard>,
) -> Response<PassThroughBody> {
    let (parts, body) = response.into_parts();
    client_response(&parts, PassThroughBody::through(body, slot, silence, guard))
}

/// A response that was read completely.
pub(super) fn whole_response(parts: &Parts, body: Bytes) -> Response<PassThroughBody> {
    client_response(parts, PassThroughBody::whole(body))
}

fn client_response(parts: &Parts, body: PassThroughBody) -> Response<PassThroughBody> {
    let mut response = Response::new(body);
    *response.status_mut() = parts.status;
    for (name, value) in parts.headers.iter().filter(|(name, _)| is_for_client(name)) {
        response.headers_mut().append(name, value.clone());
    }
    response
}

#[cfg(test)]
mod tests;
