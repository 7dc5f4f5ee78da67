//! OpenAI's strict mode: the subset of JSON Schema that a model is bound to.
//!
//! Objects are closed and every property is sent. Optional properties are sent as null, and removed
//! again before the tool gets them.

use serde_json::{Map, Value, json};

use super::merge::{and, take_all};
use super::{SchemaFitError, SchemaFitLog, limits};
use crate::tools::conversion_loss::{ConversionLoss, ConversionLossKind, step};

mod kinds;
mod null;

use kinds::{StrictTypes, is_about, is_of, kinds};
use null::{allow_null, takes_null};

type StrictSchemaFields = Map<String, Value>;

const MAX_PROPERTIES: usize = 5_000;
const MAX_LEVELS: usize = 10;
const MAX_ENUM_VALUES: usize = 1_000;
const MAX_SCHEMA_CHARS: usize = 120_000;
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Requires a plain root and gathered references.
pub(super) fn bind(
    mut fields: StrictSchemaFields,
    log: &mut SchemaFitLog,
) -> Result<StrictSchemaFields, SchemaFitError> {
    let at = log.at.clone();
    let definitions = match fields.shift_remove("$defs") {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    let mut writer = StrictSchemaWriter {
        definitions: &definitions,
        log,
        counts: StrictSchemaCounts::default(),
    };
    fields.entry("properties").or_insert_with(|| json!({}));
    // A tool accepts only the properties that it names.
    fields.entry("additionalProperties").or_insert(Value::Bool(false));
    let (mut root, notes) = writer.single(fields, "object", &at, 1)?;
    let mut bound = Map::new();
    let mut waiting = Vec::new();
    references(&Value::Object(root.clone()), &mut waiting);
    while let Some(name) = waiting.pop() {
        let Some(definition) = definitions.get(&name).filter(|_| !bound.contains_key(&name)) else {
            continue;
        };
        let at = step(&step(&at, "$defs"), &name);
        let written = Value::Object(writer.schema(definition.clone(), &at, 1)?);
        references(&written, &mut waiting);
        bound.insert(name, written);
    }
    writer.counts.check()?;
    for key in log.renames.ambiguous_null_keys() {
        let what =
            format!("null for `{key}` may be a value or mean absent; it is taken as a value");
        log.lost.push(ConversionLoss::new(ConversionLossKind::Limit, at.clone(), what));
    }
    log.notes.extend(notes);
    if !bound.is_empty() {
        root.insert("$defs".to_owned(), Value::Object(bound));
    }
    Ok(root)
}

/// The definitions that a schema refers to.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str);
            found.extend(name.and_then(|it| it.strip_prefix("#/$defs/")).map(str::to_owned));
            fields.values().for_each(|field| references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[derive(Default)]
struct StrictSchemaCounts {
    properties: usize,
    values: usize,
    characters: usize,
}

impl StrictSchemaCounts {
    fn check(&self) -> Result<(), SchemaFitError> {
        let is_too_much = self.properties > MAX_PROPERTIES
            || self.values > MAX_ENUM_VALUES
            || self.characters > MAX_SCHEMA_CHARS;
        if is_too_much { Err(not_strict_error("", "it is too large for that")) } else { Ok(()) }
    }
}

struct StrictSchemaWriter<'a, 'b> {
    definitions: &'a StrictSchemaFields,
    log: &'b mut SchemaFitLog,
    counts: StrictSchemaCounts,
}

fn not_strict_error(at: &str, why: &'static str) -> SchemaFitError {
    SchemaFitError::Unbound { at: at.to_owned(), why }
}

impl StrictSchemaWriter<'_, '_> {
    fn schema(
        &mut self,
        schema: Value,
        at: &str,
        level: usize,
    ) -> Result<StrictSchemaFields, SchemaFitError> {
        if level > MAX_LEVELS {
            return Err(not_strict_error(at, "it is nested too deep for that"));
        }
        let Value::Object(mut fields) = schema else {
            return Err(not_strict_error(at, "it may be anything"));
        };
        if fields.len() == 1 && fields.contains_key("$ref") {
            return Ok(fields);
        }
        let mut left = Vec::new();
        // The target of a reference may have parts, which may be references again.
        for _ in 0..16 {
            self.resolve(&mut fields);
            left.extend(take_all(&mut fields));
            if !fields.contains_key("$ref") {
                break;
            }
        }
        if fields.contains_key("$ref") {
            return Err(not_strict_error(at, "it is recursive"));
        }
        let mut notes = Vec::new();
        if !left.is_empty() {
            self.log.limit(at, "allOf");
            notes.push(limits::of("allOf", &Value::Array(left)));
        }
        if let Some(Value::Array(branches)) = fields.shift_remove("oneOf") {
            let what = "`oneOf` is loosened: several alternatives may match";
            self.log.lost.push(ConversionLoss::new(
                ConversionLossKind::Limit,
                step(at, "oneOf"),
                what,
            ));
            fields.entry("anyOf").or_insert(Value::Array(branches));
        }
        if let Some(Value::Array(branches)) = fields.shift_remove("anyOf") {
            return self.either(fields, branches, at, level, &notes);
        }
        let StrictTypes { names, is_nullable } = kinds(&fields);
        let (mut written, more) = match names.as_slice() {
            [] if is_nullable => {
                let mut null = StrictSchemaFields::from_iter([("type".to_owned(), "null".into())]);
                null.extend(fields.get("description").map(|text| description_field(text.clone())));
                (null, Vec::new())
            }
            [] => return Err(not_strict_error(at, "it may be anything")),
            [kind] => self.single(fields, kind, at, level)?,
            several => self.several(&fields, several, at, level)?,
        };
        if is_nullable {
            allow_null(&mut written);
        }
        notes.extend(more);
        limits::tell(&mut written, &notes);
        Ok(written)
    }

    /// One alternative per type.
    fn several(
        &mut self,
        fields: &StrictSchemaFields,
        names: &[String],
        at: &str,
        level: usize,
    ) -> Result<(StrictSchemaFields, Vec<String>), SchemaFitError> {
        let mut written = StrictSchemaFields::new();
        written.extend(fields.get("description").map(|text| description_field(text.clone())));
        let mut each = Vec::new();
        for name in names {
            let (mut form, notes) = self.single(fields.clone(), name, at, level)?;
            form.shift_remove("description");
            limits::tell(&mut form, &notes);
            each.push(Value::Object(form));
        }
        written.insert("anyOf".to_owned(), each.into());
        Ok((written, Vec::new()))
    }

    /// Merges the target of a reference. A reference without other keywords never gets here.
    fn resolve(&self, fields: &mut StrictSchemaFields) {
        for _ in 0..16 {
            let Some(Value::String(reference)) = fields.shift_remove("$ref") else { return };
            let name = reference.strip_prefix("#/$defs/").unwrap_or_default();
            if let Some(Value::Object(definition)) = self.definitions.get(name) {
                let (merged, rest) = and(std::mem::take(fields), definition.clone());
                *fields = merged;
                if let Some(rest) = rest {
                    let all = fields.entry("allOf").or_insert_with(|| json!([]));
                    if let Value::Array(all) = all {
                        all.push(Value::Object(rest));
                    }
                }
            }
        }
    }

    fn either(
        &mut self,
        mut fields: StrictSchemaFields,
        branches: Vec<Value>,
        at: &str,
        level: usize,
        notes: &[String],
    ) -> Result<StrictSchemaFields, SchemaFitError> {
        let mut written = StrictSchemaFields::new();
        for note in ["description", "title"] {
            written.extend(fields.shift_remove(note).map(|text| (note.to_owned(), text)));
        }
        let mut forms = Vec::new();
        for (index, branch) in branches.into_iter().enumerate() {
            let at = format!("{at}/anyOf/{index}");
            let branch = match branch {
                Value::Object(branch) if !fields.is_empty() => {
                    let (mut merged, rest) = and(branch, fields.clone());
                    merged.extend(rest.map(|rest| ("allOf".to_owned(), json!([rest]))));
                    Value::Object(merged)
                }
                branch => branch,
            };
            forms.push(Value::Object(self.schema(branch, &at, level)?));
        }
        written.insert("anyOf".to_owned(), forms.into());
        limits::tell(&mut written, notes);
        Ok(written)
    }

    /// A schema of one type, and the constraints that it cannot express.
    fn single(
        &mut self,
        fields: StrictSchemaFields,
        kind: &str,
        at: &str,
        level: usize,
    ) -> Result<(StrictSchemaFields, Vec<String>), SchemaFitError> {
        let mut written = StrictSchemaFields::from_iter([("type".to_owned(), kind.into())]);
        let mut notes = Vec::new();
        let required = fields.get("required").cloned().unwrap_or_else(|| json!([]));
        let is_closed = fields.get("additionalProperties") == Some(&Value::Bool(false));
        let is_map = fields.get("additionalProperties").is_some_and(Value::is_object);
        let names = fields.get("properties").and_then(Value::as_object).map_or(0, Map::len);
        if kind == "object" && (is_map || (names == 0 && !is_closed)) {
            return Err(not_strict_error(at, "it is an object of any keys"));
        }
        if kind == "array" && !fields.get("items").is_some_and(Value::is_object) {
            return Err(not_strict_error(at, "it is a list of anything"));
        }
        for (keyword, value) in fields {
            let at_keyword = step(at, &keyword);
            match (keyword.as_str(), kind) {
                ("type" | "required" | "additionalProperties", _) => {}
                ("description" | "title", _) => drop(written.insert(keyword, value)),
                ("enum" | "const", _) => {
                    let fits = choice(&written, &keyword, value, kind);
                    if fits.is_empty() {
                        return Err(not_strict_error(at, "no value can satisfy it"));
                    }
                    self.count(&fits);
                    written.insert("enum".to_owned(), fits.into());
                }
                ("properties", "object") => {
                    let named = self.properties(value, &required, &at_keyword, level)?;
                    written.insert("required".to_owned(), named.keys().cloned().collect());
                    written.insert(keyword, Value::Object(named));
                }
                ("items", "array") => {
                    let items = self.schema(value, &at_keyword, level + 1)?;
                    written.insert(keyword, Value::Object(items));
                }
                ("pattern", "string")
                | ("minItems" | "maxItems", "array")
                | (
                    "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum",
                    "number" | "integer",
                ) => drop(written.insert(keyword, value)),
                ("format", "string") if value.as_str().is_some_and(|it| FORMATS.contains(&it)) => {
                    written.insert(keyword, value);
                }
                _ => {
                    if is_about(&keyword, kind) {
                        self.log.limit(at, &keyword);
                        notes.push(limits::of(&keyword, &value));
                    }
                }
            }
        }
        if kind == "object" {
            written.insert("additionalProperties".to_owned(), Value::Bool(false));
            written.entry("properties").or_insert_with(|| json!({}));
            written.entry("required").or_insert_with(|| json!([]));
        }
        Ok((written, notes))
    }

    fn count(&mut self, values: &[Value]) {
        self.counts.values += values.len();
        self.counts.characters += values.iter().map(|it| it.to_string().len()).sum::<usize>();
    }

    /// All properties are sent; optional ones may be null.
    fn properties(
        &mut self,
        value: Value,
        required: &Value,
        at: &str,
        level: usize,
    ) -> Result<StrictSchemaFields, SchemaFitError> {
        let Value::Object(named) = value else { return Ok(StrictSchemaFields::new()) };
        let mut all = StrictSchemaFields::new();
        for (name, schema) in named {
            self.counts.properties += 1;
            self.counts.characters += name.len();
            let mut written = self.schema(schema, &step(at, &name), level + 1)?;
            let is_needed = required.as_array().is_some_and(|it| it.iter().any(|it| *it == *name));
            match (is_needed, takes_null(&written)) {
                (true, true) => self.log.renames.keep(&name),
                (true, false) => {}
                (false, _) => {
                    allow_null(&mut written);
                    self.log.renames.leave_out(&name);
                }
            }
            all.insert(name, Value::Object(written));
        }
        Ok(all)
    }
}

/// The remaining values of the type: if a schema has both keywords, both must hold.
fn choice(written: &StrictSchemaFields, keyword: &str, value: Value, kind: &str) -> Vec<Value> {
    let values: Vec<Value> = match (keyword, value) {
        ("enum", Value::Array(values)) => values,
        (_, only) => vec![only],
    };
    let so_far = written.get("enum").and_then(Value::as_array);
    let is_left = |it: &Value| so_far.is_none_or(|so_far| so_far.contains(it));
    values.into_iter().filter(|it| is_of(it, kind) && is_left(it)).collect()
}

fn description_field(text: Value) -> (String, Value) {
    ("description".to_owned(), text)
}

#[cfg(test)]
mod tests;
