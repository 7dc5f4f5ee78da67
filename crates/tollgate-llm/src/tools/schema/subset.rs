//! Writes schemas of Gemini's live API: a subset of OpenAPI's.
//!
//! One type per value, alternatives only without other keywords, enums only of strings, no keyword
//! for additional properties. Constraints that the subset cannot express are added to the
//! description.

use serde_json::{Map, Value, json};

use super::limits;
use super::merge::{and, take_all};
use super::{ConversionLoss, ConversionLossKind, SchemaFitLog, step};

mod kinds;
mod type_schema;

use kinds::{SubsetTypes, TypeSource, kinds};
use type_schema::TypeSchema;

type SubsetSchemaFields = Map<String, Value>;

/// Annotations beside alternatives; each alternative gets the description and the title.
const ANNOTATION_KEYWORDS: [&str; 5] =
    ["description", "title", "default", "examples", "deprecated"];

/// The root of a tool's arguments; `None` if it takes none.
pub(super) fn narrow(
    fields: SubsetSchemaFields,
    log: &mut SchemaFitLog,
) -> Option<SubsetSchemaFields> {
    let at = log.at.clone();
    let mut writer = SubsetSchemaWriter { lost: &mut log.lost };
    let (root, limit_notes) = writer.read(fields, "object", &at).finish(&mut writer, &at);
    log.notes.extend(limit_notes);
    let properties = root.get("properties").and_then(Value::as_object);
    properties.is_some_and(|it| !it.is_empty()).then_some(root)
}

struct SubsetSchemaWriter<'b> {
    lost: &'b mut Vec<ConversionLoss>,
}

