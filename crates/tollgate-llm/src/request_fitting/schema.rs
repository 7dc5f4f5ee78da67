//! JSON schemas in the subset that a provider takes. Keywords that it refuses become words of the
//! description, which the model reads.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Keywords that Anthropic takes in the schema of an answer or of a strict tool.
const ANTHROPIC_KEYWORDS: &[&str] = &[
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "default",
    "definitions",
    "description",
    "enum",
    "format",
    "items",
    "minItems",
    "properties",
    "required",
    "title",
    "type",
];
const ANTHROPIC_FORMATS: &[&str] =
    &["date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid"];
/// Keywords with a schema, with schemas by name, and with a list of schemas.
const ONE: &[&str] = &["items", "additionalProperties", "not", "contains", "propertyNames"];
const NAMED: &[&str] = &["properties", "patternProperties", "$defs", "definitions"];
const LISTED: &[&str] = &["anyOf", "oneOf", "allOf", "prefixItems"];
/// Longest list of alternatives that is repeated in a description.
const MAX_QUOTED_ALTERNATIVES: usize = 2_000;
/// Depth of references that are followed.
const MAX_REFERENCES: usize = 8;

/// A schema of an answer, or of a strict tool, as Anthropic takes it: every object is closed.
pub(super) fn close(schema: &Value) -> Value {
    let mut schema = schema.clone();
    rewrite(&mut schema, &mut close_one);
    schema
}

fn close_one(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(mut alternatives)) = schema.shift_remove("oneOf") {
        match schema.get_mut("anyOf").and_then(Value::as_array_mut) {
            Some(others) => others.append(&mut alternatives),
            None => drop(schema.insert("anyOf".to_owned(), alternatives.into())),
        }
    }
    let mut notes = Vec::new();
    let refused = |key: &str, value: &Value| match key {
        "minItems" => value.as_u64().is_none_or(|count| count > 1),
        "format" => value.as_str().is_none_or(|format| !ANTHROPIC_FORMATS.contains(&format)),
        key => !ANTHROPIC_KEYWORDS.contains(&key),
    };
    schema.retain(|key, value| {
        let refused = refused(key, value);
        if refused {
            notes.push(format!("{key}: {value}"));
        }
        !refused
    });
    if is_object(schema) {
        let open = schema.get("additionalProperties").filter(|open| open.is_object());
        notes.extend(open.map(|open| format!("additionalProperties: {open}")));
        schema.insert("additionalProperties".to_owned(), false.into());
    } else {
        schema.shift_remove("additionalProperties");
    }
    describe(schema, &notes);
}

/// Whether OpenAI takes the schema as a strict one: every object is closed, and has everything.
pub(super) fn is_strict(schema: &Value) -> bool {
    let mut strict = true;
    let mut look = |schema: &mut Map<String, Value>| {
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        let required: BTreeSet<&str> = names(schema.get("required")).collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        let complete =
            properties.is_none_or(|them| them.keys().all(|name| required.contains(name.as_str())));
        strict &= !is_object(schema) || (closed && complete);
        strict &= !["oneOf", "allOf", "not", "patternProperties"]
            .iter()
            .any(|key| schema.contains_key(*key));
    };
    rewrite(&mut schema.clone(), &mut look);
    strict
}

/// Gemini takes nothing beside a reference but a description and a default.
pub(super) fn bare_references(schema: &Value) -> Value {
    let mut schema = schema.clone();
    rewrite(&mut schema, &mut |schema| {
        if !schema.contains_key("$ref") {
            return;
        }
        let mut notes = Vec::new();
        schema.retain(|key, value| {
            let taken = key.starts_with('$') || key == "description" || key == "default";
            if !taken {
                notes.push(format!("{key}: {value}"));
            }
            taken
        });
        describe(schema, &notes);
    });
    schema
}

/// The parameters of a tool as an object without alternatives at the top, and the alternatives as
/// text. Anthropic refuses them there.
pub(super) fn flatten_alternatives(parameters: &Value) -> Option<FlatParameters> {
    let mut top = parameters.as_object()?.clone();
    let mut alternatives = Vec::new();
    for key in ["allOf", "anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = top.shift_remove(key) {
            let words = Value::from(branches.clone()).to_string();
            alternatives.push(match key {
                "allOf" => format!("all of {words}"),
                "anyOf" => format!("at least one of {words}"),
                _ => format!("exactly one of {words}"),
            });
            merge_branches(&mut top, &branches, key == "allOf", parameters);
        }
    }
    if alternatives.is_empty() {
        return None;
    }
    let words = alternatives.join(", and ");
    let note = (words.len() <= MAX_QUOTED_ALTERNATIVES)
        .then(|| format!("The arguments must match {words}."));
    Some(FlatParameters { schema: top.into(), note })
}

