//! Determines the types of a value.

use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SubsetTypes {
    /// Without null. Empty: any.
    pub(super) names: Vec<&'static str>,
    pub(super) is_nullable: bool,
    pub(super) known: TypeSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeSource {
    Declared,
    /// Inferred from other keywords only.
    Guessed,
}

const NAMES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];

pub(super) fn kinds(fields: &Map<String, Value>) -> SubsetTypes {
    let values = fields.get("enum").and_then(Value::as_array);
    let kinds: Option<Vec<&str>> = match fields.get("type") {
        Some(Value::String(name)) => Some(vec![name]),
        Some(Value::Array(names)) => Some(names.iter().filter_map(Value::as_str).collect()),
        _ => values.map(|values| values.iter().map(kind_of).collect()),
    };
    let Some(kinds) = kinds else { return guess(fields) };
    let takes_null = values.is_none_or(|values| values.contains(&Value::Null));
    let mut names: Vec<&'static str> = Vec::new();
    for name in NAMES {
        let possible = values.is_none_or(|values| values.iter().any(|it| is_of(it, name)));
        if kinds.contains(&name) && possible {
            names.push(name);
        }
    }
    // Integers are numbers.
    if names.contains(&"number") {
        names.retain(|name| *name != "integer");
    }
    SubsetTypes {
        names,
        is_nullable: kinds.contains(&"null") && takes_null,
        known: TypeSource::Declared,
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    let kind = kind_of(value);
    let whole = || value.as_f64().is_some_and(|number| number.fract() == 0.0);
    kind == name || (kind, name) == ("integer", "number") || (name == "integer" && whole())
}

fn guess(fields: &Map<String, Value>) -> SubsetTypes {
    let has = |keys: &[&str]| keys.iter().any(|key| fields.contains_key(*key));
    let name = if has(&["properties", "required", "additionalProperties", "patternProperties"]) {
        Some("object")
    } else if has(&["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"]) {
        Some("array")
    } else if has(&["pattern", "minLength", "maxLength", "format"]) {
        Some("string")
    } else if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        Some("number")
    } else {
        None
    };
    let names: Vec<&'static str> = name.into_iter().collect();
    let known = if names.is_empty() { TypeSource::Declared } else { TypeSource::Guessed };
    SubsetTypes { names, is_nullable: false, known }
}
