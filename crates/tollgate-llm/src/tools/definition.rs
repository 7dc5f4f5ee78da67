//! Reads and writes one tool definition in each format.

use serde_json::{Map, Value, json};

use super::schema::openapi;
use super::tool_format::ToolFormat;
use crate::conversation::Function;

/// A definition, independent of its format.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NeutralDefinition {
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// JSON Schema. `None`: no parameters.
    pub(super) schema: Option<Value>,
    /// Location of the schema in the definition.
    pub(super) schema_at: &'static str,
    /// Whether the schema is strict, if specified.
    pub(super) strict: Option<bool>,
    /// Other fields, and their location.
    pub(super) rest: Map<String, Value>,
    pub(super) rest_at: &'static str,
}

/// Why a definition cannot be read in a format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolDefinitionError {
    #[error("a definition is an object")]
    NotAnObject,
    #[error("it has no `{0}`")]
    Missing(&'static str),
    #[error("`{field}` must be {expected}")]
    Type { field: &'static str, expected: &'static str },
    #[error("`{0}` is a tool that only its own provider can run")]
    Hosted(String),
}

/// Field of the schema, by format.
fn schema_key(form: ToolFormat) -> &'static str {
    match form {
        ToolFormat::Mcp => "inputSchema",
        ToolFormat::Anthropic => "input_schema",
        _ => "parameters",
    }
}

pub(super) fn read(
    definition: &Value,
    form: ToolFormat,
) -> Result<NeutralDefinition, ToolDefinitionError> {
    let Value::Object(fields) = definition else { return Err(ToolDefinitionError::NotAnObject) };
    let mut fields = fields.clone();
    check_kind(&mut fields, form)?;
    let (mut fields, schema_at, rest_at) = match (form, fields.shift_remove("function")) {
        (ToolFormat::OpenAi, Some(Value::Object(inner))) => {
            (inner, "/function/parameters", "/function")
        }
        (ToolFormat::OpenAi, Some(_)) => {
            return Err(ToolDefinitionError::Type { field: "function", expected: "an object" });
        }
        (_, _) => (fields, pointer(form), ""),
    };
    let name = text(&mut fields, "name")?.filter(|name| !name.is_empty());
    let name = name.ok_or(ToolDefinitionError::Missing("name"))?;
    let title = fields.get("title").and_then(Value::as_str).map(str::to_owned);
    let description = match text(&mut fields, "description")? {
        None if form == ToolFormat::Mcp => {
            fields.shift_remove("title");
            title
        }
        said => said,
    };
    let (schema, schema_at) = schema(&mut fields, form, schema_at)?;
    let strict = fields.get("strict").and_then(Value::as_bool);
    if matches!(form, ToolFormat::OpenAi | ToolFormat::OpenAiResponses) {
        fields.shift_remove("strict");
    }
    Ok(NeutralDefinition { name, description, schema, schema_at, strict, rest: fields, rest_at })
}

fn pointer(form: ToolFormat) -> &'static str {
    match form {
        ToolFormat::Mcp => "/inputSchema",
        ToolFormat::Anthropic => "/input_schema",
        _ => "/parameters",
    }
}

/// Removes the fields that only mark it as a function.
fn check_kind(
    fields: &mut Map<String, Value>,
    form: ToolFormat,
) -> Result<(), ToolDefinitionError> {
    let expected = match form {
        ToolFormat::Anthropic => "custom",
        ToolFormat::OpenAi | ToolFormat::OpenAiResponses | ToolFormat::OpenAiRealtime => "function",
        ToolFormat::Gemini | ToolFormat::GeminiLive => {
            let is_named = fields.contains_key("name");
            return match fields.keys().next() {
                Some(kind) if !is_named => Err(ToolDefinitionError::Hosted(kind.clone())),
                _ => Ok(()),
            };
        }
        ToolFormat::Mcp => return Ok(()),
    };
    match fields.shift_remove("type") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(kind)) if kind == expected => Ok(()),
        Some(Value::String(kind)) => Err(ToolDefinitionError::Hosted(kind)),
        Some(_) => Err(ToolDefinitionError::Type { field: "type", expected: "a string" }),
    }
}

fn schema(
    fields: &mut Map<String, Value>,
    form: ToolFormat,
    at: &'static str,
) -> Result<(Option<Value>, &'static str), ToolDefinitionError> {
    let key = schema_key(form);
    let is_gemini = matches!(form, ToolFormat::Gemini | ToolFormat::GeminiLive);
    let native = match fields.shift_remove("parametersJsonSchema") {
        Some(schema) if is_gemini => Some((schema, "/parametersJsonSchema")),
        _ => None,
    };
    let plain = fields
        .shift_remove(key)
        .map(|schema| if is_gemini { (openapi::read(&schema), at) } else { (schema, at) });
    match native.or(plain) {
        None | Some((Value::Null, _)) if form == ToolFormat::Mcp => {
            Err(ToolDefinitionError::Missing(key))
        }
        None | Some((Value::Null, _)) => Ok((None, at)),
        Some((schema @ Value::Object(_), at)) => Ok((Some(schema), at)),
        Some(_) => Err(ToolDefinitionError::Type { field: key, expected: "an object" }),
    }
}

fn text(
    fields: &mut Map<String, Value>,
    key: &'static str,
) -> Result<Option<String>, ToolDefinitionError> {
    match fields.shift_remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ToolDefinitionError::Type { field: key, expected: "a string" }),
    }
}

/// A function in the listing of the format; its schema must already fit.
pub(super) fn write(function: &Function, form: ToolFormat, more: Map<String, Value>) -> Value {
    let mut fields = Map::new();
    if matches!(form, ToolFormat::OpenAiResponses | ToolFormat::OpenAiRealtime) {
        fields.insert("type".to_owned(), "function".into());
    }
    fields.insert("name".to_owned(), function.name.as_str().into());
    if let Some(description) = &function.description {
        fields.insert("description".to_owned(), description.as_str().into());
    }
    let nothing = || json!({"type": "object", "properties": {}});
    let schema = function.parameters.clone();
    let schema = match form {
        ToolFormat::GeminiLive => schema.map(|schema| ("parameters", schema)),
        ToolFormat::Gemini => schema.map(|schema| ("parametersJsonSchema", schema)),
        ToolFormat::OpenAi => schema.map(|schema| ("parameters", schema)),
        _ => Some((schema_key(form), schema.unwrap_or_else(nothing))),
    };
    fields.extend(schema.map(|(key, schema)| (key.to_owned(), schema)));
    if form == ToolFormat::OpenAiResponses {
        // The default is true, and few schemas are written for that.
        fields.insert("strict".to_owned(), false.into());
    }
    fields.extend(more);
    match form {
        ToolFormat::OpenAi => json!({"type": "function", "function": fields}),
        _ => Value::Object(fields),
    }
}
