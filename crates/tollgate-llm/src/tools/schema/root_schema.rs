//! Makes the root of an argument schema a plain object without alternatives, as most APIs require.
//! Alternatives become one object with the properties of all, and are described in text.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::merge::and;
use super::{SchemaFitError, SchemaFitLog, limits};
use crate::tools::tool_format::ToolFormat;

/// Keywords that the root must not have.
fn forbidden(form: ToolFormat) -> &'static [&'static str] {
    match form {
        ToolFormat::Mcp => &[],
        ToolFormat::Anthropic => &["allOf", "anyOf", "oneOf"],
        ToolFormat::OpenAi
        | ToolFormat::OpenAiResponses
        | ToolFormat::OpenAiRealtime
        | ToolFormat::Gemini
        | ToolFormat::GeminiLive => &["allOf", "anyOf", "oneOf", "enum", "const", "not"],
    }
}

pub(super) fn fit_plain(
    fields: &mut Map<String, Value>,
    form: ToolFormat,
    log: &mut SchemaFitLog,
) -> Result<(), SchemaFitError> {
    resolve_root_ref(fields);
    object(fields)?;
    let at = log.at.clone();
    for keyword in forbidden(form) {
        let Some(value) = fields.shift_remove(*keyword) else { continue };
        let left = match (*keyword, value) {
            ("allOf", Value::Array(all)) => every(fields, all),
            ("anyOf" | "oneOf", Value::Array(branches)) => either(fields, branches),
            (_, value) => Some(value),
        };
        if let Some(left) = left {
            log.limit(&at, keyword);
            log.notes.push(limits::of(keyword, &left));
        }
    }
    object(fields)
}

/// Arguments are always an object: stating so changes nothing.
fn object(fields: &mut Map<String, Value>) -> Result<(), SchemaFitError> {
    let is_object = match fields.get("type") {
        None => true,
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        Some(_) => false,
    };
    if !is_object {
        return Err(SchemaFitError::NotOfObjects);
    }
    // First, where readers expect it.
    fields.shift_remove("type");
    fields.shift_insert(0, "type".to_owned(), "object".into());
    Ok(())
}

/// A root that is a reference is replaced by its target.
fn resolve_root_ref(fields: &mut Map<String, Value>) {
    let mut seen = HashSet::new();
    while let Some(Value::String(reference)) = fields.shift_remove("$ref") {
        let found = definition(fields, &reference);
        if let (Some(Value::Object(found)), true) = (found, seen.insert(reference)) {
            let (merged, rest) = and(std::mem::take(fields), found);
            *fields = merged;
            push(fields, "allOf", rest);
        }
    }
}

fn push(fields: &mut Map<String, Value>, keyword: &str, schema: Option<Map<String, Value>>) {
    let Some(schema) = schema else { return };
    let list = fields.entry(keyword).or_insert_with(|| json!([]));
    if let Value::Array(list) = list {
        list.push(Value::Object(schema));
    }
}

/// Merges all parts of `allOf`; returns what could not be merged exactly.
fn every(fields: &mut Map<String, Value>, all: Vec<Value>) -> Option<Value> {
    // Depends on the properties of all parts, so it is applied to the merged result.
    let closed = fields.shift_remove("unevaluatedProperties");
    let mut left = Vec::new();
    let mut seen = HashSet::new();
    let mut waiting: Vec<Value> = all.into_iter().rev().collect();
    while let Some(part) = waiting.pop() {
        let Value::Object(mut part) = part else {
            left.extend((part == false).then_some(part));
            continue;
        };
        if let Some(Value::String(reference)) = part.shift_remove("$ref") {
            waiting.push(Value::Object(part));
            // A part that refers to itself adds nothing.
            if let (Some(found), true) = (definition(fields, &reference), seen.insert(reference)) {
                waiting.push(found);
            }
            continue;
        }
        if let Some(Value::Array(more)) = part.shift_remove("allOf") {
            waiting.extend(more.into_iter().rev());
        }
        let (merged, rest) = and(std::mem::take(fields), part);
        *fields = merged;
        if let Some(rest) = rest {
            more_properties(fields, rest.get("properties"));
            left.push(Value::Object(rest));
        }
    }
    match closed {
        Some(closed) if left.is_empty() && !fields.contains_key("additionalProperties") => {
            fields.insert("additionalProperties".to_owned(), closed);
        }
        Some(closed) => drop(fields.insert("unevaluatedProperties".to_owned(), closed)),
        None => {}
    }
    (!left.is_empty()).then_some(Value::Array(left))
}

