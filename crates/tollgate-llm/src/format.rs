//! How each dialect writes conversations down. Pure: text in, text out. A new dialect is one module
//! and one line in [`of`].

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
mod openai_common;
mod openai_error;
mod openai_media;
pub mod openai_responses;
pub mod pairing;
pub mod result_media;
pub mod result_order;
#[cfg(test)]
mod test_fixtures;

/// The one for a dialect.
pub fn of(dialect: Dialect) -> &'static dyn DialectCodec {
    match dialect {
        Dialect::OpenAiChat => &OpenAiChatCodec,
        Dialect::OpenAiResponses => &OpenAiResponsesCodec,
        Dialect::Anthropic => &AnthropicCodec,
        Dialect::Gemini => &GeminiCodec,
    }
}

/// One dialect, as fronts and as providers speak it.
pub trait DialectCodec: Send + Sync {
    fn dialect(&self) -> Dialect;

    /// A client's request. `address` is what stands in the URL, for the dialect that needs it.
    fn read_request(
        &self,
        body: Value,
        address: &RequestUrlParams<'_>,
    ) -> Result<ChatRequest, LlmError>;
    /// For a provider. Fails if the dialect cannot say it at all.
    fn write_request(&self, request: &ChatRequest) -> Result<EncodedRequest, LlmError>;

    /// A provider's answer.
    fn read_response(&self, body: Value) -> Result<ChatResponse, MalformedResponseError>;
    /// For the client that sent `request`: some of what it asked for stands in the answer again,
    /// and never what the gateway made of it. `told` goes into the `tollgate` field.
    fn write_response(
        &self,
        response: &ChatResponse,
        request: &ChatRequest,
        told: Option<&GatewayReport>,
    ) -> Value;

    /// For the events of a provider's stream.
    fn stream_reader(&self) -> Box<dyn StreamReader>;
    /// For the stream of the client that sent `request`.
    fn stream_writer(&self, request: &ChatRequest) -> Box<dyn StreamWriter>;

    /// What a provider says instead of an answer.
    fn read_error(&self, status: u16, body: &[u8]) -> ProviderErrorReport;
    /// As the body of an answer with the failure's status.
    fn write_error(&self, failure: &LlmError) -> Value;

    /// Messages as this dialect's clients keep them in their history.
    fn write_history(&self, messages: &[ChatMessage]) -> Value;
}

/// What a URL says of a request.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestUrlParams<'a> {
    pub model: Option<&'a str>,
    pub delivery: Option<ResponseDelivery>,
}

/// A request as a provider takes it.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodedRequest {
    pub body: Value,
    /// What the dialect has no words for and was left out, in words for the client.
    pub lost: Vec<String>,
}

/// Reads the events of one stream.
pub trait StreamReader: Send {
    /// `name` is the event's, if it has one.
    fn read(
        &mut self,
        name: Option<&str>,
        data: &str,
    ) -> Result<Vec<ResponseDelta>, BrokenStreamError>;
    /// The stream is over. Says what is missing, or that it broke off.
    fn end(&mut self) -> Result<Vec<ResponseDelta>, BrokenStreamError>;
}

/// Writes the events of one stream.
pub trait StreamWriter: Send {
    fn write(&mut self, delta: &ResponseDelta) -> Vec<ChatSseEvent>;
    /// Behind the last delta. `told` goes into the last event that has room for it: writers hold
    /// back what [`ResponseDelta::End`] says until here.
    fn end(&mut self, told: Option<&GatewayReport>) -> Vec<ChatSseEvent>;
    /// In place of all that would still have come.
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
}

/// An answer that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the response is invalid: {0}")]
pub struct MalformedResponseError(pub String);

impl From<LlmError> for MalformedResponseError {
    fn from(failure: LlmError) -> Self {
        Self(failure.message)
    }
}

/// Why a stream ends before its time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokenStreamError {
    #[error(transparent)]
    Malformed(#[from] MalformedResponseError),
    /// It ended, or the connection did, before the answer was whole.
    #[error("the response was interrupted")]
    Short,
    /// The provider says so itself.
    #[error("{}", .0.message)]
    Reported(ProviderErrorReport),
}

/// An error in a provider's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderErrorReport {
    pub message: String,
    /// The provider's own code, if it gives one.
    pub code: Option<String>,
    /// What the body says of it; headers are read elsewhere.
    pub retry_after: Option<Duration>,
    pub fault: ProviderFault,
}

/// Whose fault an error is, as far as the provider's words and the status tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderFault {
    /// The request is wrong: it will fail again.
    Request,
    /// The request is larger than the model's window.
    TooLong,
    /// The provider does not know the model.
    Model,
    /// The gateway's key is refused, or has no money left.
    Key,
    /// Too many requests.
    TooOften,
    /// The provider is overloaded or fails by itself: the same request may do well later.
    Provider,
}

#[cfg(test)]
mod tests;
