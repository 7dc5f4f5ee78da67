//! Builders for JSON Schema 2020-12, as used by OpenAPI 3.1.
#![expect(clippy::needless_pass_by_value, reason = "schemas are handed over to be put in")]

use serde_json::{Map, Value, json};

pub(super) fn any() -> Value {
    json!({})
}

pub(super) fn text() -> Value {
    json!({"type": "string"})
}

pub(super) fn whole() -> Value {
    json!({"type": "integer", "minimum": 0})
}

pub(super) fn number() -> Value {
    json!({"type": "number"})
}

pub(super) fn flag() -> Value {
    json!({"type": "boolean"})
}

/// RFC 3339.
pub(super) fn time() -> Value {
    json!({"type": "string", "format": "date-time"})
}

pub(super) fn one_of(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

pub(super) fn tier() -> Value {
    one_of(&["fast", "standard", "deep"])
}

pub(super) fn list(of: Value) -> Value {
    json!({"type": "array", "items": of})
}

pub(super) fn texts() -> Value {
    list(text())
}

/// An object with arbitrary keys and values of one type.
pub(super) fn map(of: Value) -> Value {
    json!({"type": "object", "additionalProperties": of})
}

/// An object without further constraints.
pub(super) fn free() -> Value {
    json!({"type": "object", "additionalProperties": true})
}

pub(super) fn schema_ref(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Adds a description.
pub(super) fn with_description(mut schema: Value, about: &str) -> Value {
    schema["description"] = json!(about);
    schema
}

pub(super) fn or_null(mut schema: Value) -> Value {
    match (schema.get("type").and_then(Value::as_str), schema.get("enum")) {
        (Some(kind), None) => {
            schema["type"] = json!([kind, "null"]);
            schema
        }
        _ => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

type SchemaFields<'f> = &'f [(&'f str, Value)];

/// An object in a response. Fields of `perhaps` are optional.
pub(super) fn object(always: SchemaFields<'_>, perhaps: SchemaFields<'_>) -> Value {
    let properties: Map<String, Value> =
        always.iter().chain(perhaps).map(|(key, it)| ((*key).to_owned(), it.clone())).collect();
    let required: Vec<&str> = always.iter().map(|(key, _)| *key).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// An object with further fields.
pub(super) fn extend(base: &Value, more: Value) -> Value {
    let mut all = base.clone();
    for (key, schema) in more["properties"].as_object().into_iter().flatten() {
        all["properties"][key] = schema.clone();
    }
    let required = |it: &Value| it["required"].as_array().cloned().unwrap_or_default();
    all["required"] = Value::Array([required(base), required(&more)].concat());
    all
}

/// An object in a request: no other fields are accepted, and `null` counts as absent.
pub(super) fn body(needed: SchemaFields<'_>, perhaps: SchemaFields<'_>) -> Value {
    let perhaps: Vec<(&str, Value)> =
        perhaps.iter().map(|(key, it)| (*key, or_null(it.clone()))).collect();
    let mut schema = object(needed, &perhaps);
    schema["additionalProperties"] = json!(false);
    schema
}