impl SubsetSchemaWriter<'_> {
    /// `None`: no value is valid.
    fn schema(&mut self, schema: Value, at: &str) -> Option<SubsetSchemaFields> {
        let mut fields = match schema {
            Value::Object(fields) => fields,
            Value::Bool(false) => return None,
            _ => return Some(self.anything(SubsetSchemaFields::new(), at)),
        };
        let mut limit_notes = self.all_of(&mut fields, at);
        if let Some(only) = fields.shift_remove("const") {
            match fields.get_mut("enum") {
                Some(Value::Array(values)) => values.retain(|value| *value == only),
                _ => drop(fields.insert("enum".to_owned(), json!([only]))),
            }
        }
        if let Some(branches) = self.alternatives(&mut fields, at, &mut limit_notes) {
            return self.either(fields, branches, at, &limit_notes);
        }
        let SubsetTypes { names, is_nullable, known } = kinds(&fields);
        let mut written = match names.as_slice() {
            [] if is_nullable => return Some(null(&fields)),
            [] => self.anything(fields, at),
            [kind] => {
                if known == TypeSource::Guessed {
                    let what = format!("is treated as type `{kind}`");
                    self.lost.push(ConversionLoss::new(ConversionLossKind::Limit, at, what));
                }
                self.single(fields, kind, at)
            }
            several => self.several(fields, several, at),
        };
        if is_nullable {
            allow_null(&mut written);
        }
        tell(&mut written, &limit_notes);
        Some(written)
    }

    /// Merges `allOf`; what cannot be merged is described in text.
    fn all_of(&mut self, fields: &mut SubsetSchemaFields, at: &str) -> Vec<String> {
        let left = take_all(fields);
        if left.is_empty() {
            return Vec::new();
        }
        self.limit(at, "allOf");
        vec![limits::of("allOf", &Value::Array(left))]
    }

    /// The alternatives of a value, if there are several.
    fn alternatives(
        &mut self,
        fields: &mut SubsetSchemaFields,
        at: &str,
        limit_notes: &mut Vec<String>,
    ) -> Option<Vec<Value>> {
        let any = fields.shift_remove("anyOf").filter(Value::is_array);
        let one = fields.shift_remove("oneOf").filter(Value::is_array);
        let (branches, other) = match (any, one) {
            (Some(any), one) => (any, one),
            (None, Some(one)) => {
                if !are_apart(&one) {
                    let what = "`oneOf` is loosened: several alternatives may match";
                    self.lost.push(ConversionLoss::new(
                        ConversionLossKind::Limit,
                        step(at, "oneOf"),
                        what,
                    ));
                }
                (one, None)
            }
            (None, None) => return None,
        };
        if let Some(other) = other {
            self.limit(at, "oneOf");
            limit_notes.push(limits::of("oneOf", &other));
        }
        match branches {
            Value::Array(branches) => Some(branches),
            _ => None,
        }
    }

    /// Each alternative merged with the common constraints.
    fn either(
        &mut self,
        mut fields: SubsetSchemaFields,
        branches: Vec<Value>,
        at: &str,
        limit_notes: &[String],
    ) -> Option<SubsetSchemaFields> {
        let mut notes = SubsetSchemaFields::new();
        for note in ANNOTATION_KEYWORDS {
            notes.extend(fields.shift_remove(note).map(|it| (note.to_owned(), it)));
        }
        let mut written = Vec::new();
        for (index, branch) in branches.into_iter().enumerate() {
            let Value::Object(branch) = together(branch, &fields) else { continue };
            written.extend(self.schema(Value::Object(branch), &format!("{at}/anyOf/{index}")));
        }
        if written.is_empty() {
            return None;
        }
        let mut written = any_of(written);
        describe(&mut written, &notes);
        tell(&mut written, limit_notes);
        // With their descriptions some may be equal now.
        Some(any_of(vec![written]))
    }

    /// One alternative per type.
    fn several(
        &mut self,
        mut fields: SubsetSchemaFields,
        names: &[&'static str],
        at: &str,
    ) -> SubsetSchemaFields {
        let mut notes = SubsetSchemaFields::new();
        for note in ANNOTATION_KEYWORDS {
            notes.extend(fields.shift_remove(note).map(|it| (note.to_owned(), it)));
        }
        let each: Vec<SubsetSchemaFields> =
            names.iter().map(|name| self.single(fields.clone(), name, at)).collect();
        let mut written = any_of(each);
        describe(&mut written, &notes);
        written
    }

    /// Any JSON, as closely as possible.
    fn anything(&mut self, mut fields: SubsetSchemaFields, at: &str) -> SubsetSchemaFields {
        let what = "arbitrary JSON is described as string, number, boolean, object or list of \
                    those";
        self.lost.push(ConversionLoss::new(ConversionLossKind::Limit, at, what));
        let scalars = ["STRING", "NUMBER", "BOOLEAN", "OBJECT"].map(|it| json!({"type": it}));
        let list = json!({"type": "ARRAY", "items": {"anyOf": scalars}});
        let mut written = SubsetSchemaFields::new();
        let all: Vec<Value> = scalars.into_iter().chain([list]).collect();
        written.insert("anyOf".to_owned(), all.into());
        allow_null(&mut written);
        let mut limit_notes = Vec::new();
        for keyword in ["not", "if", "enum"] {
            if let Some(value) = fields.shift_remove(keyword) {
                self.limit(at, keyword);
                limit_notes.push(limits::of(keyword, &value));
            }
        }
        describe(&mut written, &fields);
        tell(&mut written, &limit_notes);
        written
    }

    /// A schema of one type.
    fn single(
        &mut self,
        fields: SubsetSchemaFields,
        kind: &'static str,
        at: &str,
    ) -> SubsetSchemaFields {
        let (mut written, limit_notes) = self.read(fields, kind, at).finish(self, at);
        limits::tell(&mut written, &limit_notes);
        written
    }

    fn read(&mut self, fields: SubsetSchemaFields, kind: &'static str, at: &str) -> TypeSchema {
        let mut schema = TypeSchema::new(kind);
        for (keyword, value) in fields {
            schema.keyword(self, &keyword, value, at);
        }
        schema
    }

    fn limit(&mut self, at: &str, keyword: &str) {
        let what = format!("`{keyword}` is only in the description");
        self.lost.push(ConversionLoss::new(ConversionLossKind::Limit, step(at, keyword), what));
    }
}

