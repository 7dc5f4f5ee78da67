//! Converts Gemini's schema format to JSON Schema: upper-case types, `nullable`, numbers as
//! strings.

use serde_json::{Map, Value, json};

use super::spelling::camel_key;

/// Leaves JSON Schema unchanged.
pub(super) fn to_json_schema(schema: &Value) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let mut out = Map::with_capacity(schema.len());
    let mut nullable = false;
    for (key, value) in schema {
        let key = camel_key(key);
        match key.as_str() {
            "type" => {
                if let Some(kind) = lower(value) {
                    out.insert(key, kind);
                }
            }
            "nullable" => nullable = *value == true,
            "properties" | "$defs" | "defs" => {
                let key = if key == "defs" { "$defs".to_owned() } else { key };
                out.insert(key, each(value));
            }
            "items" | "additionalProperties" => {
                out.insert(key, to_json_schema(value));
            }
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                let list = value.as_array().map_or(&[][..], Vec::as_slice);
                out.insert(key, list.iter().map(to_json_schema).collect());
            }
            "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties"
            | "maxProperties" => {
                out.insert(key, number(value));
            }
            "example" => {
                out.insert("examples".to_owned(), json!([value]));
            }
            // The property order and the enum format have no counterpart.
            "propertyOrdering" => {}
            "format" if value == "enum" => {}
            "ref" => {
                out.insert("$ref".to_owned(), value.clone());
            }
            _ => {
                out.insert(key, value.clone());
            }
        }
    }
    if nullable {
        allow_null(&mut out);
    }
    out.into()
}

/// `None`: an unspecified type.
fn lower(kind: &Value) -> Option<Value> {
    match kind {
        Value::String(kind) if kind.eq_ignore_ascii_case("TYPE_UNSPECIFIED") => None,
        Value::String(kind) => Some(kind.to_ascii_lowercase().into()),
        Value::Array(kinds) => Some(kinds.iter().filter_map(lower).collect()),
        other => Some(other.clone()),
    }
}

fn each(map: &Value) -> Value {
    let Value::Object(map) = map else { return map.clone() };
    let schemas = map.iter().map(|(name, schema)| (name.clone(), to_json_schema(schema)));
    Value::Object(schemas.collect())
}

fn number(value: &Value) -> Value {
    match value.as_str().and_then(|text| text.parse::<u64>().ok()) {
        Some(number) => number.into(),
        None => value.clone(),
    }
}

fn allow_null(schema: &mut Map<String, Value>) {
    match schema.get_mut("type") {
        Some(Value::Array(kinds)) => kinds.push("null".into()),
        Some(kind) => *kind = json!([kind, "null"]),
        None => {
            if let Some(Value::Array(any)) = schema.get_mut("anyOf") {
                any.push(json!({"type": "null"}));
            }
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
}
