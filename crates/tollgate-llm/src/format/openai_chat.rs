//! Codec of OpenAI's Chat Completions, which most other model servers speak too. The types of the
//! `openai` packages are the reference for the wire format. Used only through [`super::of`].

use std::sync::Arc;

use serde_json::Value;

use super::openai_common::{errors, media};
use super::{
    ChatSseEvent, DialectCodec, EncodedRequest, MalformedResponseError, ProviderErrorReport,
    RequestUrlParams, StreamReader, StreamWriter,
};
use crate::conversation::{ChatMessage, ChatRequest, ChatResponse};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::gateway_report::GatewayReport;

mod history;
mod message_keys;
mod message_reader;
mod part_reader;
mod part_writer;
mod reasoning_details;
mod request_reader;
mod request_writer;
mod response;
mod stream_reader;
mod stream_writer;
mod tool;
mod usage;

const DIALECT: Dialect = Dialect::OpenAiChat;

#[derive(Debug, Clone, Copy)]
pub struct OpenAiChatCodec;

impl DialectCodec for OpenAiChatCodec {
    fn dialect(&self) -> Dialect {
        DIALECT
    }

    fn read_request(&self, body: Value, _: &RequestUrlParams<'_>) -> Result<ChatRequest, LlmError> {
        request_reader::read(body)
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
        request: &ChatRequest,
        report: Option<&GatewayReport>,
    ) -> Value {
        response::write(response, request, report)
    }

    fn stream_reader(&self) -> Box<dyn StreamReader> {
        Box::new(stream_reader::OpenAiChatStreamReader::default())
    }

    fn stream_writer(&self, request: &ChatRequest) -> Box<dyn StreamWriter> {
        Box::new(stream_writer::OpenAiChatStreamWriter::new(request))
    }

    fn read_error(&self, status: u16, body: &[u8]) -> ProviderErrorReport {
        errors::read(status, body)
    }

    fn write_error(&self, failure: &LlmError) -> Value {
        errors::write(failure)
    }

    fn write_stream_error(&self, failure: &LlmError, _after: Option<u64>) -> ChatSseEvent {
        ChatSseEvent::data(&errors::write(failure))
    }

    fn write_history(&self, messages: &[Arc<ChatMessage>]) -> Value {
        history::for_client(messages)
    }
}

/// The `tollgate` field.
fn report_json(report: &GatewayReport) -> Value {
    report.json(history::for_client(&report.history))
}

#[cfg(test)]
mod tests;
