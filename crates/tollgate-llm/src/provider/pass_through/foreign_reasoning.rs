//! Recognizes requests that cannot be passed through as they are, because their history is of
//! another model: it has signatures or ids that the gateway wrote, or lacks those that the provider
//! asks for. The codecs know what such a provider accepts.
//!
//! Ordinary requests are searched for a few words only.

use memchr::memmem;
use serde_json::Value;

use crate::conversation::ENCODED_SIGNATURE_STARTS;
use crate::dialect::Dialect;
use crate::model_capabilities::{Feature, ModelCapabilities};

/// Within ids of items that the gateway made up.
const OWN_ID: &str = "_tollgate_";

/// Whether the history has to be rewritten for this model of the client's own dialect.
pub(super) fn has_foreign_reasoning(dialect: Dialect, model: &str, body: &[u8]) -> bool {
    let has = |text: &str| memmem::find(body, text.as_bytes()).is_some();
    if ENCODED_SIGNATURE_STARTS.into_iter().any(has) {
        return true;
    }
    match dialect {
        Dialect::OpenAiChat => false,
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
