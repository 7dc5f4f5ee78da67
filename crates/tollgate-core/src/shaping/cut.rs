//! Cuts results that are too large, between whole parts of them, never inside their JSON.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::json;

/// How much of a result goes on to the caller.
#[derive(Debug, Clone, Copy)]
pub struct Caps {
    pub text_bytes: usize,
    /// Of one image, audio or blob, as it is encoded.
    pub binary_bytes: usize,
    pub items: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self { text_bytes: 1 << 20, binary_bytes: 8 << 20, items: 64 }
    }
}

/// Below this a result can break no cap that matters, and is not even looked at.
const ALWAYS_FINE: usize = 64 << 10;

/// A shorter result, or `None` if it may stay as it is.
pub(super) fn cut(result: &RawValue, caps: &Caps) -> Option<Box<RawValue>> {
    if result.get().len() <= ALWAYS_FINE.min(caps.text_bytes) {
        return None;
    }
    let Ok(mut value) = json::value(result.get()) else {
        // Too deep to be read, so too deep for any caller.
        return Some(replaced("the result is nested too deeply and was left out"));
    };
    let mut cuts = Vec::new();
    cut_content(&mut value, caps, &mut cuts);
    let structured = value.get("structuredContent").map(|it| it.to_string().len());
    if let Some(size) = structured.filter(|size| *size > caps.text_bytes) {
        cuts.push(format!("structured content of {size} bytes was left out"));
        value.as_object_mut()?.remove("structuredContent");
    }
    if cuts.is_empty() {
        return None;
    }
    let note = json!({"type": "text", "text": format!("[cut: {}]", cuts.join("; "))});
    match value.get_mut("content").and_then(Value::as_array_mut) {
        Some(content) => content.push(note),
        None => value["content"] = json!([note]),
    }
    Some(json::raw_value(&value))
}

fn cut_content(value: &mut Value, caps: &Caps, cuts: &mut Vec<String>) {
    let Some(content) = value.get_mut("content").and_then(Value::as_array_mut) else { return };
    if content.len() > caps.items {
        cuts.push(format!(
            "{} of {} items were left out",
            content.len() - caps.items,
            content.len()
        ));
        content.truncate(caps.items);
    }
    let mut left = caps.text_bytes;
    content.retain_mut(|item| {
        let binary = item.get("data").or_else(|| item.pointer("/resource/blob"));
        let size = binary.and_then(Value::as_str).map_or(0, str::len);
        if size > caps.binary_bytes {
            cuts.push(format!("an item of {size} bytes was left out"));
            return false;
        }
        for path in ["/text", "/resource/text"] {
            if let Some(Value::String(text)) = item.pointer_mut(path) {
                if text.len() > left {
                    cuts.push(format!("text of {} bytes was cut to {left}", text.len()));
                    text.truncate(floor_char_boundary(text, left));
                }
                left -= text.len();
            }
        }
        true
    });
}

fn floor_char_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn replaced(why: &str) -> Box<RawValue> {
    json::raw_value(&json!({"content": [{"type": "text", "text": format!("[{why}]")}]}))
}
