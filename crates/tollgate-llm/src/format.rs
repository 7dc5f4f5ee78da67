//! Dialect codecs: encode and decode conversations in each chat dialect. Pure: text in, text out. A
//! new dialect is one module and one line in [`of`].

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::conversation::{ChatMessage, ChatRequest, ChatResponse, ResponseDelivery};
use crate::delta::ResponseDelta;
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::gateway_report::GatewayReport;

use self::anthropic::AnthropicCodec;
use self::gemini::GeminiCodec;
use self::openai_chat::OpenAiChatCodec;
use self::openai_responses::OpenAiResponsesCodec;

pub mod anthropic;
pub mod encoding_log;
pub mod encoding_losses;
pub mod fields;
pub mod gemini;
pub mod generic_error;
pub mod names;
pub mod openai_chat;
pub(crate) mod openai_common;
pub mod openai_responses;
pub mod pairing;
pub mod result_media;
pub mod result_order;
#[cfg(test)]
mod test_fixtures;

/// The codec of a dialect.
pub fn of(dialect: Dialect) -> &'static dyn DialectCodec {
    match dialect {
        Dialect::OpenAiChat => &OpenAiChatCodec,
        Dialect::OpenAiResponses => &OpenAiResponsesCodec,
        Dialect::Anthropic => &AnthropicCodec,
        Dialect::Gemini => &GeminiCodec,
    }
}

/// Codec of one dialect, for fronts and providers.
pub trait DialectCodec: Send + Sync {
    fn dialect(&self) -> Dialect;

    /// Decodes a client's request. `address` has the parameters from the URL, for the dialect that
    /// needs them.
    fn read_request(
        &self,
        body: Value,
        address: &RequestUrlParams<'_>,
    ) -> Result<ChatRequest, LlmError>;
    /// Encodes a request for a provider. Fails if the dialect cannot express it at all.
    fn write_request(&self, request: &ChatRequest) -> Result<EncodedRequest, LlmError>;

    /// Decodes a provider's response.
    fn read_response(&self, body: Value) -> Result<ChatResponse, MalformedResponseError>;
    /// Encodes a response for the client that sent `request`: the response repeats some fields of
    /// the client's request, never those that the gateway changed. `told` goes into the `tollgate`
    /// field.
    fn write_response(
        &self,
        response: &ChatResponse,
        request: &ChatRequest,
        report: Option<&GatewayReport>,
    ) -> Value;

    /// Decoder for the events of a provider's stream.
    fn stream_reader(&self) -> Box<dyn StreamReader>;
    /// Encoder for the stream to the client that sent `request`.
    fn stream_writer(&self, request: &ChatRequest) -> Box<dyn StreamWriter>;

    /// Decodes a provider's error response.
    fn read_error(&self, status: u16, body: &[u8]) -> ProviderErrorReport;
    /// Encodes the body of an error response, sent with the status of `failure`.
    fn write_error(&self, failure: &LlmError) -> Value;
    /// Encodes the event that ends a stream with an error. `after` is the number of the event before
    /// it, in the dialect that numbers them.
    fn write_stream_error(&self, failure: &LlmError, after: Option<u64>) -> ChatSseEvent;

    /// Encodes messages in the form in which this dialect's clients keep their history.
    fn write_history(&self, messages: &[Arc<ChatMessage>]) -> Value;
}

/// Parameters of a request that are in its URL.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestUrlParams<'a> {
    pub model: Option<&'a str>,
    pub delivery: Option<ResponseDelivery>,
}

/// A request encoded for a provider.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodedRequest {
    pub body: Value,
    /// Parts that the dialect cannot express and that were omitted, as text for the client.
    pub lost: Vec<String>,
}

/// Decodes the events of one stream.
pub trait StreamReader: Send {
    /// `name` is the event name, if there is one.
    fn read(
        &mut self,
        name: Option<&str>,
        data: &str,
    ) -> Result<Vec<ResponseDelta>, BrokenStreamError>;
    /// End of the stream. Returns the missing deltas, or an error if the stream broke off.
    fn end(&mut self) -> Result<Vec<ResponseDelta>, BrokenStreamError>;
}

/// Encodes the events of one stream.
pub trait StreamWriter: Send {
    fn write(&mut self, delta: &ResponseDelta) -> Vec<ChatSseEvent>;
    /// Call after the last delta. `told` goes into the last event that has room for it: writers
    /// hold back the content of [`ResponseDelta::End`] until then.
    fn end(&mut self, report: Option<&GatewayReport>) -> Vec<ChatSseEvent>;
    /// Ends the stream with an error.
    fn fail(&mut self, failure: &LlmError) -> Vec<ChatSseEvent>;
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatSseEvent {
    pub name: Option<&'static str>,
    pub data: String,
}

impl ChatSseEvent {
    pub fn data(value: &Value) -> Self {
        Self { name: None, data: value.to_string() }
    }

    pub fn with_name(name: &'static str, value: &Value) -> Self {
        Self { name: Some(name), data: value.to_string() }
    }

    /// The event as it is sent. JSON has no line breaks.
    pub fn to_sse(&self) -> String {
        let name = self.name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{name}data: {}\n\n", self.data)
    }
}

/// A response that cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the response is invalid: {0}")]
pub struct MalformedResponseError(pub String);

impl From<LlmError> for MalformedResponseError {
    fn from(failure: LlmError) -> Self {
        Self(failure.message)
    }
}

/// Why a stream ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokenStreamError {
    #[error(transparent)]
    Malformed(#[from] MalformedResponseError),
    /// The stream or the connection ended before the answer was complete.
    #[error("the response was interrupted")]
    Short,
    /// The provider reported an error.
    #[error("{}", .0.message)]
    Reported(ProviderErrorReport),
}

/// An error as reported by a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderErrorReport {
    pub message: String,
    /// The provider's error code, if there is one.
    pub code: Option<String>,
    /// From the body; headers are read elsewhere.
    pub retry_after: Option<Duration>,
    pub fault: ProviderFault,
}

/// Cause of an error, as far as the provider's message and the status tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderFault {
    /// The request is invalid: it will fail again.
    Request,
    /// The request exceeds the model's context window.
    TooLong,
    /// The provider does not know the model.
    Model,
    /// The gateway's key is rejected.
    Key,
    /// The account of the gateway's key has no credit left, or its quota is used up.
    Credit,
    /// Too many requests.
    TooOften,
    /// The provider is overloaded or has an internal error: a retry may succeed.
    Provider,
}

#[cfg(test)]
mod tests;
