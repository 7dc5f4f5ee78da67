//! OpenAI's Responses, in which a conversation is a list of items: messages, calls, results,
//! thoughts, and whatever hosted tools do. Reached through [`super::of`] only.
//!
//! Truth for the wire are the types of the `openai` packages.
//! What belongs to an item and is not known stays in the extra field `item` of its part or message;
//! what belongs to a part of its content stands beside that. An item of an unknown kind is an opaque
//! part with the extra field `whole_item`; a part of content of an unknown kind is one without.

use serde_json::{Map, Value};

use super::{
    DialectCodec, EncodedRequest, MalformedResponseError, ProviderErrorReport, RequestUrlParams,
    StreamReader, StreamWriter,
};
use super::{openai_error, openai_media};
use crate::conversation::{ChatMessage, ChatRequest, ChatResponse, MessagePart};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::extra::Extra;
use crate::gateway_report::GatewayReport;

mod echo;
mod history;
mod items;
mod output;
mod part;
mod request;
mod response;
mod stream_reader;
mod stream_writer;
mod tool;
mod usage;
mod write;

const DIALECT: Dialect = Dialect::OpenAiResponses;

/// Where the fields of an item are kept.
const ITEM_KEY: &str = "item";
/// Where an item of an unknown kind is kept as it was last seen, if that is not how it began. It also
/// tells such items from parts of a message's content.
const WHOLE_ITEM_KEY: &str = "whole_item";
/// Where a part of content of an unknown kind is kept as it was last seen.
const WHOLE_CONTENT_KEY: &str = "whole_content";

/// Begins what comes behind the prefix in ids of items that were made here, so that no provider
/// is asked for them.
const OWN_ID_PREFIX: &str = "tollgate_";

#[derive(Debug, Clone, Copy)]
pub struct OpenAiResponsesCodec;

impl DialectCodec for OpenAiResponsesCodec {
    fn dialect(&self) -> Dialect {
        DIALECT
    }

    fn read_request(&self, body: Value, _: &RequestUrlParams<'_>) -> Result<ChatRequest, LlmError> {
        request::read(body)
    }

    fn write_request(&self, request: &ChatRequest) -> Result<EncodedRequest, LlmError> {
        write::write(request)
    }

    fn read_response(&self, body: Value) -> Result<ChatResponse, MalformedResponseError> {
        response::read(body)
    }

    fn write_response(
        &self,
        response: &ChatResponse,
        request: &ChatRequest,
        told: Option<&GatewayReport>,
    ) -> Value {
        response::write(response, request, told)
    }

    fn stream_reader(&self) -> Box<dyn StreamReader> {
        Box::new(stream_reader::OpenAiResponsesStreamReader::default())
    }

    fn stream_writer(&self, request: &ChatRequest) -> Box<dyn StreamWriter> {
        Box::new(stream_writer::OpenAiResponsesStreamWriter::new(request))
    }

    fn read_error(&self, status: u16, body: &[u8]) -> ProviderErrorReport {
        openai_error::read(status, body)
    }

    fn write_error(&self, failure: &LlmError) -> Value {
        openai_error::write(failure)
    }

    fn write_history(&self, messages: &[ChatMessage]) -> Value {
        history::for_client(messages).into()
    }
}

/// The `tollgate` field.
fn report_json(told: &GatewayReport) -> Value {
    told.json(history::for_client(&told.history).into())
}

/// What is kept of an item.
fn item_of(extra: &Extra) -> Option<&Map<String, Value>> {
    extra.get(DIALECT, ITEM_KEY)?.as_object()
}

/// Whether the part is an item of an unknown kind.
fn is_opaque_item(part: &MessagePart) -> bool {
    part.extra.get(DIALECT, WHOLE_ITEM_KEY).is_some()
}

/// The value of an opaque part, as it was last seen.
fn last_seen_value<'a>(value: &'a Value, extra: &'a Extra) -> &'a Value {
    let later =
        extra.get(DIALECT, WHOLE_ITEM_KEY).or_else(|| extra.get(DIALECT, WHOLE_CONTENT_KEY));
    later.filter(|later| !later.is_null()).unwrap_or(value)
}

/// One extra field.
fn extra_field(key: &str, value: impl Into<Value>) -> Extra {
    Extra::new(DIALECT, Map::from_iter([(key.to_owned(), value.into())]))
}

/// Extra fields of a part or message that say what is kept of its item.
fn with_item(item: Map<String, Value>) -> Extra {
    extra_field(ITEM_KEY, item)
}

#[cfg(test)]
mod tests;
