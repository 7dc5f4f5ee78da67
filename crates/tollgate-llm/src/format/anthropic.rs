//! Codec of Anthropic's Messages API. Called through [`DialectCodec`]; independent of HTTP.

use std::sync::Arc;

use serde_json::Value;

use crate::conversation::{ChatMessage, ChatRequest, ChatResponse};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format::{
    ChatSseEvent, DialectCodec, EncodedRequest, MalformedResponseError, ProviderErrorReport,
    RequestUrlParams, StreamReader, StreamWriter,
};
use crate::gateway_report::GatewayReport;

mod errors;
mod history;
mod part_reader;
mod part_writer;
mod prompt_cache;
mod request_reader;
mod request_writer;
mod response;
mod stream_reader;
mod stream_writer;
mod thought_binding;

/// `POST /v1/messages`.
#[derive(Debug, Clone, Copy)]
pub struct AnthropicCodec;

impl DialectCodec for AnthropicCodec {
    fn dialect(&self) -> Dialect {
        Dialect::Anthropic
    }

    fn read_request(
        &self,
        body: Value,
        address: &RequestUrlParams<'_>,
    ) -> Result<ChatRequest, LlmError> {
        request_reader::read(body, address)
    }

    fn write_request(&self, request: &ChatRequest) -> Result<EncodedRequest, LlmError> {
        request_writer::write(request)
    }

    fn read_response(&self, body: Value) -> Result<ChatResponse, MalformedResponseError> {
        response::read(body)
    }

    fn write_response(
        &self,
        response: &ChatResponse,
        _: &ChatRequest,
        report: Option<&GatewayReport>,
    ) -> Value {
        response::write(response, report)
    }

    fn stream_reader(&self) -> Box<dyn StreamReader> {
        Box::<stream_reader::AnthropicStreamReader>::default()
    }

    fn stream_writer(&self, request: &ChatRequest) -> Box<dyn StreamWriter> {
        Box::new(stream_writer::AnthropicStreamWriter::new(&request.model))
    }

    fn read_error(&self, status: u16, body: &[u8]) -> ProviderErrorReport {
        errors::read(status, body)
    }

    fn write_error(&self, failure: &LlmError) -> Value {
        errors::write(failure)
    }

    fn write_stream_error(&self, failure: &LlmError, _after: Option<u64>) -> ChatSseEvent {
        ChatSseEvent::with_name("error", &errors::write(failure))
    }

    fn write_history(&self, messages: &[Arc<ChatMessage>]) -> Value {
        history::history(messages)
    }
}

#[cfg(test)]
mod tests;
