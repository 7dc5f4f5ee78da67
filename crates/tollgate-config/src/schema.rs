//! JSON Schema (draft 2020-12) of the config, generated from the tables, for editors and
//! validators.

use serde_json::{Map, Value, json};

use super::table::{KeyKind, KeyPresence, SectionSpec, TOP};

/// The output of `tollgate check --schema`.
pub fn schema() -> Value {
    let mut definitions = Map::new();
    let top = section(&TOP, &mut definitions);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tollgate.yaml",
        "description": "Configuration of Tollgate",
    });
    merge(&mut schema, top);
    schema["$defs"] = Value::Object(definitions);
    schema
}

fn section(of: &SectionSpec, definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in of.keys {
        let mut value = kind(&key.kind, definitions);
        let about = match key.need {
            KeyPresence::Default(default) if !default.is_empty() => {
                format!("{}. Default: {default}", key.about)
            }
            KeyPresence::Default(_) | KeyPresence::Required => key.about.to_owned(),
        };
        value["description"] = json!(about.trim_start_matches(". "));
        properties.insert(key.name.to_owned(), value);
        if key.need == KeyPresence::Required {
            required.push(key.name);
        }
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn kind(of: &KeyKind, definitions: &mut Map<String, Value>) -> Value {
    match of {
        // Scalars count as typed: `8080` for a text key is the string 8080.
        KeyKind::Text(_) => json!({ "type": ["string", "number", "boolean"] }),
        KeyKind::Flag => json!({ "type": "boolean" }),
        KeyKind::Whole(range) => {
            json!({ "type": "integer", "minimum": range.least, "maximum": range.most })
        }
        KeyKind::Choice(choices) => json!({ "enum": choices }),
        KeyKind::Words => json!({
            "type": ["string", "array"],
            "items": { "type": ["string", "number", "boolean"] },
        }),
        KeyKind::List(inner) => {
            json!({ "type": ["array", "null"], "items": kind(inner, definitions) })
        }
        KeyKind::Table(inner) => {
            json!({ "type": ["object", "null"], "additionalProperties": kind(inner, definitions) })
        }
        KeyKind::Section(inner) => {
            json!({ "$ref": define(inner, SchemaEntryForm::Plain, definitions) })
        }
        KeyKind::SectionOr(inner, word) => json!({
            "anyOf": [{ "$ref": define(inner, SchemaEntryForm::Plain, definitions) }, { "const": word }],
        }),
        KeyKind::Named(inner) => {
            let by_name = define(inner, SchemaEntryForm::Plain, definitions);
            let in_list = define(inner, SchemaEntryForm::WithName, definitions);
            json!({
                "type": ["object", "array", "null"],
                "additionalProperties": { "$ref": by_name },
                "items": { "$ref": in_list },
            })
        }
        KeyKind::Entries(inner) => json!({
            "type": ["array", "null"],
            "items": { "$ref": define(inner, SchemaEntryForm::Plain, definitions) },
        }),
        KeyKind::Json => json!({}),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SchemaEntryForm {
    Plain,
    /// As an entry of a list, with the name as a key.
    WithName,
}

/// Adds a section to `$defs`, once, and returns its reference.
fn define(of: &SectionSpec, form: SchemaEntryForm, definitions: &mut Map<String, Value>) -> String {
    let slug = of.title.replace("[]", "").replace('.', "-").to_lowercase();
    let slug = match form {
        SchemaEntryForm::Plain => slug,
        SchemaEntryForm::WithName => format!("{slug}-entry"),
    };
    let reference = format!("#/$defs/{slug}");
    if definitions.contains_key(&slug) {
        return reference;
    }
    definitions.insert(slug.clone(), Value::Null);
    let mut made = section(of, definitions);
    let is_empty = made["required"].as_array().is_some_and(Vec::is_empty);
    if form == SchemaEntryForm::WithName {
        made["properties"]["name"] = json!({ "type": "string" });
        made["required"].as_array_mut().expect("a list").insert(0, json!("name"));
    } else if is_empty {
        made["type"] = json!(["object", "null"]);
    }
    definitions.insert(slug, made);
    reference
}

fn merge(into: &mut Value, from: Value) {
    if let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
}
