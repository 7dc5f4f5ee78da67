//! Validates arguments and results against a tool's untrusted JSON schema.
//!
//! Size, references, patterns and validation cost of a schema are bounded before it is used. Used
//! by the catalogue (compile) and the gate (check). Never fetches anything.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use jsonschema::{Draft, PatternOptions, Retrieve, Uri, Validator};
use serde_json::Value;

pub(crate) mod graph;
pub(crate) mod subschema;
mod violation;
mod work_bounds;

pub use violation::Violation;

use crate::text::truncate_chars;

use graph::SchemaGraph;
use work_bounds::{CheckCost, WorkBounds};

/// Maximum bytes of a schema, without whitespace.
pub const MAX_TEXT: usize = 64 * 1024;
const MAX_PATTERN: usize = 1024;
/// Maximum compiled size of all patterns of a schema together, and of a single one.
const ALL_PATTERNS: usize = 4 * 1024 * 1024;
const ONE_PATTERN: usize = 512 * 1024;
/// Maximum nesting of the JSON itself, including data in `enum` or `default`.
const MAX_NESTING: usize = 128;
/// Characters of an excerpt that suffice to recognize a text.
const EXCERPT_CHARS: usize = 200;

/// A compiled schema; cloning shares it.
#[derive(Clone)]
pub struct Schema {
    compiled: Arc<CompiledSchema>,
}

struct CompiledSchema {
    schema: Value,
    validator: Validator,
    work: WorkBounds,
}

/// Why a schema is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    #[error("the schema has {size} bytes; the limit is {limit}")]
    TooLong { size: usize, limit: usize },
    #[error("the schema is nested deeper than {limit} levels")]
    TooDeep { limit: usize },
    #[error("the schema has more than {limit} subschemas")]
    TooManySubschemas { limit: usize },
    #[error("the schema has a chain of {found} references; the limit is {limit}")]
    LongPath { found: usize, limit: usize },
    #[error("`$schema` names the unknown dialect `{0}`")]
    Dialect(String),
    #[error("`$ref` to `{0}` points outside the schema; external references are not fetched")]
    Outside(String),
    #[error("`$ref` to `{0}` points to no schema")]
    Nowhere(String),
    #[error("an inner `$id` together with `$ref` is not supported")]
    InnerId,
    #[error("a `$ref` is infinitely recursive")]
    Endless,
    #[error("checking against this schema could take too long")]
    TooMuchWork,
    #[error("a pattern has {size} bytes; the limit is {limit}")]
    LongPattern { size: usize, limit: usize },
    #[error("not a valid schema: {0}")]
    Invalid(String),
}

impl Schema {
    /// Compiles a schema of any root type, within the bounds of this module.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        if !schema.is_object() && !schema.is_boolean() {
            return Err(SchemaError::Invalid(
                "a schema is an object, `true` or `false`".to_owned(),
            ));
        }
        if is_deeper(schema, MAX_NESTING) {
            return Err(SchemaError::TooDeep { limit: MAX_NESTING });
        }
        let size = size_of(schema);
        if size > MAX_TEXT {
            return Err(SchemaError::TooLong { size, limit: MAX_TEXT });
        }
        let draft = draft(schema)?;
        let work = WorkBounds::of(&SchemaGraph::of(schema)?)?;
        let share = pattern_share(schema)?;
        let schema = without_root_id(schema);
        let validator = jsonschema::options()
            .with_draft(draft)
            .with_retriever(RefusingRetriever)
            .should_validate_formats(false)
            .with_pattern_options(PatternOptions::regex().size_limit(share).dfa_size_limit(share))
            .build(&schema)
            .map_err(|error| {
                let what = truncate_chars(&error.to_string(), EXCERPT_CHARS);
                let at = error.instance_path();
                SchemaError::Invalid(format!("{what} (at `{at}`)"))
            })?;
        Ok(Self { compiled: Arc::new(CompiledSchema { schema, validator, work }) })
    }

    /// At most five violations, worded to help a model correct its call.
    pub fn check(&self, instance: &Value) -> Result<(), Vec<Violation>> {
        let CompiledSchema { schema, validator, work } = &*self.compiled;
        if work.cost(instance) == CheckCost::TooMuch {
            return Err(vec![Violation::whole("nested too deep, or too large, for this schema")]);
        }
        if validator.is_valid(instance) {
            return Ok(());
        }
        if !work.allows_details(instance) {
            return Err(vec![Violation::whole("does not match the schema")]);
        }
        Err(violation::describe(schema, validator.iter_errors(instance)))
    }

    /// The fields of an object that violations are about; all of them, not only the first five.
    pub fn fields_at_fault(&self, instance: &Value) -> HashSet<String> {
        let CompiledSchema { validator, work, .. } = &*self.compiled;
        if work.allows_details(instance) {
            violation::fields(validator.iter_errors(instance))
        } else {
            HashSet::new()
        }
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", truncate_chars(&self.compiled.schema.to_string(), EXCERPT_CHARS))
    }
}

