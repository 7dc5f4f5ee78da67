//! Validation errors, worded so that a model can correct its arguments.

use std::collections::HashSet;
use std::fmt;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use crate::nearest::nearest;
use crate::text::truncate_chars;

/// One violation, worded for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Its place in the arguments, as `filter.tags[2]`; empty for the root.
    pub path: String,
    pub message: String,
}

/// More than five would hide the important ones.
const MAX_VIOLATIONS: usize = 5;
const MAX_VALUE_CHARS: usize = 60;
const MAX_LISTED: usize = 12;

impl Violation {
    pub(crate) fn whole(message: &str) -> Self {
        Self { path: String::new(), message: message.to_owned() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "`{path}`: {}", self.message),
        }
    }
}

pub(crate) fn describe<'e>(
    schema: &Value,
    errors: impl Iterator<Item = ValidationError<'e>>,
) -> Vec<Violation> {
    let mut found: Vec<Violation> = Vec::new();
    for error in errors {
        let violation = violation(schema, &error);
        if !found.contains(&violation) {
            found.push(violation);
        }
        if found.len() == MAX_VIOLATIONS {
            break;
        }
    }
    found
}

/// The top-level fields that errors are about, as [`describe`] would name them.
pub(crate) fn fields<'e>(errors: impl Iterator<Item = ValidationError<'e>>) -> HashSet<String> {
    let field = |error: ValidationError<'e>| {
        let mut segments = place(&error).iter();
        match (segments.next(), segments.next()) {
            (Some(LocationSegment::Property(name)), None) => Some(name.into_owned()),
            _ => None,
        }
    };
    errors.filter_map(field).collect()
}

fn place<'p>(error: &'p ValidationError<'_>) -> &'p Location {
    match nearest_form(error) {
        Some(nearest) => place(nearest),
        None => error.instance_path(),
    }
}

fn violation(schema: &Value, error: &ValidationError<'_>) -> Violation {
    // The closest alternative is more helpful than "none of them matches".
    if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } =
        error.kind()
        && let Some(nearest) = nearest_form(error)
    {
        let inner = violation(schema, nearest);
        let message = format!("{} (in the nearest of {} forms)", inner.message, context.len());
        return Violation { path: inner.path, message };
    }
    Violation { path: path(error.instance_path()), message: message(schema, error) }
}

/// The deepest error of the alternative with the fewest errors, which was most likely intended.
fn nearest_form<'c>(error: &'c ValidationError<'_>) -> Option<&'c ValidationError<'static>> {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) =
        error.kind()
    else {
        return None;
    };
    let depth = |error: &ValidationError<'_>| error.instance_path().iter().count();
    let here = depth(error);
    let is_type_here = |form: &&Vec<ValidationError<'static>>| {
        form.iter().any(|error| {
            depth(error) <= here && matches!(error.kind(), ValidationErrorKind::Type { .. })
        })
    };
    let mut forms: Vec<_> = context.iter().filter(|form| !is_type_here(form)).collect();
    forms.sort_by_key(|form| form.len());
    forms.first()?.iter().max_by_key(|error| depth(error))
}

