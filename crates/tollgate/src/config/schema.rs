//! The JSON Schema (draft 2020-12) of the config, made from the tables; for editors and checkers.

use serde_json::{Map, Value, json};

use super::table::{Kind, Need, Section, TOP};

/// What `tollgate check --schema` prints.
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

fn section(of: &Section, definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in of.keys {
        let mut value = kind(&key.kind, definitions);
        let about = match key.need {
            Need::Default(default) if !default.is_empty() => {
                format!("{}. Default: {default}", key.about)
            }
            Need::Default(_) | Need::Required => key.about.to_owned(),
        };
        value["description"] = json!(about.trim_start_matches(". "));
        properties.insert(key.name.to_owned(), value);
        if key.need == Need::Required {
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

fn kind(of: &Kind, definitions: &mut Map<String, Value>) -> Value {
    match of {
        // What is typed is what counts: `8080` behind a text key is the text 8080.
        Kind::Text(_) => json!({ "type": ["string", "number", "boolean"] }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Whole(range) => {
            json!({ "type": "integer", "minimum": range.least, "maximum": range.most })
        }
        Kind::Choice(choices) => json!({ "enum": choices }),
        Kind::Words => json!({
            "type": ["string", "array"],
            "items": { "type": ["string", "number", "boolean"] },
        }),
        Kind::List(inner) => {
            json!({ "type": ["array", "null"], "items": kind(inner, definitions) })
        }
        Kind::Table(inner) => {
            json!({ "type": ["object", "null"], "additionalProperties": kind(inner, definitions) })
        }
        Kind::Section(inner) => json!({ "$ref": define(inner, Form::Plain, definitions) }),
        Kind::SectionOr(inner, word) => json!({
            "anyOf": [{ "$ref": define(inner, Form::Plain, definitions) }, { "const": word }],
        }),
        Kind::Named(inner) => {
            let by_name = define(inner, Form::Plain, definitions);
            let in_list = define(inner, Form::WithName, definitions);
            json!({
                "type": ["object", "array", "null"],
                "additionalProperties": { "$ref": by_name },
                "items": { "$ref": in_list },
            })
        }
        Kind::Entries(inner) => json!({
            "type": ["array", "null"],
            "items": { "$ref": define(inner, Form::Plain, definitions) },
        }),
        Kind::Json => json!({}),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    /// As an entry of a list, where the name is a key like the others.
    WithName,
}

/// Puts a section under `$defs`, once, and says how to refer to it.
fn define(of: &Section, form: Form, definitions: &mut Map<String, Value>) -> String {
    let slug = of.title.replace("[]", "").replace('.', "-").to_lowercase();
    let slug = match form {
        Form::Plain => slug,
        Form::WithName => format!("{slug}-entry"),
    };
    let reference = format!("#/$defs/{slug}");
    if definitions.contains_key(&slug) {
        return reference;
    }
    definitions.insert(slug.clone(), Value::Null);
    let mut made = section(of, definitions);
    let is_empty = made["required"].as_array().is_some_and(Vec::is_empty);
    if form == Form::WithName {
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
