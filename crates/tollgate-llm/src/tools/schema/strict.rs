//! The part of JSON Schema that OpenAI can hold a model to: closed objects whose every property is
//! sent. What need not be sent is null there, and is left out again before the tool sees it.

use serde_json::{Map, Value, json};

use super::merge::{and, take_all};
use super::{Bench, Unfit, limits};
use crate::tools::lost::{Kind, Lost, step};

mod kinds;
mod null;

use kinds::{Kinds, is_about, is_of, kinds};
use null::{allow_null, takes_null};

type Fields = Map<String, Value>;

const MOST_PROPERTIES: usize = 5_000;
const MOST_LEVELS: usize = 10;
const MOST_VALUES: usize = 1_000;
const MOST_CHARACTERS: usize = 120_000;
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// The root has to be plain, and references gathered.
pub(super) fn bind(mut fields: Fields, bench: &mut Bench) -> Result<Fields, Unfit> {
    let at = bench.at.clone();
    let definitions = match fields.shift_remove("$defs") {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    let mut writer = Writer { definitions: &definitions, bench, counts: Counts::default() };
    fields.entry("properties").or_insert_with(|| json!({}));
    // What a tool takes is what it names.
    fields.entry("additionalProperties").or_insert(Value::Bool(false));
    let (mut root, told) = writer.single(fields, "object", (&at, 1))?;
    let mut bound = Map::new();
    let mut waiting = Vec::new();
    references(&Value::Object(root.clone()), &mut waiting);
    while let Some(name) = waiting.pop() {
        let Some(definition) = definitions.get(&name).filter(|_| !bound.contains_key(&name)) else {
            continue;
        };
        let at = step(&step(&at, "$defs"), &name);
        let written = Value::Object(writer.schema(definition.clone(), (&at, 1))?);
        references(&written, &mut waiting);
        bound.insert(name, written);
    }
    writer.counts.check()?;
    for key in bench.renames.torn() {
        let what = format!("null for `{key}` can mean itself or nothing; it is taken for itself");
        bench.lost.push(Lost::new(Kind::Limit, at.clone(), what));
    }
    bench.told.extend(told);
    if !bound.is_empty() {
        root.insert("$defs".to_owned(), Value::Object(bound));
    }
    Ok(root)
}

/// The definitions that a schema names.
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
struct Counts {
    properties: usize,
    values: usize,
    characters: usize,
}

impl Counts {
    fn check(&self) -> Result<(), Unfit> {
        let is_too_much = self.properties > MOST_PROPERTIES
            || self.values > MOST_VALUES
            || self.characters > MOST_CHARACTERS;
        if is_too_much { Err(unbound("", "it is too large for that")) } else { Ok(()) }
    }
}

struct Writer<'a, 'b> {
    definitions: &'a Fields,
    bench: &'b mut Bench,
    counts: Counts,
}

/// Where a schema stands, and how deep.
type Place<'p> = (&'p str, usize);

fn unbound(at: &str, why: &'static str) -> Unfit {
    Unfit::Unbound { at: at.to_owned(), why }
}

impl Writer<'_, '_> {
    fn schema(&mut self, schema: Value, (at, level): Place<'_>) -> Result<Fields, Unfit> {
        if level > MOST_LEVELS {
            return Err(unbound(at, "it is nested too deep for that"));
        }
        let Value::Object(mut fields) = schema else {
            return Err(unbound(at, "it may be anything"));
        };
        if fields.len() == 1 && fields.contains_key("$ref") {
            return Ok(fields);
        }
        let mut left = Vec::new();
        // What a reference points to may have parts, and these may be references.
        for _ in 0..16 {
            self.resolve(&mut fields);
            left.extend(take_all(&mut fields));
            if !fields.contains_key("$ref") {
                break;
            }
        }
        if fields.contains_key("$ref") {
            return Err(unbound(at, "it is part of itself"));
        }
        let mut told = Vec::new();
        if !left.is_empty() {
            self.bench.limit(at, "allOf");
            told.push(limits::of("allOf", &Value::Array(left)));
        }
        if let Some(Value::Array(branches)) = fields.shift_remove("oneOf") {
            let what = "that exactly one form may fit is not said";
            self.bench.lost.push(Lost::new(Kind::Limit, step(at, "oneOf"), what));
            fields.entry("anyOf").or_insert(Value::Array(branches));
        }
        if let Some(Value::Array(branches)) = fields.shift_remove("anyOf") {
            return self.either(fields, branches, (at, level, told));
        }
        let Kinds { names, is_nullable } = kinds(&fields);
        let (mut written, more) = match names.as_slice() {
            [] if is_nullable => {
                let mut null = Fields::from_iter([("type".to_owned(), "null".into())]);
                null.extend(fields.get("description").map(|said| described(said.clone())));
                (null, Vec::new())
            }
            [] => return Err(unbound(at, "it may be anything")),
            [kind] => self.single(fields, kind, (at, level))?,
            several => self.several(&fields, several, (at, level))?,
        };
        if is_nullable {
            allow_null(&mut written);
        }
        told.extend(more);
        limits::tell(&mut written, &told);
        Ok(written)
    }

