//! Merges two schemas that must both hold (`allOf`) into one: exactly, and returns what cannot be
//! merged.

use serde_json::{Map, Number, Value, json};

/// Groups of keywords that depend on each other, and can only be merged together.
const OBJECT_KEYWORDS: [&str; 4] =
    ["properties", "patternProperties", "additionalProperties", "unevaluatedProperties"];
const LIST_KEYWORDS: [&str; 3] = ["prefixItems", "items", "unevaluatedItems"];
const CONTAINS_KEYWORDS: [&str; 3] = ["contains", "minContains", "maxContains"];
const CONDITION_KEYWORDS: [&str; 3] = ["if", "then", "else"];

/// Both schemas as one, and the rest of `other` (or of `base`) that must hold in addition.
pub(super) fn and(
    mut base: Map<String, Value>,
    mut other: Map<String, Value>,
) -> (Map<String, Value>, Option<Map<String, Value>>) {
    let mut rest = Map::new();
    objects(&mut base, &mut other, &mut rest);
    for group in [&LIST_KEYWORDS[..], &CONTAINS_KEYWORDS, &CONDITION_KEYWORDS] {
        let own = group.iter().any(|key| base.contains_key(*key));
        let same = group.iter().all(|key| base.get(*key) == other.get(*key));
        for key in group {
            let Some(value) = other.shift_remove(*key) else { continue };
            match (own, same) {
                (_, true) => {}
                (false, false) => drop(base.insert((*key).to_owned(), value)),
                (true, false) => drop(rest.insert((*key).to_owned(), value)),
            }
        }
    }
    for (key, value) in other {
        match base.get_mut(&key) {
            None => drop(base.insert(key, value)),
            Some(own) if *own == value => {}
            Some(own) => match both(&key, own, &value) {
                Some(merged) => *own = merged,
                None => drop(rest.insert(key, value)),
            },
        }
    }
    (base, (!rest.is_empty()).then_some(rest))
}

/// Merges all parts of `allOf`, recursively; returns what could not be merged.
pub(super) fn take_all(fields: &mut Map<String, Value>) -> Vec<Value> {
    let mut left = Vec::new();
    let mut waiting: Vec<Value> = match fields.shift_remove("allOf") {
        Some(Value::Array(all)) => all.into_iter().rev().collect(),
        _ => return left,
    };
    while let Some(part) = waiting.pop() {
        let Value::Object(mut part) = part else {
            left.extend((part == false).then_some(part));
            continue;
        };
        if let Some(Value::Array(more)) = part.shift_remove("allOf") {
            waiting.extend(more.into_iter().rev());
        }
        let (merged, rest) = and(std::mem::take(fields), part);
        *fields = merged;
        left.extend(rest.map(Value::Object));
    }
    left
}

/// Whether the schema allows additional properties: nothing closes or restricts them.
fn is_open(fields: &Map<String, Value>) -> bool {
    let open = |value: &Value| *value == Value::Bool(true) || *value == json!({});
    !fields.contains_key("patternProperties")
        && ["additionalProperties", "unevaluatedProperties"]
            .iter()
            .all(|key| fields.get(*key).is_none_or(open))
}

fn objects(
    base: &mut Map<String, Value>,
    other: &mut Map<String, Value>,
    rest: &mut Map<String, Value>,
) {
    let says =
        |fields: &Map<String, Value>| OBJECT_KEYWORDS.iter().any(|key| fields.contains_key(*key));
    if !says(other) {
        return;
    }
    if !says(base) {
        for key in OBJECT_KEYWORDS {
            if let Some(value) = other.shift_remove(key) {
                base.insert(key.to_owned(), value);
            }
        }
        return;
    }
    if !is_open(base) || !is_open(other) {
        let same = OBJECT_KEYWORDS.iter().all(|key| base.get(*key) == other.get(*key));
        for key in OBJECT_KEYWORDS {
            if let (Some(value), false) = (other.shift_remove(key), same) {
                rest.insert(key.to_owned(), value);
            }
        }
        return;
    }
    for key in &OBJECT_KEYWORDS[1..] {
        other.shift_remove(*key);
    }
    let Some(Value::Object(more)) = other.shift_remove("properties") else { return };
    let own = base.entry("properties").or_insert_with(|| json!({}));
    let Value::Object(own) = own else { return };
    for (name, schema) in more {
        match own.get_mut(&name) {
            None => drop(own.insert(name, schema)),
            Some(there) if *there == schema => {}
            Some(there) => *there = join_schemas(there.take(), schema),
        }
    }
}

/// One schema for both.
fn join_schemas(one: Value, two: Value) -> Value {
    match (one, two) {
        (Value::Object(one), Value::Object(two)) => {
            let (mut merged, rest) = and(one, two);
            if let Some(rest) = rest {
                let all = merged.entry("allOf").or_insert_with(|| json!([]));
                if let Value::Array(all) = all {
                    all.push(Value::Object(rest));
                }
            }
            Value::Object(merged)
        }
        (Value::Bool(false), _) | (_, Value::Bool(false)) => Value::Bool(false),
        (Value::Bool(true), other) | (other, _) => other,
    }
}

/// The value of a keyword for which both hold, if there is one.
fn both(key: &str, one: &Value, two: &Value) -> Option<Value> {
    match (key, one, two) {
        (
            "title" | "description" | "default" | "examples" | "deprecated" | "readOnly"
            | "writeOnly",
            ..,
        ) => Some(one.clone()),
        ("type", ..) => types(one, two),
        ("required", Value::Array(one), Value::Array(two)) => {
            let new = two.iter().filter(|name| !one.contains(name));
            Some(one.iter().chain(new).cloned().collect())
        }
        ("enum", Value::Array(one), Value::Array(two)) => {
            let common: Vec<Value> = one.iter().filter(|it| two.contains(it)).cloned().collect();
            (!common.is_empty()).then_some(Value::Array(common))
        }
        ("allOf", Value::Array(one), Value::Array(two)) => {
            Some(one.iter().chain(two).cloned().collect())
        }
        ("uniqueItems", Value::Bool(one), Value::Bool(two)) => Some((*one || *two).into()),
        (_, Value::Number(one), Value::Number(two)) => stricter(key, one, two),
        _ => None,
    }
}

fn types(one: &Value, two: &Value) -> Option<Value> {
    let names = |value: &Value| -> Vec<String> {
        match value {
            Value::String(name) => vec![name.clone()],
            Value::Array(names) => {
                names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    };
    let one = names(one);
    let two = names(two);
    let has = |list: &[String], name: &str| list.iter().any(|it| it == name);
    let mut common: Vec<String> = Vec::new();
    for name in &one {
        let narrower = name == "number" && !has(&two, "number") && has(&two, "integer");
        let wider = name == "integer" && has(&two, "number");
        match (has(&two, name) || wider, narrower) {
            (true, _) => common.push(name.clone()),
            (false, true) => common.push("integer".to_owned()),
            (false, false) => {}
        }
    }
    match common.as_slice() {
        [] => None,
        [only] => Some(only.clone().into()),
        _ => Some(common.into()),
    }
}

fn stricter(key: &str, one: &Number, two: &Number) -> Option<Value> {
    let first = one.as_f64()?;
    let second = two.as_f64()?;
    let (smaller, larger) = if first <= second { (one, two) } else { (two, one) };
    match key {
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            Some(larger.clone().into())
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            Some(smaller.clone().into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
