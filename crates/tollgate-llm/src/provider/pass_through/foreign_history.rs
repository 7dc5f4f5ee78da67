//! Recognizes requests that cannot be passed through as they are, because their history is of
//! another model or of the gateway: it has signatures, ids or pictures in results that the gateway
//! wrote, or lacks signatures that the provider asks for. The codecs know what such a provider
//! accepts.
//!
//! Ordinary requests are searched for a few words only.

use memchr::memmem;
use serde_json::Value;

use crate::conversation::ENCODED_SIGNATURE_STARTS;
use crate::dialect::Dialect;
use crate::format::openai_common;
use crate::model_capabilities::{Feature, ModelCapabilities};

/// Within ids of items that the gateway made up.
const OWN_ID: &str = "_tollgate_";

/// Kinds of parts of Chat Completions that are files.
const RESULT_FILES: [&str; 3] = ["\"image_url\"", "\"input_audio\"", "\"file\""];

/// Whether the history has to be rewritten for this model of the client's own dialect.
pub(super) fn has_foreign_history(dialect: Dialect, model: &str, body: &[u8]) -> bool {
    let has = |text: &str| memmem::find(body, text.as_bytes()).is_some();
    if ENCODED_SIGNATURE_STARTS.into_iter().any(has) {
        return true;
    }
    match dialect {
        // `/v1/mcp/tool/execute` writes pictures into results, where OpenAI takes only text.
        Dialect::OpenAiChat => {
            has("tool_call_id")
                && RESULT_FILES.into_iter().any(has)
                && openai_common::is_openais(model)
                && parse(body).is_some_and(|it| has_file_in_result(&it))
        }
        Dialect::OpenAiResponses => has(OWN_ID),
        // Thinking enabled by hand has a budget.
        Dialect::Anthropic => {
            has("budget_tokens")
                && has("tool_use")
                && parse(body).is_some_and(|it| lacks_thought(&it))
        }
        Dialect::Gemini => {
            let has_calls = has("functionCall\"") || has("function_call\"");
            has_calls
                && !ModelCapabilities::of(dialect, model).takes(Feature::UnsignedCalls)
                && parse(body).is_some_and(|it| lacks_signature(&it))
        }
    }
}

/// Whether a result has a part that is not text.
fn has_file_in_result(body: &Value) -> bool {
    let messages = body["messages"].as_array();
    let mut results = messages.into_iter().flatten().filter(|it| it["role"] == "tool");
    results.any(|result| {
        let parts = result["content"].as_array();
        parts.into_iter().flatten().any(|part| part["type"] != "text")
    })
}

fn parse(body: &[u8]) -> Option<Value> {
    serde_json::from_slice(body).ok()
}

/// Whether the last answer has calls, but does not begin with a thought.
fn lacks_thought(body: &Value) -> bool {
    let messages = body["messages"].as_array();
    let mut answers = messages.into_iter().flatten().rev().filter(|it| it["role"] == "assistant");
    let blocks = answers.next().and_then(|answer| answer["content"].as_array());
    blocks.is_some_and(|blocks| {
        let first = blocks.first().and_then(|block| block["type"].as_str());
        blocks.iter().any(|block| block["type"] == "tool_use")
            && !matches!(first, Some("thinking" | "redacted_thinking"))
    })
}

/// Whether a step of the current turn begins with a call that is not signed.
fn lacks_signature(body: &Value) -> bool {
    let field = |part: &Value, names: [&str; 2]| {
        names.iter().any(|name| part.get(name).is_some_and(|value| !value.is_null()))
    };
    let parts = |content: &Value| content["parts"].as_array().cloned().unwrap_or_default();
    let contents = body["contents"].as_array();
    let current = contents.into_iter().flatten().rev().take_while(|content| {
        let is_result = |part: &Value| field(part, ["functionResponse", "function_response"]);
        content["role"] == "model" || parts(content).iter().any(is_result)
    });
    current.filter(|content| content["role"] == "model").any(|content| {
        let parts = parts(content);
        let first = parts.iter().find(|part| field(part, ["functionCall", "function_call"]));
        first.is_some_and(|call| !field(call, ["thoughtSignature", "thought_signature"]))
    })
}

#[cfg(test)]
mod tests;
