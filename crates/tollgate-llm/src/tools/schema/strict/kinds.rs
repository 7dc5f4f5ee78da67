//! Determines the types of a value, and which keywords apply to which type.

use serde_json::Value;

use super::StrictSchemaFields;

pub(super) struct StrictTypes {
    /// Without null. Empty: any.
    pub(super) names: Vec<String>,
    pub(super) is_nullable: bool,
}

/// The declared types, or those of the listed values.
pub(super) fn kinds(fields: &StrictSchemaFields) -> StrictTypes {
    let values = match (fields.get("enum"), fields.get("const")) {
        (Some(Value::Array(values)), _) => Some(values.clone()),
        (_, Some(only)) => Some(vec![only.clone()]),
        _ => None,
    };
    let mut names: Vec<String> = match fields.get("type") {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => match &values {
            Some(values) => of_values(values),
            None if fields.contains_key("properties") => vec!["object".to_owned()],
            None if fields.contains_key("items") => vec!["array".to_owned()],
            None => Vec::new(),
        },
    };
    if let Some(values) = &values {
        names.retain(|name| values.iter().any(|value| is_of(value, name)));
    }
    // Integers are numbers.
    if names.iter().any(|name| name == "number") {
        names.retain(|name| name != "integer");
    }
    let is_nullable = names.iter().any(|name| name == "null");
    names.retain(|name| name != "null");
    StrictTypes { names, is_nullable }
}

fn of_values(values: &[Value]) -> Vec<String> {
    let known = ["string", "integer", "number", "boolean", "null", "array", "object"];
    let mut found: Vec<String> = Vec::new();
    for value in values {
        let name = known.iter().find(|name| is_of(value, name));
        if let Some(name) = name.filter(|name| !found.iter().any(|it| it == *name)) {
            found.push((*name).to_owned());
        }
    }
    found
}

pub(super) fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}

/// Whether an unsupported keyword applies to values of this type.
pub(super) fn is_about(keyword: &str, kind: &str) -> bool {
    let about: &[&str] = match keyword {
        "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding" => &["string"],
        "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            &["number", "integer"]
        }
        "uniqueItems" | "contains" | "minContains" | "maxContains" | "prefixItems" | "minItems"
        | "maxItems" | "items" | "unevaluatedItems" => &["array"],
        "properties"
        | "patternProperties"
        | "propertyNames"
        | "minProperties"
        | "maxProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "unevaluatedProperties" => &["object"],
        "not" | "if" | "then" | "else" | "default" => &[],
        _ => return false,
    };
    about.is_empty() || about.contains(&kind)
}
