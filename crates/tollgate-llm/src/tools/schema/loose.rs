//! Final fixes for formats that accept nearly all of JSON Schema: their APIs reject all tools of a
//! request because of an array without `items`, or a schema that is only `true`.

use serde_json::{Map, Value, json};

use super::shape;

pub(super) fn mend(fields: &mut Map<String, Value>) {
    if is_list(fields.get("type")) && !fields.contains_key("items") {
        fields.insert("items".to_owned(), json!({}));
    }
    for (keyword, value) in fields.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties" | "$defs", Value::Object(named)) => {
                named.values_mut().for_each(spell_out);
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                list.iter_mut().for_each(spell_out);
            }
            ("items", items @ Value::Bool(true)) => *items = json!({}),
            _ => {}
        }
    }
    shape::each(fields, "", |schema, _| {
        if let Value::Object(fields) = schema {
            mend(fields);
        }
    });
}

fn spell_out(schema: &mut Value) {
    match schema {
        Value::Bool(true) => *schema = json!({}),
        Value::Bool(false) => *schema = json!({"not": {}}),
        _ => {}
    }
}

fn is_list(kind: Option<&Value>) -> bool {
    match kind {
        Some(Value::String(name)) => name == "array",
        Some(Value::Array(names)) => names.iter().any(|name| name == "array"),
        _ => false,
    }
}
