//! Decodes and encodes complete responses. They are encoded like the last event of a stream.

use serde_json::Value;

use super::{DIALECT, item_reader, stream_writer, usage};
use crate::conversation::{ChatRequest, ChatResponse, MessagePart, StopReason, TokenUsage};
use crate::delta;
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::MalformedResponseError;
use crate::format::fields::FieldReader;
use crate::format::openai_common::logprobs;
use crate::gateway_report::GatewayReport;

pub(super) fn read(body: Value) -> Result<ChatResponse, MalformedResponseError> {
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        let message = error["message"].as_str().or(error.as_str()).unwrap_or("no reason is given");
        return Err(MalformedResponseError(format!("it is an error: {message}")));
    }
    Ok(read_body(body)?)
}

fn read_body(body: Value) -> Result<ChatResponse, LlmError> {
    let mut fields = FieldReader::new(body, "")?;
    let head = ResponsesHead::take(&mut fields)?;
    let items = fields.list("output")?.ok_or_else(|| fields.missing("output"))?;
    let parts = read_output(items)?;
    let end = ResponsesEnd::take(fields, item_reader::plain_stop(&parts))?;
    let ResponsesHead { id, model, created } = head;
    let ResponsesEnd { stop, usage, extra } = end;
    Ok(ChatResponse { id, model, created, parts, stop, usage, extra })
}

pub(super) fn read_output(items: Vec<Value>) -> Result<Vec<MessagePart>, LlmError> {
    let mut parts = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        parts.extend(item_reader::read(item, format!("output[{index}]"))?);
    }
    Ok(parts)
}

/// Identity of a response: id, model, creation time.
pub(super) struct ResponsesHead {
    pub(super) id: String,
    pub(super) model: String,
    pub(super) created: u64,
}

impl ResponsesHead {
    pub(super) fn take(fields: &mut FieldReader) -> Result<Self, LlmError> {
        let created = fields.take("created_at");
        let seconds = |at: Value| at.as_u64().or_else(|| at.as_f64().map(|at| at as u64));
        fields.take("object");
        Ok(Self {
            id: fields.text("id")?.unwrap_or_default(),
            model: fields.text("model")?.unwrap_or_default(),
            created: created.and_then(seconds).unwrap_or(0),
        })
    }
}

/// Final fields of a response: stop reason and usage.
pub(super) struct ResponsesEnd {
    pub(super) stop: StopReason,
    pub(super) usage: TokenUsage,
    pub(super) extra: Extra,
}

impl ResponsesEnd {
    /// `plain` is the stop reason of a complete response.
    pub(super) fn take(mut fields: FieldReader, plain: StopReason) -> Result<Self, LlmError> {
        let usage = fields.peek("usage").map_or_else(TokenUsage::default, usage::read);
        let status = fields.text("status")?;
        let details = fields.object("incomplete_details")?;
        let reason = details.map(|mut details| details.text("reason")).transpose()?.flatten();
        let stop = match (status.as_deref(), reason.as_deref()) {
            (Some("completed") | None, _) => plain,
            (Some("incomplete"), Some("max_output_tokens")) => StopReason::Length,
            (Some("incomplete"), Some("content_filter")) => StopReason::Filtered,
            (Some(status), reason) => {
                StopReason::Other { dialect: DIALECT, reason: reason.unwrap_or(status).to_owned() }
            }
        };
        fields.take("error");
        Ok(Self { stop, usage, extra: fields.rest(DIALECT) })
    }
}

pub(super) fn write(
    response: &ChatResponse,
    request: &ChatRequest,
    report: Option<&GatewayReport>,
) -> Value {
    let mut writer = stream_writer::OpenAiResponsesStreamWriter::new(request);
    for step in delta::steps(&logprobs::placed_in_text(response)) {
        writer.step(&step);
    }
    let last = writer.finish(report).pop();
    last.map(stream_writer::ResponsesEvent::into_response).unwrap_or_default()
}