/// References never leave the document; this is a second safeguard against fetching.
struct RefusingRetriever;

impl Retrieve for RefusingRetriever {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("external references are not fetched: `{uri}`").into())
    }
}

fn draft(schema: &Value) -> Result<Draft, SchemaError> {
    let Some(named) = schema.get("$schema") else { return Ok(Draft::Draft202012) };
    let name = named.as_str().unwrap_or_default();
    let rest = name
        .trim_end_matches('#')
        .split_once("://")
        .map_or("", |(scheme, rest)| if matches!(scheme, "http" | "https") { rest } else { "" });
    match rest {
        "json-schema.org/draft/2020-12/schema" => Ok(Draft::Draft202012),
        "json-schema.org/draft/2019-09/schema" => Ok(Draft::Draft201909),
        "json-schema.org/draft-07/schema" => Ok(Draft::Draft7),
        "json-schema.org/draft-06/schema" => Ok(Draft::Draft6),
        "json-schema.org/draft-04/schema" => Ok(Draft::Draft4),
        _ => Err(SchemaError::Dialect(truncate_chars(&named.to_string(), EXCERPT_CHARS))),
    }
}

/// The compiled size allowed for each pattern. Rejects patterns that are too long.
fn pattern_share(schema: &Value) -> Result<usize, SchemaError> {
    let mut count = 0;
    let mut longest = 0;
    let mut rest = vec![schema];
    while let Some(value) = rest.pop() {
        match value {
            Value::Array(items) => rest.extend(items),
            Value::Object(fields) => {
                let one = fields.get("pattern").and_then(Value::as_str);
                let many = fields.get("patternProperties").and_then(Value::as_object);
                let keys = many.into_iter().flat_map(|many| many.keys().map(String::as_str));
                for pattern in one.into_iter().chain(keys) {
                    count += 1;
                    longest = longest.max(pattern.len());
                }
                rest.extend(fields.values());
            }
            _ => {}
        }
    }
    if longest > MAX_PATTERN {
        Err(SchemaError::LongPattern { size: longest, limit: MAX_PATTERN })
    } else {
        Ok((ALL_PATTERNS / count.max(1)).min(ONE_PATTERN))
    }
}

/// All references start with `#`; the root `$id` would only change how they are resolved.
fn without_root_id(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(fields) = &mut schema {
        for id in ["$id", "id"] {
            if fields.get(id).is_some_and(Value::is_string) {
                fields.shift_remove(id);
            }
        }
    }
    schema
}

fn is_deeper(value: &Value, limit: usize) -> bool {
    let Some(below) = limit.checked_sub(1) else { return true };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, below)),
        Value::Object(fields) => fields.values().any(|field| is_deeper(field, below)),
        _ => false,
    }
}

fn size_of(value: &Value) -> usize {
    struct ByteCounter(usize);
    impl Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = ByteCounter(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => usize::MAX,
    }
}

#[cfg(test)]
pub(crate) mod tests;