fn message(schema: &Value, error: &ValidationError<'_>) -> String {
    use ValidationErrorKind as Kind;
    let found = || short(error.instance());
    match error.kind() {
        Kind::Type { kind } => {
            format!("expected {}, found {} {}", types(kind), type_of(error.instance()), found())
        }
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            format!("`{name}` is missing{}", describe_expected(schema, error, name))
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unknown(schema, error, unexpected)
        }
        Kind::Enum { options } => {
            format!("expected one of {}, found {}", join_options(options), found())
        }
        Kind::Constant { expected_value } => {
            format!("expected {}, found {}", short(expected_value), found())
        }
        Kind::Minimum { limit } => format!("expected at least {limit}, found {}", found()),
        Kind::Maximum { limit } => format!("expected at most {limit}, found {}", found()),
        Kind::ExclusiveMinimum { limit } => {
            format!("expected more than {limit}, found {}", found())
        }
        Kind::ExclusiveMaximum { limit } => {
            format!("expected less than {limit}, found {}", found())
        }
        Kind::MultipleOf { multiple_of } => {
            format!("expected a multiple of {multiple_of}, found {}", found())
        }
        Kind::MinLength { limit } => {
            format!("expected at least {limit} characters, found {}", found())
        }
        Kind::MaxLength { limit } => {
            format!("expected at most {limit} characters, found {}", found())
        }
        Kind::MinItems { limit } => format!("expected at least {limit} items, found {}", found()),
        Kind::MaxItems { limit } => format!("expected at most {limit} items, found {}", found()),
        Kind::Pattern { pattern } => {
            format!("expected text that matches `{}`, found {}", cut(pattern), found())
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            format!("fits none of the {} allowed forms, found {}", context.len(), found())
        }
        Kind::OneOfMultipleValid { .. } => {
            format!("fits more than one form where exactly one is allowed, found {}", found())
        }
        Kind::FalseSchema => "is not allowed here".to_owned(),
        Kind::Not { .. } => format!("has a form that is not allowed, found {}", found()),
        Kind::PropertyNames { error } => format!("a name does not fit: {}", message(schema, error)),
        // The message of the library, without the instance, which may be large.
        _ => cut(&error.masked().to_string()),
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(several) => {
            several.iter().map(|it: JsonType| it.to_string()).collect::<Vec<_>>().join(" or ")
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Type and description of a missing property, if the schema has them in the usual place.
fn describe_expected(schema: &Value, error: &ValidationError<'_>, name: &str) -> String {
    let Some(property) = properties(schema, error).and_then(|known| known.get(name)) else {
        return String::new();
    };
    let text = |key| property.get(key).and_then(Value::as_str);
    match (text("type"), text("description")) {
        (Some(kind), Some(description)) => format!(" ({kind}: {})", cut(description)),
        (Some(one), None) | (None, Some(one)) => format!(" ({})", cut(one)),
        (None, None) => String::new(),
    }
}

fn unknown(schema: &Value, error: &ValidationError<'_>, unexpected: &[String]) -> String {
    let known: Vec<&str> = properties(schema, error)
        .map(|known| known.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let mut lines: Vec<String> = unexpected
        .iter()
        .take(MAX_VIOLATIONS)
        .map(|name| match nearest(name, known.iter().copied()).first() {
            Some(near) => format!("`{}` is unknown, did you mean `{near}`?", cut(name)),
            None => format!("`{}` is unknown", cut(name)),
        })
        .collect();
    if lines.iter().any(|it| !it.ends_with('?')) && !known.is_empty() {
        let names: Vec<_> = known.iter().take(MAX_LISTED).map(|it| format!("`{it}`")).collect();
        let more = if known.len() > MAX_LISTED { ", …" } else { "" };
        lines.push(format!("known are {}{more}", names.join(", ")));
    }
    lines.join("; ")
}

/// The `properties` beside the keyword that failed.
fn properties<'s>(
    schema: &'s Value,
    error: &ValidationError<'_>,
) -> Option<&'s serde_json::Map<String, Value>> {
    let (beside, _) = error.schema_path().as_str().rsplit_once('/')?;
    schema.pointer(beside)?.get("properties")?.as_object()
}

fn join_options(options: &Value) -> String {
    let Some(options) = options.as_array() else { return short(options) };
    let listed: Vec<_> = options.iter().take(MAX_LISTED).map(short).collect();
    let more = if options.len() > MAX_LISTED { ", …" } else { "" };
    format!("{}{more}", listed.join(", "))
}

/// A value, truncated to fit a sentence.
fn short(value: &Value) -> String {
    match value {
        Value::Array(items) if items.len() > MAX_LISTED => format!("{} items", items.len()),
        Value::Object(fields) if fields.len() > MAX_LISTED => format!("{} fields", fields.len()),
        Value::String(text) if text.len() > MAX_VALUE_CHARS => {
            format!("\"{}\" ({} characters)", cut(text), text.chars().count())
        }
        value => cut(&value.to_string()),
    }
}

fn cut(text: &str) -> String {
    truncate_chars(text, MAX_VALUE_CHARS)
}

fn path(location: &Location) -> String {
    let mut path = String::new();
    for segment in location {
        match segment {
            LocationSegment::Index(index) => path.push_str(&format!("[{index}]")),
            LocationSegment::Property(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&cut(&name));
            }
        }
    }
    path
}
