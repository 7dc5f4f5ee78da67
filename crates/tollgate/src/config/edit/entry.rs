//! One server of a config, taken out of it for people to see: its keys, and how it is typed.

use serde_json::{Map, Value};

use super::layout::{self, LayoutForm, LayoutShape};
use super::{document, value};
use std::path::Path;

/// The keys of a server; `None` when the config has none of this name.
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

/// How it is typed, with its comments, moved to the left; written anew where it cannot be taken out
/// as it stands.
pub fn entry_source(text: &str, name: &str, keys: &Map<String, Value>) -> String {
    let own = lines(text, name).filter(|own| says(own, name, keys));
    own.unwrap_or_else(|| {
        let whole = document(name, keys.clone());
        let inner = whole.lines().skip(1).map(|line| line.strip_prefix("  ").unwrap_or(line));
        inner.flat_map(|line| [line, "\n"]).collect()
    })
}

/// The lines of a server that has its own.
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

/// Whether the lines alone say what the whole says of the server.
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
