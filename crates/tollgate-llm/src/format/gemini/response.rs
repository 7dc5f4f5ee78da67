//! Decodes and encodes complete responses, and the stop reason and usage that they share with
//! streamed ones.

use serde_json::{Map, Value, json};

use crate::conversation::{ChatResponse, MessagePart, PartContent, StopReason, TokenUsage};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::MalformedResponseError;
use crate::gateway_report::GatewayReport;

use super::part_writer::GeminiPartWriter;
use super::{history, part_reader, spelling};

const OWN: Dialect = Dialect::Gemini;

pub(super) fn read(body: Value) -> Result<ChatResponse, MalformedResponseError> {
    let mut fields = spelling::fields(body, "").map_err(malformed_response)?;
    let id = fields.text("responseId").map_err(malformed_response)?.unwrap_or_default();
    let model = fields.text("modelVersion").map_err(malformed_response)?.unwrap_or_default();
    let usage = fields.take("usageMetadata").unwrap_or_default();
    let candidates = fields.list("candidates").map_err(malformed_response)?.unwrap_or_default();
    let blocked = fields.peek("promptFeedback").is_some_and(is_blocked);
    let mut candidates = candidates.into_iter();
    let first = match candidates.next() {
        Some(candidate) => Some(GeminiCandidate::read(candidate)?),
        None if blocked => None,
        None => return Err(MalformedResponseError("there are no `candidates`".to_owned())),
    };
    let mut extra = fields.rest(OWN);
    extra.merge(usage_rest(&usage));
    let (parts, stop) = match first {
        None => (Vec::new(), StopReason::Filtered),
        Some(GeminiCandidate { parts, reason, rest }) => {
            let others: Value = std::iter::once(rest.into()).chain(candidates).collect();
            extra.merge(Extra::new(OWN, Map::from_iter([("candidates".to_owned(), others)])));
            let (parts, calls) = assign_call_ids(parts);
            (parts, stop(reason.as_deref(), calls))
        }
    };
    Ok(ChatResponse { id, model, created: 0, parts, stop, usage: read_usage(&usage), extra })
}

pub(super) fn malformed_response(failure: LlmError) -> MalformedResponseError {
    MalformedResponseError(failure.message)
}

pub(super) fn is_blocked(feedback: &Value) -> bool {
    feedback.get("blockReason").is_some_and(|reason| !reason.is_null())
}

/// One candidate of a response or a chunk.
#[derive(Debug)]
pub(super) struct GeminiCandidate {
    pub(super) parts: Vec<MessagePart>,
    pub(super) reason: Option<String>,
    /// Other fields. Includes the reason, if the neutral stop reason does not express it fully.
    pub(super) rest: Map<String, Value>,
}

impl GeminiCandidate {
    pub(super) fn read(value: Value) -> Result<Self, MalformedResponseError> {
        let mut fields = spelling::fields(value, "candidates[0]").map_err(malformed_response)?;
        let reason = fields.text("finishReason").map_err(malformed_response)?;
        let mut parts = Vec::new();
        if let Some(mut content) =
            spelling::object(&mut fields, "content").map_err(malformed_response)?
        {
            let list = content.list("parts").map_err(malformed_response)?.unwrap_or_default();
            for (index, value) in list.into_iter().enumerate() {
                let at = format!("candidates[0].content.parts[{index}]");
                parts.extend(part_reader::read(value, at).map_err(malformed_response)?);
            }
        }
        let Value::Object(mut rest) = fields.into_value() else {
            return Err(MalformedResponseError("`candidates[0]` is not an object".to_owned()));
        };
        rest.retain(|key, value| key != "index" && !value.is_null());
        if let Some(reason) = reason.as_deref().filter(|reason| is_filter(reason)) {
            rest.insert("finishReason".to_owned(), reason.into());
        }
        Ok(Self { parts, reason, rest })
    }
}

/// Generates ids by position for calls without one, and counts the calls.
fn assign_call_ids(mut parts: Vec<MessagePart>) -> (Vec<MessagePart>, usize) {
    let mut calls = 0;
    for part in &mut parts {
        if let PartContent::Call(call) = &mut part.content {
            if call.id.is_empty() {
                call.id = spelling::numbered_id(calls);
            }
            calls += 1;
        }
    }
    (parts, calls)
}

fn is_filter(reason: &str) -> bool {
    let filters = [
        "SAFETY",
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    ];
    filters.contains(&reason)
}

/// Gemini has no stop reason for calls.
pub(super) fn stop(reason: Option<&str>, calls: usize) -> StopReason {
    match reason.unwrap_or("STOP") {
        "STOP" if calls > 0 => StopReason::Calls,
        "STOP" => StopReason::End,
        "MAX_TOKENS" => StopReason::Length,
        filter if is_filter(filter) => StopReason::Filtered,
        other => StopReason::Other { dialect: OWN, reason: other.to_owned() },
    }
}

