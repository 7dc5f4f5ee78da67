//! Extracts one server entry of a config for display: its keys and its source text.

use serde_json::{Map, Value};

use super::layout::{self, LayoutForm, LayoutShape};
use super::{document, value};
use std::path::Path;

/// The config keys of a server. `None` if the config has none of this name.
pub fn entry(config: &Value, name: &str) -> Option<Map<String, Value>> {
    let server = match &config["servers"] {
        Value::Object(known) => known.get(name)?,
        Value::Array(items) => items.iter().find(|item| item["name"] == name)?,
        _ => return None,
    };
    let mut keys = server.as_object().cloned().unwrap_or_default();
    if config["servers"].is_array() {
        keys.shift_remove("name");
    }
    Some(keys)
}

/// Its source text with comments, with the indentation removed. Rendered anew where it cannot be
/// extracted.
pub fn entry_source(text: &str, name: &str, keys: &Map<String, Value>) -> String {
    let own = lines(text, name).filter(|own| says(own, name, keys));
    own.unwrap_or_else(|| {
        let whole = document(name, keys.clone());
        let inner = whole.lines().skip(1).map(|line| line.strip_prefix("  ").unwrap_or(line));
        inner.flat_map(|line| [line, "\n"]).collect()
    })
}

/// The lines of a server, if it has lines of its own.
fn lines(text: &str, name: &str) -> Option<String> {
    let root = layout::parse(text)?;
    let LayoutShape::Map(LayoutForm::Block, pairs) = &root.pair("servers")?.value.shape else {
        return None;
    };
    let pair = pairs.iter().find(|pair| pair.key == name)?;
    let start = text[..pair.from].rfind('\n').map_or(0, |at| at + 1);
    let indent = &text[start..pair.from];
    if !indent.bytes().all(|byte| byte == b' ') {
        return None;
    }
    let end = text[pair.to()..].find('\n').map_or(text.len(), |end| pair.to() + end);
    let own = text[start..end].lines().map(|line| line.strip_prefix(indent).unwrap_or(line));
    Some(own.flat_map(|line| [line.trim_end_matches('\r'), "\n"]).collect())
}

/// Whether the lines alone parse to the same keys.
fn says(lines: &str, name: &str, keys: &Map<String, Value>) -> bool {
    let read = value(Path::new(name), lines).unwrap_or(Value::Null);
    match &read[name] {
        Value::Object(own) => own == keys,
        Value::Null => keys.is_empty() && read.get(name).is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