fn definition(fields: &Map<String, Value>, reference: &str) -> Option<Value> {
    fields.get("$defs")?.get(reference.strip_prefix("#/$defs/")?).cloned()
}

/// Merges the properties of all alternatives, so that they can be sent; returns the alternatives.
fn either(fields: &mut Map<String, Value>, branches: Vec<Value>) -> Option<Value> {
    let resolved: Vec<Value> = branches
        .into_iter()
        .map(|branch| {
            let reference = branch.get("$ref").and_then(Value::as_str);
            reference.and_then(|reference| definition(fields, reference)).unwrap_or(branch)
        })
        .collect();
    if let [only] = resolved.as_slice() {
        return every(fields, vec![only.clone()]);
    }
    for branch in &resolved {
        more_properties(fields, branch.get("properties"));
    }
    let common = common(&resolved);
    if !common.is_empty() {
        let needed = Map::from_iter([("required".to_owned(), Value::Array(common))]);
        let (merged, _) = and(std::mem::take(fields), needed);
        *fields = merged;
    }
    Some(Value::Array(resolved))
}

/// Properties that every alternative requires.
fn common(branches: &[Value]) -> Vec<Value> {
    let needs = |branch: &Value| branch.get("required").and_then(Value::as_array).cloned();
    let mut lists = branches.iter().map(|branch| needs(branch).unwrap_or_default());
    let first = lists.next().unwrap_or_default();
    let rest: Vec<Vec<Value>> = lists.collect();
    first.into_iter().filter(|name| rest.iter().all(|list| list.contains(name))).collect()
}

/// Adds new properties; for an existing one either schema is allowed.
fn more_properties(fields: &mut Map<String, Value>, more: Option<&Value>) {
    let Some(Value::Object(more)) = more else { return };
    let own = fields.entry("properties").or_insert_with(|| json!({}));
    let Value::Object(own) = own else { return };
    for (name, schema) in more {
        match own.get_mut(name) {
            None => drop(own.insert(name.clone(), schema.clone())),
            Some(there) if there == schema => {}
            Some(there) => widen(there, schema),
        }
    }
}

fn widen(there: &mut Value, schema: &Value) {
    if let Value::Object(fields) = there
        && fields.len() == 1
        && let Some(Value::Array(forms)) = fields.get_mut("anyOf")
    {
        if !forms.contains(schema) {
            forms.push(schema.clone());
        }
        return;
    }
    *there = match (constants(there), constants(schema)) {
        (Some((kind, one)), Some((_, two))) => {
            let new: Vec<Value> = two.into_iter().filter(|it| !one.contains(it)).collect();
            let all: Value = one.into_iter().chain(new).collect();
            let mut values = Map::from_iter([("enum".to_owned(), all)]);
            values.extend(kind.map(|kind| ("type".to_owned(), kind)));
            Value::Object(values)
        }
        _ => json!({"anyOf": [there.take(), schema]}),
    };
}

/// The values of a property with fixed values, such as the discriminator of an alternative.
fn constants(schema: &Value) -> Option<(Option<Value>, Vec<Value>)> {
    let fields = schema.as_object()?;
    let known = |key: &str| matches!(key, "type" | "const" | "enum" | "title" | "description");
    if !fields.keys().all(|key| known(key)) {
        return None;
    }
    let values = match (fields.get("const"), fields.get("enum")) {
        (Some(only), None) => vec![only.clone()],
        (None, Some(Value::Array(values))) => values.clone(),
        _ => return None,
    };
    Some((fields.get("type").cloned(), values))
}

#[cfg(test)]
mod tests;
