//! Writes tool results into the text of an answer (`mixed_response: inline`).

use std::sync::Arc;

use serde_json::map::Entry;
use serde_json::{Map, Value};

use crate::conversation::{ChatMessage, MessagePart, PartContent};

/// Tool results by tool name: one text, or a list for a tool that was called more than once.
pub(super) fn inline_results(history: &[Arc<ChatMessage>]) -> String {
    let mut results: Map<String, Value> = Map::new();
    for part in history.iter().flat_map(|message| &message.parts) {
        let PartContent::Result(result) = &part.content else { continue };
        let text: String = result.parts.iter().filter_map(MessagePart::as_text).collect();
        let text = Value::String(text);
        match results.entry(result.name.clone().unwrap_or_default()) {
            Entry::Vacant(place) => {
                place.insert(text);
            }
            Entry::Occupied(mut place) => match place.get_mut() {
                Value::Array(list) => list.push(text),
                first => *first = Value::Array(vec![first.take(), text]),
            },
        }
    }
    Value::Object(results).to_string()
}
