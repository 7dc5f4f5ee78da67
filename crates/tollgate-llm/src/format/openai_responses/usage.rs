//! Encodes and decodes token usage. The whole object is kept in the extra fields, so that counts
//! that only this dialect has are preserved; known counts are written anew.

use serde_json::{Value, json};

use crate::conversation::TokenUsage;

/// Invalid counts are read as 0.
pub(super) fn read(value: &Value) -> TokenUsage {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let input = &value["input_tokens_details"];
    let output = &value["output_tokens_details"];
    TokenUsage {
        input: count(&value["input_tokens"]),
        output: count(&value["output_tokens"]),
        cache_read: count(&input["cached_tokens"]),
        cache_written: count(&input["cache_write_tokens"]),
        reasoning: count(&output["reasoning_tokens"]),
    }
}

pub(super) fn write(usage: &TokenUsage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_written,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total(),
    })
}
