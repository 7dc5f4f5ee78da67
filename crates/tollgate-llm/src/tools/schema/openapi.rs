//! Converts Gemini's schemas, a subset of OpenAPI's, to JSON Schema.

use serde_json::{Map, Value, json};

use super::shape;

pub(in crate::tools) fn read(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(fields) = &mut schema {
        walk(fields);
    }
    schema
}

/// Spellings that Google's libraries use in languages other than JSON.
const SPELLINGS: [(&str, &str); 9] = [
    ("any_of", "anyOf"),
    ("max_items", "maxItems"),
    ("max_length", "maxLength"),
    ("max_properties", "maxProperties"),
    ("min_items", "minItems"),
    ("min_length", "minLength"),
    ("min_properties", "minProperties"),
    ("property_ordering", "propertyOrdering"),
    ("additional_properties", "additionalProperties"),
];

/// 64-bit integers arrive as strings.
const COUNT_KEYWORDS: [&str; 6] =
    ["maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"];

fn walk(fields: &mut Map<String, Value>) {
    for (from, to) in SPELLINGS {
        if let (Some(value), false) = (fields.shift_remove(from), fields.contains_key(to)) {
            fields.insert(to.to_owned(), value);
        }
    }
    if let Some(Value::String(kind)) = fields.get_mut("type") {
        *kind = kind.to_lowercase();
        if kind == "type_unspecified" {
            fields.shift_remove("type");
        }
    }
    if fields.get("format").is_some_and(|it| it == "enum") {
        fields.shift_remove("format");
    }
    for count in COUNT_KEYWORDS {
        if let Some(value @ Value::String(_)) = fields.get_mut(count)
            && let Some(number) = value.as_str().and_then(|text| text.parse::<u64>().ok())
        {
            *value = number.into();
        }
    }
    if let Some(example) = fields.shift_remove("example") {
        fields.entry("examples").or_insert_with(|| json!([example]));
    }
    order(fields);
    let is_nullable = fields.shift_remove("nullable") == Some(Value::Bool(true));
    shape::each(fields, "", |schema, _| {
        if let Value::Object(fields) = schema {
            walk(fields);
        }
    });
    if is_nullable {
        allow_null(fields);
    }
}

/// Sorts properties as `propertyOrdering` says.
fn order(fields: &mut Map<String, Value>) {
    let Some(Value::Array(wished)) = fields.shift_remove("propertyOrdering") else { return };
    let Some(Value::Object(named)) = fields.get_mut("properties") else { return };
    let mut sorted = Map::new();
    for name in wished.iter().filter_map(Value::as_str) {
        sorted.extend(named.shift_remove(name).map(|schema| (name.to_owned(), schema)));
    }
    sorted.append(named);
    *named = sorted;
}

fn allow_null(fields: &mut Map<String, Value>) {
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        values.push(Value::Null);
    }
    if let Some(kind @ Value::String(_)) = fields.get_mut("type") {
        *kind = json!([kind.take(), "null"]);
    } else if let Some(Value::Array(forms)) = fields.get_mut("anyOf") {
        forms.push(json!({"type": "null"}));
    }
}

#[cfg(test)]
mod tests;
