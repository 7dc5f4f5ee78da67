//! Decides whether a text is a tool call.

use std::collections::HashSet;

use serde_json::Value;

/// Name, and arguments as JSON text.
pub(super) type TextCall = (String, String);

/// Parses `text` as calls if it consists of nothing else: one object or a list, each naming an
/// offered tool. `None`: it is text.
pub(super) fn calls(text: &str, offered: &HashSet<String>) -> Option<Vec<TextCall>> {
    match serde_json::from_str(text).ok()? {
        Value::Array(items) if !items.is_empty() => {
            items.into_iter().map(|item| call(item, offered)).collect()
        }
        value => Some(vec![call(value, offered)?]),
    }
}

fn call(value: Value, offered: &HashSet<String>) -> Option<TextCall> {
    let Value::Object(mut fields) = value else { return None };
    if let Some(inner @ Value::Object(_)) = fields.remove("function") {
        return call(inner, offered);
    }
    let name = fields.get("name")?.as_str().filter(|name| offered.contains(*name))?.to_owned();
    let given = ["arguments", "parameters"].into_iter().find_map(|key| fields.remove(key))?;
    let arguments = match given {
        arguments @ Value::Object(_) => arguments.to_string(),
        Value::Null => "{}".to_owned(),
        Value::String(text) => {
            let is_object = serde_json::from_str(&text).is_ok_and(|it: Value| it.is_object());
            is_object.then_some(text)?
        }
        _ => return None,
    };
    Some((name, arguments))
}

/// Whether JSON with this start may be a call: decided by its first key, once that is complete.
pub(super) fn may_be_call(begun: &str) -> bool {
    const KEYS: &[&str] = &["name", "arguments", "parameters", "function", "type", "id"];
    let rest = begun.trim_start();
    let rest = rest.strip_prefix('[').map_or(rest, str::trim_start);
    let Some(rest) = rest.strip_prefix('{') else { return rest.is_empty() };
    let Some(rest) = rest.trim_start().strip_prefix('"') else { return rest.trim().is_empty() };
    match rest.split_once('"') {
        Some((key, _)) => KEYS.contains(&key),
        None => KEYS.iter().any(|key| key.starts_with(rest)),
    }
}