/// An alternative merged with the constraints beside it.
fn together(branch: Value, beside: &SubsetSchemaFields) -> Value {
    match branch {
        Value::Object(branch) => {
            let (mut merged, rest) = and(branch, beside.clone());
            if let Some(rest) = rest {
                merged.insert("allOf".to_owned(), json!([rest]));
            }
            Value::Object(merged)
        }
        Value::Bool(true) => Value::Object(beside.clone()),
        other => other,
    }
}

/// Whether the types of these alternatives are disjoint.
fn are_apart(branches: &Value) -> bool {
    let mut seen: Vec<&'static str> = Vec::new();
    for branch in branches.as_array().into_iter().flatten() {
        let Value::Object(fields) = branch else { return false };
        let SubsetTypes { mut names, is_nullable, known } = kinds(fields);
        names.extend(is_nullable.then_some("null"));
        let numbers = |it: &str| matches!(it, "number" | "integer");
        let clashes =
            |name: &str| seen.iter().any(|it| *it == name || (numbers(it) && numbers(name)));
        let is_guess = known == TypeSource::Guessed;
        if is_guess || names.is_empty() || names.iter().any(|name| clashes(name)) {
            return false;
        }
        seen.extend(names);
    }
    true
}

/// Alternatives must be the only keyword; nested alternatives are flattened, and null becomes
/// `nullable` on another alternative.
fn any_of(written: Vec<SubsetSchemaFields>) -> SubsetSchemaFields {
    let mut unlike: Vec<SubsetSchemaFields> = Vec::new();
    for mut form in written {
        let inner = match form.shift_remove("anyOf") {
            Some(Value::Array(inner)) => inner.into_iter().filter_map(object).collect(),
            _ => vec![form],
        };
        for form in inner {
            if !unlike.contains(&form) {
                unlike.push(form);
            }
        }
    }
    let (nulls, mut forms): (Vec<SubsetSchemaFields>, Vec<SubsetSchemaFields>) =
        unlike.into_iter().partition(is_null);
    let mut written = match forms.len() {
        0 => return nulls.into_iter().next().unwrap_or_default(),
        1 => forms.remove(0),
        _ => SubsetSchemaFields::from_iter([(
            "anyOf".to_owned(),
            forms.into_iter().map(Value::Object).collect(),
        )]),
    };
    if !nulls.is_empty() {
        allow_null(&mut written);
    }
    written
}

fn object(value: Value) -> Option<SubsetSchemaFields> {
    match value {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

/// The alternatives of a schema, or the schema itself.
fn forms(written: &mut SubsetSchemaFields) -> Vec<&mut SubsetSchemaFields> {
    if written.contains_key("anyOf") {
        let list = written.get_mut("anyOf").and_then(Value::as_array_mut);
        list.into_iter().flatten().filter_map(Value::as_object_mut).collect()
    } else {
        vec![written]
    }
}

fn allow_null(written: &mut SubsetSchemaFields) {
    if let Some(first) = forms(written).into_iter().next() {
        first.insert("nullable".to_owned(), true.into());
    }
}

fn null(notes: &SubsetSchemaFields) -> SubsetSchemaFields {
    let mut written = SubsetSchemaFields::from_iter([("type".to_owned(), "NULL".into())]);
    describe(&mut written, notes);
    written
}

fn is_null(written: &SubsetSchemaFields) -> bool {
    written.get("type").is_some_and(|kind| kind == "NULL")
}

/// Gives each alternative without a description that of the whole.
fn describe(written: &mut SubsetSchemaFields, notes: &SubsetSchemaFields) {
    for form in forms(written) {
        for note in ["description", "title"] {
            if let (Some(text), false) = (notes.get(note), form.contains_key(note)) {
                form.insert(note.to_owned(), text.clone());
            }
        }
    }
}

fn tell(written: &mut SubsetSchemaFields, limit_notes: &[String]) {
    for form in forms(written) {
        limits::tell(form, limit_notes);
    }
}

#[cfg(test)]
mod tests;
