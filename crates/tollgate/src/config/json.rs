//! YAML values that stay values: what JSON would call a number, `true`, `false` or `null` is one;
//! everything else plain is a text (`no`, `0o17`, `12:30`).

use serde_json::{Map, Value};

use super::tree::{Data, Node, Style};

pub(super) fn from_node(node: &Node) -> Value {
    match &node.data {
        _ if node.is_null() => Value::Null,
        Data::Scalar { text, style: Style::Plain } => plain(text),
        Data::Scalar { text, style: Style::Quoted } => Value::String(text.clone()),
        Data::List(items) => items.iter().map(from_node).collect(),
        Data::Map(pairs) => {
            let pairs = pairs.iter().map(|pair| (pair.key.clone(), from_node(&pair.value)));
            Value::Object(pairs.collect::<Map<String, Value>>())
        }
    }
}

fn plain(text: &str) -> Value {
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => Value::String(text.to_owned()),
    }
}