pub(super) fn stop_word<'s>(stop: &'s StopReason, extra: &'s Extra) -> &'s str {
    match stop {
        StopReason::End | StopReason::Sequence(_) | StopReason::Calls => "STOP",
        StopReason::Length => "MAX_TOKENS",
        StopReason::Filtered | StopReason::Refused => {
            let first = extra.get(OWN, "candidates").and_then(|candidates| candidates.get(0));
            let own = first.and_then(|first| first.get("finishReason")).and_then(Value::as_str);
            own.unwrap_or("SAFETY")
        }
        StopReason::Other { dialect: OWN, reason } => reason,
        StopReason::Other { .. } => "OTHER",
    }
}

pub(super) fn write(response: &ChatResponse, report: Option<&GatewayReport>) -> Value {
    let mut body = Map::new();
    let feedback = response.extra.get(OWN, "promptFeedback").is_some_and(is_blocked);
    if !(feedback && response.parts.is_empty()) {
        let mut writing = GeminiPartWriter::for_client();
        let mut parts: Vec<Value> = response
            .parts
            .iter()
            .filter(|part| !matches!(part.content, PartContent::Result(_)))
            .filter_map(|part| writing.part(part, "candidates[0]"))
            .collect();
        parts.extend(writing.rest());
        let reason = stop_word(&response.stop, &response.extra);
        let content = json!({"parts": parts, "role": "model"});
        let candidate = json!({"content": content, "finishReason": reason, "index": 0});
        body.insert("candidates".to_owned(), json!([candidate]));
    }
    body.insert("usageMetadata".to_owned(), usage_json(&response.usage, &response.extra));
    body.insert("modelVersion".to_owned(), response.model.clone().into());
    body.insert("responseId".to_owned(), response.id.clone().into());
    response.extra.write_into(OWN, &mut body);
    drop_details(&mut body);
    if let Some(report) = report {
        body.insert("tollgate".to_owned(), report.json(history::history(&report.history)));
    }
    body.into()
}

const TOKEN_COUNT_KEYS: [&str; 5] = [
    "promptTokenCount",
    "cachedContentTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
];

const TOKEN_DETAIL_KEYS: [(&str, &str); 4] = [
    ("promptTokenCount", "promptTokensDetails"),
    ("cachedContentTokenCount", "cacheTokensDetails"),
    ("candidatesTokenCount", "candidatesTokensDetails"),
    ("toolUsePromptTokenCount", "toolUsePromptTokensDetails"),
];

/// Drops details that describe only the last round: beside the sum of several they would be wrong.
pub(super) fn drop_details(body: &mut Map<String, Value>) {
    let Some(Value::Object(usage)) = body.get_mut("usageMetadata") else { return };
    for (total, details) in TOKEN_DETAIL_KEYS {
        let Some(Value::Array(each)) = usage.get(details) else { continue };
        let sum = each.iter().fold(0, |sum: u64, it| sum.saturating_add(count(it, "tokenCount")));
        if usage.get(total).and_then(Value::as_u64) != Some(sum) {
            usage.shift_remove(details);
        }
    }
}

/// Gemini counts tool prompts separately from the prompt, and thoughts separately from the answer.
pub(super) fn read_usage(usage: &Value) -> TokenUsage {
    let [prompt, cache_read, said, reasoning, _] = TOKEN_COUNT_KEYS.map(|key| count(usage, key));
    TokenUsage {
        input: prompt.saturating_add(count(usage, "toolUsePromptTokenCount")),
        output: said.saturating_add(reasoning),
        cache_read,
        cache_written: 0,
        reasoning,
    }
}

fn count(usage: &Value, key: &str) -> u64 {
    usage.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// The counts that the neutral usage does not have.
pub(super) fn usage_rest(usage: &Value) -> Extra {
    let mut rest = usage.as_object().cloned().unwrap_or_default();
    rest.retain(|key, _| !TOKEN_COUNT_KEYS.contains(&key.as_str()));
    if rest.is_empty() {
        return Extra::none();
    }
    Extra::new(OWN, Map::from_iter([("usageMetadata".to_owned(), rest.into())]))
}

pub(super) fn usage_json(usage: &TokenUsage, extra: &Extra) -> Value {
    let of_tools =
        extra.get(OWN, "usageMetadata").map_or(0, |it| count(it, "toolUsePromptTokenCount"));
    let mut json = json!({
        "promptTokenCount": usage.input.saturating_sub(of_tools),
        "candidatesTokenCount": usage.output.saturating_sub(usage.reasoning),
        "totalTokenCount": usage.total(),
    });
    if usage.reasoning > 0 {
        json["thoughtsTokenCount"] = usage.reasoning.into();
    }
    if usage.cache_read > 0 {
        json["cachedContentTokenCount"] = usage.cache_read.into();
    }
    json
}
