//! Pass-through: requests that are handed on as they came, because client and provider speak the
//! same dialect.
//!
//! Only the name of the model is replaced, and the answer's bytes go through untouched; its headers
//! pass by an allowlist.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::response::Parts;
use http::{HeaderMap, HeaderName, Response, header};
use hyper::body::Incoming;
use tollgate_core::json::{self, Object};
use tollgate_engine::spans::TraceScope;

use super::concurrency_limit::ProviderPermit;
use crate::conversation::ResponseDelivery;
use crate::error::LlmError;
use crate::format::RequestUrlParams;

mod body;
pub mod usage;

pub use body::{PassThroughBody, PassThroughError};

/// A client's request of which only `model` and `stream` were read. Its headers are not to be shown.
#[derive(Clone)]
pub struct PassThroughRequest {
    body: Bytes,
    model: Option<ModelNameSpan>,
    pub delivery: ResponseDelivery,
    /// The client's. Only what changes the meaning of a request is passed on, no credentials.
    pub headers: HeaderMap,
    /// What the request is part of.
    pub follow: TraceScope,
}

#[derive(Debug, Clone)]
struct ModelNameSpan {
    name: String,
    /// Where it stands in the body, quotes included.
    at: Range<usize>,
}

impl fmt::Debug for PassThroughRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (model, delivery) = (self.model(), self.delivery);
        f.debug_struct("Passed").field("model", &model).field("delivery", &delivery).finish()
    }
}

impl PassThroughRequest {
    /// `address` is what stands in the URL, for the dialect that has it there.
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
        Ok(Self { model, delivery, headers, follow: TraceScope::default(), body })
    }

    /// As the client named it, if the body does.
    pub fn model(&self) -> Option<&str> {
        self.model.as_ref().map(|named| named.name.as_str())
    }

    /// As it came.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    pub(super) fn into_body(self) -> Bytes {
        self.body
    }

    /// The body with another name of the model in the place of the client's.
    pub(super) fn for_model(self, id: &str) -> Bytes {
        let Some(ModelNameSpan { name, at }) = self.model else { return self.body };
        if name == id {
            return self.body;
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

/// What of a provider's headers a client gets. Others tell about the gateway's account, or are
/// about the connection.
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

/// The answer, whose body still comes.
pub(super) fn through(
    response: Response<Incoming>,
    held: (ProviderPermit, Duration),
) -> Response<PassThroughBody> {
    let (parts, body) = response.into_parts();
    client_response(&parts, PassThroughBody::through(body, held))
}

/// An answer that was read already.
pub(super) fn whole(parts: &Parts, body: Bytes) -> Response<PassThroughBody> {
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
