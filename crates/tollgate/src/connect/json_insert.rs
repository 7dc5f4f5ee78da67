//! Inserts one member into a map of a JSON text and leaves everything else as typed, including
//! comments. The caller parses the result again.

use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::Value;

use crate::import::JSONC_SYNTAX;

/// The text with `value` as `root.name`. `None` if the text is no such map.
pub(super) fn put(text: &str, root: &str, name: &str, value: &Value) -> Option<String> {
    let document = CstRootNode::parse(text, &JSONC_SYNTAX).ok()?;
    let section = document.object_value()?.object_value_or_create(root)?;
    match section.get(name) {
        Some(member) => member.set_value(input(value)),
        None => drop(section.append(name, input(value))),
    }
    Some(document.to_string())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| (key.clone(), input(value));
            CstInputValue::Object(members.iter().map(member).collect())
        }
    }
}
