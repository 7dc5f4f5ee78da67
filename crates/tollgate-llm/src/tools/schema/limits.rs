//! Adds constraints that a format cannot express to the description, as text. The text is
//! deterministic: the same schema always gives the same text.

use serde_json::{Map, Value};
use tollgate_core::text::truncate_chars;

/// Maximum characters of one constraint, and of all in one place.
const MAX_LIMIT_CHARS: usize = 300;
const MAX_LIMITS_CHARS: usize = 2_000;

/// Adds `(limits: …)` to the description of a schema.
pub(super) fn tell(fields: &mut Map<String, Value>, limits: &[String]) {
    let description = fields.get("description").and_then(Value::as_str);
    if let (Some(sentence), false) = (beside(description, limits), limits.is_empty()) {
        fields.insert("description".to_owned(), sentence.into());
    }
}

/// A description followed by `(limits: …)`.
pub(crate) fn beside(description: Option<&str>, limits: &[String]) -> Option<String> {
    if limits.is_empty() {
        return description.map(str::to_owned);
    }
    let each: Vec<String> =
        limits.iter().map(|limit| truncate_chars(limit, MAX_LIMIT_CHARS)).collect();
    let limits = truncate_chars(&format!("(limits: {}", each.join("; ")), MAX_LIMITS_CHARS);
    Some(match description {
        Some(text) if !text.is_empty() => format!("{text} {limits})"),
        _ => format!("{limits})"),
    })
}

/// A keyword and its value as text.
pub(super) fn of(keyword: &str, value: &Value) -> String {
    match value {
        Value::Array(branches) if matches!(keyword, "anyOf" | "oneOf") => {
            let each: Vec<String> = branches.iter().map(branch).collect();
            let which = if keyword == "anyOf" { "any of" } else { "exactly one of" };
            format!("{which} {}", each.join(" or "))
        }
        _ => format!("{keyword} {value}"),
    }
}

/// One of several alternatives, as short as possible.
fn branch(schema: &Value) -> String {
    let Value::Object(fields) = schema else { return schema.to_string() };
    let known = |key: &str| {
        matches!(key, "type" | "required" | "properties" | "title" | "description")
            || key == "additionalProperties"
    };
    if !fields.keys().all(|key| known(key)) {
        return schema.to_string();
    }
    let mut words: Vec<String> = Vec::new();
    let properties = fields.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if let Some(value) = property.get("const") {
            words.push(format!("{name} {value}"));
        }
    }
    let required = fields.get("required").and_then(Value::as_array);
    let required: Vec<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    if !required.is_empty() {
        words.push(format!("with {}", required.join(", ")));
    }
    if words.is_empty() { schema.to_string() } else { format!("({})", words.join(", ")) }
}
