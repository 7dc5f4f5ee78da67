//! JSON schemas in the subset that a provider takes. Keywords that it refuses become words of the
//! description, which the model reads.

use std::collections::{BTreeSet, HashSet};

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

/// Gemini takes nothing beside a reference but a description and a default. `None`: there is
/// nothing else.
pub(super) fn bare_references(schema: &Value) -> Option<Value> {
    if !has_crowded_reference(schema) {
        return None;
    }
    let mut schema = schema.clone();
    rewrite(&mut schema, &mut |schema| {
        if !schema.contains_key("$ref") {
            return;
        }
        let mut notes = Vec::new();
        schema.retain(|key, value| {
            let taken = stands_beside_reference(key);
            if !taken {
                notes.push(format!("{key}: {value}"));
            }
            taken
        });
        describe(schema, &notes);
    });
    Some(schema)
}

fn stands_beside_reference(key: &str) -> bool {
    key.starts_with('$') || key == "description" || key == "default"
}

/// Looks at values that are no schemas as well, so that it may say yes where nothing is changed.
fn has_crowded_reference(schema: &Value) -> bool {
    match schema {
        Value::Array(list) => list.iter().any(has_crowded_reference),
        Value::Object(fields) => {
            let is_crowded = fields.contains_key("$ref")
                && !fields.keys().all(|key| stands_beside_reference(key));
            is_crowded || fields.values().any(has_crowded_reference)
        }
        _ => false,
    }
}

/// Whether a definition refers to itself, which Anthropic does not take.
pub(super) fn is_recursive(schema: &Value) -> bool {
    References { root: schema, open: Vec::new(), done: HashSet::new() }.is_recursive(schema)
}

struct References<'s> {
    root: &'s Value,
    /// References on the way to where the search is.
    open: Vec<&'s str>,
    /// References without recursion: what many refer to is searched once.
    done: HashSet<&'s str>,
}

impl<'s> References<'s> {
    fn is_recursive(&mut self, schema: &'s Value) -> bool {
        match schema {
            Value::Array(list) => list.iter().any(|it| self.is_recursive(it)),
            Value::Object(fields) => {
                let reference = fields.get("$ref").and_then(Value::as_str);
                if reference.is_some_and(|reference| self.leads_back(reference)) {
                    return true;
                }
                let apart = ["$defs", "definitions"];
                let mut inner = fields.iter().filter(|(key, _)| !apart.contains(&key.as_str()));
                inner.any(|(_, it)| self.is_recursive(it))
            }
            _ => false,
        }
    }

    fn leads_back(&mut self, reference: &'s str) -> bool {
        if self.open.contains(&reference) {
            return true;
        }
        let target = reference.strip_prefix('#').and_then(|it| self.root.pointer(it));
        let Some(target) = target.filter(|_| self.done.insert(reference)) else { return false };
        self.open.push(reference);
        let found = self.is_recursive(target);
        self.open.pop();
        found
    }
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
        Some(description) => format!("{description} ({notes})"),
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