pub(super) struct FlatParameters {
    pub(super) schema: Value,
    pub(super) note: Option<String>,
}

/// Adds the properties of all branches. Required is what every branch requires, or for `allOf` what
/// any of them does.
fn merge_branches(top: &mut Map<String, Value>, branches: &[Value], of_all: bool, root: &Value) {
    let mut properties = match top.shift_remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    let mut required: BTreeSet<String> = names(top.get("required")).map(str::to_owned).collect();
    let mut shared: Option<BTreeSet<String>> = None;
    for branch in branches {
        let branch = resolve(branch, root);
        for (name, schema) in branch["properties"].as_object().into_iter().flatten() {
            properties.entry(name.clone()).or_insert_with(|| schema.clone());
        }
        let own: BTreeSet<String> = names(branch.get("required")).map(str::to_owned).collect();
        shared = Some(match shared {
            None => own,
            Some(before) if of_all => before.union(&own).cloned().collect(),
            Some(before) => before.intersection(&own).cloned().collect(),
        });
    }
    required.extend(shared.unwrap_or_default());
    if !properties.is_empty() {
        top.insert("properties".to_owned(), properties.into());
    }
    if !required.is_empty() {
        let required: Vec<String> = required.into_iter().collect();
        top.insert("required".to_owned(), required.into());
    }
}

/// Follows references within the document.
fn resolve<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let mut found = schema;
    for _ in 0..MAX_REFERENCES {
        let Some(pointer) = found["$ref"].as_str().and_then(|it| it.strip_prefix('#')) else {
            break;
        };
        let Some(next) = root.pointer(pointer) else { break };
        found = next;
    }
    found
}

/// Whether a definition refers to itself, which Anthropic does not take.
pub(super) fn is_recursive(schema: &Value) -> bool {
    fn visit<'s>(schema: &'s Value, root: &'s Value, open: &mut Vec<&'s str>) -> bool {
        match schema {
            Value::Array(list) => list.iter().any(|it| visit(it, root, open)),
            Value::Object(fields) => {
                if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                    if open.contains(&reference) {
                        return true;
                    }
                    let target = reference.strip_prefix('#').and_then(|it| root.pointer(it));
                    open.push(reference);
                    let found = target.is_some_and(|target| visit(target, root, open));
                    open.pop();
                    if found {
                        return true;
                    }
                }
                let apart = ["$defs", "definitions"];
                let inner = fields.iter().filter(|(key, _)| !apart.contains(&key.as_str()));
                inner.into_iter().any(|(_, it)| visit(it, root, open))
            }
            _ => false,
        }
    }
    visit(schema, schema, &mut Vec::new())
}

fn names(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn is_object(schema: &Map<String, Value>) -> bool {
    let kind = schema.get("type");
    let among = |kinds: &Vec<Value>| kinds.iter().any(|kind| kind == "object");
    kind.is_some_and(|kind| kind == "object" || kind.as_array().is_some_and(among))
        || schema.contains_key("properties")
}

fn describe(schema: &mut Map<String, Value>, notes: &[String]) {
    if notes.is_empty() {
        return;
    }
    let notes = notes.join(", ");
    let description = match schema.get("description").and_then(Value::as_str) {
        Some(said) => format!("{said} ({notes})"),
        None => format!("({notes})"),
    };
    schema.insert("description".to_owned(), json!(description));
}

/// Calls `change` for every schema within a schema, inner ones first.
fn rewrite(schema: &mut Value, change: &mut dyn FnMut(&mut Map<String, Value>)) {
    let Value::Object(fields) = schema else { return };
    for key in ONE {
        if let Some(inner) = fields.get_mut(*key) {
            rewrite(inner, change);
        }
    }
    for key in NAMED {
        let inner = fields.get_mut(*key).and_then(Value::as_object_mut);
        inner.into_iter().flat_map(|it| it.values_mut()).for_each(|it| rewrite(it, change));
    }
    for key in LISTED {
        let inner = fields.get_mut(*key).and_then(Value::as_array_mut);
        inner.into_iter().flatten().for_each(|it| rewrite(it, change));
    }
    change(fields);
}
