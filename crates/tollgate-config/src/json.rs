//! YAML scalars as JSON values: JSON numbers, `true`, `false` and `null` keep their type. All other
//! plain scalars are strings (`no`, `0o17`, `12:30`).

use serde_json::{Map, Value};

use super::yaml_tree::{ConfigScalarStyle, ConfigYamlData, ConfigYamlNode};

pub(super) fn from_node(node: &ConfigYamlNode) -> Value {
    match &node.data {
        _ if node.is_null() => Value::Null,
        ConfigYamlData::Scalar { text, style: ConfigScalarStyle::Plain } => plain_scalar(text),
        ConfigYamlData::Scalar { text, style: ConfigScalarStyle::Quoted } => {
            Value::String(text.clone())
        }
        ConfigYamlData::List(items) => items.iter().map(from_node).collect(),
        ConfigYamlData::Map(pairs) => {
            let pairs = pairs.iter().map(|pair| (pair.key.clone(), from_node(&pair.value)));
            Value::Object(pairs.collect::<Map<String, Value>>())
        }
    }
}

fn plain_scalar(text: &str) -> Value {
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => Value::String(text.to_owned()),
    }
}
