//! Decodes and encodes complete responses, and the stop reason and usage that they share with
//! streamed ones.

use serde_json::{Map, Value, json};

use crate::conversation::{ChatResponse, PartContent, StopReason, TokenUsage};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::MalformedResponseError;
use crate::format::fields::FieldReader;
use crate::gateway_report::GatewayReport;

use super::part_writer::AnthropicBlockWriter;
use super::{history, part_reader};

const OWN: Dialect = Dialect::Anthropic;

/// Ended by the model's context window, not by the limit of the request.
const WINDOW_FULL: &str = "model_context_window_exceeded";

pub(super) fn read(body: Value) -> Result<ChatResponse, MalformedResponseError> {
    let mut fields = FieldReader::new(body, "").map_err(malformed_response)?;
    fields.take("type");
    fields.take("role");
    let id = fields.text("id").map_err(malformed_response)?.unwrap_or_default();
    let model = fields.text("model").map_err(malformed_response)?.unwrap_or_default();
    let Some(content @ Value::Array(_)) = fields.take("content") else {
        return Err(MalformedResponseError("`content` is not a list of blocks".to_owned()));
    };
    let parts = part_reader::read_all(content, "content").map_err(malformed_response)?;
    let reason = fields.take("stop_reason");
    let sequence = fields.take("stop_sequence");
    let spent = AnthropicUsage::read(&fields.take("usage").unwrap_or_default());
    let mut extra = Map::new();
    let stop = stop(reason.as_ref(), sequence.as_ref(), &mut extra);
    spent.rest_into(&mut extra);
    let mut all = fields.rest(OWN);
    all.merge(Extra::new(OWN, extra));
    Ok(ChatResponse { id, model, created: 0, parts, stop, usage: spent.usage(), extra: all })
}

pub(super) fn malformed_response(failure: LlmError) -> MalformedResponseError {
    MalformedResponseError(failure.message)
}

pub(super) fn write(response: &ChatResponse, report: Option<&GatewayReport>) -> Value {
    let mut writing = AnthropicBlockWriter::for_client();
    let content: Vec<Value> = response
        .parts
        .iter()
        .filter(|part| !matches!(part.content, PartContent::Media(_) | PartContent::Result(_)))
        .filter_map(|part| writing.block(part, "content"))
        .collect();
    let (reason, sequence) = stop_words(&response.stop, &response.extra);
    let mut message = Map::new();
    message.insert("id".to_owned(), response.id.clone().into());
    message.insert("type".to_owned(), "message".into());
    message.insert("role".to_owned(), "assistant".into());
    message.insert("model".to_owned(), response.model.clone().into());
    message.insert("content".to_owned(), content.into());
    message.insert("stop_reason".to_owned(), reason.into());
    message.insert("stop_sequence".to_owned(), sequence.into());
    message.insert("usage".to_owned(), usage_json(&response.usage));
    response.extra.write_into(OWN, &mut message);
    if let Some(report) = report {
        message.insert("tollgate".to_owned(), report.json(history::history(&report.history)));
    }
    message.into()
}

/// Keeps in `extra` what the neutral stop reason does not express.
pub(super) fn stop(
    reason: Option<&Value>,
    sequence: Option<&Value>,
    extra: &mut Map<String, Value>,
) -> StopReason {
    match reason.and_then(Value::as_str).unwrap_or("end_turn") {
        "end_turn" => StopReason::End,
        "stop_sequence" => {
            StopReason::Sequence(sequence.and_then(Value::as_str).map(str::to_owned))
        }
        "max_tokens" => StopReason::Length,
        WINDOW_FULL => {
            extra.insert("stop_reason".to_owned(), WINDOW_FULL.into());
            StopReason::Length
        }
        "tool_use" => StopReason::Calls,
        "refusal" => StopReason::Refused,
        other => StopReason::Other { dialect: OWN, reason: other.to_owned() },
    }
}

/// `stop_reason` and `stop_sequence`.
pub(super) fn stop_words(stop: &StopReason, extra: &Extra) -> (String, Option<String>) {
    let reason = match stop {
        StopReason::End => "end_turn",
        StopReason::Sequence(sequence) => return ("stop_sequence".to_owned(), sequence.clone()),
        StopReason::Length => match extra.get(OWN, "stop_reason").and_then(Value::as_str) {
            Some(WINDOW_FULL) => WINDOW_FULL,
            _ => "max_tokens",
        },
        StopReason::Calls => "tool_use",
        StopReason::Filtered | StopReason::Refused => "refusal",
        StopReason::Other { dialect: OWN, reason } => reason,
        // Cut off for a reason that this dialect has no word for.
        StopReason::Other { .. } => "max_tokens",
    };
    (reason.to_owned(), None)
}

/// Token counts as Anthropic defines them: cached tokens are not part of the input.
#[derive(Debug, Clone, Default)]
pub(super) struct AnthropicUsage(Map<String, Value>);

const TOKEN_COUNT_KEYS: [&str; 4] =
    ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];

impl AnthropicUsage {
    pub(super) fn read(usage: &Value) -> Self {
        Self(usage.as_object().cloned().unwrap_or_default())
    }

    /// Later counts are totals and replace earlier ones; missing counts are kept.
    pub(super) fn update(&mut self, later: &Value) {
        for (key, value) in later.as_object().into_iter().flatten() {
            if !value.is_null() {
                self.0.insert(key.clone(), value.clone());
            }
        }
    }

    pub(super) fn usage(&self) -> TokenUsage {
        let [fresh, cache_written, cache_read, output] =
            TOKEN_COUNT_KEYS.map(|key| self.0.get(key).and_then(Value::as_u64).unwrap_or_default());
        let details = self.0.get("output_tokens_details");
        let reasoning = details.and_then(|it| it.get("thinking_tokens")).and_then(Value::as_u64);
        TokenUsage {
            input: fresh.saturating_add(cache_written).saturating_add(cache_read),
            output,
            cache_read,
            cache_written,
            reasoning: reasoning.unwrap_or_default(),
        }
    }

    /// Adds the counts that the neutral usage does not have.
    pub(super) fn rest_into(&self, extra: &mut Map<String, Value>) {
        let mut rest = self.0.clone();
        rest.retain(|key, _| !TOKEN_COUNT_KEYS.contains(&key.as_str()));
        if !rest.is_empty() {
            extra.insert("usage".to_owned(), rest.into());
        }
    }
}

pub(super) fn usage_json(usage: &TokenUsage) -> Value {
    let cached = usage.cache_read.saturating_add(usage.cache_written);
    let mut json = json!({
        "input_tokens": usage.input.saturating_sub(cached),
        "cache_creation_input_tokens": usage.cache_written,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    });
    if usage.reasoning > 0 {
        json["output_tokens_details"] = json!({"thinking_tokens": usage.reasoning});
    }
    json
}
