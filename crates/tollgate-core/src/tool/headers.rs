//! Arguments that MCP clients also send as headers (`x-mcp-header`): found and validated.

use serde_json::{Map, Value};

use super::definition_error::DefinitionError;
use super::scrub::escape;
use crate::schema::subschema::subschemas;

const KEYWORD: &str = "x-mcp-header";

/// An argument that a client also sends as the header `Mcp-Param-{header}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderParameter {
    /// JSON pointer into the arguments.
    pub pointer: String,
    pub header: String,
    pub kind: HeaderKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderKind {
    String,
    Integer,
    Boolean,
}

/// All header parameters of a tool. A violation of MCP's rules rejects the tool.
pub(crate) fn parameters(schema: &Value) -> Result<Vec<HeaderParameter>, DefinitionError> {
    let mut found = Vec::new();
    if let Value::Object(root) = schema {
        if root.contains_key(KEYWORD) {
            return Err(header_error("", "only a property can be a header"));
        }
        walk(root, "", &mut found)?;
    }
    Ok(found)
}

fn walk(
    schema: &Map<String, Value>,
    pointer: &str,
    found: &mut Vec<HeaderParameter>,
) -> Result<(), DefinitionError> {
    for step in subschemas(schema) {
        let Value::Object(inner) = step.schema else { continue };
        let Some(key) = step.property() else {
            elsewhere(inner, pointer)?;
            continue;
        };
        let pointer = format!("{pointer}/{}", escape(key));
        if let Some(header) = inner.get(KEYWORD) {
            let parameter = parameter(inner, header, &pointer)?;
            let taken = found.iter().any(|it| it.header.eq_ignore_ascii_case(&parameter.header));
            if taken {
                return Err(header_error(&pointer, "another property has the same header"));
            }
            found.push(parameter);
        }
        walk(inner, &pointer, found)?;
    }
    Ok(())
}

/// Headers are only allowed below `properties`: elsewhere the client could not find the value.
fn elsewhere(schema: &Map<String, Value>, pointer: &str) -> Result<(), DefinitionError> {
    if schema.contains_key(KEYWORD) {
        return Err(header_error(pointer, "it is not reachable through `properties` alone"));
    }
    for step in subschemas(schema) {
        if let Value::Object(inner) = step.schema {
            elsewhere(inner, pointer)?;
        }
    }
    Ok(())
}

fn parameter(
    schema: &Map<String, Value>,
    header: &Value,
    pointer: &str,
) -> Result<HeaderParameter, DefinitionError> {
    let header = header.as_str().unwrap_or_default();
    let is_token = !header.is_empty()
        && header.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
    if !is_token {
        return Err(header_error(pointer, "it is not a valid header name"));
    }
    let kind = kind(schema.get("type"))
        .ok_or_else(|| header_error(pointer, "its type must be string, integer or boolean"))?;
    Ok(HeaderParameter { pointer: pointer.to_owned(), header: header.to_owned(), kind })
}

/// One of the three types; an additional `null` only makes the argument optional.
fn kind(declared: Option<&Value>) -> Option<HeaderKind> {
    let name = match declared? {
        Value::String(name) => name.as_str(),
        Value::Array(names) => {
            let mut names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            let name = names.next()?;
            if names.next().is_some() {
                return None;
            }
            name
        }
        _ => return None,
    };
    match name {
        "string" => Some(HeaderKind::String),
        "integer" => Some(HeaderKind::Integer),
        "boolean" => Some(HeaderKind::Boolean),
        _ => None,
    }
}

fn header_error(pointer: &str, reason: &'static str) -> DefinitionError {
    DefinitionError::Header { pointer: pointer.to_owned(), reason }
}
