//! Codec of OpenAI's Responses API, in which a conversation is a list of items: messages, calls,
//! results, thoughts, and the activity of hosted tools. Used only through [`super::of`].
//!
//! The types of the `openai` packages are the reference for the wire format. Unknown fields of an
//! item are kept in the extra field `item` of its part or message; those of a content part are kept
//! beside it. An item of an unknown type is an opaque part with the extra field `whole_item`; a
//! content part of an unknown type is an opaque part without it.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::openai_common::{errors, media};
use super::{
    ChatSseEvent, DialectCodec, EncodedRequest, MalformedResponseError, ProviderErrorReport,
    RequestUrlParams, StreamReader, StreamWriter,
};
use crate::conversation::{ChatMessage, ChatRequest, ChatResponse, MessagePart};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::extra::Extra;
use crate::gateway_report::GatewayReport;

mod echo;
mod history;
mod input_items;
mod item_reader;
mod message_reader;
mod part_reader;
mod part_writer;
mod request_reader;
mod request_writer;
mod response;
mod stream_reader;
mod stream_writer;
mod tool;
mod usage;

use self::stream_writer::ResponsesEvent;

pub use input_items::input_items;

const DIALECT: Dialect = Dialect::OpenAiResponses;

/// Value of `include` that asks for reasoning in a form that can be sent back.
const SEALED_REASONING: &str = "reasoning.encrypted_content";

/// Extra field with the fields of an item.
const ITEM_KEY: &str = "item";
/// Extra field with the last version of an item of unknown type, if that differs from its first. It
/// also distinguishes such items from content parts of a message.
const WHOLE_ITEM_KEY: &str = "whole_item";
/// Extra field with the last version of a content part of unknown type.
const WHOLE_CONTENT_KEY: &str = "whole_content";

/// Follows the type prefix in item ids that were generated here, so that no provider is asked for
/// them.
const OWN_ID_PREFIX: &str = "tollgate_";

#[derive(Debug, Clone, Copy)]
pub struct OpenAiResponsesCodec;

impl DialectCodec for OpenAiResponsesCodec {
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
        Box::new(stream_reader::OpenAiResponsesStreamReader::default())
    }

    fn stream_writer(&self, request: &ChatRequest) -> Box<dyn StreamWriter> {
        Box::new(stream_writer::OpenAiResponsesStreamWriter::new(request))
    }

    fn read_error(&self, status: u16, body: &[u8]) -> ProviderErrorReport {
        errors::read(status, body)
    }

    fn write_error(&self, failure: &LlmError) -> Value {
        errors::write(failure)
    }

    fn write_stream_error(&self, failure: &LlmError, after: Option<u64>) -> ChatSseEvent {
        let number = after.map_or(0, |after| after.saturating_add(1));
        ResponsesEvent::error(failure).with_number(number)
    }

    fn write_history(&self, messages: &[Arc<ChatMessage>]) -> Value {
        history::for_client(messages).into()
    }
}

/// The `tollgate` field.
fn report_json(report: &GatewayReport) -> Value {
    report.json(history::for_client(&report.history).into())
}

/// The kept fields of an item.
fn item_of(extra: &Extra) -> Option<&Map<String, Value>> {
    extra.get(DIALECT, ITEM_KEY)?.as_object()
}

/// Whether the part is an item of an unknown type.
fn is_opaque_item(part: &MessagePart) -> bool {
    part.extra.get(DIALECT, WHOLE_ITEM_KEY).is_some()
}

/// The last version of an opaque part's value.
fn last_seen_value<'a>(value: &'a Value, extra: &'a Extra) -> &'a Value {
    let later =
        extra.get(DIALECT, WHOLE_ITEM_KEY).or_else(|| extra.get(DIALECT, WHOLE_CONTENT_KEY));
    later.filter(|later| !later.is_null()).unwrap_or(value)
}

/// One extra field.
fn extra_field(key: &str, value: impl Into<Value>) -> Extra {
    Extra::new(DIALECT, Map::from_iter([(key.to_owned(), value.into())]))
}

/// Extra fields of a part or message that hold the fields of its item.
fn with_item(item: Map<String, Value>) -> Extra {
    extra_field(ITEM_KEY, item)
}

#[cfg(test)]
mod tests;
