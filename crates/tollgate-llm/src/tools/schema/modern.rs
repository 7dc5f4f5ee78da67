//! Converts a schema of an older draft to draft 2020-12, which all formats mean by JSON Schema.
//! Lossless.

use serde_json::{Map, Value};

use super::shape;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SchemaDraft {
    Four,
    Seven,
    Of2019,
    Of2020,
}

pub(super) fn modernise(schema: &mut Value) {
    let draft = schema.get("$schema").and_then(Value::as_str).map_or(SchemaDraft::Of2020, draft);
    if let Value::Object(fields) = schema {
        fields.shift_remove("$schema");
        walk(fields, draft);
    }
}

fn draft(name: &str) -> SchemaDraft {
    match () {
        () if name.contains("draft-04") => SchemaDraft::Four,
        () if name.contains("draft-06") || name.contains("draft-07") => SchemaDraft::Seven,
        () if name.contains("2019-09") => SchemaDraft::Of2019,
        () => SchemaDraft::Of2020,
    }
}

fn walk(fields: &mut Map<String, Value>, draft: SchemaDraft) {
    if draft <= SchemaDraft::Seven && fields.contains_key("$ref") {
        // In older drafts keywords beside a reference are ignored.
        fields.retain(|key, _| {
            matches!(key.as_str(), "$ref" | "title" | "description" | "$defs" | "definitions")
        });
    }
    if draft == SchemaDraft::Four {
        fields.shift_remove("id");
        exclusive(fields, "minimum", "exclusiveMinimum");
        exclusive(fields, "maximum", "exclusiveMaximum");
    }
    tuple(fields);
    if draft < SchemaDraft::Of2020 {
        fields.shift_remove("additionalItems");
        dependencies(fields);
    }
    shape::each(fields, "", |schema, _| {
        if let Value::Object(fields) = schema {
            walk(fields, draft);
        }
    });
}

/// `minimum: 3, exclusiveMinimum: true`
fn exclusive(fields: &mut Map<String, Value>, limit: &str, flag: &str) {
    match fields.get(flag) {
        Some(Value::Bool(true)) => {
            fields.shift_remove(flag);
            if let Some(number @ Value::Number(_)) = fields.shift_remove(limit) {
                fields.insert(flag.to_owned(), number);
            }
        }
        Some(Value::Bool(false)) => drop(fields.shift_remove(flag)),
        _ => {}
    }
}

/// `items` as a list: one schema for each of the first items.
fn tuple(fields: &mut Map<String, Value>) {
    if !fields.get("items").is_some_and(Value::is_array) || fields.contains_key("prefixItems") {
        return;
    }
    if let Some(first) = fields.shift_remove("items") {
        fields.insert("prefixItems".to_owned(), first);
    }
    if let Some(rest) = fields.shift_remove("additionalItems") {
        fields.insert("items".to_owned(), rest);
    }
}

fn dependencies(fields: &mut Map<String, Value>) {
    let Some(Value::Object(each)) = fields.shift_remove("dependencies") else { return };
    for (name, needs) in each {
        let keyword = match needs {
            Value::Array(_) => "dependentRequired",
            _ => "dependentSchemas",
        };
        let group = fields.entry(keyword).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(group) = group {
            group.insert(name, needs);
        }
    }
}