    /// One form for each type.
    fn several(
        &mut self,
        fields: &Fields,
        names: &[String],
        place: Place<'_>,
    ) -> Result<(Fields, Vec<String>), Unfit> {
        let mut written = Fields::new();
        written.extend(fields.get("description").map(|said| described(said.clone())));
        let mut each = Vec::new();
        for name in names {
            let (mut form, told) = self.single(fields.clone(), name, place)?;
            form.shift_remove("description");
            limits::tell(&mut form, &told);
            each.push(Value::Object(form));
        }
        written.insert("anyOf".to_owned(), each.into());
        Ok((written, Vec::new()))
    }

    /// A reference stands alone, or is replaced by what it points to.
    fn resolve(&self, fields: &mut Fields) {
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
        mut fields: Fields,
        branches: Vec<Value>,
        (at, level, told): (&str, usize, Vec<String>),
    ) -> Result<Fields, Unfit> {
        let mut written = Fields::new();
        for note in ["description", "title"] {
            written.extend(fields.shift_remove(note).map(|said| (note.to_owned(), said)));
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
            forms.push(Value::Object(self.schema(branch, (&at, level))?));
        }
        written.insert("anyOf".to_owned(), forms.into());
        limits::tell(&mut written, &told);
        Ok(written)
    }

    /// A value of one type, and what cannot be said of it.
    fn single(
        &mut self,
        fields: Fields,
        kind: &str,
        place: Place<'_>,
    ) -> Result<(Fields, Vec<String>), Unfit> {
        let (at, level) = place;
        let mut written = Fields::from_iter([("type".to_owned(), kind.into())]);
        let mut told = Vec::new();
        let required = fields.get("required").cloned().unwrap_or_else(|| json!([]));
        let is_closed = fields.get("additionalProperties") == Some(&Value::Bool(false));
        let is_map = fields.get("additionalProperties").is_some_and(Value::is_object);
        let names = fields.get("properties").and_then(Value::as_object).map_or(0, Map::len);
        if kind == "object" && (is_map || (names == 0 && !is_closed)) {
            return Err(unbound(at, "it is an object of any keys"));
        }
        if kind == "array" && !fields.get("items").is_some_and(Value::is_object) {
            return Err(unbound(at, "it is a list of anything"));
        }
        for (keyword, value) in fields {
            let at_keyword = step(at, &keyword);
            match (keyword.as_str(), kind) {
                ("type" | "required" | "additionalProperties", _) => {}
                ("description" | "title", _) => drop(written.insert(keyword, value)),
                ("enum" | "const", _) => {
                    let fits = choice(&written, (&keyword, value), kind);
                    if fits.is_empty() {
                        return Err(unbound(at, "no value can be what it asks for"));
                    }
                    self.count(&fits);
                    written.insert("enum".to_owned(), fits.into());
                }
                ("properties", "object") => {
                    let named = self.properties(value, &required, (&at_keyword, level))?;
                    written.insert("required".to_owned(), named.keys().cloned().collect());
                    written.insert(keyword, Value::Object(named));
                }
                ("items", "array") => {
                    let items = self.schema(value, (&at_keyword, level + 1))?;
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
                        self.bench.limit(at, &keyword);
                        told.push(limits::of(&keyword, &value));
                    }
                }
            }
        }
        if kind == "object" {
            written.insert("additionalProperties".to_owned(), Value::Bool(false));
            written.entry("properties").or_insert_with(|| json!({}));
            written.entry("required").or_insert_with(|| json!([]));
        }
        Ok((written, told))
    }

    fn count(&mut self, values: &[Value]) {
        self.counts.values += values.len();
        self.counts.characters += values.iter().map(|it| it.to_string().len()).sum::<usize>();
    }

    /// All of them are sent; those that need not be may be null.
    fn properties(
        &mut self,
        value: Value,
        required: &Value,
        (at, level): Place<'_>,
    ) -> Result<Fields, Unfit> {
        let Value::Object(named) = value else { return Ok(Fields::new()) };
        let mut all = Fields::new();
        for (name, schema) in named {
            self.counts.properties += 1;
            self.counts.characters += name.len();
            let mut written = self.schema(schema, (&step(at, &name), level + 1))?;
            let is_needed = required.as_array().is_some_and(|it| it.iter().any(|it| *it == *name));
            match (is_needed, takes_null(&written)) {
                (true, true) => self.bench.renames.keep(&name),
                (true, false) => {}
                (false, _) => {
                    allow_null(&mut written);
                    self.bench.renames.leave_out(&name);
                }
            }
            all.insert(name, Value::Object(written));
        }
        Ok(all)
    }
}

/// The values of the kind that are left: where a schema has both keywords, both have to hold.
fn choice(written: &Fields, (keyword, value): (&str, Value), kind: &str) -> Vec<Value> {
    let values: Vec<Value> = match (keyword, value) {
        ("enum", Value::Array(values)) => values,
        (_, only) => vec![only],
    };
    let so_far = written.get("enum").and_then(Value::as_array);
    let is_left = |it: &Value| so_far.is_none_or(|so_far| so_far.contains(it));
    values.into_iter().filter(|it| is_of(it, kind) && is_left(it)).collect()
}

fn described(said: Value) -> (String, Value) {
    ("description".to_owned(), said)
}

#[cfg(test)]
mod tests;
