//! Reads tool definitions from files and bodies: one, a list, an MCP `tools/list` result, the tools
//! of a request, Gemini's groups. Detects their format, where possible.

use serde_json::{Map, Value, json};

use super::tool_format::ToolFormat;

/// The definitions of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct DefinitionListing {
    pub definitions: Vec<Value>,
    pub extent: DocumentExtent,
}

/// Whether a document is a list, even with one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentExtent {
    One,
    Many,
}

/// Why a document is not a list of tools, or its format cannot be detected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionListingError {
    #[error("this is neither a tool nor a list of tools: {0}")]
    NoTools(&'static str),
    #[error("there are no tools in the list")]
    Empty,
    #[error(
        "the format of tool {number} is ambiguous or unknown; name it with `--from`, one of \
         {known}", known = known_formats()
    )]
    Ambiguous { number: usize },
    #[error("tool {number} is {found}, but those before it are {first}; use one format at a time")]
    Mixed { number: usize, found: ToolFormat, first: ToolFormat },
}

fn known_formats() -> String {
    ToolFormat::ALL.map(ToolFormat::as_str).join(", ")
}

const DECLARATION_GROUP_KEYS: [&str; 2] = ["functionDeclarations", "function_declarations"];

impl DefinitionListing {
    pub fn read(document: Value) -> Result<Self, DefinitionListingError> {
        let mut fields = match document {
            Value::Array(items) => return Ok(Self::many(items)),
            Value::Object(fields) => fields,
            _ => return Err(DefinitionListingError::NoTools("an object or a list is expected")),
        };
        // A whole JSON-RPC response, or only its result; a request's body.
        if let Some(Value::Object(result)) = fields.get_mut("result") {
            fields = std::mem::take(result);
        }
        match fields.shift_remove("tools") {
            Some(Value::Array(items)) => return Ok(Self::many(items)),
            Some(_) => return Err(DefinitionListingError::NoTools("`tools` is not a list")),
            None => {}
        }
        if DECLARATION_GROUP_KEYS.iter().any(|group| fields.contains_key(*group)) {
            return Ok(Self::many(vec![Value::Object(fields)]));
        }
        Ok(Self { definitions: vec![Value::Object(fields)], extent: DocumentExtent::One })
    }

    fn many(items: Vec<Value>) -> Self {
        let mut definitions = Vec::new();
        for item in items {
            let group =
                DECLARATION_GROUP_KEYS.iter().find_map(|group| item.get(*group)?.as_array());
            match group {
                Some(group) => definitions.extend(group.iter().cloned()),
                None => definitions.push(item),
            }
        }
        Self { definitions, extent: DocumentExtent::Many }
    }

    /// The common format of all definitions.
    pub fn form(&self) -> Result<ToolFormat, DefinitionListingError> {
        let mut first = None;
        for (at, definition) in self.definitions.iter().enumerate() {
            let number = at + 1;
            let found = form_of(definition).ok_or(DefinitionListingError::Ambiguous { number })?;
            match first {
                None => first = Some(found),
                Some(first) if first != found => {
                    return Err(DefinitionListingError::Mixed { number, found, first });
                }
                Some(_) => {}
            }
        }
        first.ok_or(DefinitionListingError::Empty)
    }
}

/// Wraps definitions as the format's own requests and responses do.
pub fn wrap_definitions(
    definitions: Vec<Value>,
    form: ToolFormat,
    extent: DocumentExtent,
) -> Value {
    let mut definitions = definitions;
    if extent == DocumentExtent::One && definitions.len() == 1 {
        return definitions.remove(0);
    }
    match form {
        ToolFormat::Mcp => json!({"tools": definitions}),
        ToolFormat::Gemini | ToolFormat::GeminiLive => {
            json!([{"functionDeclarations": definitions}])
        }
        _ => Value::Array(definitions),
    }
}

/// `None`: ambiguous, or no known format.
fn form_of(definition: &Value) -> Option<ToolFormat> {
    let fields = definition.as_object()?;
    let has = |key: &str| fields.contains_key(key);
    let is_function = fields.get("type").is_some_and(|kind| kind == "function");
    if has("inputSchema") {
        Some(ToolFormat::Mcp)
    } else if has("input_schema") {
        Some(ToolFormat::Anthropic)
    } else if fields.get("function").is_some_and(Value::is_object) {
        Some(ToolFormat::OpenAi)
    } else if is_function {
        // Realtime has no distinguishing field.
        Some(ToolFormat::OpenAiResponses)
    } else if has("behavior") {
        Some(ToolFormat::GeminiLive)
    } else if has("parametersJsonSchema") || is_openapi(fields) {
        Some(ToolFormat::Gemini)
    } else {
        None
    }
}

/// Upper-case types: only Gemini uses them.
fn is_openapi(fields: &Map<String, Value>) -> bool {
    let kind = fields.get("parameters").and_then(|schema| schema.get("type"));
    kind.and_then(Value::as_str) == Some("OBJECT")
}

#[cfg(test)]
mod tests;
