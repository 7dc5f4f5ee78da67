//! Encodes and decodes token usage. The whole object is kept in the extra fields, so that counts
//! that only this dialect has are preserved; known counts are written anew.

use serde_json::{Value, json};

use crate::conversation::TokenUsage;

/// Invalid counts are read as 0.
pub(super) fn read(value: &Value) -> TokenUsage {
    let input = &value["prompt_tokens_details"];
    let output = &value["completion_tokens_details"];
    TokenUsage {
        input: count(&value["prompt_tokens"]),
        output: count(&value["completion_tokens"]),
        cache_read: count(&input["cached_tokens"]),
        cache_written: count(&input["cache_write_tokens"]),
        reasoning: count(&output["reasoning_tokens"]),
    }
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

pub(super) fn write(usage: &TokenUsage) -> Value {
    let mut value = json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    });
    if usage.cache_written > 0 {
        value["prompt_tokens_details"]["cache_write_tokens"] = usage.cache_written.into();
    }
    value
}
