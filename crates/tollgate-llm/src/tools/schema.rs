//! Fits a JSON Schema of arguments to a format.
//!
//! Converts it to the newest draft, gathers or inlines its references, makes its root a plain
//! object, renames its keys, and restricts it to the keywords that the format knows. Lost
//! constraints are added to the nearest description and listed.

use serde_json::{Map, Value, json};

use super::conversion_loss::{ConversionLoss, ConversionLossKind, step};
use super::tool_format::ToolFormat;

mod keys;
pub(crate) mod limits;
mod loose;
mod merge;
mod modern;
pub(super) mod openapi;
mod refs;
mod root_schema;
mod shape;
mod strict;
mod subset;

pub(super) use keys::ArgumentRenames;

/// Nesting depth of arrays and objects.
const MAX_DEPTH: usize = 128;
/// Number of values, including those of inlined references.
const MAX_VALUES: usize = 50_000;

/// A schema that fits a format.
#[derive(Debug)]
pub(super) struct FittedSchema {
    /// `None`: no arguments at all.
    pub(super) schema: Option<Value>,
    /// What the root cannot express, for the description of the tool.
    pub(super) notes: Vec<String>,
    pub(super) lost: Vec<ConversionLoss>,
    pub(super) renames: ArgumentRenames,
}

/// Why a schema cannot be made to fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFitError {
    #[error("the schema must be an object")]
    NotASchema,
    #[error("the arguments of a tool are an object; its schema has another `type`")]
    NotOfObjects,
    #[error("the schema is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("the schema has more than {MAX_VALUES} values")]
    TooLarge,
    #[error("the schema cannot be strict: {why}, at `{at}`")]
    Unbound { at: String, why: &'static str },
}

/// Fits the schema to OpenAI's strict mode.
pub(super) fn fit_strict(schema: &Value, at: &str) -> Result<FittedSchema, SchemaFitError> {
    check(schema)?;
    let form = ToolFormat::OpenAi;
    let mut log = SchemaFitLog::new(at);
    let mut schema = schema.clone();
    modern::modernise(&mut schema);
    refs::gather(&mut schema, &mut log)?;
    let Value::Object(mut fields) = schema else { return Err(SchemaFitError::NotASchema) };
    root_schema::fit_plain(&mut fields, form, &mut log)?;
    let fields = strict::bind(fields, &mut log)?;
    let SchemaFitLog { notes: told, lost, renames, .. } = log;
    Ok(FittedSchema { schema: Some(Value::Object(fields)), notes: told, lost, renames })
}

/// `at` is the location of the schema in its definition.
pub(super) fn fit(
    schema: &Value,
    form: ToolFormat,
    at: &str,
) -> Result<FittedSchema, SchemaFitError> {
    check(schema)?;
    if form == ToolFormat::Mcp {
        let schema = Some(schema.clone());
        let notes = Vec::new();
        let lost = Vec::new();
        let renames = ArgumentRenames::default();
        return Ok(FittedSchema { schema, notes, lost, renames });
    }
    let mut log = SchemaFitLog::new(at);
    let mut schema = schema.clone();
    modern::modernise(&mut schema);
    refs::gather(&mut schema, &mut log)?;
    if matches!(form, ToolFormat::Gemini | ToolFormat::GeminiLive) {
        schema = refs::inline(schema, form, &mut log);
    }
    let mut fields = match schema {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    root_schema::fit_plain(&mut fields, form, &mut log)?;
    keys::rename(&mut fields, form.keys(), &mut log);
    let fields = match form {
        ToolFormat::GeminiLive => subset::narrow(fields, &mut log),
        _ => {
            loose::mend(&mut fields);
            fields.entry("properties").or_insert_with(|| json!({}));
            Some(fields)
        }
    };
    let SchemaFitLog { notes: told, lost, renames, .. } = log;
    Ok(FittedSchema { schema: fields.map(Value::Object), notes: told, lost, renames })
}

/// Arguments as one object, and the alternatives that the root had, as text for the description.
#[derive(Debug)]
pub(crate) struct FlatRoot {
    pub(crate) schema: Value,
    pub(crate) limits: Vec<String>,
}

/// Makes the root of a client's schema an object without alternatives, and leaves the rest as it
/// is. `None`: the root has no alternatives.
pub(crate) fn flatten_root(schema: &Value) -> Option<Result<FlatRoot, SchemaFitError>> {
    let has_alternatives = ["allOf", "anyOf", "oneOf"].iter().any(|key| schema.get(key).is_some());
    has_alternatives.then(|| {
        check(schema)?;
        let mut log = SchemaFitLog::new("");
        let mut schema = schema.clone();
        modern::modernise(&mut schema);
        refs::gather(&mut schema, &mut log)?;
        let Value::Object(mut fields) = schema else { return Err(SchemaFitError::NotASchema) };
        root_schema::fit_plain(&mut fields, ToolFormat::Anthropic, &mut log)?;
        Ok(FlatRoot { schema: Value::Object(fields), limits: log.notes })
    })
}

/// Losses and renames collected while a schema is fitted.
struct SchemaFitLog {
    at: String,
    notes: Vec<String>,
    lost: Vec<ConversionLoss>,
    renames: ArgumentRenames,
}

impl SchemaFitLog {
    fn new(at: &str) -> Self {
        let notes = Vec::new();
        let lost = Vec::new();
        let renames = ArgumentRenames::default();
        Self { at: at.to_owned(), notes, lost, renames }
    }

    /// A keyword that is now in the description only.
    fn limit(&mut self, at: &str, keyword: &str) {
        let what = format!("`{keyword}` is only in the description");
        self.lost.push(ConversionLoss::new(ConversionLossKind::Limit, step(at, keyword), what));
    }
}

/// Bounds the following steps, which recurse as deep as the schema.
fn check(schema: &Value) -> Result<(), SchemaFitError> {
    if !schema.is_object() {
        return Err(SchemaFitError::NotASchema);
    }
    let mut left = MAX_VALUES;
    let mut rest = vec![(schema, 1)];
    while let Some((value, depth)) = rest.pop() {
        if depth > MAX_DEPTH {
            return Err(SchemaFitError::TooDeep);
        }
        left = left.checked_sub(1).ok_or(SchemaFitError::TooLarge)?;
        match value {
            Value::Array(items) => rest.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => rest.extend(fields.values().map(|field| (field, depth + 1))),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
