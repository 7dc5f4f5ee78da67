//! Thoughts that a Claude binds to the prompt, the tools and the messages before them.
//!
//! It refuses them once any of these was changed: a result was shortened, other tools were found, or
//! the client's API has another place for pictures. The provider can leave out those thoughts, and
//! no others.

use serde_json::{Map, Value, json};

/// Types of blocks with thoughts.
pub(super) const THOUGHT_KINDS: [&str; 2] = ["thinking", "redacted_thinking"];

const THINKING: &str = "thinking";
const BLOCK_BINDING: &str = "block_binding";
/// A field of the body until the request is sent, like the headers that clients set.
const BETA_HEADER: &str = "anthropic-beta";
const BLOCK_BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

/// Asks for that in a request with thoughts. What the client says of it goes first.
pub(super) fn drop_misplaced(body: &mut Map<String, Value>) {
    if !has_thoughts(body) {
        return;
    }
    let adaptive = || json!({"type": "adaptive"});
    let thinking = body.entry(THINKING).or_insert_with(adaptive);
    let Some(thinking) = thinking.as_object_mut() else { return };
    // No other kind takes it.
    if thinking.get("type").is_none_or(|kind| kind != "adaptive")
        || thinking.contains_key(BLOCK_BINDING)
    {
        return;
    }
    let on_mismatch = json!({"prefix_mismatch_behavior": "drop_block"});
    thinking.insert(BLOCK_BINDING.to_owned(), on_mismatch);
    let betas = match body.get(BETA_HEADER).and_then(Value::as_str) {
        Some(others) => format!("{others},{BLOCK_BINDING_BETA}"),
        None => BLOCK_BINDING_BETA.to_owned(),
    };
    body.insert(BETA_HEADER.to_owned(), betas.into());
}

fn has_thoughts(body: &Map<String, Value>) -> bool {
    let messages = body.get("messages").and_then(Value::as_array).into_iter().flatten();
    let mut blocks = messages.filter_map(|message| message["content"].as_array()).flatten();
    blocks.any(|block| block["type"].as_str().is_some_and(|kind| THOUGHT_KINDS.contains(&kind)))
}
